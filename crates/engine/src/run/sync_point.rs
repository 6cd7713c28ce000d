//! The sync point at which a crew's run ends: it asks what `piton sync` asks.

use std::collections::BTreeSet;

use piton_dialect::crew::layout::agent_key;
use piton_model::fleet::GateResult;
use piton_model::{Dialect, UnitRef};
use piton_supervisor::quoted;

use super::lead::Lead;
use super::left_work::heir_of;
use super::memory::{LaneMemory, Memory, SavedState};
use super::runs;
use crate::Workspace;
use crate::crew::{Crew, crews};
use crate::sync::missing_at_sync;

/// The agents of all runs, by what leads remember of them.
#[derive(Debug, Default)]
pub struct LedAgents {
    done: Vec<UnitRef>,
    /// Agents of unfinished runs whose workers are through and whose work is not merged.
    open: Vec<UnitRef>,
}

impl LedAgents {
    /// Reads what leads remember; no agents where that cannot be read.
    pub fn look(workspace: &Workspace) -> LedAgents {
        let Ok(memory) = Memory::load(workspace) else { return LedAgents::default() };
        let unfinished: BTreeSet<u64> =
            runs::all(workspace).filter(|run| !run.is_finished).map(|it| it.number).collect();
        let is_done = |lane: &LaneMemory| lane.state == SavedState::Done;
        // An agent whose worker is at work may ask for itself.
        let is_unmerged = |lane: &LaneMemory| {
            matches!(lane.state, SavedState::Paused { .. } | SavedState::Closing | SavedState::Integrated)
        };
        let named = |is_such: &dyn Fn(&LaneMemory) -> bool| {
            let lanes = memory.lanes.iter().filter(|(_, lane)| is_such(lane));
            lanes.filter_map(|(name, _)| UnitRef::parse(name).ok()).collect()
        };
        LedAgents {
            done: named(&is_done),
            open: named(&|lane| is_unmerged(lane) && lane.workers > 0 && unfinished.contains(&lane.run)),
        }
    }

    /// Whether a lead brought an agent to its end, by all of its name.
    pub fn is_done(&self, full_name: &str) -> bool {
        self.done.iter().any(|agent| agent.means(Dialect::Crew, full_name))
    }

    /// Whether an unfinished run has not merged what an agent did.
    pub fn is_open(&self, full_name: &str) -> bool {
        self.open.iter().any(|agent| agent.means(Dialect::Crew, full_name))
    }
}

impl Lead<'_> {
    /// Whether every agent of the epic of this run's crew is at the sync point, also one that the run does not list.
    pub(super) fn sync_point(&self, group: usize) -> GateResult {
        let epics = self.epics_of(group);
        let mut missing = Vec::new();
        for crew in crews(self.workspace, self.time()).iter().filter(|crew| epics.contains(&crew.base)) {
            // A run of a primary alone has nobody to meet.
            if crew.agents.iter().all(|agent| agent_key(&agent.unit.id) == "primary") {
                continue;
            }
            let names = |agent: &str| crew.agents.iter().find(|found| found.unit.id == agent).map(|it| it.name.clone());
            // Who is complete has no worker that could be heard of.
            let found = missing_at_sync(crew, |_| true, self.time());
            missing.extend(found.into_iter().map(|(agent, why)| {
                let way = self.way_without(crew, &agent).map_or_else(String::new, |way| format!(" ({way})"));
                format!("{}: {why}{way}", names(&agent).unwrap_or(agent))
            }));
        }
        match missing.is_empty() {
            true => GateResult::Passed,
            false => GateResult::Broken { why: format!("missing at the sync point: {}", missing.join("; ")) },
        }
    }

    /// How the user gives up an agent that the run does not list: its checkpoint is archived, as the protocol names it.
    fn way_without(&self, crew: &Crew, agent: &str) -> Option<String> {
        let found = crew.agents.iter().find(|found| found.unit.id == agent)?;
        let is_listed = self.work.lanes.iter().any(|work| work.unit.means(Dialect::Crew, &found.full_name));
        let path = found.unit.documents.first().map(|document| document.path.to_string())?;
        let stem = path.strip_suffix(".json").filter(|_| !is_listed)?;
        let archive = format!("{stem}_aborted_{}.json", self.time().unix_seconds());
        Some(format!("not in the list; to give it up: mv {} {}", quoted(&path), quoted(&archive)))
    }

    /// The directories of the epics that a group's agents work in. An agent that was taken over is in that of its heir.
    fn epics_of(&self, group: usize) -> BTreeSet<String> {
        let lanes = self.work.fleet.lanes.iter().zip(&self.work.lanes).filter(|(lane, _)| lane.group == group);
        let epic = |unit: &UnitRef| {
            let heir = || UnitRef::parse(&heir_of(self.workspace, unit, self.time())?.0).ok();
            let find = |unit: &UnitRef| crate::find(self.workspace, unit, self.time()).ok();
            let found = find(unit).or_else(|| find(&heir()?));
            let name = found.map_or_else(|| unit.full_name(), |found| found.full_name);
            name.rsplit_once('/').map_or(String::new(), |(epic, _)| epic.to_owned())
        };
        lanes.map(|(_, work)| epic(&work.unit)).collect()
    }
}
