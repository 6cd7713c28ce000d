//! Clocks: a steady one, the one on the wall that people set, and how long the machine slept.

use std::time::Duration;

use piton_model::Time;
use piton_model::fleet::FleetEvent;

use super::lead::Lead;

/// By how many seconds the clock on the wall may differ from a steady one between two looks without having been set.
const CLOCK_SLACK: u64 = 3;

impl Lead<'_> {
    /// While the machine slept nobody could give a sign; and when the clock was set, times of files say nothing.
    pub(super) fn look_at_clocks(&mut self) {
        let slept = (self.surroundings.slept)();
        if slept > self.slept + Duration::from_secs(1) {
            self.queue.push_back(FleetEvent::Woke);
        }
        self.slept = slept;
        let ahead = self.clock_ahead();
        if ahead.abs_diff(self.set_to) > CLOCK_SLACK {
            self.forget_moments();
            let seconds = steady().saturating_sub(self.began).as_secs();
            let began = self.time().unix_seconds().saturating_sub(i64::try_from(seconds).unwrap_or(i64::MAX));
            self.began_at = Time::from_unix_seconds(began);
            self.queue.push_back(FleetEvent::ClockSet);
        }
        self.set_to = ahead;
    }

    pub(super) fn clock_ahead(&self) -> i64 {
        let since_boot = steady().saturating_add(self.slept).as_secs();
        self.time().unix_seconds().saturating_sub(i64::try_from(since_boot).unwrap_or(i64::MAX))
    }
}

/// The clock that nobody sets and that does not run while the machine sleeps.
pub(super) fn steady() -> Duration {
    duration(rustix::time::clock_gettime(rustix::time::ClockId::Monotonic))
}

/// How long the machine has slept since it was started.
pub fn slept() -> Duration {
    duration(rustix::time::clock_gettime(rustix::time::ClockId::Boottime)).saturating_sub(steady())
}

fn duration(time: rustix::time::Timespec) -> Duration {
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}
