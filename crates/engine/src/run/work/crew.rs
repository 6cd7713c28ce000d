//! A crew: agents with a feature each, that work in parallel and meet at a sync point.

use piton_model::fleet::{Approval, Lane, LaneState};
use piton_model::{Dialect, Id, Lifecycle, Start, UnitRef};

use super::super::section::{BadFile, Section};
use super::{Draft, DraftLane, GroupWork, LaneWork, WorkError, id, new_lane, new_phase};

/// The name of the gate that ends a crew's run: everybody is at the sync point.
pub const SYNC: &str = "sync point";

/// An agent as somebody listed it.
#[derive(Debug, Clone)]
pub struct Agent {
    parts: Vec<Id>,
    wave: i64,
    depends_on: Vec<String>,
    text: Option<String>,
    start: Start,
}

impl Agent {
    /// An agent of which only the name is known.
    pub fn named(unit: &UnitRef) -> Agent {
        Agent { parts: unit.parts.clone(), wave: 1, depends_on: Vec::new(), text: None, start: Start::default() }
    }
}

/// Takes the agents of a file.
pub fn agents(root: &mut Section) -> Result<Vec<Agent>, BadFile> {
    let mut all = Vec::new();
    for mut section in root.sections("agents")? {
        let agent = section.text("agent")?.unwrap_or_default();
        let mut parts = Vec::new();
        if let Some(epic) = section.text("epic")? {
            for part in epic.split('/').filter(|part| !part.is_empty()) {
                parts.push(id(&section.path, "directory", part)?);
            }
        }
        parts.push(id(&section.path, "agent", &agent)?);
        let feature = section.text("feature")?;
        let start = Start {
            feature,
            stage: Some(section.text("stage")?.unwrap_or_else(|| "S2.P1".to_owned())),
            agent_type: section.text("type")?,
            ..Start::default()
        };
        all.push(Agent {
            parts,
            wave: section.integer("wave")?.unwrap_or(1).max(1),
            depends_on: section.texts("depends_on")?.unwrap_or_default(),
            text: section.text("text")?,
            start,
        });
        section.finish()?;
    }
    Ok(all)
}

impl Draft<'_> {
    pub(super) fn add_agents(&mut self, agents: Vec<Agent>) -> Result<(), WorkError> {
        let last = agents.iter().map(|agent| agent.wave).max().unwrap_or(1);
        for agent in agents {
            let phases = (1..=last).map(|wave| {
                let gates = if wave == last { vec![SYNC.to_owned()] } else { Vec::new() };
                new_phase(format!("wave {wave}"), &gates, Approval::NotNeeded)
            });
            let work = GroupWork { dialect: Dialect::Crew, unit: None, gates: Vec::new() };
            let group = self.add_group("crew", phases.collect(), work);
            let unit = UnitRef { dialect: Some(Dialect::Crew), parts: agent.parts.clone() };
            let found = crate::find(self.workspace, &unit, self.now).ok();
            let is_done = found.as_ref().is_some_and(|it| it.unit.state.lifecycle() == Lifecycle::Done);
            let name = unit.to_string();
            let lane = Lane {
                phase: usize::try_from(agent.wave - 1).unwrap_or(0),
                // A secondary that dies too often is put off to the next wave.
                waves_left: 1,
                state: if is_done { LaneState::Done } else { LaneState::Queued },
                ..new_lane(name.clone(), group)
            };
            let key = agent.parts.last().map_or(String::new(), Id::to_string);
            let title = agent.start.feature.clone();
            let work = LaneWork {
                dialect: Dialect::Crew,
                unit,
                unit_name: name,
                id: key.clone(),
                title,
                text: agent.text,
                step: None,
                outputs: Vec::new(),
                start: agent.start,
            };
            self.add_lane(DraftLane { lane, work, after: agent.depends_on, key });
        }
        Ok(())
    }
}
