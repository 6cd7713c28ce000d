//! Takes up the workers and gates of an earlier lead: those that live are adopted, those that ended are judged.

use std::path::Path;

use piton_model::fleet::{End, FleetEvent, How, LaneAt, LaneState, Standing};
use piton_supervisor::{Exit, Reading, Worker};

use super::lead::{Lead, Live, steady};
use super::memory::adopted;
use super::others::was_stopped;
use super::{RunError, failed};

impl Lead<'_> {
    /// Lanes that wait for a limit of an account that they need not use any more go on: their user named another worker.
    pub(super) fn free_other_accounts(&mut self) {
        for at in 0..self.work.fleet.lanes.len() {
            let lane = &self.work.fleet.lanes[at];
            if !matches!(lane.state, LaneState::Parked { .. }) {
                continue;
            }
            let used = self.memory.lanes.get(&lane.name).and_then(|known| known.account.clone());
            let other = self.work.fleet.account_of(lane).filter(|account| used.as_deref() != Some(account));
            if let Some(other) = other.map(str::to_owned) {
                let why = format!("{} is at its limit", used.unwrap_or_default());
                self.tell_lane(at, "limit", &format!("it does not wait for the limit: {other} takes over"));
                self.work.fleet.lanes[at].state = LaneState::Dead { why, how: How::Brief };
            }
        }
    }

    /// A lane that had a worker: it lives, or its end is judged, or it never began.
    pub(super) fn recover_worker(&mut self, at: LaneAt, how: How) -> Result<(), RunError> {
        let name = self.work.fleet.lanes[at].name.clone();
        let (home, account) = (self.memory.lane(&name).home.clone(), self.memory.lane(&name).account.clone());
        let worker = match home.as_deref().map(|home| Worker::adopt(&self.keeper, &self.workspace.root().join(home))) {
            Some(Ok(worker)) => worker,
            // Claimed, and never started: that is no death.
            Some(Err(_)) | None => {
                self.work.fleet.lanes[at].state = not_begun(how);
                return Ok(());
            }
        };
        let Some(end) = worker.end() else {
            self.work.fleet.lanes[at].state = adopted(how, account, steady());
            self.watch.add(at as u64, &worker).map_err(failed)?;
            let reading = Reading::new(self.kind_of(at), &worker);
            self.live.insert(at, Live::new(worker, reading));
            self.tell_lane(at, "adopted", "its worker is alive and continues");
            return Ok(());
        };
        if let Exit::NotStarted { .. } = end.exit {
            self.work.fleet.lanes[at].state = not_begun(how);
            return Ok(());
        }
        self.work.fleet.lanes[at].state = adopted(how, account, steady());
        let judged = self.judge_end(at, &worker, &end);
        if was_stopped(worker.home()) && !matches!(judged.standing, Standing::Complete(_) | Standing::Halted { .. }) {
            // A person ended it with its run: that is no death to be counted.
            self.work.fleet.lanes[at].state =
                LaneState::Dead { why: "the run was ended".to_owned(), how: How::Session };
            return Ok(());
        }
        if judged.end != End::Exited(0) {
            self.tell_lane(at, "judged", "its worker ended while no lead was at work");
        }
        let end = match judged.end {
            End::Killed(signal) => End::KilledUnled(signal),
            end => end,
        };
        self.queue.push_back(FleetEvent::WorkerExited {
            lane: at,
            end,
            standing: judged.standing,
            words: judged.words,
        });
        Ok(())
    }

    /// Ends gates that an earlier lead started: they are run again, so that their result is seen.
    pub(super) fn end_old_gates(&mut self) {
        for home in std::mem::take(&mut self.memory.gate_homes) {
            let path = self.workspace.root().join(Path::new(&home));
            if let Ok(gate) = Worker::adopt(&self.keeper, &path) {
                // One that cannot be ended belongs to no worker; the new one is judged by itself.
                let _ = gate.force_end();
            }
        }
    }
}

/// A lane whose worker was to be started and was not.
fn not_begun(how: How) -> LaneState {
    match how {
        How::Fresh => LaneState::Between,
        How::Session | How::Brief => LaneState::Dead { why: "its lead died before it began".to_owned(), how },
    }
}
