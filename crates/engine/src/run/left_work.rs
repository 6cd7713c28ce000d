//! Work that another agent or another lead left on a branch: it is taken up, or named to the user. A unit that continues
//! there counts on it.

use piton_model::fleet::{FleetEvent, LaneAt, LaneState};
use piton_model::hint::verbs;
use piton_model::{Dialect, Hint, Id, Invocation, Lifecycle, Row, State, Time, Unit, UnitRef};
use piton_store::journal::Entry;
use piton_supervisor::{Condition, Worker};
use serde_json::Value;

use super::lead::Lead;
use super::unknown_work::{UnknownWork, has_changes};
use crate::Workspace;
use crate::find::find_alone;
use crate::repair::TAKEN_OVER;

/// How many takeovers in a row are followed.
const MOST_TAKEOVERS: usize = 50;

impl Lead<'_> {
    /// Whether a lane that its documents call done has work on a branch of ours that did not reach the base: its worker
    /// recorded it, and no lead merged it yet. What git cannot tell is left to the merge.
    pub(super) fn is_left_on_its_branch(&self, at: LaneAt) -> bool {
        let Some(known) = self.memory.lanes.get(&self.work.fleet.lanes[at].name) else { return false };
        let (Some(repository), Some(base)) = (&self.repository, &self.memory.run.base) else { return false };
        let Some(branch) = known.branch.as_ref().filter(|_| known.merged.is_none()) else { return false };
        let tree = known.worktree.as_ref().map(|tree| self.workspace.root().join(tree)).filter(|tree| tree.is_dir());
        if tree.is_some_and(|tree| has_changes(repository, base, &tree)) {
            return true;
        }
        match repository.tip(branch) {
            Ok(Some(tip)) => matches!(repository.is_reachable(&tip, &format!("refs/heads/{base}")), Ok(false)),
            // A branch that is gone has work that is nowhere, unless its user merged it.
            Ok(None) => known.tip.as_ref().is_some_and(|tip| matches!(repository.has_taken(base, tip), Ok(false))),
            Err(_) => false,
        }
    }

    /// Holds a lane back of which no lead remembers anything, where work of it is not on the base.
    pub(super) fn hold_unknown_work(&mut self, at: LaneAt, rows: &[Row]) {
        let (lane, work) = (&self.work.fleet.lanes[at], &self.work.lanes[at]);
        let row = rows.iter().find(|row| work.unit.means(row.dialect, &row.full_name));
        if let Some(reason) = self.unknown_work().holds(lane, work, row) {
            // What its documents say is not judged.
            self.queue.retain(|event| !matches!(event, FleetEvent::WorkerExited { lane, .. } if *lane == at));
            self.hold(at, reason);
        }
    }

    fn unknown_work(&self) -> UnknownWork<'_> {
        UnknownWork {
            workspace: self.workspace,
            memory: &self.memory,
            settings: &self.settings,
            ground: self.repository.as_ref().zip(self.memory.run.base.as_deref()),
            now: self.time(),
        }
    }

    /// Gives the branch and the worktree of an agent that was taken over to the lane of the agent that continues its work.
    pub(super) fn take_up_branches(&mut self) {
        let left: Vec<(String, String)> = self.memory.lanes.keys().filter_map(|name| self.left_to_heir(name)).collect();
        for (before, heir) in left {
            let lanes = self.work.lanes.iter();
            let Some(at) = lanes.zip(0..).find_map(|(work, at)| (work.unit_name == heir).then_some(at)) else {
                continue;
            };
            let name = self.work.fleet.lanes[at].name.clone();
            if self.memory.lane(&name).branch.is_some() {
                continue;
            }
            let old = self.memory.lane(&before);
            let (worktree, branch) = (old.worktree.take(), old.branch.take());
            let (is_set_up, set_up_by) = (old.is_set_up, std::mem::take(&mut old.set_up_by));
            let copied = std::mem::take(&mut old.copied);
            let (tip, seen, worked) = (old.tip.take(), old.seen.take(), old.worked.take());
            let words = format!("it continues on {}, the branch of {before}", branch.as_deref().unwrap_or_default());
            let lane = self.memory.lane(&name);
            (lane.worktree, lane.branch, lane.is_set_up, lane.set_up_by) = (worktree, branch, is_set_up, set_up_by);
            (lane.tip, lane.seen, lane.worked, lane.copied) = (tip, seen, worked, copied);
            self.tell_lane(at, "branch", &words);
        }
    }

    /// A lane with a branch that is not merged and without a worker at work, and the unit that continues it.
    fn left_to_heir(&self, name: &str) -> Option<(String, String)> {
        let known = self.memory.lanes.get(name).filter(|known| known.branch.is_some() && known.merged.is_none())?;
        let heir = self.heir_of(&UnitRef::parse(name).ok()?)?;
        let home = known.home.as_ref().map(|home| self.workspace.root().join(home));
        let worker = home.and_then(|home| Worker::adopt(&self.keeper, &home).ok());
        let is_at_work = worker.is_some_and(|worker| matches!(worker.condition(), Ok(Condition::Running { .. })));
        (!is_at_work).then(|| (name.to_owned(), heir))
    }

    /// The unit that continues one whose document is gone because another agent took it over.
    pub(super) fn heir_of(&self, unit: &UnitRef) -> Option<String> {
        heir_of(self.workspace, unit, self.time()).map(|(name, _)| name)
    }

    /// Whether the work of a lane was done by another agent, who took it over, and no branch of it is left.
    pub(super) fn is_done_by_heir(&self, at: LaneAt) -> Option<String> {
        let known = self.memory.lanes.get(&self.work.fleet.lanes[at].name);
        let is_left = known.is_some_and(|known| known.branch.is_some() && known.merged.is_none());
        let (heir, unit) = heir_of(self.workspace, &self.work.lanes[at].unit, self.time())?;
        (unit.state == State::Done && !is_left).then_some(heir)
    }

    /// Why the lane of an agent that was taken over gets no worker.
    pub(super) fn is_continued_by(&self, at: LaneAt) -> Option<Hint> {
        let name = &self.work.lanes[at].unit_name;
        let (heir, unit) = heir_of(self.workspace, &self.work.lanes[at].unit, self.time())?;
        let place = match self.work.lanes.iter().any(|work| work.unit_name == heir) {
            true => format!("take {name} off the list"),
            false => format!("list {heir} in its place"),
        };
        let run = continued_by(&heir, &unit);
        Some(run.to(format!("it was taken over; {place}, or continue that alone")))
    }

    /// Holds a lane back, with the reason.
    pub(super) fn hold(&mut self, at: LaneAt, reason: String) {
        self.tell_lane(at, "paused", &reason);
        self.work.fleet.lanes[at].state = LaneState::Paused { reason };
    }
}

/// The agent that took a unit over by an event.
fn taken_over(entry: &Entry) -> Option<Id> {
    let agent = entry.data.get("agent").and_then(Value::as_str).filter(|_| entry.event == TAKEN_OVER)?;
    Id::parse(agent).ok()
}

/// The unit that continues one whose document is gone because another agent took it over, with its name.
pub(super) fn heir_of(workspace: &Workspace, unit: &UnitRef, now: Time) -> Option<(String, Unit)> {
    let mut unit = unit.clone();
    let mut heir = None;
    for _ in 0..MOST_TAKEOVERS {
        // The agent is the last part of its unit's name, or stands before its task.
        let own = match unit.dialect? {
            Dialect::Crew => unit.parts.len().checked_sub(1)?,
            Dialect::Task => unit.parts.len().checked_sub(2)?,
            Dialect::Pipeline | Dialect::Plan | Dialect::Build => return None,
        };
        if let Some(found) = find_alone(workspace, &unit, now) {
            return heir.map(|_: Id| (unit.to_string(), found));
        }
        let events = crate::log(workspace, &unit, now).map(|log| log.log.events).unwrap_or_default();
        let agent = events.last().and_then(taken_over)?;
        unit.parts[own] = agent.clone();
        heir = Some(agent);
    }
    None
}

/// How the work of a unit that was taken over is continued.
#[track_caller]
pub(super) fn continued_by(heir: &str, unit: &Unit) -> Invocation {
    match unit.state.lifecycle() {
        Lifecycle::Paused | Lifecycle::Failed => verbs::RUN.on(heir).flag("--retry"),
        Lifecycle::Queued
        | Lifecycle::Running
        | Lifecycle::Waiting
        | Lifecycle::Blocked
        | Lifecycle::Done
        | Lifecycle::Unknown => verbs::RUN.on(heir),
    }
}
