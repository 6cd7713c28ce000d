use std::collections::HashSet;

use piton_model::text::counted;
use piton_model::{Code, Decision, Document, Finding, Place, Role, Said, Sign, Time};

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
    pub(super) completed: Vec<String>,
    pub(super) remaining: Vec<String>,
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
    pub(super) skipped: Vec<String>,
    /// Files of its tasks.
    pub(super) files: Vec<String>,
    /// Keys that its stage gives when it is over; until then they are not missed.
    pub(super) awaits: Vec<String>,
    pub(super) notes: Vec<(bool, String)>,
    pub(super) decisions: Vec<Decision>,
    pub(super) signs: Vec<Sign>,
    pub(super) document: Document,
    pub(super) is_stray: bool,
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

/// Reads a story's checkpoint. What is not one is explained by the findings.
pub fn read_checkpoint(source: &Source<'_>, file: layout::File, now: Time) -> Result<Checkpoint, Vec<Finding>> {
    let (json, mut findings) = open_json(source);
    let Some(json) = json else { return Err(findings.finish()) };
    let root = json.root();
    if !is_our_checkpoint(root) {
        let message = "this is not a story's checkpoint: it has no `storyId` with a stage or lists of tasks";
        return Err(findings.foreign(message));
    }
    shape::check(root, wire::CHECKPOINT, now, &mut findings);
    let mut checkpoint = take(root, source, file);
    checkpoint.stage_line = root.get("stage").map(|stage| findings.line(stage.span().start));
    Rules { root, offsets: Offsets::new(root), checkpoint: &checkpoint, findings: &mut findings }.check(source);
    checkpoint.findings = findings.finish();
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
        skipped: content::texts(root, "tasksSkipped"),
        files: root.get("taskFiles").into_iter().flat_map(Value::entries).flat_map(|(_, list)| texts(list)).collect(),
        awaits: content::texts(root, "awaits"),
        notes: notes(root),
        decisions: decisions(root),
        signs: content::sign(root, "timestamp").into_iter().chain(source.file_time()).collect(),
        document: source.document(Role::Main),
        is_stray: file == layout::File::Stray,
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
            Some(2) => self.verdict_is_one_of(2, &[]),
            Some(3) => self.stage_3(),
            Some(_) | None => {}
        }
    }

    fn stage_0(&mut self) {
        self.requires(0, "planScore");
        self.verdict_is_one_of(0, &[]);
        if let Some(score) = self.checkpoint.plan_score.filter(|score| *score < 2.0) {
            self.at("planScore", &codes::PIPELINE_PLAN_SCORE, format!("`planScore` is {score}, below 2"));
        }
        let tasks = self.checkpoint.remaining.len();
        let is_planned = self.checkpoint.awaits.is_empty() || tasks > 0;
        if is_planned && !(1..=8).contains(&tasks) && self.root.get("tasksRemaining").is_some() {
            let tasks = counted(tasks, "task", "tasks");
            let message = format!("`tasksRemaining` has {tasks} after planning, not 1 to 8");
            self.at("tasksRemaining", &codes::PIPELINE_TASK_COUNT, message);
        }
        self.is_empty(0, "tasksCompleted", self.checkpoint.completed.len());
    }

    fn stage_1(&mut self) {
        self.requires(1, "readiness");
        self.requires(1, "verdict");
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

    fn stage_3(&mut self) {
        self.requires(3, "verdict");
        self.requires(3, "qualityScore");
        self.verdict_is_one_of(3, &["PASS", "CONCERNS", "WAIVED", "FAIL"]);
        if self.checkpoint.verdict == Some("FAIL") && self.checkpoint.issues.is_none() {
            self.at("verdict", &codes::PIPELINE_STAGE_FIELD, "`issues` is missing, which FAIL requires".into());
        }
        let left = self.checkpoint.remaining.len();
        if left > 0 {
            let message = format!("`tasksRemaining` has {} at stage 3", counted(left, "task", "tasks"));
            self.at("tasksRemaining", &codes::PIPELINE_TASKS_LEFT, message);
        }
    }

    fn requires(&mut self, stage: u8, key: &str) {
        let is_awaited = self.checkpoint.awaits.iter().any(|awaited| awaited == key);
        if !is_awaited && self.root.get(key).is_none_or(Value::is_null) {
            let message = format!("`{key}` is missing, which stage {stage} requires");
            self.at("stage", &codes::PIPELINE_STAGE_FIELD, message);
        }
    }

    fn verdict_is_one_of(&mut self, stage: u8, allowed: &[&str]) {
        if let Some(verdict) = self.checkpoint.verdict.filter(|verdict| !allowed.contains(verdict)) {
            let message = format!("`verdict` is {verdict}, which stage {stage} does not give");
            self.at("verdict", &codes::PIPELINE_VERDICT_STAGE, message);
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
