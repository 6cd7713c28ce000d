use piton_model::{Decision, Dialect, Note, Progress, Role, Step, StepState, Time, Unit};

use super::keys::Keys;
use super::{rules, standing, wire};
use crate::json::Value;
use crate::{Detail, Reading, Source, content, json, open_json, shape};

/// Whether an object is an agent's checkpoint.
pub fn is_ours(object: Value<'_, '_>) -> bool {
    object.get("agent_id").is_some() && ["feature", "stage", "status"].iter().any(|key| object.get(key).is_some())
}

/// Whether a copy of a checkpoint is whole, so that the checkpoint could be restored from it.
pub fn is_whole(bytes: &[u8]) -> bool {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let json = std::str::from_utf8(bytes).ok().and_then(|text| json::parse(text).ok());
    json.is_some_and(|json| is_ours(json.root()))
}

/// Reads an agent's checkpoint.
pub fn read_checkpoint(source: &Source<'_>, detail: Detail, now: Time) -> Reading {
    let (json, mut findings) = open_json(source);
    let Some(json) = json else { return Reading { unit: None, findings: findings.finish() } };
    let root = json.root();
    if !is_ours(root) {
        let message = "this is not an agent's checkpoint: it has no `agent_id` with a feature, stage or status";
        return Reading { unit: None, findings: findings.foreign(message) };
    }
    shape::check(root, wire::CHECKPOINT, now, &mut findings);
    let keys = Keys::of(root);
    let unit = unit(&keys, source, detail);
    rules::check(&keys, &unit, source, &mut findings);
    Reading { unit: Some(unit), findings: findings.finish() }
}

fn unit(keys: &Keys<'_, '_>, source: &Source<'_>, detail: Detail) -> Unit {
    let stem = || source.file_name().trim_end_matches(".json").to_owned();
    let text = |value: Option<Value<'_, '_>>| value.and_then(content::as_text);
    let id = text(keys.agent_id).unwrap_or_else(stem);
    let mut unit = Unit::new(Dialect::Crew, id.clone(), source.document(Role::Main));
    unit.agent = Some(id);
    unit.title = text(keys.feature);
    unit.stage = text(keys.stage);
    let sign = |value: Option<_>, key| value.and_then(|value| content::as_sign(value, key));
    unit.signs.extend(sign(keys.last_checkpoint, "last_checkpoint").or_else(|| sign(keys.timestamp, "timestamp")));
    unit.signs.extend(source.file_time());
    unit.status_text = text(keys.status).unwrap_or_default();
    let can_resume = keys.can_resume.and_then(Value::as_bool) == Some(true);
    unit.blockers = keys.blockers.map(content::as_texts).unwrap_or_default();
    unit.blockers.retain(|blocker| standing::is_blocker(blocker));
    let pause = || {
        let by = content::text(keys.root, standing::PAUSED_BY)?;
        Some(standing::Pause { by, reason: content::text(keys.root, "waiting_reason") })
    };
    let is_running = matches!(wire::STATUS.read(&unit.status_text).word(), Some("IN_PROGRESS" | "COMPLETE"));
    let pause = if is_running { None } else { pause() };
    standing::stand(&mut unit, can_resume, pause);
    unit.current = text(keys.current_step).or_else(|| text(keys.next_action)).or_else(|| text(keys.phase));
    let count = |value: Option<_>| value.map_or(0, content::count_texts);
    let (done, open) = (count(keys.completed_steps), count(keys.next_steps));
    unit.progress = Progress { done, total: done + open };
    if detail == Detail::Full {
        let root = keys.root;
        unit.session = text(keys.session_id);
        unit.steps = steps(root);
        unit.files = content::texts(root, "files_modified");
        let note = |label, key| content::text(root, key).map(|text| Note { label, text });
        unit.notes.extend(note("phase", "phase"));
        unit.notes.extend(note("recovery instructions", "recovery_instructions"));
        unit.notes.extend(note("progress", "progress"));
        unit.notes.extend(note("waits because", "waiting_reason"));
        unit.notes.extend(content::texts(root, "notes").into_iter().map(|text| Note { label: "notes", text }));
        unit.decisions = decisions(root);
    }
    unit
}

fn decisions(root: Value<'_, '_>) -> Vec<Decision> {
    let decision = |item: Value<'_, '_>| {
        let text = content::as_sentence(item)?;
        Some(Decision { time: content::text(item, "at"), text, reason: content::text(item, "reason") })
    };
    root.get("decisions").into_iter().flat_map(Value::items).filter_map(decision).collect()
}

fn steps(root: Value<'_, '_>) -> Vec<Step> {
    let step = |id, state| Step { id, title: None, stage: None, state };
    let done = || StepState::Done { by: None, at: None, outputs: Vec::new() };
    let completed = content::texts(root, "completed_steps").into_iter().map(|id| step(id, done()));
    let next = content::texts(root, "next_steps").into_iter().map(|id| step(id, StepState::Pending));
    completed.chain(next).collect()
}
