//! How long a limit is waited for. Every wait has a maximum, and waits in a row get longer.

use jiff::Timestamp;

use super::{Limit, LimitScope};

/// No limit is waited for longer: weekly ones end within it.
const LONGEST: i64 = 8 * 24 * 3600;

/// The first and the longest wait for an account whose limit does not say when it ends.
const ACCOUNT: (i64, i64) = (15 * 60, 3600);

/// The same for a service that is busy, and for a limit that is over by what was said.
const PASSING: (i64, i64) = (10, 10 * 60);

/// How often in a row a worker may run into a limit without getting on. Then a person looks.
const MOST_IN_A_ROW: u32 = 30;

/// What to do about a limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wait {
    /// Wait.
    Until {
        /// In seconds since 1970.
        at: i64,
        /// What is worth saying about that time, as a fragment; nothing when it is the service's own.
        note: Option<String>,
    },
    /// It was waited for too often.
    GiveUp {
        /// Why, as a fragment.
        reason: String,
    },
}

impl Limit {
    /// How long it is waited for. `times` is how often in a row, this time included, the same worker ran into a limit
    /// without getting on: 1 for the first.
    pub fn wait(&self, now: i64, times: u32) -> Wait {
        if times > MOST_IN_A_ROW {
            let reason = format!("a limit was reported {times} times in a row without progress: {}", self.message);
            return Wait::GiveUp { reason };
        }
        let (first, longest) = match self.scope {
            LimitScope::Account if self.resets_at.is_none() => ACCOUNT,
            LimitScope::Account | LimitScope::Service | LimitScope::Worker => PASSING,
        };
        let back_off = first.saturating_mul(1 << (times.max(1) - 1).min(20)).min(longest);
        let Some(told) = self.resets_at else {
            return Wait::Until { at: now.saturating_add(back_off), note: None };
        };
        let bound = now.saturating_add(LONGEST);
        if told > bound {
            let note = format!("the service says {}; no wait is longer than 8 days", shown(told));
            return Wait::Until { at: bound, note: Some(note) };
        }
        if told <= now {
            let note = format!("the service says {}, which is past", shown(told));
            return Wait::Until { at: now.saturating_add(back_off), note: Some(note) };
        }
        // A time that was not true the last time is not believed to the second again.
        let at = if times > 1 { told.max(now.saturating_add(back_off)) } else { told };
        Wait::Until { at, note: None }
    }
}

fn shown(seconds: i64) -> String {
    Timestamp::from_second(seconds).map_or_else(|_| seconds.to_string(), |time| time.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_794_798_900;

    fn wait(scope: LimitScope, resets_at: Option<i64>, times: u32) -> i64 {
        match Limit::new(scope, resets_at, "busy").wait(NOW, times) {
            Wait::Until { at, .. } => at - NOW,
            Wait::GiveUp { .. } => -1,
        }
    }

    #[test]
    fn waits_in_a_row_get_longer_and_come_to_an_end() {
        let service = |times| wait(LimitScope::Service, None, times);
        assert_eq!([1, 2, 3, 7, 30, 31].map(service), [10, 20, 40, 600, 600, -1]);
        let account = |times| wait(LimitScope::Account, None, times);
        assert_eq!([1, 2, 3, 30, 31].map(account), [900, 1800, 3600, 3600, -1]);
        assert_eq!(wait(LimitScope::Worker, None, 0), 10, "none before it is the first");
        assert_eq!(wait(LimitScope::Worker, None, u32::MAX), -1);
    }

    #[test]
    fn a_time_that_was_said_is_believed_within_bounds() {
        let account = |after: i64, times| wait(LimitScope::Account, Some(NOW + after), times);
        assert_eq!(account(2, 1), 2);
        assert_eq!(account(5 * 3600, 1), 5 * 3600);
        assert_eq!(account(2, 4), 80, "it was not true three times");
        assert_eq!(account(5 * 3600, 4), 5 * 3600);
        assert_eq!((account(-1, 1), account(0, 1), account(-86_400, 3)), (10, 10, 40), "past: now, with back-off");
        assert_eq!(wait(LimitScope::Account, Some(9_999_999_999), 1), 8 * 86_400, "the year 2286");
        assert_eq!(account(8 * 86_400 + 1, 1), 8 * 86_400);
    }

    #[test]
    fn why_it_is_another_time_is_said() {
        let note = |resets_at| match Limit::new(LimitScope::Account, Some(resets_at), "busy").wait(NOW, 1) {
            Wait::Until { note, .. } => note,
            Wait::GiveUp { reason } => Some(reason),
        };
        assert_eq!(note(NOW + 60), None);
        assert_eq!(
            note(9_999_999_999).as_deref(),
            Some("the service says 2286-11-20T17:46:39Z; no wait is longer than 8 days")
        );
        assert_eq!(note(NOW - 60).as_deref(), Some("the service says 2026-11-16T03:14:00Z, which is past"));
    }
}
