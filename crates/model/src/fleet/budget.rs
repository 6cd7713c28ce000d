//! A bound on restarts of any kind, with back-off: nothing spins, and nothing spends without end.

use std::time::Duration;

use super::{Fleet, LaneAt, Now};
use crate::Time;

/// The longest wait between two workers of one lane.
const LONGEST_DELAY: Duration = Duration::from_secs(300);

/// How many workers of a lane may be taken from outside, one after the other.
const MOST_TAKEN: u32 = 10;

impl Fleet {
    /// Counts a worker that was taken from outside; says whether another start is granted. It has a bound and a back-off of
    /// its own, and is no death of the worker.
    pub(super) fn spend_taken(&mut self, at: LaneAt, now: Now) -> bool {
        let lane = &mut self.lanes[at];
        if lane.counts.taken >= MOST_TAKEN {
            return false;
        }
        lane.counts.taken += 1;
        lane.not_before = Some(now.steady.saturating_add(delay(lane.counts.taken)));
        true
    }

    /// Counts an end against the lane's budget of quick restarts; says whether another start is granted.
    pub(super) fn spend_restart(&mut self, at: LaneAt, since: Duration, now: Now) -> bool {
        let is_quick = now.steady.saturating_sub(since) < self.limits.quick;
        let lane = &mut self.lanes[at];
        lane.counts.quick = if is_quick { lane.counts.quick.saturating_add(1) } else { 0 };
        lane.not_before = Some(now.steady.saturating_add(delay(lane.counts.quick)));
        lane.counts.quick <= self.limits.restarts
    }

    /// When a reported limit is waited for: never longer than the bound, and with back-off when it ends at once.
    pub(super) fn bounded(&self, at: LaneAt, until: Time, now: Now) -> Time {
        let soonest = now.time.after(delay(self.lanes[at].counts.quick));
        let latest = now.time.after(self.limits.longest_park);
        until.max(soonest).min(latest)
    }
}

/// How long the next worker of a lane waits after so many that ended soon after their start.
fn delay(quick: u32) -> Duration {
    match quick {
        0 | 1 => Duration::ZERO,
        n => LONGEST_DELAY.min(Duration::from_secs(1 << (n - 2).min(16))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_double_up_to_a_bound() {
        for (quick, seconds) in [(0, 0), (1, 0), (2, 1), (3, 2), (5, 8), (9, 128), (11, 300), (4_000_000, 300)] {
            assert_eq!(delay(quick), Duration::from_secs(seconds), "{quick}");
        }
    }
}
