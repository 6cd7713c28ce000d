//! Waits for many workers at once, without a thread or a look at each of them.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use rustix::event::epoll;
use rustix::event::{Timespec, epoll::EventData};
use std::collections::HashMap;

use crate::worker::Worker;

/// How many wake-ups are taken at once.
const AT_ONCE: usize = 64;

/// Why [`Watch::wait`] returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Wake {
    /// The worker of this number has ended, or its keeper has: [`Worker::condition`] says which. It is not watched any
    /// more.
    Worker(u64),
    /// There is something to be read from the descriptor of this number.
    Readable(u64),
}

/// Handles of the kernel for workers and for other things to wait for. Costs one descriptor for each and nothing while
/// they do nothing.
#[derive(Debug)]
pub struct Watch {
    epoll: OwnedFd,
    workers: HashMap<u64, OwnedFd>,
    others: HashMap<u64, OwnedFd>,
    /// Those that had ended when they were added.
    ended: Vec<u64>,
}

/// Numbers of other descriptors are told from those of workers by their highest bit.
const OTHER: u64 = 1 << 63;

impl Watch {
    /// Watches nothing yet.
    pub fn new() -> io::Result<Watch> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        Ok(Watch { epoll, workers: HashMap::new(), others: HashMap::new(), ended: Vec::new() })
    }

    /// Watches a worker under a number of the caller's, below 2⁶³. One that has ended already is reported by the next
    /// [`Watch::wait`]. A number that is in use is taken over.
    pub fn add(&mut self, number: u64, worker: &Worker) -> io::Result<()> {
        self.remove(number)?;
        match worker.handle() {
            Some(handle) => {
                epoll::add(&self.epoll, &handle, EventData::new_u64(number & !OTHER), epoll::EventFlags::IN)?;
                self.workers.insert(number, handle);
            }
            None => self.ended.push(number),
        }
        Ok(())
    }

    /// Watches anything that becomes readable, such as a pipe that signals write to. The descriptor is kept open.
    pub fn add_readable(&mut self, number: u64, descriptor: impl AsFd) -> io::Result<()> {
        let descriptor = descriptor.as_fd().try_clone_to_owned()?;
        epoll::add(&self.epoll, &descriptor, EventData::new_u64(number | OTHER), epoll::EventFlags::IN)?;
        self.others.insert(number, descriptor);
        Ok(())
    }

    /// Does not watch a worker any more.
    pub fn remove(&mut self, number: u64) -> io::Result<()> {
        self.ended.retain(|each| *each != number);
        match self.workers.remove(&number) {
            Some(handle) => Ok(epoll::delete(&self.epoll, handle)?),
            None => Ok(()),
        }
    }

    /// How many workers are watched.
    pub fn len(&self) -> usize {
        self.workers.len() + self.ended.len()
    }

    /// Whether no worker is.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Waits until something happens or the time is over; for ever without one. Each worker is reported once.
    ///
    /// A signal that comes in between ends the wait with nothing.
    pub fn wait(&mut self, timeout: Option<Duration>) -> io::Result<Vec<Wake>> {
        let mut wakes: Vec<Wake> = std::mem::take(&mut self.ended).into_iter().map(Wake::Worker).collect();
        let timeout = if wakes.is_empty() { timeout } else { Some(Duration::ZERO) };
        let timeout = timeout.map(|timeout| Timespec {
            tv_sec: timeout.as_secs().min(i64::MAX as u64) as i64,
            tv_nsec: timeout.subsec_nanos().into(),
        });
        let mut events = Vec::with_capacity(AT_ONCE);
        match epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut events), timeout.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        for event in &events {
            let number = event.data.u64();
            if number & OTHER != 0 {
                wakes.push(Wake::Readable(number & !OTHER));
                continue;
            }
            self.remove(number)?;
            wakes.push(Wake::Worker(number));
        }
        Ok(wakes)
    }
}
