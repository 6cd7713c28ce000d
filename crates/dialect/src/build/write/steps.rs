//! Operations 2, 3, 5 and 6: workstreams begin, are completed, or fail.

use piton_model::hint::verbs;
use piton_model::{Arg, BuildStatus, Hint, Moment, Refusal, StepMove, StepTo};
use serde_json::json;

use super::super::checkpoint::Bucket;
use super::draft::{Draft, brief};
use super::{life, notes};

/// What broke, besides which workstream.
pub(super) struct Failure<'a> {
    pub message: &'a str,
    pub file: Option<&'a str>,
    pub line: Option<u64>,
}

/// Records that workstreams moved.
pub(super) fn moved(draft: &mut Draft, moved: &StepMove, moment: &Moment) -> Result<String, Refusal> {
    if moved.steps.is_empty() {
        return Err(Refusal::usage("name at least one workstream"));
    }
    for id in &moved.steps {
        draft.learn(id);
        draft.known(id)?;
    }
    let makes_files = !moved.outputs.is_empty() || !moved.files.is_empty();
    if moved.steps.len() > 1 && makes_files {
        return Err(Refusal::usage("files belong to one workstream; name it alone"));
    }
    let summary = match moved.to {
        StepTo::Begun => begin(draft, moved)?,
        StepTo::Done => complete(draft, moved)?,
        StepTo::Skipped => skip(draft, moved)?,
        StepTo::Failed => {
            let message = moved.message.as_deref().filter(|message| !message.trim().is_empty());
            let otherwise = format!("{} failed", moved.steps.join(", "));
            let failure = Failure { message: message.unwrap_or(&otherwise), file: None, line: None };
            keep_files(draft, moved)?;
            failed(draft, &moved.steps, &failure)?
        }
    };
    let message = moved.message.as_deref().filter(|message| moved.to != StepTo::Failed && !message.trim().is_empty());
    if let Some(message) = message {
        let text = format!("{}: {message}", moved.steps.join(", "));
        notes::add(draft, "step", &text, moment)?;
    }
    if let Some(evidence) = &moved.evidence {
        for id in &moved.steps {
            notes::evidence(draft, id, evidence, moment)?;
        }
    }
    Ok(summary)
}

fn begin(draft: &mut Draft, moved: &StepMove) -> Result<String, Refusal> {
    life::refuse_when_blocked(draft)?;
    for id in &moved.steps {
        if draft.bucket_of(id) == Some(Bucket::Completed) {
            return Err(Refusal::rule(format!("{id} is completed already")).hint(what_can_begin(draft)));
        }
        refuse_early(draft, id)?;
        warn_of_earlier_phases(draft, id);
    }
    let all_running = moved.steps.iter().all(|id| draft.bucket_of(id) == Some(Bucket::InProgress));
    for id in &moved.steps {
        if draft.bucket_of(id) != Some(Bucket::InProgress) {
            draft.put(id, Bucket::InProgress);
        }
    }
    keep_files(draft, moved)?;
    draft.set_status(BuildStatus::InProgress);
    let word = if all_running { "already in progress" } else { "in progress" };
    Ok(format!("{} {word} ({})", moved.steps.join(", "), counts(draft)))
}

fn complete(draft: &mut Draft, moved: &StepMove) -> Result<String, Refusal> {
    let is_begun = |id: &&String| matches!(draft.bucket_of(id), Some(Bucket::InProgress | Bucket::Completed));
    let never_begun: Vec<String> = moved.steps.iter().filter(|id| !is_begun(id)).cloned().collect();
    let all_done = moved.steps.iter().all(|id| draft.bucket_of(id) == Some(Bucket::Completed));
    for id in &moved.steps {
        match draft.bucket_of(id) {
            Some(Bucket::Completed) => {}
            // Recorded at once instead of in two steps, by the same rules.
            Some(Bucket::Pending | Bucket::Skipped | Bucket::Failed) => {
                life::refuse_when_blocked(draft)?;
                refuse_early(draft, id)?;
                warn_of_earlier_phases(draft, id);
                draft.put(id, Bucket::Completed);
            }
            Some(Bucket::InProgress) => draft.put(id, Bucket::Completed),
            None => {}
        }
        add_artifacts(draft, id, moved)?;
    }
    if !all_done {
        // What was never begun is executed by being done.
        draft.set_status(BuildStatus::InProgress);
        life::settle(draft);
    }
    if draft.trail().len() > 2 {
        // Two arrows are two records.
        return Err(Refusal::rule(format!("{} was not begun", never_begun.join(", ")))
            .hint(verbs::STEP.on(&draft.name).word("begin").names(&never_begun, "STEP").to("begin it")));
    }
    let word = if all_done { "already done" } else { "done" };
    Ok(format!("{} {word} ({})", moved.steps.join(", "), counts(draft)))
}

fn skip(draft: &mut Draft, moved: &StepMove) -> Result<String, Refusal> {
    // What the specification has no more is not wanted, however far it is.
    let is_wanted = |id: &String| draft.spec.as_ref().is_none_or(|spec| spec.workstreams.iter().any(|it| it.id == *id));
    for id in &moved.steps {
        if draft.bucket_of(id) == Some(Bucket::Completed) && is_wanted(id) {
            return Err(Refusal::rule(format!("{id} is completed already and cannot be left out")));
        }
    }
    let removed: Vec<bool> = moved.steps.iter().map(|id| !is_wanted(id)).collect();
    for (id, is_removed) in moved.steps.iter().zip(removed) {
        // The lists hold what the specification has, so that a workstream which is put back is pending.
        match is_removed {
            true => draft.take_out(id),
            false if draft.bucket_of(id) == Some(Bucket::Skipped) => {}
            false => draft.put(id, Bucket::Skipped),
        }
        draft.set_artifacts_aside(id)?;
    }
    if draft.status == Some("in_progress") {
        life::settle(draft);
    }
    Ok(format!("{} left out ({})", moved.steps.join(", "), counts(draft)))
}

/// Records a failure. Workstreams that failed are pending again; the others must have come to an end.
pub(super) fn failed(draft: &mut Draft, steps: &[String], failure: &Failure<'_>) -> Result<String, Refusal> {
    if failure.message.trim().is_empty() {
        return Err(Refusal::usage("say what failed: --message TEXT"));
    }
    if failure.line.is_some_and(|line| i64::try_from(line).is_err()) {
        return Err(Refusal::usage("no file has that many lines"));
    }
    let running = draft.ids(Bucket::InProgress);
    let steps = match (steps, running.as_slice()) {
        ([], [only]) => vec![only.clone()],
        ([], _) => return Err(Refusal::usage("say which workstream failed: --step WS1")),
        (steps, _) => steps.to_vec(),
    };
    for id in &steps {
        let refusal = Refusal::rule(format!("{id} is not being executed, so it cannot fail"));
        let name = &draft.name;
        return Err(match draft.known(id)? {
            Bucket::InProgress => continue,
            Bucket::Completed => match super::gates::of(draft, id) {
                Some(gate) => refusal.hint(
                    verbs::GATE
                        .on(name)
                        .word("fail")
                        .name(&gate, "NAME")
                        .with("--step", Arg::name(id, "STEP"))
                        .to("when its gate failed"),
                ),
                None => refusal.hint(verbs::WHY.on(name).to("see where it stands")),
            },
            Bucket::Pending | Bucket::Failed | Bucket::Skipped => refusal.hint(what_can_begin(draft)),
        });
    }
    let others: Vec<_> = running.into_iter().filter(|id| !steps.contains(id)).collect();
    if let Some(other) = others.first() {
        let name = &draft.name;
        return Err(Refusal::rule(format!("{} in progress beside it; wait for them or stop them", are(&others)))
            .hint(verbs::STEP.on(name).word("done").name(other, "STEP").to("when it is done"))
            .hint(
                verbs::STEP
                    .on(name)
                    .word("fail")
                    .names(&steps, "STEP")
                    .names(&others, "STEP")
                    .filled("--message", "TEXT")
                    .to("when they are stopped"),
            ));
    }
    for id in &steps {
        draft.put(id, Bucket::Pending);
    }
    for other in steps.iter().skip(1) {
        draft.set_artifacts_aside(other)?;
    }
    write_error(draft, &steps[0], failure);
    Ok(format!("failed at {}: {}", steps.join(", "), brief(failure.message)))
}

/// Writes `failed` with its error.
pub(super) fn write_error(draft: &mut Draft, workstream: &str, failure: &Failure<'_>) {
    let mut error = json!({ "workstream": workstream, "message": failure.message });
    if let Some(file) = failure.file {
        error["file"] = file.into();
    }
    if let Some(line) = failure.line {
        error["line"] = line.into();
    }
    draft.editor.set(&["error"], error);
    draft.set_status(BuildStatus::Failed);
}

/// Refuses a workstream whose dependencies are not completed.
fn refuse_early(draft: &Draft, id: &str) -> Result<(), Refusal> {
    let open = draft.missing_for(id);
    if open.is_empty() {
        return Ok(());
    }
    Err(Refusal::rule(format!("{id} depends on {}, not completed yet", open.join(", "))).hint(what_can_begin(draft)))
}

/// Says which workstreams may begin now.
fn what_can_begin(draft: &Draft) -> Hint {
    let free: Vec<_> = draft.ids(Bucket::Pending).into_iter().filter(|id| draft.can_begin(id)).collect();
    match (free.as_slice(), draft.ids(Bucket::InProgress).as_slice()) {
        ([], []) => verbs::STATUS.on(&draft.name).to("see what is left"),
        ([], running) => {
            verbs::STEP.on(&draft.name).word("done").names(running, "STEP").to("complete what is in progress")
        }
        (free, _) => verbs::STEP.on(&draft.name).word("begin").names(free, "STEP").to("what can begin"),
    }
}

/// Phases follow each other; what begins too early is said, since only dependencies forbid it.
fn warn_of_earlier_phases(draft: &mut Draft, id: &str) {
    let Some(phase) = draft.phase_of(id) else { return };
    let mut open = [Bucket::Pending, Bucket::Failed].into_iter().flat_map(|bucket| draft.ids(bucket));
    let earlier = open.find(|other| draft.phase_of(other).is_some_and(|other| other < phase));
    if let Some(earlier) = earlier {
        draft
            .warnings
            .push(format!("{id} belongs to phase {phase}, but {earlier} of an earlier phase is pending").into());
    }
}

/// Adds files to a completed workstream, with those that were kept while it was not.
fn add_artifacts(draft: &mut Draft, id: &str, moved: &StepMove) -> Result<(), Refusal> {
    let kept = draft.list(&["kept_artifacts", id])?;
    let files: Vec<_> = kept.iter().chain(&moved.outputs).chain(&moved.files).cloned().collect();
    if files.is_empty() {
        return Ok(());
    }
    draft.expect_object("artifacts")?;
    draft.list(&["artifacts", id])?;
    for file in &files {
        draft.editor.push_new(&["artifacts", id], file);
    }
    draft.editor.remove(&["kept_artifacts", id]);
    if draft.editor.look(|root| root.get("kept_artifacts").is_some_and(|kept| kept.entries().next().is_none())) {
        draft.editor.remove(&["kept_artifacts"]);
    }
    Ok(())
}

/// Keeps the files of a workstream that is not completed: `artifacts` is for those that are.
fn keep_files(draft: &mut Draft, moved: &StepMove) -> Result<(), Refusal> {
    draft.expect_object("kept_artifacts")?;
    for id in &moved.steps {
        for file in moved.outputs.iter().chain(&moved.files) {
            draft.list(&["kept_artifacts", id])?;
            draft.editor.push_new(&["kept_artifacts", id], file);
        }
    }
    Ok(())
}

/// `2/5`, as in every line about progress.
pub(super) fn counts(draft: &Draft) -> String {
    let (done, total) = draft.progress();
    format!("{done}/{total}")
}

fn are(ids: &[String]) -> String {
    format!("{} {}", ids.join(", "), if ids.len() == 1 { "is" } else { "are" })
}
