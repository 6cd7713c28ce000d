//! What only a person can do about a run's unit: answer what a worker asked, or judge a gate that has no command. No
//! retry does it for them, so every door names it before the command that continues the run.

use piton_dialect::pipeline::layout::path_of;
use piton_model::hint::verbs;
use piton_model::{Arg, Audience, Dialect, GateState, Hint, Invocation, State, Time, Unit, UnitRef, is_gate};
use piton_store::journal::Hash;
use piton_supervisor::{Repository, quoted};
use serde_json::{Value, json};

use super::memory::{LaneMemory, Memory, SavedState};
use crate::Workspace;
use crate::lost::lost;

/// When a person says that a gate is met.
pub(super) const WHEN_MET: &str = "when it is met";

/// Why a unit waits whose document was removed.
const GONE: &str = "its document is gone; bring it back";

/// How the reasons begin of units whose document is gone, in the stash or on another branch.
const NOT_THERE: &str = "its document is ";

/// How the reason begins when a worker could not be started.
const NOT_STARTED: &str = "cannot start its worker: ";

/// A gate without a command, which a person judges.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judging {
    /// The unit.
    pub unit: String,
    /// The gate.
    pub gate: String,
    /// The step that it judges.
    pub step: Option<String>,
    /// The steps that it is judged for, where an earlier judgement or another phase has a gate of that name.
    pub phase: Vec<String>,
}

impl Judging {
    /// The command that says that it is met.
    #[track_caller]
    pub fn command(&self) -> Invocation {
        self.verdict("pass")
    }

    /// The command that says that it is not met: the lead starts its worker again.
    #[track_caller]
    pub fn refusal(&self) -> Invocation {
        self.verdict("fail")
    }

    #[track_caller]
    fn verdict(&self, word: &'static str) -> Invocation {
        let judge = verbs::GATE.on(&self.unit).word(word).name(&self.gate, "NAME");
        self.step.iter().fold(judge, |judge, step| judge.with("--step", Arg::name(step, "STEP")))
    }

    /// Whether a unit's document has the gate in such a state.
    pub(super) fn is(&self, unit: &Unit, state: impl Fn(&GateState) -> bool) -> bool {
        let is_same = |name: &str| is_gate(unit.dialect, name, &self.gate);
        unit.gates.iter().any(|known| {
            let is_of_step = self.step.as_ref().is_none_or(|step| known.step.as_ref() == Some(step));
            let is_here = |step: &str| self.phase.iter().any(|known| known == step);
            let is_of_phase = self.phase.is_empty() || known.step.iter().any(|steps| steps.split(", ").any(is_here));
            is_same(&known.name) && is_of_step && is_of_phase && state(&known.state)
        })
    }

    /// Whether it is not judged yet. A unit that was begun again has nothing to be judged.
    pub(super) fn is_open(&self, unit: &Unit) -> bool {
        unit.state != State::Queued && !self.is(unit, |state| *state != GateState::Pending)
    }

    pub(super) fn to_json(&self) -> Value {
        json!({ "unit": self.unit, "gate": self.gate, "step": self.step, "phase": self.phase })
    }

    pub(super) fn from_json(value: &Value) -> Option<Judging> {
        let text = |key: &str| value[key].as_str().map(str::to_owned);
        let phase = value["phase"].as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned);
        Some(Judging { unit: text("unit")?, gate: text("gate")?, step: text("step"), phase: phase.collect() })
    }
}

/// What a person does about a unit whose own documents say that it is blocked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Way {
    /// Answers what a worker of the unit asked.
    Answer {
        /// The unit.
        unit: String,
        /// Whether nothing else holds it.
        is_all: bool,
    },
    /// Brings back its document.
    Repair {
        /// The unit.
        unit: String,
    },
    /// Brings back its document with git, which has it.
    Fetch {
        /// Where it is, with the git command.
        words: String,
    },
    /// What its documents ask for.
    Other(Hint),
}

impl Way {
    /// How it is typed, with the command that continues the run after it, which `run` makes.
    #[track_caller]
    pub fn hint(&self, run: impl Fn(&[&'static str]) -> Invocation) -> Hint {
        match self {
            Way::Answer { unit, is_all } => {
                let answer = verbs::UNBLOCK.on(unit).filled("--message", "TEXT");
                answer.to("answer what blocks it").then(run(if *is_all { &[] } else { &["--retry"] }))
            }
            Way::Repair { unit } => verbs::REPAIR.on(unit).to(GONE).then(run(&["--retry"])),
            Way::Fetch { words } => run(&["--retry"]).to(format!("{words}; then continue")),
            Way::Other(hint) => hint.clone(),
        }
    }
}

/// Why a unit waits whose document is gone, with what brings it back.
#[track_caller]
pub(super) fn gone(workspace: &Workspace, unit: &str, document: &str, now: Time) -> Hint {
    let newest = UnitRef::parse(unit).ok().and_then(|unit| newest(workspace, &unit, document, now));
    match whereabouts(workspace, document, newest.as_ref()) {
        Some(words) => Hint::from(words),
        None => verbs::REPAIR.on(unit).to(GONE),
    }
}

/// The way out for a unit whose document is gone. A story is known by the state of all stories as well, so that its
/// reason tells.
pub(super) fn brought_back(workspace: &Workspace, name: &str, reasons: &[&str], now: Time) -> Option<Vec<Way>> {
    // What a worker printed may stand in a reason, but not at its start.
    let says_so = |reason: &&str| reason.strip_prefix(NOT_STARTED).unwrap_or(reason).starts_with(NOT_THERE);
    let unit = UnitRef::parse(name).ok()?;
    let document = match lost(workspace, &unit, now) {
        Some(lost) => lost.document,
        None if reasons.iter().any(says_so) => {
            let story = unit.parts.last().filter(|_| unit.dialect == Some(Dialect::Pipeline));
            story.map_or_else(String::new, |story| path_of(story.as_str()))
        }
        None => return None,
    };
    let newest = newest(workspace, &unit, &document, now);
    let fetch = whereabouts(workspace, &document, newest.as_ref()).map(|words| Way::Fetch { words });
    Some(vec![fetch.unwrap_or_else(|| Way::Repair { unit: name.to_owned() })])
}

/// The newest version of a document that was recorded: a stash that has another one is not offered.
fn newest(workspace: &Workspace, unit: &UnitRef, document: &str, now: Time) -> Option<Hash> {
    let events = crate::log(workspace, unit, now).ok()?.log.events;
    events.iter().rev().find_map(|entry| entry.document(document)?.hash.clone())
}

/// The way out for a run whose list or specification git has: in the stash, or on the run's base.
pub(super) fn fetched(workspace: &Workspace, file: &str) -> Option<Way> {
    whereabouts(workspace, file, None).map(|words| Way::Fetch { words })
}

/// Where a document is that is not in the work tree: in a stash that has its newest version, or on the base of a run, which
/// is not checked out.
fn whereabouts(workspace: &Workspace, document: &str, newest: Option<&Hash>) -> Option<String> {
    let repository = Repository::find(workspace.root()).ok().flatten().filter(|_| !document.is_empty())?;
    if workspace.root().join(document).symlink_metadata().is_ok() {
        return None;
    }
    let path = repository.inside().join(document);
    let head = repository.head().ok()?;
    let is_elsewhere =
        |base: &&String| head.branch() != Some(base.as_str()) && repository.has_file(base, &path).unwrap_or(false);
    let memory = Memory::load(workspace).ok()?;
    if let Some(base) = memory.bases.values().rev().find(is_elsewhere) {
        return Some(format!("{NOT_THERE}on {base}, which is not checked out: git checkout {}", quoted(base)));
    }
    // The lead writes the state of all stories meanwhile, which a stash of it would meet.
    if document.starts_with(".pipeline/") {
        return None;
    }
    let stashed = repository.stashed_since(&path.display().to_string(), 0).ok().flatten();
    let stashed = stashed.filter(|text| newest.is_none_or(|newest| Hash::of(text) == *newest));
    stashed.map(|_| format!("{NOT_THERE}in the stash: git stash pop"))
}

/// Whether a lane is paused because a gate, a review or a merge refused its work, and no rework is left.
fn is_refused_work(reason: &str) -> bool {
    reason.contains("; reworked ") || reason.ends_with("; `reworks` is 0")
}

/// Where a person corrects what was refused: the worktrees and branches of these paused lanes, each with its reason. What
/// the gates of a phase refused is in no lane's worktree: it is corrected on the base, with which the phase is merged and
/// judged again. A correction counts when it is committed.
pub(super) fn place_of_fix<'a>(
    workspace: &Workspace,
    memory: &Memory,
    paused: impl Iterator<Item = (&'a str, &'a str)>,
    halted: impl Iterator<Item = (&'a str, &'a str)>,
) -> Option<String> {
    let place = |name: &str, reason: &str| {
        let lane = memory.lanes.get(name)?;
        let (tree, branch) = (lane.worktree.as_ref()?, lane.branch.as_ref()?);
        // A story may find that all of it is there already.
        let is_empty = reason.contains("nothing is committed on ");
        let nothing = format!(
            "; if nothing is left to do: git -C {} commit --allow-empty -m 'nothing to do'",
            quoted(&workspace.root().join(tree).to_string_lossy())
        );
        let nothing = if is_empty { nothing.as_str() } else { "" };
        workspace.root().join(tree).is_dir().then(|| format!("{tree} (branch {branch}{nothing})"))
    };
    let (mut places, mut unready): (Vec<String>, Vec<&str>) = (Vec::new(), Vec::new());
    let mut is_of_lane = false;
    // A gate judges the branch together with the base, so what it refused may be the base's.
    let mut is_of_gates = true;
    for (name, reason) in paused {
        if reason.starts_with("NO-GO: ") {
            unready.push(name);
        } else if is_refused_work(reason) {
            is_of_lane = true;
            is_of_gates &= reason.trim_start_matches("FAIL: ").starts_with("gate ");
            places.extend(place(name, reason).filter(|place| !places.contains(place)));
        }
    }
    let base = memory.run.base.as_ref();
    let or_on_base = base.filter(|_| is_of_gates).map_or_else(String::new, |base| format!(", or on {base}"));
    let in_places =
        (!places.is_empty()).then(|| format!("it is fixed and committed in {}{or_on_base}", places.join(", ")));
    // What the gates of a phase refused is in the worktrees of its lanes, or on the base where the base has the file.
    let refused = halted.filter(|(_, reason)| !is_of_lane && is_refused_work(reason)).map(|(unit, _)| unit);
    let collected = |unit: &'a str| {
        let of_unit = memory.lanes.iter().filter(move |(name, _)| is_of_unit(name, unit));
        let is_collected = |lane: &LaneMemory| {
            lane.state == SavedState::Integrated || lane.collected.is_some() && lane.merged.is_none()
        };
        of_unit.filter(move |(_, lane)| is_collected(lane)).filter_map(|(name, _)| place(name, ""))
    };
    let on_base = || {
        let trees: Vec<String> =
            refused.map(|unit| collected(unit).map(|tree| format!("in {tree}, ")).collect()).collect();
        let base = base.filter(|_| !trees.is_empty());
        base.map(|base| match trees.concat() {
            trees if trees.is_empty() => format!("it is fixed and committed on {base}"),
            trees => format!("it is fixed and committed {trees}or on {base}"),
        })
    };
    let places = in_places.or_else(on_base);
    // What a validation misses is not in any worktree.
    let unready = (!unready.is_empty()).then(|| {
        let (names, its) = (unready.join(" and "), if unready.len() == 1 { "its" } else { "their" });
        format!("the list of stories answers that in the `text` of {names}, or leaves 1 out of {its} `stages`")
    });
    let both: Vec<String> = places.into_iter().chain(unready).collect();
    (!both.is_empty()).then(|| format!("when {}", both.join(", and ")))
}

/// Whether a lane is that of a unit or of one of its steps.
fn is_of_unit(lane: &str, unit: &str) -> bool {
    lane.strip_prefix(unit).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
}

/// Where a person corrects what was refused of a unit, as its last lead left it.
pub(crate) fn place_of_unit(workspace: &Workspace, unit: &str) -> Option<String> {
    let memory = Memory::load(workspace).ok()?;
    let paused: Vec<(&str, &str)> = memory
        .lanes
        .iter()
        .filter_map(|(name, lane)| match &lane.state {
            SavedState::Paused { reason } if is_of_unit(name, unit) => Some((name.as_str(), reason.as_str())),
            _ => None,
        })
        .collect();
    let halted = memory.groups.get(unit).and_then(|group| Some((unit, group.halted.as_deref()?)));
    place_of_fix(workspace, &memory, paused.into_iter(), halted.into_iter())
}

/// The ways out for a unit that is blocked. `reasons` says why lanes of it are paused.
pub(super) fn ways_out(workspace: &Workspace, name: &str, unit: &Unit, reasons: &[&str], now: Time) -> Vec<Way> {
    if piton_dialect::build::is_refused(unit) {
        let Ok(wanted) = UnitRef::parse(name) else { return Vec::new() };
        let plan = crate::preview(workspace, &wanted, 0, Audience::Shell, now).map(|it| it.plan.reasons);
        // The first is why; the others are the ways out.
        return plan.unwrap_or_default().into_iter().skip(1).map(Way::Other).collect();
    }
    // What only waits for another unit has not begun. A blocker in a plan's text is a remark, unless it paused a task.
    let texts = unit.documents.iter().filter(|document| document.path.ends_with(".md"));
    let texts: Vec<_> = texts.filter_map(|it| workspace.read_text(&it.path).ok().flatten()).collect();
    let is_recorded = |blocker: &String| !texts.iter().any(|text| text.contains(blocker.as_str()));
    let is_reason = |blocker: &String| reasons.iter().any(|reason| reason.contains(blocker.as_str()));
    let is_in_the_way = |blocker: &String| is_recorded(blocker) || is_reason(blocker);
    let is_blocked = unit.attempt.is_some() && unit.blockers.iter().any(is_in_the_way);
    let is_question = |reason: &&str| unit.blockers.iter().any(|blocker| reason.contains(blocker.as_str()));
    let is_all = reasons.iter().all(is_question);
    is_blocked.then(|| Way::Answer { unit: name.to_owned(), is_all }).into_iter().collect()
}
