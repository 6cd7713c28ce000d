//! What a lead is asked to do, by a terminal or a command. A request says what is wanted; it is never counted.

use std::time::Duration;

use super::{Decision, Fleet, Mode, StopReason};

/// Interrupts that come closer together than this are one: some programs pass on the Ctrl-C that a lead got as well.
const ONE_PRESS: Duration = Duration::from_millis(200);

/// What a lead is asked to do. Asking again changes nothing; asking for more adds to it; nothing takes a request back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Request {
    /// Start nothing new, and end when the workers have ended.
    Drain,
    /// Stop the workers too, and end when they have ended.
    StopWorkers,
    /// End at once; the workers go on.
    Leave,
}

impl Request {
    /// The word in a request file and in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Request::Drain => "drain",
            Request::StopWorkers => "stop_workers",
            Request::Leave => "leave",
        }
    }

    /// The request that a word stands for.
    pub fn parse(word: &str) -> Option<Request> {
        [Request::Drain, Request::StopWorkers, Request::Leave].into_iter().find(|request| request.word() == word)
    }

    fn mode(self) -> Mode {
        match self {
            Request::Drain => Mode::Draining,
            Request::StopWorkers => Mode::Stopping,
            Request::Leave => Mode::Leaving,
        }
    }
}

/// Ctrl-C at the lead's own terminal: the first drains, the second stops the workers, the third leaves.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Interrupts {
    presses: u32,
    last: Option<Duration>,
}

impl Interrupts {
    /// Takes an interrupt at this moment of the steady clock; nothing when it belongs to the one before.
    pub fn press(&mut self, now: Duration) -> Option<Request> {
        let is_same = self.last.is_some_and(|last| now.saturating_sub(last) < ONE_PRESS);
        self.last = Some(now);
        if is_same {
            return None;
        }
        self.presses = self.presses.saturating_add(1);
        Some(match self.presses {
            0 | 1 => Request::Drain,
            2 => Request::StopWorkers,
            _ => Request::Leave,
        })
    }
}

impl Fleet {
    pub(super) fn requested(&mut self, request: Request, decisions: &mut Vec<Decision>) {
        let before = self.mode;
        self.mode = before.max(request.mode());
        if self.mode != Mode::Stopping || before == self.mode {
            return;
        }
        decisions.push(Decision::StopGates);
        for at in 0..self.lanes.len() {
            self.stop_worker(at, StopReason::Asked, decisions);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_read_back() {
        for request in [Request::Drain, Request::StopWorkers, Request::Leave] {
            assert_eq!(Request::parse(request.word()), Some(request));
        }
        assert_eq!(Request::parse("stop"), None);
    }

    #[test]
    fn each_press_asks_for_more_and_an_echo_is_no_press() {
        let mut interrupts = Interrupts::default();
        for (milliseconds, want) in [
            (1_000, Some(Request::Drain)),
            (1_050, None),
            (1_240, None),
            (1_440, Some(Request::StopWorkers)),
            (9_000, Some(Request::Leave)),
            (9_500, Some(Request::Leave)),
        ] {
            assert_eq!(interrupts.press(Duration::from_millis(milliseconds)), want, "{milliseconds}");
        }
    }
}
