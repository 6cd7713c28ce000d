//! Units of their own that somebody listed in a run file: tasks, and the features of a crew.

use piton_model::fleet::{Lane, LaneState};
use piton_model::{Dialect, Id, Lifecycle, Start, UnitRef};

use super::super::judges::with_command;
use super::super::memory::Memory;
use super::lists::ListedUnit;
use super::{Draft, DraftLane, LaneWork};
use crate::find::find_recorded;
use crate::target::Target;

/// A unit as somebody listed it.
#[derive(Debug, Clone)]
pub(super) struct Listed {
    pub parts: Vec<Id>,
    /// Whether the parts are all of its name.
    pub is_whole: bool,
    pub title: Option<String>,
    pub depends_on: Vec<String>,
    pub text: Option<String>,
    pub start: Start,
}

impl Listed {
    /// The same for a unit that is named, when it is this one.
    pub fn as_unit(&self, unit: &UnitRef) -> Option<Listed> {
        let is_it = self.parts.ends_with(&unit.parts);
        is_it.then(|| Listed { parts: unit.parts.clone(), is_whole: unit.is_whole, ..self.clone() })
    }

    /// The same for a unit that continues this one, because its agent took it over. `heir_of` says which unit that is.
    pub fn as_heir(
        &self,
        dialect: Dialect,
        unit: &UnitRef,
        heir_of: &dyn Fn(&UnitRef) -> Option<UnitRef>,
    ) -> Option<Listed> {
        let own = UnitRef { dialect: Some(dialect), parts: self.parts.clone(), is_whole: self.is_whole };
        let is_it = heir_of(&own)?.parts.ends_with(&unit.parts);
        is_it.then(|| Listed { parts: unit.parts.clone(), is_whole: unit.is_whole, ..self.clone() })
    }

    /// What the list says about it.
    pub fn into_listed(self) -> ListedUnit {
        let Listed { title, depends_on, text, start, .. } = self;
        ListedUnit { title, text, depends_on, start, story: None }
    }

    /// Whether another one may be waited for by a name.
    fn is_called(&self, name: &str) -> bool {
        let parts: Vec<&str> = self.parts.iter().map(Id::as_str).collect();
        parts.last() == Some(&name) || parts.join("/") == name
    }

    /// Leaves out what units wait for that was not named beside them.
    pub fn wait_among(all: &mut [&mut Listed]) {
        for at in 0..all.len() {
            let mut names = std::mem::take(&mut all[at].depends_on);
            names.retain(|name| all.iter().any(|other| other.is_called(name)));
            all[at].depends_on = names;
        }
    }

    /// One of which only the name is known.
    pub fn named(unit: &UnitRef) -> Listed {
        let (parts, start) = (unit.parts.clone(), Start::default());
        Listed { parts, is_whole: unit.is_whole, title: None, depends_on: Vec::new(), text: None, start }
    }
}

impl Draft<'_> {
    /// Adds a lane that is a whole unit. Others wait for it by the last part of its name; files are named after `file`.
    /// Returns the name of the unit.
    pub(super) fn add_listed(&mut self, dialect: Dialect, listed: Listed, lane: Lane, file: String) -> String {
        let typed = UnitRef { dialect: Some(dialect), parts: listed.parts, is_whole: listed.is_whole };
        let found = find_recorded(self.workspace, &typed, self.now).ok();
        // A unit that has namesakes is one of them for good, whatever others come and go.
        let mut known = found.as_ref().and_then(|found| UnitRef::parse(&found.name).ok());
        if let (Some(known), Some(last)) = (&mut known, typed.parts.last())
            && found.as_ref().is_some_and(|found| found.unit.is_unreadable())
        {
            // The name of the file is not spelled as the unit is.
            known.parts.pop();
            known.parts.push(last.clone());
        }
        // An agent is called by its whole epic: another epic may get an agent of its name. The epic may be left out.
        let epic = match &found {
            _ if dialect != Dialect::Crew => None,
            Some(found) => found.full_name.rsplit_once('/').map(|(epic, _)| epic.to_owned()),
            None if typed.parts.len() == 1 && !typed.is_whole => {
                Some(Target::make(self.workspace, &typed, dialect).place.base).filter(|base| !base.is_empty())
            }
            None => None,
        };
        if let Some(epic) = epic {
            // The list may spell the agent otherwise than its checkpoint. Where it says the epic, it is how the user calls it.
            let is_named = typed.parts.len() > 1;
            let last = known.as_ref().filter(|_| !is_named).unwrap_or(&typed).parts.last().cloned();
            let epic = epic.split('/').filter_map(|part| Id::parse(part).ok());
            known = Some(UnitRef { parts: epic.chain(last).collect(), is_whole: false, ..typed.clone() });
        }
        let key = typed.parts.last().map_or(String::new(), Id::to_string);
        let unit = known.unwrap_or(typed);
        // What leads know of an agent they know by the name that it had first.
        let remembered = if dialect == Dialect::Crew { self.remembered_agent(&unit) } else { None };
        let unit = remembered.unwrap_or(unit);
        let name = unit.to_string();
        let found = found.map(|found| found.unit);
        let is_done = found.as_ref().is_some_and(|unit| unit.state.lifecycle() == Lifecycle::Done);
        let criteria = found.iter().flat_map(|unit| &unit.gates).map(|gate| gate.name.clone());
        let criteria = listed.start.criteria.iter().cloned().chain(criteria);
        // A criterion that a command can tell about is not a matter of words. An agent's feature has no criteria of its own:
        // like a story it is judged by all commands.
        let gates = match dialect {
            Dialect::Crew => self.settings.gates.keys().cloned().collect(),
            Dialect::Task => with_command(criteria, &self.settings.gates),
            Dialect::Pipeline | Dialect::Plan | Dialect::Build => Vec::new(),
        };
        let title = listed.title.or_else(|| found.and_then(|unit| unit.title));
        let start = match dialect {
            Dialect::Task => Start { title: title.clone(), ..listed.start },
            Dialect::Pipeline | Dialect::Plan | Dialect::Build | Dialect::Crew => listed.start,
        };
        let state = if is_done { LaneState::Done } else { LaneState::Queued };
        let lane = Lane { name: name.clone(), state, gates, ..lane };
        let work = LaneWork {
            dialect,
            unit,
            unit_name: name,
            id: file,
            title,
            text: listed.text,
            step: None,
            outputs: Vec::new(),
            brief: serde_json::Map::new(),
            start,
            worker: None,
        };
        let name = work.unit_name.clone();
        self.add_lane(DraftLane { lane, work, after: listed.depends_on, key });
        name
    }

    /// The name by which a lead knows an agent already.
    fn remembered_agent(&self, unit: &UnitRef) -> Option<UnitRef> {
        let lanes = Memory::load(self.workspace).map(|memory| memory.lanes).unwrap_or_default();
        let mut known = lanes.into_keys().filter_map(|name| UnitRef::parse(&name).ok());
        let is_it = |known: &UnitRef| known.dialect == unit.dialect && known.parts.len() == unit.parts.len();
        known.find(|known| is_it(known) && known.is_whole == unit.is_whole && known.may_be(unit))
    }
}
