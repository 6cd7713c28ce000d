//! What a lead tells: to the door that it was started from, to the log of its run, and to those who only look.

use std::collections::BTreeSet;
use std::time::Duration;

use piton_model::fleet::{FleetEvent, LaneAt, Request};
use piton_model::hint::verbs;
use piton_model::{Invocation, Time};
use piton_supervisor::Identity;

use super::Progress;
use super::lead::{Lead, steady};
use super::requests::Asker;
use super::told::{EventLog, event_json};
use super::view::Published;

/// How often the view is shown and published at most.
const VIEW_EVERY: Duration = Duration::from_millis(200);

/// Where a lead tells things.
pub(super) struct Teller {
    /// The log of the run; nothing when it cannot be opened.
    pub log: Option<EventLog>,
    /// Who this lead is.
    pub own: Identity,
    /// What was published last.
    published: String,
    last_view: Duration,
    /// Accounts at their limit of which that was told.
    limited: BTreeSet<String>,
}

impl Teller {
    pub fn new(log: Option<EventLog>, own: Identity) -> Teller {
        Teller { log, own, published: String::new(), last_view: Duration::ZERO, limited: BTreeSet::new() }
    }
}

impl Lead<'_> {
    pub fn tell(&mut self, name: Option<&str>, kind: &'static str, text: &str) {
        let at = self.time();
        self.log(&event_json(at, name, kind, text));
        (self.surroundings.watcher)(&Progress::Happened { at, name, kind, text });
    }

    pub fn tell_lane(&mut self, lane: LaneAt, kind: &'static str, text: &str) {
        let name = self.work.fleet.lanes[lane].name.clone();
        self.tell(Some(&name), kind, text);
    }

    /// A log that cannot be written keeps nobody from working.
    pub(super) fn log(&mut self, event: &serde_json::Value) {
        if let Some(log) = &mut self.teller.log {
            let _ = log.add(event);
        }
    }

    /// What happened; what is decided about it tells itself.
    pub(super) fn tell_event(&mut self, event: &FleetEvent) {
        match event {
            FleetEvent::Woke => self.tell(None, "woke", "the machine slept; every worker gets its time anew"),
            FleetEvent::ClockSet => self.tell(None, "clock", "the clock was set; every worker gets its time anew"),
            FleetEvent::Begun
            | FleetEvent::Approved { .. }
            | FleetEvent::LaneApproved { .. }
            | FleetEvent::NotStarted { .. }
            | FleetEvent::LanesAdded
            | FleetEvent::LaneSettled { .. }
            | FleetEvent::LaneFreed { .. }
            | FleetEvent::GroupFreed { .. }
            | FleetEvent::LaneReopened { .. }
            | FleetEvent::LaneLeftOut { .. }
            | FleetEvent::Prepared { .. }
            | FleetEvent::CompleteEnded { .. }
            | FleetEvent::StartFailed { .. }
            | FleetEvent::WorkerStarted { .. }
            | FleetEvent::WorkerExited { .. }
            | FleetEvent::SignSeen { .. }
            | FleetEvent::DocumentChanged { .. }
            | FleetEvent::GateEnded { .. }
            | FleetEvent::MergeEnded { .. }
            | FleetEvent::FinishEnded { .. }
            | FleetEvent::Proved { .. }
            | FleetEvent::LimitReported { .. }
            | FleetEvent::Requested(_)
            | FleetEvent::StrangersCounted { .. }
            | FleetEvent::TimerFired => {}
        }
    }

    /// Says what a request does, at the moment at which it does it.
    pub(super) fn tell_request(&mut self, request: Request, asker: &Asker) {
        let pending = Pending { workers: self.work.fleet.active(), commands: self.running_commands() };
        let grace = self.settings.grace.as_secs_f64();
        let text = request_text(request, asker, pending, grace, &self.command(&[]));
        self.tell(None, "requested", &text);
    }

    /// The terminal is gone, or is to be left alone.
    pub(super) fn hang_up(&mut self) {
        let text = format!(
            "the terminal hung up; the lead goes on without a view (process {}). {}. {}",
            self.teller.own.pid,
            verbs::RUN.call().to("Show it"),
            verbs::STOP.call().to("Stop it")
        );
        self.tell(None, "detached", &text);
        (self.surroundings.watcher)(&Progress::HungUp);
    }

    /// Tells, once for each account at its limit, that lanes wait for its end, and how the user tries earlier.
    pub(super) fn tell_limits(&mut self) {
        let fleet = &self.work.fleet;
        self.teller.limited.retain(|account| fleet.parked.contains_key(account));
        let waits = |at: &LaneAt| fleet.account_of(&fleet.lanes[*at]).is_none() && fleet.limited_until(*at).is_some();
        let accounts: BTreeSet<&String> =
            (0..fleet.lanes.len()).filter(waits).flat_map(|at| &fleet.lanes[at].accounts).collect();
        let new = accounts.into_iter().filter(|account| !self.teller.limited.contains(*account));
        let new: Vec<(String, Time)> = new.map(|account| (account.clone(), fleet.parked[account])).collect();
        for (account, until) in new {
            let end = verbs::STOP.call().to(format!(
                "a usage limit is reached, and no worker ({account}) starts before {until}. To try earlier, end the lead"
            ));
            let again = self.command(&["--retry"]).to("Then");
            self.tell(None, "parked", &format!("{end}. {again}"));
            self.teller.limited.insert(account);
        }
    }

    /// Shows where everything stands, and publishes what has changed.
    pub(super) fn show(&mut self) {
        let now = steady();
        if now.saturating_sub(self.teller.last_view) < VIEW_EVERY {
            return;
        }
        self.teller.last_view = now;
        let view = self.view();
        self.publish(&view);
        (self.surroundings.watcher)(&Progress::Stands(&view));
    }

    /// Publishes where the run stands. When that fails, readers have what was published before and the run's record.
    pub(super) fn publish(&mut self, view: &super::View) {
        let text = Published::text(&self.teller.own, self.run.number, &self.work.units(), view);
        if text != self.teller.published && Published::write(self.workspace.root(), &text).is_ok() {
            self.teller.published = text;
        }
    }

    /// The command that goes on with this run.
    #[track_caller]
    pub(super) fn command(&self, options: &[&'static str]) -> Invocation {
        let (root, directory) = (self.workspace.root(), &self.surroundings.directory);
        match options.contains(&"--retry") && self.run.is_older(self.workspace) {
            true => self.run.named().command(root, directory, options),
            false => self.run.command(root, directory, options),
        }
    }

    pub fn time(&self) -> Time {
        (self.surroundings.clock)()
    }
}

/// What a lead that was asked to end still waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pending {
    /// Workers that run.
    pub workers: usize,
    /// Gates and set-up commands that run.
    pub commands: usize,
}

impl Pending {
    /// Whether nothing is waited for.
    pub fn is_empty(self) -> bool {
        self.workers + self.commands == 0
    }

    /// What it is, for people.
    pub fn shown(self) -> String {
        let workers = match self.workers {
            0 => None,
            1 => Some("its worker".to_owned()),
            n => Some(format!("its {n} workers")),
        };
        let commands = match self.commands {
            0 => None,
            1 => Some("the gate or set-up command that runs".to_owned()),
            n => Some(format!("the {n} gates and set-up commands that run")),
        };
        workers.into_iter().chain(commands).collect::<Vec<_>>().join(" and ")
    }
}

/// What a request does, for people.
fn request_text(request: Request, asker: &Asker, pending: Pending, grace: f64, again: &Invocation) -> String {
    let who = asker.shown();
    let shown = pending.shown();
    let (are, have, them) = match pending.workers + pending.commands {
        1 => ("is", "has", "it"),
        _ => ("are", "have", "them"),
    };
    let (stop, leave) = match asker {
        Asker::Terminal => (format!("Ctrl-C again stops {them}"), format!(". Ctrl-C again leaves {them} running")),
        Asker::Terminated | Asker::Command { .. } => {
            (verbs::STOP.call().flag("--workers").to(format!("To stop {them}")).to_string(), String::new())
        }
    };
    match (request, pending.is_empty()) {
        (Request::Drain, true) => format!("{who}: no new work starts; the lead ends"),
        (Request::Drain, false) => {
            format!("{who}: no new work starts; the lead ends when {shown} {have} ended. {stop}")
        }
        (Request::StopWorkers, true) => format!("{who}: the lead ends; no worker runs"),
        (Request::StopWorkers, false) => {
            format!("{who}: {shown} {are} asked to end within {grace} s; then the lead ends{leave}")
        }
        // Gates are the lead's own, and are run again by the next one.
        (Request::Leave, _) if pending.workers == 0 => format!("{who}: the lead ends now"),
        (Request::Leave, _) => {
            let workers = Pending { commands: 0, ..pending }.shown();
            format!("{who}: the lead ends now and leaves {workers} running. To continue: {again}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_says_what_it_does() {
        use Request::{Drain, Leave, StopWorkers};
        let stop = Asker::Command { pid: 12, user: Some("me".to_owned()) };
        let ctrl_c = Asker::Terminal;
        for (request, asker, running, want) in [
            (
                Drain,
                &ctrl_c,
                2,
                "Ctrl-C: no new work starts; the lead ends when its 2 workers have ended. Ctrl-C again stops them",
            ),
            (
                Drain,
                &stop,
                1,
                "piton stop (process 12, user me): no new work starts; the lead ends when its worker has ended. To stop \
                 it: piton stop --workers",
            ),
            (Drain, &Asker::Terminated, 0, "SIGTERM: no new work starts; the lead ends"),
            (
                StopWorkers,
                &ctrl_c,
                2,
                "Ctrl-C: its 2 workers are asked to end within 10 s; then the lead ends. Ctrl-C again leaves them running",
            ),
            (
                StopWorkers,
                &stop,
                1,
                "piton stop (process 12, user me): its worker is asked to end within 10 s; then the lead ends",
            ),
            (
                Leave,
                &ctrl_c,
                2,
                "Ctrl-C: the lead ends now and leaves its 2 workers running. To continue: piton run build:A",
            ),
        ] {
            let pending = Pending { workers: running, commands: 0 };
            assert_eq!(request_text(request, asker, pending, 10.0, &verbs::RUN.on("build:A")), want);
        }
        let gate = Pending { workers: 0, commands: 1 };
        assert_eq!(
            request_text(Drain, &ctrl_c, gate, 10.0, &verbs::RUN.on("build:A")),
            "Ctrl-C: no new work starts; the lead ends when the gate or set-up command that runs has ended. Ctrl-C again \
             stops it"
        );
        assert_eq!(request_text(Leave, &ctrl_c, gate, 10.0, &verbs::RUN.on("build:A")), "Ctrl-C: the lead ends now");
        let both = Pending { workers: 2, commands: 1 };
        assert_eq!(both.shown(), "its 2 workers and the gate or set-up command that runs");
    }
}
