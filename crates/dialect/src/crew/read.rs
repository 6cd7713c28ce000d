use std::time::Duration;

use piton_model::{Claim, Dialect, Note, Progress, Role, State, Step, StepState, Time, Unit};

use super::{codes, layout, wire};
use crate::json::Value;
use crate::{Findings, Reading, Source, content, open_json, shape, time};

/// Whether an object is an agent's checkpoint.
pub fn is_ours(object: Value<'_, '_>) -> bool {
    object.get("agent_id").is_some() && ["feature", "stage", "status"].iter().any(|key| object.get(key).is_some())
}

/// Reads an agent's checkpoint.
pub fn read_checkpoint(source: &Source<'_>, now: Time) -> Reading {
    let (json, mut findings) = open_json(source);
    let Some(json) = json else { return Reading { unit: None, findings: findings.finish() } };
    let root = json.root();
    if !is_ours(root) {
        findings.whole(
            &crate::codes::FOREIGN,
            "this is not an agent's checkpoint: it has no `agent_id` with a feature, stage or status",
        );
        return Reading { unit: None, findings: findings.finish() };
    }
    shape::check(root, wire::CHECKPOINT, now, &mut findings);
    let unit = unit(root, source);
    check_rules(root, &unit, source, &mut findings);
    Reading { unit: Some(unit), findings: findings.finish() }
}

fn unit(root: Value<'_, '_>, source: &Source<'_>) -> Unit {
    let stem = source.file_name().trim_end_matches(".json");
    let id = content::text(root, "agent_id").unwrap_or_else(|| stem.to_owned());
    let mut unit = Unit::new(Dialect::Crew, id.clone(), source.document(Role::Main));
    unit.status_text = content::text(root, "status").unwrap_or_default();
    (unit.state, unit.claim) = state(&unit.status_text);
    unit.agent = Some(id);
    unit.title = content::text(root, "feature");
    unit.session = content::text(root, "session_id");
    unit.stage = content::text(root, "stage");
    unit.current = content::text(root, "current_step")
        .or_else(|| content::text(root, "next_action"))
        .or_else(|| content::text(root, "phase"));
    unit.resumable = root.get("can_resume").and_then(Value::as_bool) == Some(true);
    unit.blockers = content::texts(root, "blockers");
    unit.files = content::texts(root, "files_modified");
    unit.steps = steps(root);
    let done = unit.steps.iter().filter(|step| matches!(step.state, StepState::Done { .. })).count() as u64;
    unit.progress = Progress { done, total: unit.steps.len() as u64 };
    let note = |label, key| content::text(root, key).map(|text| Note { label, text });
    unit.notes.extend(note("phase", "phase"));
    unit.notes.extend(note("recovery instructions", "recovery_instructions"));
    unit.notes.extend(note("progress", "progress"));
    unit.signs.extend(content::sign(root, "last_checkpoint").or_else(|| content::sign(root, "timestamp")));
    unit.signs.extend(source.file_time());
    unit
}

/// What a status word means. Words beyond the protocol's four are those of real files.
fn state(status: &str) -> (State, Claim) {
    let nobody = |why| Claim::Nobody { why };
    match wire::STATUS.read(status).word() {
        Some("IN_PROGRESS") => (State::Running, Claim::Worker),
        Some("BLOCKED") => (State::Blocked, Claim::Worker),
        Some("WAITING") => (State::Waiting, nobody("it waits for others")),
        Some("COMPLETE") => (State::Done, nobody("it is complete")),
        _ if status.to_ascii_lowercase().starts_with("paused") => {
            (State::Paused { reason: None }, nobody("it is paused"))
        }
        _ => (State::Unknown, nobody("its status is not understood")),
    }
}

fn steps(root: Value<'_, '_>) -> Vec<Step> {
    let step = |id, state| Step { id, title: None, stage: None, state };
    let done = || StepState::Done { by: None, at: None, outputs: Vec::new() };
    let completed = content::texts(root, "completed_steps").into_iter().map(|id| step(id, done()));
    let next = content::texts(root, "next_steps").into_iter().map(|id| step(id, StepState::Pending));
    completed.chain(next).collect()
}

fn check_rules(root: Value<'_, '_>, unit: &Unit, source: &Source<'_>, findings: &mut Findings<'_>) {
    let expected = layout::file_name(&unit.id);
    let is_md = source.file_name().ends_with(".md");
    if !is_md && source.file_name() != expected {
        findings
            .whole(&codes::CREW_FILE_NAME, format!("{} is kept in {}, not in {expected}", unit.id, source.file_name()));
    }
    if unit.state == State::Blocked && unit.blockers.is_empty() {
        let at = root.get("status").unwrap_or(root).span().start;
        findings.at(at, &codes::CREW_BLOCKED_WITHOUT_BLOCKER, "the status is BLOCKED, but `blockers` is empty");
    }
    if let (State::Done, Some(next)) =
        (&unit.state, root.get("next_steps").filter(|next| next.items().next().is_some()))
    {
        findings.at(next.span().start, &codes::CREW_NEXT_STEPS, "the status is COMPLETE, but there are next steps");
    }
    if let Some(kind) = root.get("agent_type").filter(|kind| kind.as_str().is_some()) {
        let is_primary = unit.id.to_ascii_lowercase().contains("primary");
        if (kind.as_str().as_deref() == Some("primary")) != is_primary {
            findings.at(
                kind.span().start,
                &codes::CREW_AGENT_TYPE,
                format!("`agent_type` is {} for {}", kind.raw(), unit.id),
            );
        }
    }
    let moment = |key| root.get(key).and_then(|value| Some((value, time::read(&value.as_str()?).time()?)));
    if let (Some((_, last)), Some((value, next))) = (moment("last_checkpoint"), moment("next_checkpoint_expected")) {
        let expected = last.after(Duration::from_secs(15 * 60));
        if unit.state == State::Running && next != expected {
            findings.at(
                value.span().start,
                &codes::CREW_INTERVAL,
                format!("the next checkpoint is expected at {next}, not 15 minutes after the last"),
            );
        }
    }
}
