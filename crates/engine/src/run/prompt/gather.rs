//! Reads what a prompt is made of: the unit's documents and journal, the settings, and what the lead remembers.

use piton_dialect::pipeline::{self, Briefs, Scores, StoryTask, state_path};
use piton_dialect::{build, crew, plan};
use piton_model::fleet::{How, Lane, LaneAt, LaneState, Phase};
use piton_model::{Dialect, Gate, GateState, Rework, StepState, Unit, is_gate};

use super::super::claim::Claimed;
use super::super::lead::Lead;
use super::super::memory::LaneMemory;
use super::super::work::LaneWork;
use super::{
    BehindFacts, CriterionFacts, DependencyFacts, Excerpt, GateFacts, PromptContext, PromptKind, ResumeFacts,
    TaskFacts, TaskState,
};
use crate::instructions;
use crate::record::{DiskFiles, fresh_id};

/// Notes of a unit that say nothing to a worker, or that its prompt has a place of its own for.
const NOT_TOLD: [&str; 18] = [
    "changes",
    "complexity",
    "crashes",
    "issues",
    "key files",
    "last action",
    "last event",
    "phase",
    "quality cycles",
    "read from",
    "readiness",
    "ready for sync",
    "reason",
    "stage result",
    "stage time",
    "task",
    "tech",
    "worktree",
];

/// How many lanes of earlier phases a prompt names, and how many files of each.
const MOST_EARLIER: usize = 20;
const MOST_FILES: usize = 20;

/// How many commits a prompt names that the base has and the worker's branch does not.
const MOST_COMMITS: usize = 10;

/// The kind of gate of a task that nobody but a reviewer judges.
const REVIEW: &str = "review by ";

impl Lead<'_> {
    /// Everything that the next worker of a lane is told.
    pub(in super::super) fn prompt_context(
        &self,
        at: LaneAt,
        worker: &str,
        claimed: &Claimed,
        how: How,
    ) -> PromptContext {
        let (lane, work) = (&self.work.fleet.lanes[at], &self.work.lanes[at]);
        let memory = self.memory.lanes.get(&lane.name).cloned().unwrap_or_default();
        let root = self.workspace.root();
        let unit = self.unit_of(at).ok();
        let events = self.events_of(&work.unit);
        let instructions = instructions::of_user(&events);
        let briefs = self.briefs_of_run();
        let directory = self.directory_of(at);
        let (sources, criteria) = self.documents(work, unit.as_ref());
        let known = Known { lane, work, unit: unit.as_ref() };
        let is_build = work.dialect == Dialect::Build;
        let spec = is_build.then(|| self.specification(&work.unit)).flatten();
        PromptContext {
            kind: kind(work.dialect, lane.stage),
            piton: self.piton_word(),
            unit: work.unit_name.clone(),
            id: work.unit.parts.last().map(ToString::to_string).unwrap_or_default(),
            step: work.step.clone(),
            worker: worker.to_owned(),
            directory: directory.display().to_string(),
            branch: memory.branch.clone().filter(|_| memory.worktree.is_some()),
            base: self.target_branch(lane),
            checkpoint: root.join(self.document_of(at)).display().to_string(),
            preamble: self.worker_of(at).preamble,
            whole: spec.as_ref().and_then(|spec| spec.title.clone()),
            title: work.title.clone(),
            description: work.text.clone(),
            sources,
            phase: self.phase_of(lane, work),
            tasks: match work.dialect {
                Dialect::Pipeline => self.story_tasks(at),
                Dialect::Crew => self.numbered_steps(at, &known),
                Dialect::Plan | Dialect::Build | Dialect::Task => tasks(&known),
            },
            unnamed: unnamed(&known),
            criteria: self.criteria(&known, criteria),
            outputs: work.outputs.clone(),
            gates: self.gates(&known, spec.as_ref()),
            dependencies: self.dependencies(&known),
            scores: self.scores(at),
            project: briefs.project.clone(),
            answers: briefs.answers.clone(),
            brief: briefs.story(&work.id),
            notes: notes(unit.as_ref(), &instructions),
            instructions,
            rework: self.reworks(at, &memory),
            resumed: (how != How::Fresh)
                .then(|| ResumeFacts { behind: self.behind(&memory), ..resumed(claimed, unit.as_ref(), work.dialect) }),
            is_fast: self.settings.limits.is_fast_track(lane.readiness),
            stages: stages(unit.as_ref()),
            epic: epic(work),
            fence: fresh_id(),
        }
    }

    /// How a worker calls this program.
    pub(in super::super) fn piton_word(&self) -> String {
        "piton".to_owned()
    }

    /// What the settings and the pipeline's state tell about the project and its stories.
    fn briefs_of_run(&self) -> Briefs {
        let state = self.workspace.disk.read(&state_path()).ok();
        state.map(|state| Briefs::read(&state.bytes)).unwrap_or_default().with(&self.briefs())
    }

    /// A story's tasks as stage 0 planned them, with title and description.
    fn story_tasks(&self, at: LaneAt) -> Vec<TaskFacts> {
        let fact = |StoryTask { task, state }: StoryTask| TaskFacts {
            id: task.id,
            title: task.title,
            description: task.description,
            state: match state {
                pipeline::TaskState::Open => TaskState::Open,
                pipeline::TaskState::Done => TaskState::Done,
                pipeline::TaskState::Skipped => TaskState::Skipped,
            },
        };
        let files = DiskFiles::new(&*self.workspace.disk, None);
        let mut tasks: Vec<TaskFacts> =
            pipeline::story_tasks(&self.place(at), &files, &self.moment()).into_iter().map(fact).collect();
        // A story without stage 0 is its own task; its text may have changed in the list.
        let work = &self.work.lanes[at];
        if let ([itself], [listed]) = (&mut tasks[..], &work.start.tasks[..])
            && itself.id == listed.id
        {
            (itself.title, itself.description) = (work.title.clone(), work.text.clone());
        }
        tasks
    }

    /// An agent's steps in the order of their numbers, as the verbs count them.
    fn numbered_steps(&self, at: LaneAt, known: &Known<'_>) -> Vec<TaskFacts> {
        let checkpoint = self.workspace.disk.read(&self.document_of(at)).ok();
        let lane = self.memory.lanes.get(&self.work.fleet.lanes[at].name);
        let attempt = lane.map_or(0, |lane| lane.origin.attempt);
        let numbered = checkpoint.map(|content| crew::step_numbers(&content.bytes, attempt)).unwrap_or_default();
        let steps = tasks(known);
        let fact = |id: String| {
            let known = steps.iter().find(|step| step.id == id).cloned();
            known.unwrap_or(TaskFacts { id, title: None, description: None, state: TaskState::Done })
        };
        numbered.into_iter().map(fact).collect()
    }

    pub(in super::super) fn scores(&self, at: LaneAt) -> Scores {
        if self.work.lanes[at].dialect != Dialect::Pipeline {
            return Scores::default();
        }
        let checkpoint = self.workspace.disk.read(&self.document_of(at)).ok();
        let scores = checkpoint.map(|content| Scores::read(&content.bytes)).unwrap_or_default();
        Scores { readiness: scores.readiness.or(self.work.fleet.lanes[at].readiness), ..scores }
    }

    /// The parts of the specification or plan that are about the lane, and the texts of its phase's criteria.
    fn documents(&self, work: &LaneWork, unit: Option<&Unit>) -> (Vec<Excerpt>, Vec<(String, String)>) {
        let Some(step) = work.step.as_deref() else { return (Vec::new(), Vec::new()) };
        let named = work.start.spec.iter().map(|(path, _)| path.clone());
        let documents =
            unit.into_iter().flat_map(|unit| unit.documents.iter().map(|document| document.path.to_string()));
        for path in named.chain(documents).filter(|path| path.ends_with(".md")) {
            let Ok(Some(text)) = self.workspace.read_text(&path) else { continue };
            let path = self.workspace.root().join(&path).display().to_string();
            let part = |label, text| Excerpt { label, path: path.clone(), text };
            match work.dialect {
                Dialect::Build => {
                    let Some(found) = build::excerpt(&text, step) else { continue };
                    let entry = part("The workstream in the specification", found.entry);
                    return (vec![entry, part("Its section", found.section)], Vec::new());
                }
                Dialect::Plan => {
                    let Some(found) = plan::excerpt(&text, step) else { continue };
                    let preamble = part("The plan begins", found.preamble);
                    let parts = vec![part("The task", found.line), part("Its section", found.section), preamble];
                    return (parts, found.criteria);
                }
                Dialect::Pipeline | Dialect::Task | Dialect::Crew => {}
            }
        }
        (Vec::new(), Vec::new())
    }

    /// The branch that a lane's work is merged into.
    pub(in crate::run) fn target_branch(&self, lane: &Lane) -> Option<String> {
        let group = &self.work.fleet.groups[lane.group];
        let phase = group.phases.get(lane.phase).filter(|phase| phase.collects());
        let key = phase.map(|_| group.phase_key(lane.phase));
        let collected = key.and_then(|key| self.memory.groups.get(&group.name)?.branches.get(&key));
        collected.or(self.memory.run.base.as_ref()).cloned()
    }

    fn phase_of(&self, lane: &Lane, work: &LaneWork) -> Option<String> {
        let phases = &self.work.fleet.groups[lane.group].phases;
        let phase = phases.get(lane.phase).filter(|_| work.step.is_some())?;
        Some(match work.dialect {
            Dialect::Build => format!("phase {} of {}, {}", lane.phase + 1, phases.len(), phase.name),
            Dialect::Plan | Dialect::Pipeline | Dialect::Task | Dialect::Crew => phase.name.clone(),
        })
    }

    /// Criteria that are not met: of a task all, of a plan those of the lane's phase.
    fn criteria(&self, known: &Known<'_>, texts: Vec<(String, String)>) -> Vec<CriterionFacts> {
        let group = known.lane.group;
        let own_phase = || self.work.fleet.groups[group].phases.get(known.lane.phase).map(|phase| phase.name.as_str());
        let is_own = |gate: &&Gate| match known.work.dialect {
            Dialect::Task => !gate.name.starts_with(REVIEW),
            Dialect::Plan => gate.stage.as_deref() == own_phase(),
            Dialect::Pipeline | Dialect::Build | Dialect::Crew => false,
        };
        let is_open = |gate: &&Gate| !matches!(gate.state, GateState::Passed { .. });
        let gates = known.unit.into_iter().flat_map(|unit| &unit.gates);
        let fact = |gate: &Gate| CriterionFacts {
            name: gate.name.clone(),
            text: texts.iter().find(|(id, _)| *id == gate.name).map(|(_, text)| text.clone()),
            command: self.gate_command(group, &gate.name),
        };
        gates.filter(is_own).filter(is_open).map(fact).collect()
    }

    /// The gates that judge the work, with those that close its phase. The last phase runs the commands of all phases.
    fn gates(&self, known: &Known<'_>, spec: Option<&build::Spec>) -> Vec<GateFacts> {
        let group = known.lane.group;
        let phases = &self.work.fleet.groups[group].phases;
        let names_of = |phases: &[Phase]| -> Vec<String> {
            phases.iter().flat_map(|phase| &phase.gates).map(|gate| gate.name.clone()).collect()
        };
        let of_phase = phases.get(known.lane.phase).map(|phase| names_of(std::slice::from_ref(phase)));
        let before = phases.get(..known.lane.phase).filter(|before| before.len() + 1 == phases.len());
        let mut again = before.map(names_of).unwrap_or_default();
        again.retain(|name| self.gate_command(group, name).is_some());
        let own = known.lane.gates.iter().cloned();
        let names: Vec<String> = match known.work.dialect {
            Dialect::Pipeline | Dialect::Crew => own.collect(),
            Dialect::Build => own.chain(of_phase.into_iter().flatten()).chain(again).collect(),
            // Those of its own phase are criteria.
            Dialect::Plan => again,
            Dialect::Task => Vec::new(),
        };
        let rules = || spec.into_iter().flat_map(|spec| &spec.gates);
        let criteria =
            |name: &str| rules().find(|rule| is_gate(Dialect::Build, &rule.name, name))?.success_criteria.clone();
        let mut facts: Vec<GateFacts> = Vec::new();
        for name in names {
            if facts.iter().all(|known| known.name != name) {
                let (command, criteria) = (self.gate_command(group, &name), criteria(&name));
                facts.push(GateFacts { name, command, criteria });
            }
        }
        facts
    }

    /// What the work builds on: what it waits for, and what the phases or waves before its own made.
    fn dependencies(&self, known: &Known<'_>) -> Vec<DependencyFacts> {
        let lane = known.lane;
        let each = |before: &LaneAt| {
            let (lane, work) = (&self.work.fleet.lanes[*before], &self.work.lanes[*before]);
            let made = match &work.step {
                Some(step) => known.unit.map(|unit| outputs_of(unit, Some(step))),
                None => self.unit_of(*before).ok().map(|unit| outputs_of(&unit, None)),
            };
            let outputs = made.filter(|made| !made.is_empty()).unwrap_or_else(|| work.outputs.clone());
            let commit = self.memory.lanes.get(&lane.name).and_then(|memory| memory.merged.clone());
            let commit = commit.map(|commit| commit.chars().take(12).collect());
            DependencyFacts { name: lane.name.clone(), title: work.title.clone(), outputs, commit }
        };
        let is_before = |at: &LaneAt| {
            let other = &self.work.fleet.lanes[*at];
            other.group == lane.group && other.phase < lane.phase && other.state == LaneState::Done
        };
        let earlier = (0..self.work.fleet.lanes.len()).filter(is_before).filter(|at| !lane.depends_on.contains(at));
        let earlier: Vec<LaneAt> = earlier.collect();
        let last = earlier.len().saturating_sub(MOST_EARLIER);
        lane.depends_on.iter().chain(&earlier[last..]).map(each).collect()
    }

    /// What the base got since the branch of a lane left it. Nothing where the worker is started for a
    /// conflict with it, and told to merge it.
    fn behind(&self, memory: &LaneMemory) -> Option<BehindFacts> {
        let (repository, base) = (self.repository.as_ref()?, self.memory.run.base.as_ref()?);
        let branch = memory.branch.as_ref().filter(|_| memory.worktree.is_some())?;
        let is_told = memory.rework.iter().any(|rework| matches!(rework, Rework::Conflict { .. }));
        // What git cannot tell now, the merge tells.
        let (commits, count) = repository.lacks(branch, base, MOST_COMMITS).ok().filter(|_| !is_told)?;
        (count > 0).then(|| BehindFacts { base: base.clone(), commits, count })
    }

    /// Why the work is done again; a story that failed its quality gate comes back to stage 2 for that.
    fn reworks(&self, at: LaneAt, memory: &LaneMemory) -> Vec<Rework> {
        let known = memory.rework.clone();
        let lane = &self.work.fleet.lanes[at];
        let is_again = self.work.lanes[at].dialect == Dialect::Pipeline && lane.stage == 2 && lane.counts.reworks > 0;
        let failed = memory.results.get(&3).and_then(|result| result.strip_prefix("FAIL: "));
        match failed.filter(|_| is_again && known.is_empty()) {
            Some(issues) => vec![Rework::ReviewFailed { issues: issues.to_owned() }],
            None => known,
        }
    }
}

/// The files that a step of a unit made, or that all of its steps did.
fn outputs_of(unit: &Unit, step: Option<&str>) -> Vec<String> {
    let steps = unit.steps.iter().filter(|known| step.is_none_or(|step| known.id == step));
    let made = steps.filter_map(|step| match &step.state {
        StepState::Done { outputs, .. } => Some(outputs),
        StepState::Pending | StepState::Running | StepState::Failed | StepState::Skipped => None,
    });
    let files = unit.files.iter().filter(|_| step.is_none());
    let mut all: Vec<String> = Vec::new();
    for file in made.flatten().chain(files) {
        if !all.contains(file) {
            all.push(file.clone());
        }
    }
    all.truncate(MOST_FILES);
    all
}

/// What is known of a lane.
struct Known<'a> {
    lane: &'a Lane,
    work: &'a LaneWork,
    unit: Option<&'a Unit>,
}

fn kind(dialect: Dialect, stage: u8) -> PromptKind {
    match dialect {
        Dialect::Pipeline => PromptKind::Story { stage },
        Dialect::Build => PromptKind::Workstream,
        Dialect::Plan => PromptKind::PlanTask,
        Dialect::Task => PromptKind::Task,
        Dialect::Crew => PromptKind::Feature,
    }
}

/// The steps of a unit that is one lane.
fn tasks(known: &Known<'_>) -> Vec<TaskFacts> {
    if known.work.step.is_some() {
        return Vec::new();
    }
    let steps = known.unit.into_iter().flat_map(|unit| &unit.steps);
    let fact = |step: &piton_model::Step| TaskFacts {
        id: step.id.clone(),
        title: step.title.clone().filter(|title| *title != step.id),
        description: None,
        state: match step.state {
            StepState::Pending | StepState::Running | StepState::Failed => TaskState::Open,
            StepState::Done { .. } => TaskState::Done,
            StepState::Skipped => TaskState::Skipped,
        },
    };
    steps.map(fact).collect()
}

/// Subtasks that are counted and not named.
fn unnamed(known: &Known<'_>) -> u64 {
    let Some(unit) = known.unit.filter(|unit| unit.dialect == Dialect::Task) else { return 0 };
    let is_open =
        |step: &&piton_model::Step| matches!(step.state, StepState::Pending | StepState::Running | StepState::Failed);
    let named = unit.steps.iter().filter(is_open).count() as u64;
    unit.progress.total.saturating_sub(unit.progress.done).saturating_sub(named)
}

/// Decisions, notes and troubles; what the user wrote as an instruction is told as one.
fn notes(unit: Option<&Unit>, instructions: &[String]) -> Vec<(String, String)> {
    let Some(unit) = unit else { return Vec::new() };
    let decision = |decision: &piton_model::Decision| {
        let reason = decision.reason.as_ref().map(|reason| format!(" (because {reason})")).unwrap_or_default();
        ("decision".to_owned(), format!("{}{reason}", decision.text))
    };
    let trouble = |trouble: &piton_model::Trouble| {
        let place = trouble.place.as_ref().map(|place| format!(" ({place})")).unwrap_or_default();
        ("error".to_owned(), format!("{}{place}", trouble.message))
    };
    let blockers = unit.blockers.iter().map(|blocker| ("blocker".to_owned(), blocker.clone()));
    let is_told = |note: &&piton_model::Note| {
        !NOT_TOLD.contains(&note.label) && !instructions.iter().any(|known| note.text.contains(known.as_str()))
    };
    let notes = unit.notes.iter().filter(is_told).map(|note| (note.label.to_owned(), note.text.clone()));
    unit.decisions.iter().map(decision).chain(unit.troubles.iter().map(trouble)).chain(blockers).chain(notes).collect()
}

/// What the worker before left. Of the dialects only the pipeline's has a block for a prompt.
fn resumed(claimed: &Claimed, unit: Option<&Unit>, dialect: Dialect) -> ResumeFacts {
    let Some(resumption) = &claimed.resumption else { return ResumeFacts::default() };
    let plan = &resumption.plan;
    let position = (!plan.position.is_empty()).then(|| format!("position: {}", plan.position));
    ResumeFacts {
        alarms: resumption.alarms.clone(),
        files: unit.map(|unit| unit.files.clone()).unwrap_or_default(),
        left: position.filter(|_| dialect != Dialect::Pipeline).into_iter().collect(),
        block: plan.block.clone().filter(|_| dialect == Dialect::Pipeline),
        behind: None,
    }
}

/// The stage of an agent of a crew, and those that come after it.
fn stages(unit: Option<&Unit>) -> Vec<String> {
    let all = piton_dialect::crew::wire::STAGES;
    let own =
        unit.and_then(|unit| unit.stage.as_deref()).and_then(|stage| all.iter().position(|known| *known == stage));
    all[own.unwrap_or(0)..].iter().map(|stage| (*stage).to_owned()).collect()
}

fn epic(work: &LaneWork) -> String {
    let parts = &work.unit.parts;
    let directories: Vec<String> = parts.iter().take(parts.len().saturating_sub(1)).map(ToString::to_string).collect();
    if work.dialect == Dialect::Crew { directories.join("/") } else { String::new() }
}
