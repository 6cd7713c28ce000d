//! What is known about a unit because a lead has it: facts about processes, which no document holds.

use std::fmt;

use crate::fleet::{Closing, LaneState, WorkerState};
use crate::{Age, Judgement, Lifecycle, Liveness, Rule, State, Time};

/// The lead that has a unit, or had it last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnitLead {
    /// The number of its run.
    pub run: u64,
    /// Its process.
    pub pid: u32,
    /// When it began.
    pub since: Time,
    /// Whether it is at work.
    pub is_at_work: bool,
    /// Whether it ended the run itself; one that is gone and did not was killed.
    pub has_ended: bool,
}

/// What of a unit is under way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LedWork {
    /// Its lead has nothing more to do about it: it is done.
    Settled,
    /// Its lead stopped working on it.
    Paused {
        /// Why, for a person to act on.
        why: String,
    },
    /// Its lead starts a worker when its turn has come.
    Turn,
    /// Its lead had stopped working on it and is gone; its document was changed since.
    Changed,
    /// Its last worker has died, and no other has followed yet.
    Dead {
        /// What is known about the death.
        why: String,
    },
    /// It waits for a limit to end, or for its service to come back.
    Parked {
        /// Until when.
        until: Time,
        /// What it waits for.
        why: String,
    },
    /// It waits for a person's approval.
    Approval {
        /// Of what: mostly a phase.
        what: String,
    },
    /// The lead itself is at it: gates, merges, records.
    Closing,
    /// A worker's process runs.
    Working {
        /// Whether it has given no sign for so long that it was asked for one.
        is_silent: bool,
    },
}

/// How the reason begins for which a lead leaves a unit to the session that is at work on it.
pub const LEFT_TO_SESSION: &str = "another session is at work on";

/// What a parked unit waits for, when nothing else is known.
pub const USED_UP: &str = "a usage limit is reached";

impl LedWork {
    /// What a lane's state means for its unit.
    pub fn of(state: &LaneState) -> LedWork {
        match state {
            LaneState::Queued | LaneState::Between | LaneState::Reworking { .. } => LedWork::Turn,
            LaneState::Working(worker) => match worker.state {
                WorkerState::Limited { until } => LedWork::Parked { until, why: USED_UP.to_owned() },
                WorkerState::Silent { .. } => LedWork::Working { is_silent: true },
                WorkerState::Spawning
                | WorkerState::Running { .. }
                | WorkerState::Idle { .. }
                | WorkerState::Stopping { .. } => LedWork::Working { is_silent: false },
            },
            LaneState::Dead { why, .. } | LaneState::Proving { why, .. } => LedWork::Dead { why: why.clone() },
            LaneState::Parked { until } => LedWork::Parked { until: *until, why: USED_UP.to_owned() },
            LaneState::Closing(
                Closing::Queued
                | Closing::Preparing
                | Closing::Gates { .. }
                | Closing::Approving { .. }
                | Closing::Merging
                | Closing::Finishing,
            )
            | LaneState::Integrated => LedWork::Closing,
            LaneState::Paused { reason } => LedWork::Paused { why: reason.clone() },
            LaneState::Done => LedWork::Settled,
        }
    }

    /// What counts for a unit of which several lanes are a part: a worker before all else, the end last.
    pub fn and(self, other: LedWork) -> LedWork {
        if let (LedWork::Paused { why }, LedWork::Paused { why: more }) = (&self, &other) {
            let is_known = why.contains(more.as_str());
            return if is_known { self } else { LedWork::Paused { why: format!("{why}; {more}") } };
        }
        let rank = |work: &LedWork| match work {
            LedWork::Settled => 0,
            // What stopped keeps the rest of the unit from its turn.
            LedWork::Turn | LedWork::Changed => 1,
            LedWork::Paused { .. } => 2,
            LedWork::Dead { .. } => 3,
            LedWork::Parked { .. } => 4,
            LedWork::Closing => 5,
            LedWork::Approval { .. } => 6,
            LedWork::Working { is_silent: true } => 7,
            LedWork::Working { is_silent: false } => 8,
        };
        if rank(&other) > rank(&self) { other } else { self }
    }
}

/// A unit that a lead has, or had last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Led {
    /// The lead.
    pub lead: UnitLead,
    /// What is under way.
    pub work: LedWork,
}

impl Led {
    /// Whether a lead that is at work still has something to do about the unit.
    pub fn is_held(&self) -> bool {
        self.lead.is_at_work && !matches!(self.work, LedWork::Settled | LedWork::Paused { .. })
    }

    /// Where the unit stands: one that waits is waiting, whatever its document says that was begun. What its worker calls
    /// done is not done before its lead has judged, merged and recorded it.
    pub fn state(&self, state: State) -> State {
        match (&self.work, &state) {
            (LedWork::Parked { .. } | LedWork::Approval { .. }, State::Running | State::Done) => State::Waiting,
            (LedWork::Paused { why }, State::Queued | State::Running | State::Waiting | State::Done) => {
                State::Paused { reason: Some(why.clone()) }
            }
            // The document has the reason of one step, after the unit's name.
            (LedWork::Paused { why }, State::Paused { reason: Some(reason) })
                if reason.split_once(' ').is_some_and(|(_, own)| why.contains(own)) =>
            {
                State::Paused { reason: Some(why.clone()) }
            }
            (LedWork::Turn | LedWork::Dead { .. } | LedWork::Closing | LedWork::Working { .. }, State::Done) => {
                State::Running
            }
            _ => state,
        }
    }

    /// Whether somebody works on the unit, by its processes; nothing when they do not tell.
    pub fn liveness(&self, lifecycle: Lifecycle) -> Option<Liveness> {
        // What the lead or a person recorded last is no sign of a worker.
        let is_stopped = lifecycle == Lifecycle::Blocked && matches!(self.work, LedWork::Paused { .. });
        // A sibling of what is blocked may be collected, and wait for the rest of its phase.
        if lifecycle == Lifecycle::Blocked && self.work == LedWork::Closing && !self.lead.is_at_work {
            return Some(Liveness::Idle);
        }
        let may_work =
            matches!(lifecycle, Lifecycle::Queued | Lifecycle::Running | Lifecycle::Waiting | Lifecycle::Paused);
        if !may_work && !is_stopped {
            return None;
        }
        let is_open = matches!(lifecycle, Lifecycle::Running | Lifecycle::Waiting);
        let was_killed = !self.lead.is_at_work && !self.lead.has_ended;
        match &self.work {
            LedWork::Settled => None,
            // What the session does is not in the processes of the lead.
            LedWork::Paused { why } if why.contains(LEFT_TO_SESSION) => None,
            LedWork::Paused { .. } => Some(Liveness::Idle),
            LedWork::Working { is_silent: true } => Some(Liveness::Late),
            LedWork::Working { is_silent: false } => Some(Liveness::Alive),
            LedWork::Closing if self.lead.is_at_work => Some(Liveness::Alive),
            LedWork::Parked { .. } | LedWork::Approval { .. } => Some(Liveness::Idle),
            LedWork::Dead { .. } if !self.lead.has_ended => is_open.then_some(Liveness::Dead),
            LedWork::Changed => is_open.then_some(Liveness::Idle),
            LedWork::Turn | LedWork::Closing if was_killed => is_open.then_some(Liveness::Dead),
            LedWork::Turn | LedWork::Closing | LedWork::Dead { .. } => is_open.then_some(Liveness::Idle),
        }
    }

    /// The judgement, corrected by what the processes say.
    pub fn judged(&self, lifecycle: Lifecycle, judgement: Judgement) -> Judgement {
        match self.liveness(lifecycle) {
            Some(liveness) => Judgement { liveness, rule: Rule::Process(self.to_string()), ..judgement },
            None => judgement,
        }
    }

    /// What the unit waits for, or died of, where its documents do not say it.
    pub fn reason(&self) -> Option<String> {
        match &self.work {
            LedWork::Parked { until, why } => Some(format!("parked until {until}: {why}")),
            LedWork::Approval { what } => Some(format!("waits for approval: {what}")),
            LedWork::Paused { why } => Some(why.clone()),
            LedWork::Dead { why } if !self.lead.has_ended => Some(why.clone()),
            LedWork::Dead { .. }
            | LedWork::Settled
            | LedWork::Turn
            | LedWork::Changed
            | LedWork::Closing
            | LedWork::Working { .. } => None,
        }
    }
}

impl fmt::Display for Led {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lead = match (self.lead.is_at_work, self.lead.has_ended) {
            (true, _) => "",
            (false, true) => ", and its run was ended",
            (false, false) => ", and no lead is at work",
        };
        match &self.work {
            LedWork::Settled => write!(f, "its lead has nothing more to do about it"),
            LedWork::Paused { why } => write!(f, "its lead stopped working on it: {why}"),
            LedWork::Turn if self.lead.is_at_work => write!(f, "its lead starts the next worker when there is room"),
            LedWork::Turn | LedWork::Changed => write!(f, "no worker runs{lead}"),
            LedWork::Dead { why } => write!(f, "{why}{lead}"),
            LedWork::Parked { until, why } => write!(f, "it is parked until {until}: {why}{lead}"),
            LedWork::Approval { what } => write!(f, "it waits for approval: {what}"),
            LedWork::Closing if self.lead.is_at_work => write!(f, "its lead runs gates, merges or records"),
            LedWork::Closing => write!(f, "its work was being merged{lead}"),
            LedWork::Working { is_silent: true } => {
                write!(f, "its worker runs, and was asked for a sign of life{lead}")
            }
            LedWork::Working { is_silent: false } => write!(f, "its worker's process runs{lead}"),
        }
    }
}

impl UnitLead {
    /// Who leads, for people.
    pub fn shown(&self, now: Time) -> String {
        let Age(age) = self.since.age(now);
        match (self.is_at_work, self.has_ended) {
            (true, _) => format!("`piton run`, process {}, at work for {}", self.pid, Age(age)),
            (false, true) => format!("none: run {} was ended", self.run),
            (false, false) => format!("none: process {} of run {} is gone", self.pid, self.run),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fleet::{How, Worker};

    fn led(is_at_work: bool, has_ended: bool, work: LedWork) -> Led {
        let since = Time::from_unix_seconds(1_000);
        Led { lead: UnitLead { run: 3, pid: 12, since, is_at_work, has_ended }, work }
    }

    fn parked(until: Time) -> LedWork {
        LedWork::Parked { until, why: USED_UP.to_owned() }
    }

    #[test]
    fn processes_decide_whether_somebody_works() {
        let until = Time::from_unix_seconds(9_000);
        let dead = || LedWork::Dead { why: "its worker exited with 1".to_owned() };
        let working = |is_silent| LedWork::Working { is_silent };
        let (at_work, killed, ended) = ((true, false), (false, false), (false, true));
        for (lead, work, lifecycle, want) in [
            (at_work, working(false), Lifecycle::Running, Some(Liveness::Alive)),
            (at_work, working(true), Lifecycle::Running, Some(Liveness::Late)),
            (at_work, LedWork::Closing, Lifecycle::Running, Some(Liveness::Alive)),
            (at_work, parked(until), Lifecycle::Running, Some(Liveness::Idle)),
            (at_work, dead(), Lifecycle::Running, Some(Liveness::Dead)),
            (at_work, LedWork::Turn, Lifecycle::Running, Some(Liveness::Idle)),
            (at_work, LedWork::Settled, Lifecycle::Running, None),
            (at_work, LedWork::Paused { why: "no disk".to_owned() }, Lifecycle::Running, Some(Liveness::Idle)),
            (ended, LedWork::Paused { why: "no disk".to_owned() }, Lifecycle::Running, Some(Liveness::Idle)),
            (ended, LedWork::Paused { why: "which?".to_owned() }, Lifecycle::Blocked, Some(Liveness::Idle)),
            (ended, LedWork::Turn, Lifecycle::Blocked, None),
            (ended, LedWork::Closing, Lifecycle::Blocked, Some(Liveness::Idle)),
            (at_work, LedWork::Closing, Lifecycle::Blocked, None),
            (ended, LedWork::Paused { why: format!("{LEFT_TO_SESSION} it") }, Lifecycle::Running, None),
            (at_work, LedWork::Turn, Lifecycle::Queued, None),
            (at_work, working(false), Lifecycle::Done, None),
            (at_work, dead(), Lifecycle::Paused, None),
            // A worker goes on without its lead; what it was to do next is done by nobody.
            (killed, working(false), Lifecycle::Running, Some(Liveness::Alive)),
            (killed, LedWork::Turn, Lifecycle::Running, Some(Liveness::Dead)),
            (killed, LedWork::Closing, Lifecycle::Running, Some(Liveness::Dead)),
            (killed, dead(), Lifecycle::Running, Some(Liveness::Dead)),
            (killed, parked(until), Lifecycle::Running, Some(Liveness::Idle)),
            // A run that a person ended leaves nobody dead.
            (ended, dead(), Lifecycle::Running, Some(Liveness::Idle)),
            (ended, LedWork::Turn, Lifecycle::Running, Some(Liveness::Idle)),
        ] {
            let led = led(lead.0, lead.1, work);
            assert_eq!(led.liveness(lifecycle), want, "{led:?} {lifecycle:?}");
        }
    }

    #[test]
    fn a_unit_of_several_lanes_is_at_work_while_one_of_them_is() {
        let until = Time::from_unix_seconds(9_000);
        let all = [
            LedWork::Settled,
            LedWork::Turn,
            LedWork::Paused { why: "y".to_owned() },
            LedWork::Dead { why: "x".to_owned() },
            parked(until),
            LedWork::Closing,
            LedWork::Approval { what: "Ground".to_owned() },
            LedWork::Working { is_silent: true },
            LedWork::Working { is_silent: false },
        ];
        for (place, less) in all.iter().enumerate() {
            for more in &all[place..] {
                assert_eq!(less.clone().and(more.clone()), *more);
                assert_eq!(more.clone().and(less.clone()), *more);
            }
        }
    }

    #[test]
    fn a_worker_that_waits_for_a_limit_is_parked_and_its_unit_waits() {
        let until = Time::from_unix_seconds(9_000);
        let since = std::time::Duration::ZERO;
        let state = WorkerState::Limited { until };
        let worker = Worker { how: How::Fresh, account: String::new(), since, state };
        assert_eq!(LedWork::of(&LaneState::Working(worker)), parked(until));
        let led = led(true, false, parked(until));
        assert_eq!(led.state(State::Running), State::Waiting);
        assert_eq!(led.state(State::Done), State::Waiting);
        assert_eq!(led.reason().as_deref(), Some("parked until 1970-01-01T02:30:00Z: a usage limit is reached"));
    }

    #[test]
    fn what_a_worker_calls_done_is_done_when_its_lead_says_so() {
        let why = || "gate sign failed".to_owned();
        let paused = || State::Paused { reason: Some(why()) };
        let blocked = State::Blocked;
        for (work, state, want) in [
            (LedWork::Settled, State::Done, State::Done),
            (LedWork::Closing, State::Done, State::Running),
            (LedWork::Turn, State::Done, State::Running),
            (LedWork::Turn, State::Queued, State::Queued),
            (LedWork::Paused { why: why() }, State::Done, paused()),
            (LedWork::Paused { why: why() }, State::Queued, paused()),
            // What a document itself says about it is more than its lead knows.
            (LedWork::Paused { why: why() }, blocked.clone(), blocked),
        ] {
            assert_eq!(led(true, false, work).state(state), want);
        }
        let both = LedWork::Paused { why: why() }.and(LedWork::Paused { why: "no disk".to_owned() });
        assert_eq!(both, LedWork::Paused { why: "gate sign failed; no disk".to_owned() });
    }
}
