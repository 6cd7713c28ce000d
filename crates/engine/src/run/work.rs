//! What there is to do, read where each dialect keeps it, as lanes of a fleet. Nothing is written here.

mod before;
mod build;
mod crew;
mod listed;
mod lists;
mod pipeline;
mod plan;
mod task;

use std::collections::BTreeSet;
use std::path::Path;

use piton_model::fleet::{
    Approval, Completion, Cycle, Fleet, GateKind, GateProgress, Group, Lane, LaneAt, LaneState, Phase, PhaseGate,
    PhaseState, find_cycle,
};
use piton_model::hint::verbs;
use piton_model::{Dialect, Hint, Id, Start, Time, Unit, UnitRef};

pub(super) use self::before::Before;
pub(super) use self::build::{gates_by_phase, specification, streams_by_phase, undefined};
use self::listed::Listed;
pub(super) use self::lists::{ListedUnit, Lists};
pub use self::pipeline::Story;
pub(super) use self::pipeline::{BOARDS, stories, without};
pub(super) use self::plan::{left_out, plan_lane, plan_phase, stage_of};
use super::left_work::heir_of;
use super::section::{BadFile, parse};
use super::settings::Settings;
use super::ways::fetched;
use crate::find::find_recorded;
use crate::{NotFound, Workspace};

/// What a run is about, beside the rules of [`Fleet`].
#[derive(Debug)]
pub struct Work {
    /// The lanes and groups with their rules.
    pub fleet: Fleet,
    /// What each lane is about; as many as there are lanes.
    pub lanes: Vec<LaneWork>,
    /// What each group is about; as many as there are groups.
    pub groups: Vec<GroupWork>,
}

impl Work {
    /// The names of all its units.
    pub fn units(&self) -> BTreeSet<String> {
        self.lanes.iter().map(|lane| lane.unit_name.clone()).collect()
    }
}

/// What a lane is about.
#[derive(Debug, Clone)]
pub struct LaneWork {
    /// The protocol of its unit.
    pub dialect: Dialect,
    /// Its unit.
    pub unit: UnitRef,
    /// The unit's name: `build:PRD-009`.
    pub unit_name: String,
    /// What tells it from other lanes, as a file's name.
    pub id: String,
    /// What a person calls it.
    pub title: Option<String>,
    /// What is to be done, in words.
    pub text: Option<String>,
    /// The step of the unit that it is, where it is not the whole unit.
    pub step: Option<String>,
    /// Files that it makes.
    pub outputs: Vec<String>,
    /// What a story's workers are told in short: the keys of `story_briefs`.
    pub brief: serde_json::Map<String, serde_json::Value>,
    /// How its unit starts.
    pub start: Start,
    /// The worker that it asks for: of a story, or the executor of a workstream.
    pub worker: Option<String>,
}

/// What a group is about.
#[derive(Debug, Clone)]
pub struct GroupWork {
    /// The protocol of its units.
    pub dialect: Dialect,
    /// The unit that all of its lanes belong to, where it is one.
    pub unit: Option<UnitRef>,
    /// Commands that the unit's own specification names for gates.
    pub gates: Vec<(String, String)>,
    /// The specification, relative to the workspace, where the unit has one.
    pub spec: Option<String>,
}

/// Why there is nothing to run.
#[derive(Debug)]
pub enum WorkError {
    /// A file of a person is wrong.
    File(BadFile),
    /// A unit is not there, or several are.
    Unit {
        /// As it was typed.
        wanted: String,
        /// Why.
        error: NotFound,
    },
    /// Lanes wait for each other.
    Cycle {
        /// Their names, each waits for the next.
        names: Vec<String>,
    },
    /// Nothing was named, and there are no stories.
    Nothing {
        /// What to do next.
        hint: Hint,
    },
    /// Something else that a person can mend.
    Unusable {
        /// What, as a fragment.
        message: String,
        /// What to do next.
        hint: Hint,
    },
}

impl From<BadFile> for WorkError {
    fn from(error: BadFile) -> WorkError {
        WorkError::File(error)
    }
}

pub(super) fn unusable(message: impl Into<String>, hint: impl Into<Hint>) -> WorkError {
    WorkError::Unusable { message: message.into(), hint: hint.into() }
}

/// Reads what is to be done.
pub(super) fn read_work(
    workspace: &Workspace,
    settings: &Settings,
    wanted: &[String],
    now: Time,
) -> Result<Work, WorkError> {
    let mut draft = Draft::new(workspace, settings, now);
    let mut named = Named::default();
    for typed in wanted {
        match named_file(workspace, typed)? {
            Some((path, text)) => draft.add_file(&path, &text)?,
            None => draft.add_unit(typed, &mut named)?,
        }
    }
    draft.add_named(&named, wanted.is_empty())?;
    draft.finish()
}

/// The lanes of one unit that has a document, by their names; nothing when it cannot be run. No lead is asked about it.
pub(super) fn read_lanes(workspace: &Workspace, settings: &Settings, unit: &str, now: Time) -> Vec<(String, LaneWork)> {
    let (mut draft, mut named) = (Draft::new(workspace, settings, now), Named::default());
    let added = draft.add_unit(unit, &mut named).and_then(|()| draft.add_named(&named, false));
    let lanes = added.map(|()| draft.lanes).unwrap_or_default();
    lanes.into_iter().map(|draft| (draft.lane.name, draft.work)).collect()
}

/// Units that were named and that a list may describe: what they wait for among each other is in the list.
#[derive(Default)]
struct Named {
    stories: Vec<Id>,
    /// Each as it was typed.
    tasks: Vec<(String, UnitRef)>,
    agents: Vec<(String, UnitRef)>,
}

/// Whether the workspace lists stories.
pub(super) fn has_stories(workspace: &Workspace, settings: &Settings) -> Result<bool, WorkError> {
    Ok(count_stories(workspace, settings)? > 0)
}

/// How many stories the workspace lists.
pub(super) fn count_stories(workspace: &Workspace, settings: &Settings) -> Result<usize, WorkError> {
    Ok(pipeline::known(workspace, settings)?.len())
}

/// A file that was named on the command line; nothing when the text means a unit.
fn named_file(workspace: &Workspace, typed: &str) -> Result<Option<(String, String)>, WorkError> {
    let path = Path::new(typed);
    if typed.contains(':') && !path.exists() {
        return Ok(None);
    }
    let read = crate::read_named_text(path).map_err(|error| {
        unusable(format!("cannot read `{typed}`: {error}"), "name a run file, a specification or a unit")
    })?;
    let shown = workspace.relative(path).unwrap_or_else(|| typed.to_owned());
    Ok(read.map(|text| (shown, text)))
}

/// Work that is being read.
pub(super) struct Draft<'w> {
    pub workspace: &'w Workspace,
    pub settings: &'w Settings,
    pub now: Time,
    groups: Vec<(Group, GroupWork)>,
    lanes: Vec<DraftLane>,
}

/// A lane whose dependencies are still names.
pub(super) struct DraftLane {
    pub lane: Lane,
    pub work: LaneWork,
    /// Names that it waits for, within its group.
    pub after: Vec<String>,
    /// Under which name others wait for it.
    pub key: String,
}

impl LaneWork {
    /// Whether others may wait for it by this name: `AGENT/ID`, or the whole name of its unit.
    pub(super) fn is_called(&self, name: &str) -> bool {
        let parts: Vec<&str> = self.unit.parts.iter().map(piton_model::Id::as_str).collect();
        self.step.is_none() && (parts.join("/") == name || self.unit_name == name)
    }

    /// Whether its unit's name differs from another one's in its last part alone.
    pub(super) fn is_beside(&self, other: &LaneWork) -> bool {
        let before = |work: &LaneWork| work.unit.parts.split_last().map(|(_, before)| before.to_vec());
        before(self) == before(other)
    }
}

impl<'w> Draft<'w> {
    fn new(workspace: &'w Workspace, settings: &'w Settings, now: Time) -> Draft<'w> {
        Draft { workspace, settings, now, groups: Vec::new(), lanes: Vec::new() }
    }

    fn add_file(&mut self, path: &str, text: &str) -> Result<(), WorkError> {
        let name = path.rsplit('/').next().unwrap_or(path);
        if name == "plan.md" {
            let id = path.rsplit('/').nth(1).unwrap_or_default();
            return self.add_plan(&format!("plan:{id}"));
        }
        if name.ends_with(".md") {
            return self.add_build_spec(path, text);
        }
        let mut root = parse(path, text)?;
        let stories = stories(&mut root)?;
        let tasks = task::tasks(&mut root)?;
        let agents = crew::agents(&mut root)?;
        root.finish()?;
        if stories.is_empty() && tasks.is_empty() && agents.is_empty() {
            return Err(unusable(format!("there is nothing to do in {path}"), "it lists stories, tasks or agents"));
        }
        self.add_stories(stories)?;
        self.add_tasks(tasks)?;
        self.add_agents(agents, Some(crew::SYNC))
    }

    fn add_unit(&mut self, typed: &str, named: &mut Named) -> Result<(), WorkError> {
        let is_path = typed.starts_with(['/', '.']) || [".md", ".toml", ".json"].iter().any(|end| typed.ends_with(end));
        if is_path {
            return Err(unusable(
                format!("there is no file `{typed}`"),
                "name a run file, a specification, or a unit such as build:PRD-009",
            ));
        }
        let unit = UnitRef::parse(typed).map_err(|error| {
            unusable(format!("{error}: {typed}"), "name a unit such as build:PRD-009, or a run file")
        })?;
        let dialect = match unit.dialect {
            Some(dialect) => dialect,
            None => {
                let found = find_recorded(self.workspace, &unit, self.now);
                found.map_err(|error| WorkError::Unit { wanted: typed.to_owned(), error })?.unit.dialect
            }
        };
        let unit = UnitRef { dialect: Some(dialect), ..unit };
        match dialect {
            Dialect::Pipeline => named.stories.extend(unit.parts.last().cloned()),
            Dialect::Plan => self.add_plan(&unit.to_string())?,
            Dialect::Build => self.add_build(&unit)?,
            Dialect::Task => named.tasks.push((typed.to_owned(), unit)),
            Dialect::Crew => named.agents.push((typed.to_owned(), unit)),
        }
        Ok(())
    }

    /// Adds units that were named, as the lists of unfinished runs describe them. `is_all` says that nothing was named: then
    /// the workspace's stories are meant.
    fn add_named(&mut self, named: &Named, is_all: bool) -> Result<(), WorkError> {
        let before = Before::read(self.workspace);
        if is_all || !named.stories.is_empty() {
            let mut stories = pipeline::known(self.workspace, self.settings)?;
            // A story of a finished run may have been opened again.
            let finished = Before::of_finished(self.workspace).stories;
            let is_there = |story: &&Story| {
                let parts = vec![story.id.clone()];
                let unit = UnitRef { dialect: Some(Dialect::Pipeline), parts, is_whole: false };
                find_recorded(self.workspace, &unit, self.now).is_ok()
            };
            let is_named = |story: &&Story| named.stories.contains(&story.id);
            let others = before.stories.iter().filter(is_named);
            let others = others.chain(finished.iter().filter(is_named).filter(is_there));
            let others: Vec<Story> =
                others.filter(|it| stories.iter().all(|known| known.id != it.id)).cloned().collect();
            stories.extend(others);
            self.add_stories(pipeline::only(stories, &named.stories)?)?;
        }
        let (workspace, now) = (self.workspace, self.now);
        let heir_of = |unit: &UnitRef| UnitRef::parse(&heir_of(workspace, unit, now)?.0).ok();
        let tasks = named.tasks.iter().map(|(typed, unit)| {
            if let Some(listed) = before.task(unit, &heir_of) {
                return Ok(listed);
            }
            let known = self.must_be_there(typed, unit)?;
            // Another task may have had its name.
            let finished = Before::of_finished(self.workspace).task(unit, &heir_of);
            let finished = finished.filter(|task| task.title() == known.title.as_deref());
            Ok(finished.unwrap_or_else(|| task::Task::named(unit)))
        });
        let mut tasks = tasks.collect::<Result<Vec<_>, WorkError>>()?;
        task::Task::wait_among(&mut tasks);
        self.add_tasks(tasks)?;
        let agents = named.agents.iter().map(|(typed, unit)| {
            let listed = before.agent(unit, &heir_of);
            listed.map_or_else(|| self.must_be_there(typed, unit).map(|_| crew::Agent::named(unit)), Ok)
        });
        let mut agents = agents.collect::<Result<Vec<_>, _>>()?;
        crew::Agent::wait_among(&mut agents);
        self.add_agents(agents, None)
    }

    /// A file lists units that are to be made; a name means one that is there.
    fn must_be_there(&self, typed: &str, unit: &UnitRef) -> Result<Unit, WorkError> {
        let error = match find_recorded(self.workspace, unit, self.now) {
            Ok(found) => return Ok(found.unit),
            Err(error) => error,
        };
        self.must_not_be_lost(unit)?;
        Err(WorkError::Unit { wanted: typed.to_owned(), error })
    }

    /// What was begun is not begun anew because its document is gone.
    pub(super) fn must_not_be_lost(&self, unit: &UnitRef) -> Result<(), WorkError> {
        let Some(lost) = crate::lost::lost(self.workspace, unit, self.now) else { return Ok(()) };
        let message = format!("the document of {} is gone: {}", lost.name, lost.document);
        let hint = match fetched(self.workspace, &lost.document) {
            Some(way) => way.hint(|options| options.iter().fold(verbs::RUN.on(&lost.name), |run, it| run.flag(it))),
            None => verbs::REPAIR.on(&lost.name).to("bring it back").then(verbs::RUN.on(&lost.name)),
        };
        Err(unusable(message, hint))
    }

    pub(super) fn add_group(&mut self, name: &str, phases: Vec<Phase>, work: GroupWork) -> usize {
        if let Some(known) = self.groups.iter().position(|(group, _)| group.name == name) {
            return known;
        }
        let completion = if work.unit.is_some() { Completion::Pending } else { Completion::NotNeeded };
        let begin = Approval::NotNeeded;
        self.groups.push((Group { name: name.to_owned(), phases, begin, completion, halted: None }, work));
        self.groups.len() - 1
    }

    /// A person has to agree before any lane of the group begins.
    pub(super) fn ask_before(&mut self, group: usize) {
        self.groups[group].0.begin = Approval::Needed;
    }

    /// Adds a lane. One that is there already was named twice, such as a build and its specification.
    pub(super) fn add_lane(&mut self, lane: DraftLane) {
        if self.lanes.iter().all(|known| known.lane.name != lane.lane.name) {
            self.lanes.push(lane);
        }
    }

    /// Refuses lanes that wait for a later phase, which waits for them. What is done already is waited for by nothing.
    fn refuse_later_phases(&self, edges: &[Vec<usize>]) -> Result<(), WorkError> {
        for (each, before) in self.lanes.iter().zip(edges) {
            let lane = &each.lane;
            let is_later = |other: &&DraftLane| {
                let other = &other.lane;
                (other.group, other.state == LaneState::Done) == (lane.group, false) && other.phase > lane.phase
            };
            let later = before.iter().map(|at| &self.lanes[*at]).find(is_later);
            let Some(later) = later.filter(|_| lane.state != LaneState::Done) else { continue };
            let (group, work) = &self.groups[lane.group];
            let (own, other) = (&group.phases[lane.phase].name, &group.phases[later.lane.phase].name);
            let message =
                format!("{} of {own} depends on {}, which is in {other}, after it", lane.name, later.lane.name);
            let file = work.spec.as_ref().map_or_else(|| "in the run file".to_owned(), |spec| format!("in {spec}"));
            let hint = format!("{file}, move {} to {other} or later, or take it out of `depends_on`", each.key);
            return Err(unusable(message, hint));
        }
        Ok(())
    }

    /// Names become places; what cannot be done is an error before anything starts.
    fn finish(self) -> Result<Work, WorkError> {
        if self.lanes.is_empty() {
            return Err(nothing_to_do(self.workspace, self.settings, self.now));
        }
        let mut edges = Vec::new();
        for each in &self.lanes {
            let place = |name: &String| {
                let is_meant = |at: &usize| {
                    let other = &self.lanes[*at];
                    other.lane.group == each.lane.group && (other.key == *name || other.work.is_called(name))
                };
                let found = (0..self.lanes.len()).filter(is_meant);
                meant_of(&each.work, found.map(|at| (at, &self.lanes[at].work))).ok_or_else(|| {
                    unusable(
                        format!("{} depends on {name}, which is not among the work", each.lane.name),
                        "add it, or take it out of `depends_on`",
                    )
                })
            };
            edges.push(each.after.iter().map(place).collect::<Result<Vec<_>, _>>()?);
        }
        if let Some(Cycle(cycle)) = find_cycle(&edges) {
            let names = cycle.iter().map(|at| self.lanes[*at].lane.name.clone()).collect();
            return Err(WorkError::Cycle { names });
        }
        self.refuse_later_phases(&edges)?;
        let (groups, group_works) = self.groups.into_iter().unzip();
        let (mut lanes, mut works) = (Vec::new(), Vec::new());
        for (each, depends_on) in self.lanes.into_iter().zip(edges) {
            lanes.push(Lane { depends_on, ..each.lane });
            works.push(each.work);
        }
        let fleet = Fleet::new(self.settings.limits.clone(), groups, lanes);
        Ok(Work { fleet, lanes: works, groups: group_works })
    }
}

/// Which one a unit's list means of those that it may mean by a name: two agents may have tasks of one id, and then its own
/// agent's is meant.
pub(super) fn meant_of<'a>(own: &LaneWork, found: impl Iterator<Item = (LaneAt, &'a LaneWork)>) -> Option<LaneAt> {
    found.max_by_key(|(at, work)| (work.is_beside(own), std::cmp::Reverse(*at))).map(|(at, _)| at)
}

pub(super) fn new_phase(name: impl Into<String>, gates: Vec<PhaseGate>, approval: Approval) -> Phase {
    Phase { name: name.into(), gates, approval, state: PhaseState::Open, last: None, is_stale: false }
}

/// A gate of a phase: judged by its command before the base moves, or by a person afterwards.
pub(super) fn phase_gate(name: &str, step: Option<&str>, has_command: bool) -> PhaseGate {
    PhaseGate {
        name: name.to_owned(),
        step: step.map(str::to_owned),
        kind: if has_command { GateKind::Command } else { GateKind::Later },
        state: GateProgress::Pending,
    }
}

/// An id that a person wrote, as part of a unit's name.
pub(super) fn id(path: &str, what: &str, text: &str) -> Result<Id, BadFile> {
    Id::parse(text).map_err(|why| BadFile {
        path: path.to_owned(),
        message: format!("{text:?} cannot be the id of a {what}: {why}"),
        hint: None,
    })
}

/// What could be run, for whoever named nothing where no stories are.
fn nothing_to_do(workspace: &Workspace, settings: &Settings, now: Time) -> WorkError {
    let rows = crate::status(workspace, None, now).rows;
    let is_open = |row: &&piton_model::Row| row.state.lifecycle() != piton_model::Lifecycle::Done;
    // A unit that was begun by hand may have nothing that a run could start from, such as a specification.
    let can_run = |name: &String| {
        let (mut draft, mut named) = (Draft::new(workspace, settings, now), Named::default());
        let added = draft.add_unit(name, &mut named).and_then(|()| draft.add_named(&named, false));
        added.is_ok() && !draft.lanes.is_empty()
    };
    let name = rows.iter().filter(is_open).map(|row| format!("{}:{}", row.dialect, row.id)).find(can_run);
    let hint = match &name {
        Some(name) => verbs::RUN.on(name).to("name what to run, such as"),
        None => verbs::RUN
            .call()
            .fill("FILE")
            .to(format!("list stories in {}, or name a specification", super::settings::SETTINGS)),
    };
    WorkError::Nothing { hint }
}
