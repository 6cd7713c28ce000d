//! Connections. Anybody on this machine can open one and say nothing, so those that have not shown the token give way when
//! there is no more room.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::AbortHandle;

/// Whether somebody has shown the token.
#[derive(Debug, Clone, Default)]
pub struct Known(Arc<AtomicBool>);

impl Known {
    /// Remembers that they have.
    pub fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn get(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Everybody who is connected.
#[derive(Debug)]
pub struct Guests {
    room: Arc<Semaphore>,
    guests: VecDeque<(Known, AbortHandle)>,
}

impl Guests {
    /// Room for so many.
    pub fn new(most: usize) -> Guests {
        Guests { room: Arc::new(Semaphore::new(most)), guests: VecDeque::new() }
    }

    /// Makes room for one more: the stranger who has been there for longest goes. Where all are known, waits until one
    /// of them leaves.
    pub async fn room(&mut self) -> io::Result<OwnedSemaphorePermit> {
        self.guests.retain(|(_, task)| !task.is_finished());
        if self.room.available_permits() == 0
            && let Some(place) = self.guests.iter().position(|(known, _)| !known.get())
            && let Some((_, task)) = self.guests.remove(place)
        {
            task.abort();
        }
        Arc::clone(&self.room).acquire_owned().await.map_err(io::Error::other)
    }

    /// Remembers somebody who has room.
    pub fn add(&mut self, known: Known, task: AbortHandle) {
        self.guests.push_back((known, task));
    }
}
