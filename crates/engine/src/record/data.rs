use piton_model::{
    Event, Evidence, ExecutionNote, FixKind, GateJudgement, NotePurpose, ResumeMode, Start, StepMove, StepTo, Verdict,
};
use piton_store::journal::Entry;
use serde_json::{Map, Value, json};

/// What a journal keeps of an event beside its name: what was asked, as it was asked.
pub(super) fn of(event: &Event) -> Map<String, Value> {
    let value = match event {
        Event::Started(start) => started(start),
        Event::StepMoved(moved) => step(moved),
        Event::StageEntered { stage, phase } => json!({"stage": stage, "phase": phase}),
        Event::GateJudged(judged) => gate(judged),
        Event::CriteriaDropped { names } => json!({"gates": names}),
        Event::VerdictGiven(verdict) => verdict_data(verdict),
        Event::Blocked { message, kind } => json!({"message": message, "type": kind}),
        Event::Unblocked { which, answer } => json!({"which": which, "answer": answer}),
        Event::Paused { reason } => json!({"reason": reason}),
        Event::Failed { step, message, file, line } => {
            json!({"step": step, "message": message, "file": file, "line": line})
        }
        Event::Noted { text, purpose } => {
            json!({"text": text, "resume": (*purpose == NotePurpose::ResumeInstruction).then_some(true)})
        }
        Event::ExecutionNoted(ExecutionNote::Fix { kind, file, change }) => {
            json!({"file": file, "change": change, "kind": match kind {
                FixKind::Eslint => "eslint",
                FixKind::Key => "key",
            }})
        }
        Event::ExecutionNoted(ExecutionNote::Cleanup { text }) => json!({"cleanup": text}),
        Event::Decided { text, reason } => json!({"text": text, "reason": reason}),
        Event::Resumed { mode } => json!({"mode": mode.map(|mode| match mode {
            ResumeMode::Restart => "restart",
            ResumeMode::Continue => "continue",
            ResumeMode::Fixed => "fixed",
        })}),
        Event::TakenOver { agent } => json!({"agent": agent}),
        Event::BackedUp { reason } => json!({"reason": reason}),
        Event::HelperStarted { kind, agent, steps } => json!({"type": kind, "agent": agent, "steps": steps}),
        Event::HelperStopped { kind, agent, completed } => {
            json!({"type": kind, "agent": agent, "completed": completed})
        }
        Event::Checkpointed { reason, note } => json!({"reason": reason, "note": note}),
        Event::Crashed { session } => json!({"session": session}),
        Event::FilesTouched { created, modified } => json!({"created": created, "modified": modified}),
        Event::ToolFailed { tool, message } => json!({"tool": tool, "message": message}),
        Event::Beat | Event::Finished | Event::Restarted { .. } | Event::Reopened | Event::Repaired | Event::Marked => {
            json!({})
        }
    };
    without_nothing(value)
}

/// The event that an entry keeps, of those that say something about a unit without beginning or ending it. What proved it
/// is not read back: that was another work tree.
pub(crate) fn read(entry: &Entry) -> Option<Event> {
    let text = |key: &str| entry.data.get(key).and_then(Value::as_str).map(str::to_owned);
    let list = |key: &str| {
        let items = entry.data.get(key).and_then(Value::as_array).into_iter().flatten();
        items.filter_map(|item| item.as_str().map(str::to_owned)).collect::<Vec<_>>()
    };
    let moved = |to| {
        Event::StepMoved(StepMove {
            outputs: list("outputs"),
            files: list("files"),
            next: text("next"),
            message: text("message"),
            title: text("title"),
            description: text("description"),
            ..StepMove::new(to, list("steps"))
        })
    };
    let judged =
        |passed| Event::GateJudged(GateJudgement { passed, names: list("gates"), step: text("step"), evidence: None });
    Some(match entry.event.as_str() {
        "step_begun" => moved(StepTo::Begun),
        "step_done" => moved(StepTo::Done),
        "step_failed" => moved(StepTo::Failed),
        "step_skipped" => moved(StepTo::Skipped),
        "gate_passed" => judged(true),
        "gate_failed" => judged(false),
        "paused" => Event::Paused { reason: text("reason") },
        "blocked" => Event::Blocked { message: text("message")?, kind: text("type") },
        "failed" => Event::Failed {
            step: text("step"),
            message: text("message")?,
            file: text("file"),
            line: entry.data.get("line").and_then(Value::as_u64),
        },
        "noted" => {
            let is_instruction = entry.data.get("resume") == Some(&Value::Bool(true));
            let purpose = if is_instruction { NotePurpose::ResumeInstruction } else { NotePurpose::Note };
            Event::Noted { text: text("text")?, purpose }
        }
        "decided" => Event::Decided { text: text("text")?, reason: text("reason") },
        _ => return None,
    })
}

fn started(start: &Start) -> Value {
    json!({
        "title": start.title,
        "spec": start.spec.as_ref().map(|(path, _)| path),
        "steps": start.steps,
        "gates": start.gates,
        "criteria": start.criteria,
        "total": start.total,
        "feature": start.feature,
        "stage": start.stage,
        "estimate_minutes": start.estimate_minutes,
        "tasks": start.tasks.iter().map(|task| &task.id).collect::<Vec<_>>(),
    })
}

fn step(moved: &StepMove) -> Value {
    json!({
        "steps": moved.steps,
        "outputs": moved.outputs,
        "files": moved.files,
        "next": moved.next,
        "message": moved.message,
        "title": moved.title,
        "description": moved.description,
        "evidence": moved.evidence.as_ref().map(evidence),
    })
}

fn gate(judged: &GateJudgement) -> Value {
    json!({"gates": judged.names, "step": judged.step, "evidence": judged.evidence.as_ref().map(evidence)})
}

fn verdict_data(verdict: &Verdict) -> Value {
    json!({
        "verdict": verdict.word,
        "score": verdict.score,
        "reason": verdict.reason,
        "issues": verdict.issues,
        "reviewer": verdict.reviewer,
        "p0": verdict.p0,
        "p1": verdict.p1,
        "report": verdict.report,
    })
}

fn evidence(evidence: &Evidence) -> Value {
    let mut kept = json!({
        "command": evidence.command,
        "exit_code": evidence.exit_code,
        "digest": evidence.digest,
        "tail": evidence.tail,
    });
    if let Some(tree) = &evidence.tree {
        kept["tree"] = tree.as_str().into();
    }
    kept
}

/// What is null or empty says nothing, and is left out.
fn without_nothing(value: Value) -> Map<String, Value> {
    let says = |value: &Value| !value.is_null() && value.as_array().is_none_or(|list| !list.is_empty());
    match value {
        Value::Object(object) => object.into_iter().filter(|(_, value)| says(value)).collect(),
        _ => Map::new(),
    }
}
