//! A story as a unit.

use piton_model::fleet::StageResult;
use piton_model::{
    Claim, Dialect, Document, Gate, GateState, Note, Progress, Role, Said, Sign, Source, State, Step, StepState, Time,
    Unit,
};

use super::Checkpoint;
use super::judge::{Judgement, judge_stage};
use super::state::{Fact, Standing, Stories, Story};
use super::tasks::{StoryTask, TaskState};
use crate::json::Value;
use crate::{content, time};

/// What holds for the whole pipeline.
pub(super) struct Pipeline {
    /// The state's document, when it could be read.
    pub state: Option<Document>,
    /// What the lead says of itself: when it last looked, and when it wrote the state.
    pub lead: Vec<Sign>,
    pub is_complete: bool,
    pub now: Time,
}

/// Makes the unit of a story. The document that counts is the one whose words its status quotes: the state where it
/// has an entry for the story, else the checkpoint.
pub(super) fn unit(
    pipeline: &Pipeline,
    stories: &Stories<'_, '_>,
    place: usize,
    checkpoint: Option<&Checkpoint>,
) -> Option<Unit> {
    let story = &stories.list[place];
    let own = checkpoint.map(|checkpoint| checkpoint.document.clone());
    let (state_first, checkpoint_first) = ([pipeline.state.clone(), own.clone()], [own, pipeline.state.clone()]);
    let is_in_state = story.fact(Fact::State).is_some();
    let mut documents = if is_in_state { state_first } else { checkpoint_first }.into_iter().flatten();
    let main = Document { role: Role::Main, ..documents.next()? };
    let mut unit = Unit::new(Dialect::Pipeline, story.id.clone(), main);
    unit.documents.extend(documents.map(|document| Document { role: Role::Companion, ..document }));
    (unit.state, unit.claim) = state(pipeline, story, checkpoint);
    unit.status_text = story.fact(Fact::State).map(status_text).unwrap_or_default();
    unit.stage = stage_number(story, checkpoint).map(|stage| format!("stage {stage}"));
    unit.title = story.fact(Fact::Brief).and_then(|brief| content::text(brief, "approach"));
    let worker = story.fact(Fact::Worker).and_then(content::as_text);
    unit.session = checkpoint.and_then(|checkpoint| checkpoint.agent.clone());
    unit.agent = worker.or_else(|| unit.session.clone());
    unit.steps = checkpoint.map(steps).unwrap_or_default();
    let done = checkpoint.map_or(0, |checkpoint| checkpoint.tasks.done.len() as u64);
    let open = checkpoint.map_or(0, |checkpoint| checkpoint.tasks.open.len() as u64);
    unit.progress = Progress { done, total: done + open };
    if unit.state != State::Done {
        unit.current = checkpoint.and_then(|checkpoint| checkpoint.tasks.open.first().cloned());
        unit.blockers = blockers(stories, story);
        unit.blockers.extend(checkpoint.into_iter().flat_map(|checkpoint| checkpoint.blockers.iter().cloned()));
    }
    if unit.state == State::Blocked {
        // What somebody recorded as a blocker is the reason, unless the story also claims to be at its end.
        let is_claimed =
            checkpoint.is_some_and(|checkpoint| checkpoint.verdict.is_some() || checkpoint.blockers.is_empty());
        let ends = story.standing == Standing::Done || (story.standing == Standing::Absent && is_claimed);
        unit.blockers.extend(checkpoint.filter(|_| ends).map(unfinished).unwrap_or_default());
        let has_no_tasks = checkpoint.is_some_and(|checkpoint| checkpoint.tasks.is_empty());
        if story.standing == Standing::Absent && has_no_tasks && is_claimed {
            unit.blockers.push("no task of it is known".to_owned());
        }
    }
    unit.gates = gates(story, checkpoint);
    unit.signs = signs(pipeline, story, checkpoint);
    unit.notes = notes(story, checkpoint);
    unit.decisions = checkpoint.map(|checkpoint| checkpoint.decisions.clone()).unwrap_or_default();
    unit.files = checkpoint.map(|checkpoint| checkpoint.files.clone()).unwrap_or_default();
    let can_continue = matches!(unit.state, State::Running | State::Paused { .. });
    // A paused story continues at the stage in its checkpoint.
    let is_placed = story.standing != Standing::Paused || checkpoint.is_some();
    unit.resumable = can_continue && is_placed && checkpoint.is_none_or(|checkpoint| fits(story.standing, checkpoint));
    Some(unit)
}

/// Whether a checkpoint's stage fits where its story stands: it stays on disk while the next stage starts, and
/// after a failed quality gate the story goes back. A stage that does not exist fits nowhere.
pub(super) fn fits(standing: Standing, checkpoint: &Checkpoint) -> bool {
    let Some(written) = checkpoint.stage else { return false };
    match standing {
        Standing::Stage(stage) => {
            let is_rework = stage == 2 && written == 3 && checkpoint.verdict == Some("FAIL");
            written == stage || written + 1 == stage || is_rework
        }
        Standing::Done => written == 3,
        Standing::Queued => false,
        Standing::Paused | Standing::Unknown | Standing::Absent => true,
    }
}

fn state(pipeline: &Pipeline, story: &Story<'_, '_>, checkpoint: Option<&Checkpoint>) -> (State, Claim) {
    let nobody = |why| Claim::Nobody { why };
    let misfit = checkpoint.filter(|checkpoint| !fits(story.standing, checkpoint)).map(misfit);
    let is_called_good = checkpoint.is_some_and(|checkpoint| {
        checkpoint.stage == Some(3) && matches!(checkpoint.verdict, Some("PASS" | "CONCERNS" | "WAIVED"))
    });
    let has_passed = checkpoint
        .is_some_and(|checkpoint| matches!(judge_stage(checkpoint), Judgement::Complete(StageResult::Passed { .. })));
    let is_unfinished = checkpoint.is_some_and(|checkpoint| !unfinished(checkpoint).is_empty());
    let has_no_tasks = checkpoint.is_some_and(|checkpoint| checkpoint.tasks.is_empty());
    let is_blocked = checkpoint.is_some_and(|checkpoint| !checkpoint.blockers.is_empty());
    let pause = checkpoint.filter(|checkpoint| checkpoint.paused_from.is_some());
    match (story.standing, misfit) {
        // Nobody may go on from here by guessing which of the two documents is right.
        (Standing::Stage(_) | Standing::Queued | Standing::Paused, Some(reason)) => {
            (State::Paused { reason: Some(reason) }, nobody("its checkpoint does not fit its state"))
        }
        (Standing::Stage(_), None) if is_blocked => (State::Blocked, nobody("it is blocked")),
        (Standing::Stage(_), None) if pipeline.is_complete => (State::Running, nobody("the pipeline is complete")),
        (Standing::Stage(_), None) => (State::Running, Claim::Worker),
        (Standing::Queued, None) if story.is_blocked => (State::Blocked, nobody("it waits for other stories")),
        (Standing::Queued, None) => (State::Queued, nobody("it is queued")),
        (Standing::Done, _) if is_unfinished => (State::Blocked, nobody("it is called DONE, but is not finished")),
        (Standing::Done, _) => (State::Done, nobody("it is done")),
        (Standing::Paused, None) => {
            let own = pause.and_then(|checkpoint| checkpoint.pause_reason.clone());
            let by_verdict = checkpoint.and_then(|checkpoint| match checkpoint.verdict {
                Some("NO-GO") => checkpoint.reason.clone(),
                Some("FAIL") => checkpoint.issues.clone(),
                _ => None,
            });
            let by_lead = || story.fact(Fact::Pause).and_then(content::as_text);
            (State::Paused { reason: own.or(by_verdict).or_else(by_lead) }, nobody("it is paused"))
        }
        (Standing::Unknown, _) => (State::Unknown, nobody("its state is not understood")),
        (Standing::Absent, _) if is_called_good && (is_unfinished || has_no_tasks) => {
            (State::Blocked, nobody("its gate passed too early"))
        }
        (Standing::Absent, _) if has_passed => (State::Done, nobody("it is done")),
        (Standing::Absent, _) if pipeline.state.is_some() => {
            (State::Unknown, nobody("the pipeline's state does not know it"))
        }
        (Standing::Absent, Some(reason)) => (State::Paused { reason: Some(reason) }, nobody("its stage is unknown")),
        (Standing::Absent, None) if pause.is_some() => {
            let reason = pause.and_then(|checkpoint| checkpoint.pause_reason.clone());
            (State::Paused { reason }, nobody("it is paused"))
        }
        (Standing::Absent, None) if is_blocked => (State::Blocked, nobody("it is blocked")),
        // The lead's state is lost, and the worker may still be at it.
        (Standing::Absent, None) => (State::Running, Claim::Worker),
    }
}

/// Why nobody may continue from a checkpoint that does not fit.
fn misfit(checkpoint: &Checkpoint) -> String {
    match checkpoint.stage {
        Some(stage) => format!("its checkpoint is at stage {stage}, which does not fit its state"),
        None => "its checkpoint is at no stage from 0 to 3".to_owned(),
    }
}

/// What a checkpoint says is still missing from a story that is called done.
fn unfinished(checkpoint: &Checkpoint) -> Vec<String> {
    let stage = match checkpoint.stage {
        Some(3) => None,
        Some(stage) => Some(format!("its checkpoint is at stage {stage}, before the quality gate")),
        None => Some("its checkpoint is at no stage from 0 to 3".to_owned()),
    };
    let failed = (checkpoint.verdict == Some("FAIL")).then(|| match &checkpoint.issues {
        Some(issues) => format!("the quality gate failed: {issues}"),
        None => "the quality gate failed".to_owned(),
    });
    let open = checkpoint.tasks.open.iter().map(|task| format!("the task {task} remains"));
    stage.into_iter().chain(failed).chain(open).collect()
}

/// The state's words about a story, as they are written.
fn status_text(state: Value<'_, '_>) -> String {
    content::as_text(state).unwrap_or_else(|| state.raw().to_owned())
}

fn stage_number(story: &Story<'_, '_>, checkpoint: Option<&Checkpoint>) -> Option<u8> {
    match story.standing {
        Standing::Stage(stage) => Some(stage),
        _ => checkpoint.and_then(|checkpoint| checkpoint.stage),
    }
}

fn steps(checkpoint: &Checkpoint) -> Vec<Step> {
    let step = |StoryTask { task, state }| Step {
        id: task.id,
        title: task.title,
        stage: None,
        state: match state {
            TaskState::Done => StepState::Done { by: None, at: None, outputs: Vec::new() },
            TaskState::Open => StepState::Pending,
            TaskState::Skipped => StepState::Skipped,
        },
    };
    checkpoint.tasks.list().map(step).collect()
}

fn blockers(stories: &Stories<'_, '_>, story: &Story<'_, '_>) -> Vec<String> {
    let open = story.depends.iter().map(|dependency| &stories.list[*dependency]);
    let open = open.filter(|dependency| dependency.standing != Standing::Done);
    let unknown = story.unknown_dependencies.iter().map(|id| format!("waits for {id}, which is no story here"));
    open.map(|dependency| format!("waits for {}", dependency.id)).chain(unknown).collect()
}

fn gates(story: &Story<'_, '_>, checkpoint: Option<&Checkpoint>) -> Vec<Gate> {
    let gate = |name: &str, stage: &str, passed: bool, result: String| Gate {
        name: name.to_owned(),
        step: None,
        stage: Some(stage.into()),
        state: match passed {
            true => GateState::Passed { result: Some(result) },
            false => GateState::Failed { result: Some(result) },
        },
    };
    let scored = |verdict: &str, what: &str, score: Option<f64>| match score {
        Some(score) => format!("{verdict}, {what} {score}"),
        None => verdict.to_owned(),
    };
    let mut gates = Vec::new();
    let at = |stage| checkpoint.filter(|checkpoint| checkpoint.stage == Some(stage));
    if let Some(score) = at(0).and_then(|checkpoint| checkpoint.plan_score) {
        gates.push(gate("plan", "stage 0", score >= 2.0, format!("score {score}")));
    }
    let recorded = story.fact(Fact::Readiness).and_then(Value::as_f64);
    match (at(1).and_then(|checkpoint| Some((checkpoint.verdict?, checkpoint.readiness))), recorded) {
        (Some((verdict, readiness)), _) => {
            let passed = verdict == "GO" && readiness.is_none_or(|readiness| readiness >= 5.0);
            gates.push(gate("validation", "stage 1", passed, scored(verdict, "readiness", readiness)));
        }
        // The state records a readiness only after GO.
        (None, Some(readiness)) => {
            gates.push(gate("validation", "stage 1", true, scored("GO", "readiness", Some(readiness))));
        }
        (None, None) => {}
    }
    if let Some((verdict, quality)) = at(3).and_then(|checkpoint| Some((checkpoint.verdict?, checkpoint.quality))) {
        let passed = matches!(verdict, "PASS" | "CONCERNS" | "WAIVED");
        gates.push(gate("quality", "stage 3", passed, scored(verdict, "score", quality)));
    }
    gates
}

/// The signs of life: the worker's checkpoint and the start of its stage. The state's own times are the lead's; they
/// are asked only when the worker gave no sign, so that a story is missed when both are long gone.
fn signs(pipeline: &Pipeline, story: &Story<'_, '_>, checkpoint: Option<&Checkpoint>) -> Vec<Sign> {
    let Standing::Stage(stage) = story.standing else {
        return checkpoint.map(|checkpoint| checkpoint.signs.clone()).unwrap_or_default();
    };
    let text = story.fact(Fact::Times).and_then(|times| content::text(times, &format!("stage_{stage}_start")));
    let started = text.map(|text| {
        let said = time::read(&text).time().map_or(Said::Words(text), Said::At);
        Sign { source: Source::Field("stage_timestamps"), said }
    });
    let is_believable = |sign: &Sign| matches!(sign.said, Said::At(at) if !at.is_impossible(pipeline.now));
    let written = checkpoint.map(|checkpoint| checkpoint.signs.clone()).unwrap_or_default();
    let has_written = written.iter().any(is_believable);
    let has_started = started.as_ref().is_some_and(is_believable);
    let is_wanted = |sign: &&Sign| !has_written && (!has_started || sign.source == Source::FileTime);
    written.into_iter().chain(started).chain(pipeline.lead.iter().filter(is_wanted).cloned()).collect()
}

fn notes(story: &Story<'_, '_>, checkpoint: Option<&Checkpoint>) -> Vec<Note> {
    let mut notes = Vec::new();
    let mut add = |label, text: Option<String>| notes.extend(text.map(|text| Note { label, text }));
    add("last action", checkpoint.and_then(|checkpoint| checkpoint.last_action.clone()));
    add("reason", checkpoint.and_then(|checkpoint| checkpoint.reason.clone()));
    add("issues", checkpoint.and_then(|checkpoint| checkpoint.issues.clone()));
    for (is_instruction, text) in checkpoint.into_iter().flat_map(|checkpoint| &checkpoint.notes) {
        add(if *is_instruction { "resume instructions" } else { "note" }, Some(text.clone()));
    }
    for task in checkpoint.into_iter().flat_map(|checkpoint| checkpoint.tasks.list()) {
        if let (TaskState::Open, Some(description)) = (task.state, task.task.description) {
            let title = task.task.title.map(|title| format!(" ({title})")).unwrap_or_default();
            add("task", Some(format!("{}{title}: {description}", task.task.id)));
        }
    }
    for (stage, result) in story.fact(Fact::Results).into_iter().flat_map(Value::entries) {
        let stage = stage.as_str().expect("a key is a string");
        add("stage result", content::as_sentence(result).map(|result| format!("{stage}: {result}")));
    }
    for (moment, at) in story.fact(Fact::Times).into_iter().flat_map(Value::entries) {
        let moment = moment.as_str().expect("a key is a string");
        add("stage time", content::as_text(at).map(|at| format!("{moment}: {at}")));
    }
    add("readiness", story.fact(Fact::Readiness).and_then(content::as_text));
    let counters =
        [("quality cycles", Fact::Quality), ("validation retries", Fact::Validation), ("crashes", Fact::Crash)];
    for (label, fact) in counters {
        let count = story.fact(fact).and_then(Value::as_int).filter(|count| *count > 0);
        add(label, count.map(|count| count.to_string()));
    }
    add("worktree", story.fact(Fact::Worktree).and_then(content::as_text));
    add("changes", story.fact(Fact::Git).and_then(changes));
    for (label, key) in [("complexity", "complexity"), ("tech", "tech")] {
        add(label, story.fact(Fact::Brief).and_then(|brief| content::text(brief, key)));
    }
    add(
        "key files",
        story
            .fact(Fact::Brief)
            .map(|brief| content::texts(brief, "keyFiles").join(", "))
            .filter(|files| !files.is_empty()),
    );
    notes
}

fn changes(stats: Value<'_, '_>) -> Option<String> {
    let count = |key| stats.get(key).and_then(Value::as_int);
    let (added, deleted, files) = (count("lines_added"), count("lines_deleted"), count("files_changed"));
    added.or(deleted).or(files)?;
    let (added, deleted, files) = (added.unwrap_or(0), deleted.unwrap_or(0), files.unwrap_or(0));
    let lines = if added == 1 { "line" } else { "lines" };
    Some(format!("{added} {lines} added, {deleted} deleted, {files} {}", if files == 1 { "file" } else { "files" }))
}
