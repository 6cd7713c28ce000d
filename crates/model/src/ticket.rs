//! Who may still write to a unit: the fence between a worker and whoever was there before it.

use std::fmt;
use std::str::FromStr;

/// What a writer shows to be let in: the attempt that it belongs to, and where several workers share one, its own
/// number. Written `3`, or `3.17`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ticket {
    /// The unit's attempt.
    pub attempt: u64,
    /// Which of the workers that share the attempt; nothing for whoever acts for the whole unit.
    pub worker: Option<u64>,
}

/// A text that is no ticket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BadTicket;

impl fmt::Display for BadTicket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("it is neither a number nor two with a dot between them")
    }
}

impl std::error::Error for BadTicket {}

impl From<u64> for Ticket {
    fn from(attempt: u64) -> Ticket {
        Ticket { attempt, worker: None }
    }
}

impl FromStr for Ticket {
    type Err = BadTicket;

    fn from_str(text: &str) -> Result<Ticket, BadTicket> {
        // A sign would be taken as part of a number; one ticket has one spelling.
        let number = |digits: &str| match digits.bytes().all(|byte| byte.is_ascii_digit()) {
            true => digits.parse().map_err(|_| BadTicket),
            false => Err(BadTicket),
        };
        match text.split_once('.') {
            Some((attempt, worker)) => Ok(Ticket { attempt: number(attempt)?, worker: Some(number(worker)?) }),
            None => Ok(Ticket { attempt: number(text)?, worker: None }),
        }
    }
}

impl fmt::Display for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.worker {
            Some(worker) => write!(f, "{}.{worker}", self.attempt),
            None => write!(f, "{}", self.attempt),
        }
    }
}

/// The workers that share an attempt, each at a step of its own. A number is given once in a unit's life, so a worker
/// that was followed by another can never be taken for it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Shift {
    /// The attempt that they share.
    pub attempt: u64,
    /// How many have begun, ever.
    pub begun: u64,
    /// Who is at which step now.
    pub at_work: Vec<(String, u64)>,
}

impl Shift {
    /// Lets a new worker begin at a step, in place of whoever was there; gives its number. Workers of another attempt
    /// are shut out by that already, and are forgotten.
    pub fn begin(&mut self, attempt: u64, step: &str) -> u64 {
        self.leave(attempt, step);
        self.begun = self.begun.saturating_add(1);
        self.at_work.push((step.to_owned(), self.begun));
        self.begun
    }

    /// Shuts out whoever is at a step: what it was there for is closed.
    pub fn leave(&mut self, attempt: u64, step: &str) {
        if self.attempt != attempt {
            self.at_work.clear();
            self.attempt = attempt;
        }
        self.at_work.retain(|(known, _)| known != step);
    }
}

/// Whether a writer is let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    /// It is.
    Admitted,
    /// Its attempt, or itself, was never begun.
    NotBegun,
    /// Another attempt has begun since.
    AttemptOver,
    /// Another worker has taken its place, or what it was there for is closed.
    WorkerOver,
}

/// Decides whether a writer is let in, by the unit's attempt and the workers that share it.
pub fn admit(ticket: Ticket, current: u64, shift: &Shift) -> Admission {
    if ticket.attempt != current {
        return if ticket.attempt > current { Admission::NotBegun } else { Admission::AttemptOver };
    }
    let Some(worker) = ticket.worker else { return Admission::Admitted };
    let is_at_work = shift.attempt == current && shift.at_work.iter().any(|(_, known)| *known == worker);
    match is_at_work {
        true => Admission::Admitted,
        false if worker > shift.begun => Admission::NotBegun,
        false => Admission::WorkerOver,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ticket_is_one_number_or_two() {
        for (text, want) in [
            ("3", Some(Ticket { attempt: 3, worker: None })),
            ("3.17", Some(Ticket { attempt: 3, worker: Some(17) })),
            ("", None),
            ("3.", None),
            (".1", None),
            ("3.1.2", None),
            ("+3", None),
            ("-1", None),
            ("3 ", None),
            ("99999999999999999999", None),
        ] {
            assert_eq!(text.parse::<Ticket>().ok(), want, "{text:?}");
            if let Some(ticket) = want {
                assert_eq!(ticket.to_string(), text);
            }
        }
    }

    #[test]
    fn only_who_is_at_work_now_may_write() {
        let mut shift = Shift::default();
        assert_eq!(shift.begin(3, "WS1"), 1);
        assert_eq!(shift.begin(3, "WS2"), 2);
        assert_eq!(shift.begin(3, "WS1"), 3);
        use Admission::{Admitted, AttemptOver, NotBegun, WorkerOver};
        for (ticket, current, want) in [
            ("3", 3, Admitted),
            ("2", 3, AttemptOver),
            ("4", 3, NotBegun),
            // The one that was followed by another; its sibling; its successor.
            ("3.1", 3, WorkerOver),
            ("3.2", 3, Admitted),
            ("3.3", 3, Admitted),
            ("3.4", 3, NotBegun),
            ("2.3", 3, AttemptOver),
            ("4.3", 3, NotBegun),
            // The unit went on without any of them.
            ("3.3", 4, AttemptOver),
            ("4.3", 4, WorkerOver),
        ] {
            let ticket: Ticket = ticket.parse().expect("a ticket");
            assert_eq!(admit(ticket, current, &shift), want, "{ticket} at {current}");
        }
    }

    #[test]
    fn a_number_is_never_given_again() {
        let mut shift = Shift::default();
        shift.begin(1, "WS1");
        shift.leave(1, "WS1");
        assert_eq!(admit(Ticket { attempt: 1, worker: Some(1) }, 1, &shift), Admission::WorkerOver);
        assert_eq!(shift.begin(2, "WS2"), 2);
        assert_eq!(shift.at_work, [("WS2".to_owned(), 2)]);
        assert_eq!(shift.begin(2, "WS1"), 3);
    }
}
