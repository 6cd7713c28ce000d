//! The rules that relate the keys of a task's checkpoint to each other.

use std::collections::HashSet;

use piton_model::{Percent, State, Time, Unit};

use super::read::{Counts, errors, items, many_subtasks, says_resumable};
use super::{codes, layout, wire};
use crate::json::Value;
use crate::{Findings, Source, content, time};

/// Adds a finding for every broken rule.
pub(super) fn check(
    root: Value<'_, '_>,
    unit: &Unit,
    counts: &Counts,
    source: &Source<'_>,
    findings: &mut Findings<'_>,
) {
    let complete = wire::STATUS.read(&unit.status_text).word() == Some("complete");
    check_names(root, source, findings);
    check_counters(root, counts, findings);
    check_percent(root, unit, counts, complete, findings);
    check_heartbeat(root, findings);
    check_subtask_ids(root, findings);
    check_completion(root, unit, complete, source, findings);
    check_standing(root, unit, findings);
    check_times(root, findings);
    check_context(root, findings);
}

fn check_names(root: Value<'_, '_>, source: &Source<'_>, findings: &mut Findings<'_>) {
    let (Some(agent), Some(task)) = (content::text(root, "agent"), content::text(root, "task_id")) else { return };
    let expected = layout::file_name(&agent, &task);
    let (stem, name) = (format!("{agent}-{task}"), source.file_name());
    // A task whose own id ends like an archive's is named right as it is.
    if layout::live_stem(name) != stem && name != expected {
        findings.whole(&codes::TASK_FILE_NAME, format!("{agent}/{task} is kept in {name}, not in {expected}"));
    }
    if let Some(id) = root.get("checkpoint_id")
        && let Some(text) = id.as_str()
        && text.strip_prefix(stem.as_str()).is_none_or(|rest| !rest.is_empty() && !rest.starts_with('-'))
    {
        let message = format!("`checkpoint_id` is {text:?}, which does not begin with {stem:?}");
        findings.at(id.span().start, &codes::TASK_CHECKPOINT_ID, message);
    }
}

fn check_counters(root: Value<'_, '_>, counts: &Counts, findings: &mut Findings<'_>) {
    let Some(subtasks) = root.get("subtasks") else { return };
    let at = subtasks.span().start;
    let Counts { total, completed, failed, listed, listed_complete, listed_failed, .. } = *counts;
    if completed.saturating_add(failed) > total {
        let message = format!("{completed} completed and {failed} failed are more than the total of {total}");
        findings.at(at, &codes::TASK_COUNTERS, message);
    }
    let mut disagree = |message| findings.at(at, &codes::TASK_ITEMS_DISAGREE, message);
    if listed > total {
        disagree(format!("`items` lists {}, but `total` is {total}", many_subtasks(listed)));
    } else if counts.lists_all() && (listed_complete, listed_failed) != (completed, failed) {
        disagree(format!(
            "`items` has {listed_complete} complete and {listed_failed} failed, the counters say {completed} and {failed}"
        ));
    } else if !counts.lists_all() && (listed_complete > completed || listed_failed > failed) {
        disagree(format!(
            "`items` has {listed_complete} complete and {listed_failed} failed, more than the counters' {completed} and {failed}"
        ));
    }
}

fn check_percent(root: Value<'_, '_>, unit: &Unit, counts: &Counts, complete: bool, findings: &mut Findings<'_>) {
    let Some((value, percent)) = root.get("progress_percent").and_then(|value| Some((value, value.as_int()?))) else {
        return;
    };
    // A claim of completion that is denied is told as such, once; so is a number that is no percentage.
    if complete && unit.state != State::Done || !(0..=100).contains(&percent) {
        return;
    }
    if let Some(wrong) = wrong_percent(percent, counts, complete) {
        findings.at(value.span().start, &codes::TASK_PROGRESS_PERCENT, wrong);
    }
}

/// What is wrong with a percentage. The last percent is for completion, which takes more than subtasks.
fn wrong_percent(percent: i64, counts: &Counts, complete: bool) -> Option<String> {
    let (done, total) = (counts.done().min(counts.total), counts.total);
    let expected = Percent::of(done, total).floor() as i64;
    match (complete, percent) {
        (true, 100) => None,
        (true, _) => Some(format!("`progress_percent` is {percent}, but the task is complete")),
        (false, 100) => Some(format!("`progress_percent` is {percent}, but the task is not complete")),
        // Nothing is counted: only the end is known.
        (false, _) if total == 0 => None,
        (false, _) if percent == expected.min(99) => None,
        (false, _) if expected == 100 => {
            Some(format!("`progress_percent` is {percent}; {done} of {total} is 99 until the task is complete"))
        }
        (false, _) => Some(format!("`progress_percent` is {percent}; {done} of {total} is {expected}")),
    }
}

fn check_heartbeat(root: Value<'_, '_>, findings: &mut Findings<'_>) {
    let Some(status) = root.get("heartbeat").and_then(|beat| beat.get("status")) else { return };
    let Some(text) = content::as_text(status).filter(|text| !text.eq_ignore_ascii_case("alive")) else { return };
    let so = if wire::says_stopped(&text) { "; its time is no sign of life" } else { "" };
    let message = format!("`heartbeat.status` is {text:?}, not \"alive\"{so}");
    findings.at(status.span().start, &codes::TASK_HEARTBEAT_STATUS, message);
}

fn check_subtask_ids(root: Value<'_, '_>, findings: &mut Findings<'_>) {
    let mut seen = HashSet::new();
    for id in items(root).filter_map(|item| item.get("id")) {
        if let Some(text) = content::as_text(id)
            && !seen.insert(text.clone())
        {
            findings.at(id.span().start, &codes::TASK_REPEATED_SUBTASK, format!("the subtask {text:?} stands twice"));
        }
    }
}

fn check_completion(
    root: Value<'_, '_>,
    unit: &Unit,
    complete: bool,
    source: &Source<'_>,
    findings: &mut Findings<'_>,
) {
    let status = root.get("status").unwrap_or(root).span().start;
    let completed_at = root.get("completed_at").filter(|at| !at.is_null());
    match (complete, completed_at) {
        (true, None) => {
            findings.at(status, &codes::TASK_COMPLETED_AT, "`status` is complete, but there is no `completed_at`");
        }
        (false, Some(at)) => {
            let message = format!("`completed_at` is {}, but `status` is {:?}", at.raw(), unit.status_text);
            findings.at(at.span().start, &codes::TASK_COMPLETED_AT, message);
        }
        (true, Some(_)) | (false, None) => {}
    }
    if complete {
        for blocker in &unit.blockers {
            let message = format!("`status` is complete, but {blocker}");
            findings.at(status, &codes::TASK_PARTIAL_COMPLETION, message);
        }
        if unit.state == State::Done
            && says_resumable(root)
            && let Some(resumable) = root.get("resumable")
        {
            let message = "`resumable` is true, but the task is complete";
            findings.at(resumable.span().start, &codes::TASK_COMPLETE_RESUMABLE, message);
        }
    } else if layout::archive_number(source.file_name()).is_some() {
        let message = format!("the file is named as an archive, but `status` is {:?}", unit.status_text);
        findings.at(status, &codes::TASK_ARCHIVE_NOT_COMPLETE, message);
    }
}

fn check_standing(root: Value<'_, '_>, unit: &Unit, findings: &mut Findings<'_>) {
    let word = wire::STATUS.read(&unit.status_text).word();
    let status = root.get("status").unwrap_or(root).span().start;
    if word == Some("blocked") && errors(root).next().is_none() {
        let message = "`status` is blocked, but `errors` is empty";
        findings.at(status, &codes::TASK_BLOCKED_WITHOUT_ERROR, message);
    }
    if word != Some("in_progress") {
        return;
    }
    let is_blocking = |error: &Value<'_, '_>| error.get("blocking").and_then(Value::as_bool) == Some(true);
    if let Some(error) = errors(root).find(is_blocking) {
        let message = "an error is marked as `blocking`, but `status` is in_progress";
        findings.at(error.span().start, &codes::TASK_BLOCKING_ERROR, message);
    }
    if let Some(resumable) = root.get("resumable").filter(|resumable| resumable.as_bool() == Some(false)) {
        let message = "`resumable` is false, but the task is in progress";
        findings.at(resumable.span().start, &codes::TASK_NOT_RESUMABLE, message);
    }
}

fn check_times(root: Value<'_, '_>, findings: &mut Findings<'_>) {
    let moment = |key: &str| -> Option<(Value<'_, '_>, Time)> {
        let value = root.get(key)?;
        Some((value, time::read(&value.as_str()?).time()?))
    };
    let Some((_, started)) = moment("started_at") else { return };
    for key in ["updated_at", "completed_at"] {
        if let Some((value, at)) = moment(key)
            && at < started
        {
            let message = format!("`{key}` is {}, before `started_at`", value.raw());
            findings.at(value.span().start, &codes::TASK_TIMES_REVERSED, message);
        }
    }
}

fn check_context(root: Value<'_, '_>, findings: &mut Findings<'_>) {
    let Some(context) = root.get("context") else { return };
    let (Some(last), Some(next)) = (content::text(context, "last_processed"), context.get("next_to_process")) else {
        return;
    };
    if content::as_text(next).as_ref() == Some(&last) {
        let message = format!("`next_to_process` is {last:?}, which was processed last");
        findings.at(next.span().start, &codes::TASK_NEXT_IS_LAST, message);
    }
}
