use std::collections::HashSet;

use piton_model::fleet::LOWEST_PLAN;
use piton_model::text::counted;
use piton_model::{Code, Decision, Document, Finding, Place, PlannedTask, Role, Said, Severity, Sign, Time};

use super::tasks::{self, Lists, Plan, Tasks};
use super::{codes, layout, wire};
use crate::content::Offsets;
use crate::json::{Kind, Value};
use crate::{Findings, Source, content, open_json, shape};

/// A story's checkpoint, as its worker wrote it.
#[derive(Debug, Clone)]
pub struct Checkpoint {
    /// The story.
    pub story: String,
    pub(super) stage: Option<u8>,
    pub(super) agent: Option<String>,
    completed: Vec<String>,
    remaining: Vec<String>,
    pub(super) last_action: Option<String>,
    pub(super) plan_score: Option<f64>,
    pub(super) readiness: Option<f64>,
    pub(super) verdict: Option<&'static str>,
    pub(super) reason: Option<String>,
    pub(super) quality: Option<f64>,
    pub(super) issues: Option<String>,
    /// Where it was paused, and why, when Piton paused it.
    pub(super) paused_from: Option<String>,
    pub(super) pause_reason: Option<String>,
    /// What somebody said that keeps it from going on.
    pub(super) blockers: Vec<String>,
    /// What was planned: as the checkpoint says, else as the journal remembers it.
    planned: Vec<PlannedTask>,
    /// Whether the checkpoint itself holds the plan.
    pub(super) has_plan: bool,
    skipped: Vec<String>,
    /// The story's tasks, as they follow from all of that.
    pub(super) tasks: Tasks,
    /// Tasks that neither of its lists has, though they were planned.
    pub(super) dropped: Vec<String>,
    /// What its stage must give and does not, each as a fragment.
    pub(super) lacks: Vec<String>,
    /// Files of its tasks.
    pub(super) files: Vec<String>,
    /// Keys that its stage gives when it is over; until then they are not missed.
    pub(super) awaits: Vec<String>,
    pub(super) notes: Vec<(bool, String)>,
    pub(super) decisions: Vec<Decision>,
    pub(super) signs: Vec<Sign>,
    pub(super) document: Document,
    pub(super) is_stray: bool,
    /// When its file was last modified, in nanoseconds, where that is known.
    pub file_time: Option<i128>,
    /// Everything odd about its document.
    pub findings: Vec<Finding>,
    stage_line: Option<u32>,
}

impl Checkpoint {
    /// When it was written: what it says itself, else its file's time.
    pub(super) fn written(&self, now: Time) -> Option<Time> {
        let possible = |sign: &Sign| match sign.said {
            Said::At(at) if !at.is_impossible(now) => Some(at),
            Said::At(_) | Said::Words(_) => None,
        };
        self.signs.iter().find_map(possible)
    }

    /// Whether it counts before another checkpoint of its story: it is newer by the times of the files, else by what they
    /// say themselves. Git makes new files with old checkpoints in worktrees, so it is not of an earlier stage, and
    /// takes no task back that the other has as done or planned.
    pub(super) fn is_later_than(&self, other: &Checkpoint, now: Time) -> bool {
        let lacks =
            |one: &Checkpoint, other: &Checkpoint| other.tasks.done.iter().any(|task| !one.tasks.done.contains(task));
        if self.stage == other.stage && lacks(self, other) != lacks(other, self) {
            return lacks(other, self);
        }
        let is_planned = |checkpoint: &Checkpoint| !checkpoint.tasks.plan.is_empty();
        if is_planned(other) && !is_planned(self) && self.stage == Some(0) {
            return false;
        }
        let by_file = self.file_time.zip(other.file_time).filter(|(own, other)| own != other);
        let by_file = by_file.map(|(own, other)| own > other);
        by_file.unwrap_or_else(|| self.written(now) > other.written(now)) && self.stage >= other.stage
    }

    /// Adds a finding about its stage.
    pub(super) fn about_stage(&mut self, code: &'static Code, message: String) {
        let place = Place { path: self.document.path.clone(), line: self.stage_line };
        self.findings.push(Finding { code, place, message });
    }
}

/// Whether an object is a story's checkpoint: two of the keys that tell it from other files.
pub fn is_our_checkpoint(object: Value<'_, '_>) -> bool {
    let telling = [
        ("storyId", Kind::String),
        ("stage", Kind::Number),
        ("tasksCompleted", Kind::Array),
        ("tasksRemaining", Kind::Array),
    ];
    telling.iter().filter(|(key, kind)| object.get(key).is_some_and(|value| value.kind() == *kind)).count() >= 2
}

/// Reads a story's checkpoint by itself. What is not one is explained by the findings.
pub fn read_checkpoint(source: &Source<'_>, file: layout::File, now: Time) -> Result<Checkpoint, Vec<Finding>> {
    read_remembering(source, file, now, &|| None)
}

/// The same; `remember` is asked for the plan where a worker wrote the checkpoint by hand and left it out.
pub fn read_remembering(
    source: &Source<'_>,
    file: layout::File,
    now: Time,
    remember: &dyn Fn() -> Option<Plan>,
) -> Result<Checkpoint, Vec<Finding>> {
    let (json, mut findings) = open_json(source);
    let Some(json) = json else { return Err(findings.finish()) };
    let root = json.root();
    if !is_our_checkpoint(root) {
        let message = "this is not a story's checkpoint: it has no `storyId` with a stage or lists of tasks";
        return Err(findings.foreign(message));
    }
    shape::check(root, wire::CHECKPOINT, now, &mut findings);
    let mut checkpoint = take(root, source, file);
    let mut completed_before = Vec::new();
    if !checkpoint.has_plan && checkpoint.stage != Some(0) {
        let Plan { tasks, skipped, completed } = remember().unwrap_or_default();
        checkpoint.planned = tasks;
        checkpoint.skipped.extend(skipped);
        completed_before = completed;
    }
    checkpoint.tasks = Tasks::new(&Lists {
        stage: checkpoint.stage,
        completed: &checkpoint.completed,
        remaining: &checkpoint.remaining,
        skipped: &checkpoint.skipped,
        planned: &checkpoint.planned,
        completed_before: &completed_before,
    });
    let known = checkpoint.tasks.done.iter().chain(&checkpoint.tasks.open);
    let is_listed = |id: &&String| checkpoint.completed.contains(id) || checkpoint.remaining.contains(id);
    checkpoint.dropped = known.filter(|id| !is_listed(id)).cloned().collect();
    checkpoint.stage_line = root.get("stage").map(|stage| findings.line(stage.span().start));
    let mut rules =
        Rules { root, offsets: Offsets::new(root), checkpoint: &checkpoint, findings: &mut findings, awaited: vec![] };
    rules.check(source);
    let awaited = rules.awaited;
    checkpoint.findings = findings.finish();
    // A plan that is not good enough is a result, not a gap.
    let is_gap = |finding: &&Finding| {
        finding.code.severity == Severity::Error && finding.code.name != codes::PIPELINE_PLAN_SCORE.name
    };
    let gaps = checkpoint.findings.iter().filter(is_gap).map(|finding| finding.message.clone());
    checkpoint.lacks = gaps.chain(awaited).collect();
    Ok(checkpoint)
}

fn take(root: Value<'_, '_>, source: &Source<'_>, file: layout::File) -> Checkpoint {
    let from_name = || layout::story_of(source.file_name()).unwrap_or(source.file_name()).to_owned();
    let number = |key| root.get(key).and_then(Value::as_f64);
    let verdict = content::text(root, "verdict").and_then(|text| wire::VERDICT.read(&text).word());
    Checkpoint {
        story: content::text(root, "storyId").unwrap_or_else(from_name),
        stage: root.get("stage").and_then(Value::as_int).and_then(|stage| u8::try_from(stage).ok()).filter(|n| *n <= 3),
        agent: content::text(root, "agentId").filter(|agent| !content::is_nothing(agent)),
        completed: content::texts(root, "tasksCompleted"),
        remaining: content::texts(root, "tasksRemaining"),
        last_action: content::text(root, "lastAction"),
        plan_score: number("planScore"),
        readiness: number("readiness"),
        verdict,
        reason: content::text(root, "reason"),
        quality: number("qualityScore"),
        issues: content::text(root, "issues").or_else(|| joined(content::texts(root, "issues"))),
        paused_from: content::text(root, "pausedFrom"),
        pause_reason: content::text(root, "pauseReason"),
        blockers: content::texts(root, "blockedBy"),
        has_plan: root.get(tasks::PLANNED).is_some_and(|plan| !plan.is_null()),
        planned: tasks::planned(root).unwrap_or_default(),
        skipped: content::texts(root, "tasksSkipped"),
        tasks: Tasks::default(),
        dropped: Vec::new(),
        lacks: Vec::new(),
        files: root.get("taskFiles").into_iter().flat_map(Value::entries).flat_map(|(_, list)| texts(list)).collect(),
        awaits: content::texts(root, "awaits"),
        notes: notes(root),
        decisions: decisions(root),
        signs: content::sign(root, "timestamp").into_iter().chain(source.file_time()).collect(),
        document: source.document(Role::Main),
        is_stray: file == layout::File::Stray,
        file_time: None,
        findings: Vec::new(),
        stage_line: None,
    }
}

fn texts(list: Value<'_, '_>) -> Vec<String> {
    list.items().filter_map(content::as_text).collect()
}

/// Each note, and whether it is an instruction for whoever resumes.
fn notes(root: Value<'_, '_>) -> Vec<(bool, String)> {
    let is_instruction = |note| content::text(note, "purpose").as_deref() == Some("resume");
    let note = |note| Some((is_instruction(note), content::as_sentence(note)?));
    root.get("notes").into_iter().flat_map(Value::items).filter_map(note).collect()
}

fn decisions(root: Value<'_, '_>) -> Vec<Decision> {
    let decision = |item: Value<'_, '_>| {
        let text = content::text(item, "decision").or_else(|| content::as_sentence(item))?;
        Some(Decision { time: content::text(item, "timestamp"), text, reason: content::text(item, "reason") })
    };
    root.get("decisions").into_iter().flat_map(Value::items).filter_map(decision).collect()
}

fn joined(texts: Vec<String>) -> Option<String> {
    (!texts.is_empty()).then(|| texts.join("; "))
}

struct Rules<'a, 'j, 'c, 'f> {
    root: Value<'a, 'j>,
    offsets: Offsets<'a, 'j>,
    checkpoint: &'c Checkpoint,
    findings: &'f mut Findings<'a>,
    /// What the stage gives at its end, and has not given yet.
    awaited: Vec<String>,
}

impl Rules<'_, '_, '_, '_> {
    fn check(&mut self, source: &Source<'_>) {
        let checkpoint = self.checkpoint;
        if let Some(named) = layout::story_of(source.file_name()).filter(|named| *named != checkpoint.story) {
            let message = format!("`storyId` is {:?}, but the file is named for {named:?}", checkpoint.story);
            self.at("storyId", &codes::PIPELINE_FILE_NAME, message);
        }
        if checkpoint.is_stray {
            let home = layout::file_name(&checkpoint.story);
            let message = format!("this checkpoint lies in a worktree; the lead looks for it in .pipeline/{home}");
            self.findings.whole(&codes::PIPELINE_STRAY, message);
        }
        self.tasks_stand_once();
        match checkpoint.stage {
            Some(0) => self.stage_0(),
            Some(1) => self.stage_1(),
            Some(2) => self.stage_2(),
            Some(3) => self.stage_3(),
            Some(_) | None => {}
        }
    }

    fn stage_0(&mut self) {
        self.requires(0, "planScore", "0 to 4");
        self.gives_no_verdict(0);
        if let Some(score) = self.checkpoint.plan_score.filter(|score| *score < LOWEST_PLAN) {
            self.at("planScore", &codes::PIPELINE_PLAN_SCORE, format!("`planScore` is {score}, below 2"));
        }
        let planned = self.checkpoint.tasks.plan.len();
        if planned == 0 && self.root.get("tasksRemaining").is_some() {
            let message = "`tasksRemaining` has no task after planning, not 1 to 8".to_owned();
            self.gap("planScore", "tasksRemaining", &codes::PIPELINE_NO_TASKS, message);
        }
        if planned > 8 {
            let message = format!("`tasksRemaining` has {planned} tasks after planning, not 1 to 8");
            self.at("tasksRemaining", &codes::PIPELINE_TASK_COUNT, message);
        }
        self.is_empty(0, "tasksCompleted", self.checkpoint.completed.len());
    }

    fn stage_1(&mut self) {
        self.requires(1, "readiness", "1 to 10");
        self.requires(1, "verdict", "GO or NO-GO");
        self.verdict_is_one_of(1, &["GO", "NO-GO"]);
        match (self.checkpoint.verdict, self.checkpoint.readiness) {
            (Some("NO-GO"), _) if self.checkpoint.reason.is_none() => {
                self.at("verdict", &codes::PIPELINE_STAGE_FIELD, "`reason` is missing, which NO-GO requires".into());
            }
            (Some("GO"), Some(readiness)) if readiness < 5.0 => {
                let message = format!("`verdict` is GO, but `readiness` is {readiness}, below 5");
                self.at("readiness", &codes::PIPELINE_READINESS, message);
            }
            _ => {}
        }
        self.is_empty(1, "tasksCompleted", self.checkpoint.completed.len());
        self.is_empty(1, "tasksRemaining", self.checkpoint.remaining.len());
    }

    fn stage_2(&mut self) {
        self.gives_no_verdict(2);
        self.has_tasks(2);
    }

    fn stage_3(&mut self) {
        self.requires(3, "verdict", "PASS, CONCERNS, WAIVED or FAIL");
        self.requires(3, "qualityScore", "0 to 100");
        self.verdict_is_one_of(3, &["PASS", "CONCERNS", "WAIVED", "FAIL"]);
        if self.checkpoint.verdict == Some("FAIL") && self.checkpoint.issues.is_none() {
            self.at("verdict", &codes::PIPELINE_STAGE_FIELD, "`issues` is missing, which FAIL requires".into());
        }
        self.has_tasks(3);
        let listed = self.checkpoint.remaining.len();
        if listed > 0 {
            let message = format!("`tasksRemaining` has {} at stage 3", counted(listed, "task", "tasks"));
            self.at("tasksRemaining", &codes::PIPELINE_TASKS_LEFT, message);
        }
        if !self.checkpoint.dropped.is_empty() {
            let dropped = self.checkpoint.dropped.join(", ");
            let message = format!("`tasksCompleted` lacks what was planned, at stage 3: {dropped}");
            self.at("tasksCompleted", &codes::PIPELINE_TASKS_LEFT, message);
        }
    }

    fn has_tasks(&mut self, stage: u8) {
        let are_listed = ["tasksCompleted", "tasksRemaining"].iter().all(|key| self.root.get(key).is_some());
        if are_listed && self.checkpoint.tasks.is_empty() {
            let message = format!("no task is listed, and none is known to be planned, at stage {stage}");
            self.at("stage", &codes::PIPELINE_NO_TASKS, message);
        }
    }

    fn requires(&mut self, stage: u8, key: &'static str, allowed: &str) {
        if self.root.get(key).is_none_or(Value::is_null) {
            let message = format!("`{key}` ({allowed}) is missing, which stage {stage} requires");
            self.gap(key, "stage", &codes::PIPELINE_STAGE_FIELD, message);
        }
    }

    /// Something that the stage gives with a key at its end. While that is awaited, it is not an error.
    fn gap(&mut self, with: &str, at: &'static str, code: &'static Code, message: String) {
        match self.checkpoint.awaits.iter().any(|awaited| awaited == with) {
            true => self.awaited.push(message),
            false => self.at(at, code, message),
        }
    }

    fn verdict_is_one_of(&mut self, stage: u8, allowed: &[&str]) {
        if let Some(verdict) = self.checkpoint.verdict.filter(|verdict| !allowed.contains(verdict)) {
            let message = format!("`verdict` is {verdict}, which stage {stage} does not give");
            self.at("verdict", &codes::PIPELINE_VERDICT_STAGE, message);
        }
    }

    /// A verdict where none is given is left over from another stage, and decides nothing.
    fn gives_no_verdict(&mut self, stage: u8) {
        if let Some(verdict) = self.checkpoint.verdict {
            let message = format!("`verdict` is {verdict}, but stage {stage} gives none");
            self.at("verdict", &codes::PIPELINE_VERDICT_LEFT, message);
        }
    }

    fn is_empty(&mut self, stage: u8, key: &'static str, tasks: usize) {
        if tasks > 0 {
            let tasks = counted(tasks, "task", "tasks");
            self.at(key, &codes::PIPELINE_TASK_LISTS, format!("`{key}` has {tasks} at stage {stage}, not none"));
        }
    }

    fn tasks_stand_once(&mut self) {
        let mut seen = HashSet::new();
        let both = [("tasksCompleted", &self.checkpoint.completed), ("tasksRemaining", &self.checkpoint.remaining)];
        for (key, tasks) in both {
            for task in tasks {
                if !seen.insert(task.as_str()) {
                    self.at(key, &codes::PIPELINE_TASK_TWICE, format!("the task {task:?} in `{key}` is listed before"));
                }
            }
        }
    }

    fn at(&mut self, key: &'static str, code: &'static Code, message: String) {
        self.findings.at(self.offsets.of(key), code, message);
    }
}
