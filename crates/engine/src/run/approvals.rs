//! What a person approves: commands of a repository and what workers may do, which stay approved as they are; and a
//! phase of a unit, which is approved once. Neither implies the other.

use piton_model::fleet::{Closing, Group, LaneState};
use piton_model::text::printable;
use piton_model::{Hint, StepState, Time, UnitRef};
use piton_store::disk::Access;
use piton_store::journal::Entry;
use serde_json::{Value, json};

use super::lead::Lead;
use super::memory::DIRECTORY;
use super::recover::is_beginning;
use super::recover_groups::approves_by_resuming;
use super::view::{Published, Waiting};
use super::withdrawn::last_about;
use super::work::{specification, streams_by_phase};
use super::{RunError, RunPlan, RunRecord, RunRequest, Settings, Work, failed, plan_run, runs};
use crate::evidence::toml_key;
use crate::find::find_alone;
use crate::{NotFound, Trust, Workspace, approve, is_approved};

/// Something that a repository asks for and that needs a person's approval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unapproved {
    /// What it is: the worker, a gate, or what workers may do.
    pub what: String,
    /// The command, or what workers may use.
    pub command: String,
    /// By what the approval is known. A command is known by its text, whatever it is used for.
    key: String,
}

impl Unapproved {
    fn command(what: impl Into<String>, command: impl Into<String>) -> Unapproved {
        let command = command.into();
        Unapproved { what: what.into(), key: command.clone(), command }
    }

    /// Something that is no command: approving it approves no command of the same text.
    fn other(what: &str, thing: &str) -> Unapproved {
        Unapproved { what: what.to_owned(), command: thing.to_owned(), key: format!("{what}\0{thing}") }
    }
}

/// What a run asks for and nobody approved.
pub fn unapproved(workspace: &Workspace, plan: &RunPlan) -> Vec<Unapproved> {
    missing(workspace, commands(&plan.settings, Some(&plan.work)))
}

/// Approves all that a run asks for, from now on.
pub fn approve_commands(workspace: &Workspace, plan: &RunPlan) -> Result<Vec<Unapproved>, RunError> {
    approve_all(workspace, unapproved(workspace, plan))
}

/// Whether a run asks for anything that a person approves.
pub fn asks_for_commands(plan: &RunPlan) -> bool {
    !commands(&plan.settings, Some(&plan.work)).is_empty()
}

/// Whether the settings ask for anything that a person approves.
pub fn settings_ask_for_commands(workspace: &Workspace) -> Result<bool, RunError> {
    Ok(!commands(&Settings::load(workspace)?, None).is_empty())
}

/// Specifications, relative to the workspace, that name commands which no person approved, and of which something is to be
/// done.
pub fn unapproved_specifications(workspace: &Workspace, now: Time) -> Vec<String> {
    let is_unapproved = |path: &String| {
        let file = workspace.root().join(path).display().to_string();
        let request = RunRequest { wanted: vec![file], ..RunRequest::default() };
        let plan = plan_run(workspace, &request, now);
        let is_open = |plan: &RunPlan| plan.work.fleet.lanes.iter().any(|lane| lane.state != LaneState::Done);
        plan.is_ok_and(|plan| is_open(&plan) && !unapproved(workspace, &plan).is_empty())
    };
    crate::survey::specifications(workspace).into_iter().filter(is_unapproved).collect()
}

/// Approves all that the settings ask for, from now on: for a workspace that has no work yet.
pub fn approve_settings(workspace: &Workspace) -> Result<Vec<Unapproved>, RunError> {
    let settings = Settings::load(workspace)?;
    approve_all(workspace, missing(workspace, commands(&settings, None)))
}

fn missing(workspace: &Workspace, mut all: Vec<Unapproved>) -> Vec<Unapproved> {
    all.retain(|each| !is_approved(&Trust::of(workspace, &each.key)));
    all
}

fn approve_all(workspace: &Workspace, all: Vec<Unapproved>) -> Result<Vec<Unapproved>, RunError> {
    for each in &all {
        approve(&Trust::of(workspace, &each.key)).map_err(failed)?;
    }
    Ok(all)
}

fn commands(settings: &Settings, work: Option<&Work>) -> Vec<Unapproved> {
    let mut all: Vec<Unapproved> = Vec::new();
    let mut add = |each: Unapproved| {
        if !all.contains(&each) {
            all.push(each);
        }
    };
    // Without settings the worker is the user's own agent, started as its adapter does.
    if settings.workers.is_there {
        for spec in settings.workers.all() {
            add(Unapproved::command(printable(&spec.name), spec.adapter.command_line()));
            spec.allow.iter().for_each(|command| add(Unapproved::command("workers may run", command)));
            spec.writable.iter().for_each(|path| add(Unapproved::other("workers may write", path)));
            if spec.network {
                add(Unapproved::other("workers may use", "the network"));
            }
        }
    }
    if let Some(command) = &settings.worktree_setup {
        add(Unapproved::command("worktree setup", command));
    }
    settings.worktree_copy.iter().for_each(|path| add(Unapproved::other("worktree copy", path)));
    let own = settings.gates.iter().map(|(name, command)| (name.clone(), command.clone()));
    let named = work.into_iter().flat_map(|work| &work.groups).flat_map(|group| group.gates.clone());
    for (name, command) in own.chain(named) {
        // In quotes where it could be taken for the command.
        add(Unapproved::command(format!("gate {}", toml_key(&printable(&name))), command));
    }
    all
}

/// The key of the question whether the work of a unit may begin.
pub(super) const BEGIN: &str = "begin";

/// How the keys of questions begin that are about a phase.
const PHASE: &str = "phase ";

/// How the keys of questions begin that are about a lane's commit.
pub(super) const OWN_GATES: &str = "gates ";

/// The question whether the work of a group may begin.
pub(super) fn beginning(group: &Group) -> Waiting {
    let question = Question::phase(group, None);
    Waiting::new(&*group.name, question.what, question.key)
}

/// What a person is asked to approve, told from everything else that a unit may ask.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Question {
    /// What tells it from others.
    pub key: String,
    /// What a person calls it.
    pub what: String,
}

impl Question {
    /// Whether the work of a unit may begin, or go on after a phase.
    fn phase(group: &Group, place: Option<usize>) -> Question {
        match place {
            None => Question { key: BEGIN.to_owned(), what: "the beginning of its work".to_owned() },
            Some(place) => Question { key: key_of(group, place), what: group.phases[place].name.clone() },
        }
    }

    /// Whether a lane's commit may be judged by its own version of what judges it. `refused` says how a gate ended with
    /// the base's version, when it did not pass.
    pub fn own_gates(lane: &str, commit: &str, refused: Option<&str>) -> Question {
        let short: String = commit.chars().take(9).collect();
        let refused = refused.map_or_else(String::new, |refused| format!(" ({refused})"));
        let what = format!("changes of what judges it, at {short}{refused}");
        Question { key: format!("{OWN_GATES}{lane} {commit}"), what }
    }
}

/// What was approved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovedPhase {
    /// The unit.
    pub unit: String,
    /// What of it: mostly the name of a phase.
    pub what: Vec<String>,
    /// The run that waits for it.
    pub run: RunRecord,
    /// The lead that takes it, when one is at work.
    pub lead: Option<u32>,
}

/// Why no phase was approved.
#[derive(Debug)]
pub enum NotApproved {
    /// There is no such unit.
    NoUnit(NotFound),
    /// It does not wait for an approval.
    NotWaiting {
        /// The unit.
        unit: String,
    },
    /// It could not be written down.
    Failed(RunError),
}

/// Approves what a unit waits for, and nothing else, durably. A lead that is at work takes it; else the next one does.
pub fn approve_phase(
    workspace: &Workspace,
    wanted: &UnitRef,
    by: Option<&str>,
    now: Time,
) -> Result<ApprovedPhase, NotApproved> {
    let found = crate::find(workspace, wanted, now).map_err(NotApproved::NoUnit)?;
    let began = first_event(workspace, wanted, now);
    // A run knows the unit by the name that it was given.
    let is_meant =
        |it: &&Waiting| UnitRef::parse(&it.unit).is_ok_and(|unit| unit.means(found.unit.dialect, &found.full_name));
    let mut open = runs::all(workspace).filter(|run| !run.is_finished);
    let waits = open.find_map(|run| {
        let waiting: Vec<Waiting> = waiting(workspace, &run, now).iter().filter(is_meant).cloned().collect();
        let waiting: Vec<Waiting> = waiting.into_iter().filter(|it| is_asked(workspace, it, now)).collect();
        (!waiting.is_empty()).then_some((waiting, run))
    });
    let Some((waiting, run)) = waits else {
        return Err(NotApproved::NotWaiting { unit: found.name });
    };
    for it in &waiting {
        let content = json!({
            "run": run.number,
            "unit": it.unit,
            "began": began,
            "after": last_event(workspace, &it.unit, now),
            "key": it.key,
            "by": by,
            "at": now.to_string(),
        });
        let path = path(&it.unit, &it.key);
        piton_store::replace(&*workspace.disk, &path, format!("{content}\n").as_bytes(), Access::Private)
            .map_err(|error| NotApproved::Failed(error.into()))?;
    }
    let lead = super::attach::lead_at_work(workspace).map(|lead| lead.pid);
    let what = waiting.iter().map(|it| it.what.clone()).collect();
    Ok(ApprovedPhase { unit: found.name, what, run, lead })
}

/// What a run waits for: as its lead published it, or as that wrote it down when it ended.
pub(super) fn waiting(workspace: &Workspace, run: &RunRecord, now: Time) -> Vec<Waiting> {
    if run.ended.is_some() {
        return run.waiting.clone();
    }
    let is_own = |published: &Published| published.run == run.number && Some(&published.lead) == run.lead.as_ref();
    let last = Published::read(workspace, now).filter(is_own);
    match last.or_else(|| Published::read_kept(workspace, run.number, now).filter(is_own)) {
        Some(published) => published.view.waiting,
        None => run.waiting.clone(),
    }
}

impl Lead<'_> {
    /// Takes an approval of a group's phase, or of all of its work; says whether there was one.
    pub(super) fn take_group_approval(&mut self, group: usize, phase: Option<usize>) -> bool {
        let (name, question) = (self.work.fleet.groups[group].name.clone(), self.group_question(group, phase));
        let lanes = self.work.fleet.lanes.iter().zip(&self.work.lanes);
        let own = lanes.filter(|(lane, _)| lane.group == group && Some(lane.phase) == phase);
        let steps: Vec<String> = own.filter_map(|(_, work)| work.step.clone()).collect();
        self.take_approval_of(&name, &question, &steps)
    }

    /// Takes an approval of what a unit asks; says whether there was one.
    pub(super) fn take_approval(&mut self, unit: &str, question: &Question) -> bool {
        self.take_approval_of(unit, question, &[])
    }

    /// The same where these steps are approved. An approval of another run or of an earlier life of the unit, or one that
    /// was given before a step was done, is removed and approves nothing.
    fn take_approval_of(&mut self, unit: &str, question: &Question, steps: &[String]) -> bool {
        let path = path(unit, &question.key);
        if self.taken_approvals.contains(&path) {
            return false;
        }
        let Ok(content) = self.workspace.disk.read(&path) else { return false };
        // Removed when what follows from it is saved.
        self.taken_approvals.insert(path);
        let value: Value = serde_json::from_slice(&content.bytes).unwrap_or_default();
        let began = UnitRef::parse(unit).map_or(0, |unit| first_event(self.workspace, &unit, self.time()));
        let is_meant = value["run"] == self.run.number
            && value["unit"] == unit
            && value["began"] == began
            && value["key"] == question.key.as_str();
        if !is_meant {
            self.tell(Some(unit), "approval", "an approval of another run, or from before a restart, was not used");
            return false;
        }
        if let Some(step) = self.done_after(unit, steps, value["after"].as_u64()) {
            let text = format!("the approval of {} was not used: {step} was done after it", question.what);
            self.tell(Some(unit), "approval", &text);
            return false;
        }
        let by = value["by"].as_str().map_or_else(|| "a person".to_owned(), |by| printable(by).into_owned());
        self.tell(Some(unit), "approved", &format!("{by} approved {}", question.what));
        true
    }

    /// A step that was done after an event of its unit.
    fn done_after<'s>(&self, unit: &str, steps: &'s [String], event: Option<u64>) -> Option<&'s String> {
        let (unit, event) = (UnitRef::parse(unit).ok()?, event?);
        let events = self.events_of(&unit);
        let is_later = |step: &&String| {
            let names = |entry: &Entry| entry.data.get("steps").and_then(Value::as_array).cloned().unwrap_or_default();
            let mut done = events.iter().filter(|entry| entry.seq > event && entry.event == "step_done");
            done.any(|entry| names(entry).iter().any(|name| name.as_str() == Some(step)))
        };
        steps.iter().find(is_later)
    }

    /// Everything that still waits for a person's approval when the lead ends.
    pub(super) fn left_waiting(&self) -> Vec<Waiting> {
        self.waiting().into_iter().filter(|it| is_asked(self.workspace, it, self.time())).collect()
    }

    /// Everything that waits for a person's approval.
    pub(super) fn waiting(&self) -> Vec<Waiting> {
        let waiting = |unit: &str, question: Question, began: Option<u64>| Waiting {
            began: began.unwrap_or(0),
            ..Waiting::new(unit, question.what, question.key)
        };
        let fleet = &self.work.fleet;
        let groups = fleet.groups.iter().enumerate();
        let groups = groups.filter_map(|(at, group)| {
            let began = self.memory.groups.get(&group.name).map(|known| known.origin.began);
            Some(waiting(&group.name, self.group_question(at, group.asked()?), began))
        });
        let lanes = (0..fleet.lanes.len()).filter_map(|at| {
            let LaneState::Closing(Closing::Approving { refused, .. }) = &fleet.lanes[at].state else { return None };
            let question = Question::own_gates(&fleet.lanes[at].name, &self.judged_commit(at)?, refused.as_deref());
            let began = self.memory.lanes.get(&fleet.lanes[at].name).map(|known| known.origin.began);
            Some(waiting(&self.work.lanes[at].unit_name, question, began))
        });
        groups.chain(lanes).collect()
    }

    /// What comes before the approval of a phase whose own work is done: workstreams that its user added to the phase since, or
    /// opened again.
    #[track_caller]
    pub(super) fn do_first(&self, group: usize, phase: usize) -> Option<Hint> {
        let Question { key, what } = self.group_question(group, Some(phase));
        let asked = Waiting::new(&*self.work.fleet.groups[group].name, &*what, key);
        let open = open_streams(self.workspace, &asked, self.time()).filter(|open| !open.is_empty())?;
        let verb = if open.len() == 1 { "is" } else { "are" };
        let text = format!("{what} is not complete: {} {verb} open, added or opened during the run", open.join(", "));
        Some(self.command(&[]).to(text))
    }

    /// The same for each phase that asks for an approval.
    #[track_caller]
    pub(super) fn all_to_do_first(&self) -> Vec<Hint> {
        let groups = self.work.fleet.groups.iter().enumerate();
        let asked = groups.filter_map(|(at, group)| Some((at, group.asked()??)));
        asked.filter_map(|(at, phase)| self.do_first(at, phase)).collect()
    }

    fn group_question(&self, group: usize, phase: Option<usize>) -> Question {
        Question::phase(&self.work.fleet.groups[group], phase)
    }
}

/// Whether what a lead asked is still a question: its unit was not begun anew since, and nothing of its phase is left to be
/// done. A person cannot approve what is not there yet.
pub(super) fn is_asked(workspace: &Workspace, it: &Waiting, now: Time) -> bool {
    !is_of_earlier_life(workspace, it, now) && open_streams(workspace, it, now).is_some_and(|open| open.is_empty())
}

/// The workstreams of the phase that a lead asks about which are not done; nothing where the specification has the phase no
/// more. What cannot be read now says nothing.
pub(super) fn open_streams(workspace: &Workspace, it: &Waiting, now: Time) -> Option<Vec<String>> {
    let none = Some(Vec::new());
    let (Ok(unit), Some(key)) = (UnitRef::parse(&it.unit), it.key.strip_prefix(PHASE)) else { return none };
    let Some(known) = find_alone(workspace, &unit, now) else { return none };
    let Some(spec) = specification(workspace, &unit, Some(&known), now) else { return none };
    let events = crate::log(workspace, &unit, now).map(|log| log.log.events).unwrap_or_default();
    let life = events.iter().rposition(is_beginning).unwrap_or(0);
    let is_open = |stream: &String| {
        let step = known.steps.iter().find(|step| step.id == *stream);
        let is_done = step.is_some_and(|step| matches!(step.state, StepState::Done { .. } | StepState::Skipped));
        // Git may have put an earlier version of the document in its place, which the next lead restores.
        let last = last_about(&events[life..], stream).map(|entry| entry.event.as_str());
        !is_done && !matches!(last, Some("step_done" | "step_skipped"))
    };
    let (_, streams) = streams_by_phase(&spec).into_iter().find(|(phase, _)| phase == key)?;
    Some(streams.into_iter().filter(is_open).collect())
}

/// Whether a unit was begun anew since a lead asked about it.
pub(super) fn is_of_earlier_life(workspace: &Workspace, it: &Waiting, now: Time) -> bool {
    let Ok(unit) = UnitRef::parse(&it.unit) else { return false };
    let events = crate::log(workspace, &unit, now).map(|log| log.log.events).unwrap_or_default();
    let beginnings: Vec<u64> = events.iter().filter(|entry| is_beginning(entry)).map(|entry| entry.seq).collect();
    match it.began {
        // The unit began after its lead had looked.
        0 => beginnings.len() > 1,
        began => beginnings.last().is_some_and(|last| *last > began),
    }
}

/// The key by which the approval of a phase is asked for.
pub(super) fn key_of(group: &Group, phase: usize) -> String {
    format!("{PHASE}{}", group.phase_key(phase))
}

/// Whether the user approved what a run waits for, and no lead took the approval yet. Who resumes a unit that waits approves
/// its phase.
pub(super) fn is_given(workspace: &Workspace, waiting: &Waiting, now: Time) -> bool {
    let is_resumed = || {
        let unit = UnitRef::parse(&waiting.unit).ok().filter(|_| waiting.key.starts_with(PHASE));
        unit.and_then(|unit| crate::log(workspace, &unit, now).ok())
            .is_some_and(|it| approves_by_resuming(&it.log.events))
    };
    matches!(workspace.disk.stamp(&path(&waiting.unit, &waiting.key)), Ok(Some(_))) || is_resumed()
}

/// Whether the user approved something of a unit after one of its events.
pub(super) fn approved_after(workspace: &Workspace, unit: &str, event: u64) -> bool {
    let directory = format!("{DIRECTORY}/approved");
    workspace.disk.list(&directory).iter().any(|name| {
        let content = workspace.disk.read(&format!("{directory}/{name}"));
        let value: Value =
            content.ok().and_then(|content| serde_json::from_slice(&content.bytes).ok()).unwrap_or_default();
        value["unit"] == unit && value["after"].as_u64().is_some_and(|after| after >= event)
    })
}

fn last_event(workspace: &Workspace, unit: &str, now: Time) -> u64 {
    let log = UnitRef::parse(unit).ok().and_then(|unit| crate::log(workspace, &unit, now).ok());
    log.and_then(|log| log.log.events.last().map(|event| event.seq)).unwrap_or(0)
}

/// The number of the event with which a unit began, which an approval is for.
fn first_event(workspace: &Workspace, unit: &UnitRef, now: Time) -> u64 {
    let events = crate::log(workspace, unit, now).map(|log| log.log.events).unwrap_or_default();
    events.iter().rfind(|entry| is_beginning(entry)).map_or(0, |entry| entry.seq)
}

/// Where an approval is: by the unit, and by what it is asked.
pub(super) fn path(unit: &str, key: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    let name: String = unit.chars().take(100).map(plain).collect();
    // What tells both from all others; what stands in the file decides.
    let sum = format!("{unit}\0{key}")
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |sum, byte| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    format!("{DIRECTORY}/approved/{name}-{sum:016x}.json")
}

#[cfg(test)]
mod tests {
    use super::path;

    #[test]
    fn no_two_questions_share_an_approval() {
        let mut paths = std::collections::BTreeSet::new();
        for unit in ["plan:a/b", "plan:a_b", "plan:a.b", "plan:a-b"] {
            for key in ["begin", "phase 0 Ground", "phase 1 Ground", "phase 1 ../../Ground"] {
                let path = path(unit, key);
                assert!(path.starts_with(".piton/run/approved/plan_a") && !path.contains(".."), "{path}");
                assert!(paths.insert(path), "{unit} {key}");
            }
        }
    }
}
