//! A crew: agents with a feature each, that work in parallel and meet at a sync point.

use std::collections::BTreeMap;

use piton_model::fleet::{Approval, Lane};
use piton_model::{Dialect, Id, Start, UnitRef};

use super::super::section::{BadFile, Section};
use super::lists::ListedUnit;
use super::{Draft, GroupWork, Listed, WorkError, id, new_phase, phase_gate, unusable};
use crate::find::find_recorded;

/// The name of the gate that ends a crew's run: everybody is at the sync point.
pub const SYNC: &str = "sync point";

/// An agent as somebody listed it.
#[derive(Debug, Clone)]
pub struct Agent {
    wave: i64,
    listed: Listed,
}

impl Agent {
    /// The agent as a list has it, when it is this unit. The list may know its epic, where the user left that out.
    pub fn as_unit(&self, unit: &UnitRef) -> Option<Agent> {
        // Either may leave the epic out, and agents are known by names that fold.
        let has_epic = self.listed.parts.len() >= unit.parts.len();
        let parts = if has_epic { self.listed.parts.clone() } else { unit.parts.clone() };
        let listed = Listed { parts, is_whole: unit.is_whole, ..self.listed.clone() };
        self.unit().may_be(unit).then_some(Agent { wave: self.wave, listed })
    }

    /// The agent as a list has it, when this unit continues its work.
    pub fn as_heir(&self, unit: &UnitRef, heir_of: &dyn Fn(&UnitRef) -> Option<UnitRef>) -> Option<Agent> {
        Some(Agent { wave: self.wave, listed: self.listed.as_heir(Dialect::Crew, unit, heir_of)? })
    }

    /// The unit that it describes.
    pub fn unit(&self) -> UnitRef {
        UnitRef { dialect: Some(Dialect::Crew), parts: self.listed.parts.clone(), is_whole: self.listed.is_whole }
    }

    /// Whether this is the whole name of its unit.
    pub fn is_called(&self, unit: &UnitRef) -> bool {
        self.listed.parts.len() == unit.parts.len() && self.unit().may_be(unit)
    }

    /// What the list says about it.
    pub fn into_listed(self) -> ListedUnit {
        self.listed.into_listed()
    }

    /// The agents that it waits for.
    pub fn depends_on(&self) -> &[String] {
        &self.listed.depends_on
    }

    /// Leaves out what agents wait for that is not among them.
    pub fn wait_among(agents: &mut [Agent]) {
        Listed::wait_among(&mut agents.iter_mut().map(|agent| &mut agent.listed).collect::<Vec<_>>());
    }

    /// An agent of which only the name is known.
    pub fn named(unit: &UnitRef) -> Agent {
        Agent { wave: 1, listed: Listed::named(unit) }
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
        if all.iter().any(|known: &Agent| known.listed.parts == parts) {
            let message = format!("the agent {agent} is listed twice");
            return Err(BadFile { path: root.path.clone(), message, hint: None });
        }
        let feature = section.text("feature")?;
        let start = Start {
            feature,
            stage: Some(section.text("stage")?.unwrap_or_else(|| "S2.P1".to_owned())),
            agent_type: section.text("type")?,
            ..Start::default()
        };
        all.push(Agent {
            wave: section.integer("wave")?.unwrap_or(1).max(1),
            listed: Listed {
                is_whole: false,
                parts,
                title: start.feature.clone(),
                depends_on: section.texts("depends_on")?.unwrap_or_default(),
                text: section.text("text")?,
                start,
            },
        });
        section.finish()?;
    }
    Ok(all)
}

impl Draft<'_> {
    /// Adds agents. A list ends with the sync point of its epics; who names agents alone asks for no more than these.
    pub(super) fn add_agents(&mut self, agents: Vec<Agent>, ends_with: Option<&str>) -> Result<(), WorkError> {
        for agent in &agents {
            // A sync point is about the agents of one epic, and of no other.
            let epic = epic_of(&agent.listed.parts);
            let in_epic = agents.iter().filter(|other| epic_of(&other.listed.parts) == epic);
            let last = in_epic.map(|other| other.wave).max().unwrap_or(1);
            let phases = (1..=last).map(|wave| {
                let gates = ends_with.filter(|_| wave == last).map(|gate| phase_gate(gate, None, false));
                new_phase(format!("wave {wave}"), gates.into_iter().collect(), Approval::NotNeeded)
            });
            let name = if epic.is_empty() { "crew".to_owned() } else { format!("crew:{epic}") };
            let work = GroupWork { dialect: Dialect::Crew, unit: None, gates: Vec::new(), spec: None };
            self.add_group(&name, phases.collect(), work);
        }
        let mut names = BTreeMap::new();
        for agent in agents {
            let epic = epic_of(&agent.listed.parts);
            let name = if epic.is_empty() { "crew".to_owned() } else { format!("crew:{epic}") };
            let work = GroupWork { dialect: Dialect::Crew, unit: None, gates: Vec::new(), spec: None };
            let group = self.add_group(&name, Vec::new(), work);
            let lane = Lane {
                phase: usize::try_from(agent.wave - 1).unwrap_or(0),
                // A secondary that dies too often is put off to the next wave.
                waves_left: 1,
                ..Lane::new(String::new(), group)
            };
            // The same agent may work in two epics: files are named after both.
            let file = self.with_epic(&agent.listed).iter().map(String::as_str).collect::<Vec<_>>().join("-");
            let parts = agent.listed.parts.clone();
            let name = self.add_listed(Dialect::Crew, agent.listed, lane, file);
            if let Some(other) = names.insert(name.clone(), parts.clone()).filter(|other| *other != parts) {
                let text = |parts: &[Id]| parts.iter().map(Id::as_str).collect::<Vec<_>>().join("/");
                let why = format!("{} and {} of the list are one agent, {name}", text(&other), text(&parts));
                return Err(unusable(why, "list it once, or say the epic of each"));
            }
        }
        Ok(())
    }
}

impl Draft<'_> {
    /// The parts of an agent's name. One whose epic was left out is in the epic in which its checkpoint is: its branch is named
    /// after that.
    fn with_epic(&self, listed: &Listed) -> Vec<String> {
        let parts: Vec<String> = listed.parts.iter().map(Id::to_string).collect();
        let unit = UnitRef { dialect: Some(Dialect::Crew), parts: listed.parts.clone(), is_whole: listed.is_whole };
        let found = find_recorded(self.workspace, &unit, self.now).ok();
        let epic = found.as_ref().and_then(|found| found.full_name.rsplit_once('/')).map(|(epic, _)| epic);
        match (epic, parts.last()) {
            (Some(epic), Some(name)) if epic.split('/').count() >= parts.len() => {
                epic.split('/').map(str::to_owned).chain([name.clone()]).collect()
            }
            _ => parts,
        }
    }
}

/// The directory of an agent's epic; empty for the workspace's own.
fn epic_of(parts: &[Id]) -> String {
    let above = parts.len().saturating_sub(1);
    parts[..above].iter().map(Id::as_str).collect::<Vec<_>>().join("/")
}
