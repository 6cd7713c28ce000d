//! Work on more than one core.
//!
//! A thread that has just begun, or that somebody has woken, may be left on the core of whoever did that, with the next one
//! idle: a scheduler evens that out after a while, and work that takes milliseconds is over by then. So threads that are
//! to work beside another one keep away from its core.

use std::sync::{Mutex, PoisonError};
use std::thread::{self, Builder};

use rustix::thread::{sched_getaffinity, sched_getcpu, sched_setaffinity};

/// A core that somebody works on.
#[derive(Debug, Clone, Copy)]
pub struct Core(usize);

impl Core {
    /// The one that this thread is on.
    pub fn here() -> Core {
        Core(sched_getcpu())
    }

    /// Keeps this thread away from it, where there are others and the system lets us choose.
    pub fn avoid(self) {
        if let Ok(mut allowed) = sched_getaffinity(None)
            && allowed.count() > 1
            && allowed.is_set(self.0)
        {
            allowed.unset(self.0);
            // It is slower where it is, and no less right.
            let _ = sched_setaffinity(None, &allowed);
        }
    }
}

/// Does two things at once: one here, the other one on another core. Where the system has no thread for it, that one comes
/// first.
pub fn both<A: Send, B>(other: impl FnOnce() -> A + Send, own: impl FnOnce() -> B) -> (A, B) {
    both_with(Builder::new(), other, own)
}

fn both_with<A: Send, B>(thread: Builder, other: impl FnOnce() -> A + Send, own: impl FnOnce() -> B) -> (A, B) {
    let here = Core::here();
    let other = Mutex::new(Some(other));
    let take = || other.lock().unwrap_or_else(PoisonError::into_inner).take().expect("it is done once");
    thread::scope(|scope| {
        let elsewhere = || {
            here.avoid();
            take()()
        };
        let Ok(thread) = thread.spawn_scoped(scope, elsewhere) else {
            return (take()(), own());
        };
        let own = own();
        match thread.join() {
            Ok(other) => (other, own),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::Barrier;

    #[test]
    fn both_are_done_at_once_and_each_gives_its_own() {
        // Neither gets past it without the other.
        let meeting = Barrier::new(2);
        let mut lent = 0;
        let done = both(
            || {
                meeting.wait();
                "other"
            },
            || {
                meeting.wait();
                lent += 1;
                lent
            },
        );
        assert_eq!(done, ("other", 1));
    }

    #[test]
    fn without_a_thread_both_are_done_here() {
        // No machine has memory for such a stack.
        let refused = Builder::new().stack_size(1 << 62);
        let here = thread::current().id();
        let done = both_with(refused, || thread::current().id() == here, || 2);
        assert_eq!(done, (true, 2));
    }

    #[test]
    fn a_panic_of_the_other_one_is_passed_on() {
        let panic = catch_unwind(AssertUnwindSafe(|| both(|| panic!("it broke"), || ())));
        let panic = panic.expect_err("it was passed on");
        assert_eq!(panic.downcast_ref::<&str>(), Some(&"it broke"));
    }

    #[test]
    fn a_thread_leaves_a_core_and_does_not_leave_the_last_one() {
        // In a thread of its own: what it may use stays as it is for all others.
        let check = || {
            let cores = || {
                let allowed = sched_getaffinity(None).expect("the system says");
                (0..1024).filter(|core| allowed.is_set(*core)).collect::<Vec<_>>()
            };
            let mut left = cores();
            while left.len() > 1 {
                let core = left.remove(0);
                Core(core).avoid();
                assert_eq!(cores(), left);
                assert_ne!(sched_getcpu(), core);
            }
            Core(left[0]).avoid();
            assert_eq!(cores(), left, "it has to be somewhere");
        };
        thread::spawn(check).join().expect("all of it holds");
    }
}
