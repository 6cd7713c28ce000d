//! Operation 7 and the arrows between the statuses: pause, approval, continuation, completion.

use piton_model::hint::verbs;
use piton_model::text::are_counted;
use piton_model::{BuildStatus, Moment, Refusal, ResumeMode};
use serde_json::{Value as NewValue, json};

use super::super::checkpoint::{APPROVED_AT, Bucket};
use super::super::gates::shown;
use super::draft::{Draft, brief};

/// Refuses while something keeps the build from going on.
pub(in super::super) fn refuse_when_blocked(draft: &Draft) -> Result<(), Refusal> {
    let name = &draft.name;
    if draft.status == Some("complete") {
        return Err(Refusal::rule("it is called complete, but is not")
            .hint(verbs::REOPEN.on(name).to("open it again for what is missing")));
    }
    if draft.is_blocked_by_review {
        return Err(super::review::ways_out(draft, "the review blocks it: the verdict is do_not_ship"));
    }
    if draft.waits_for_approval {
        return Err(Refusal::rule("the review says ship_with_gates: a person approves it before work begins")
            .hint(verbs::UNBLOCK.on(name).to("approve it")));
    }
    let blocked = draft.editor.get(&["blocked_by"]).and_then(|list| list.as_array().map(Vec::len)).unwrap_or(0);
    if blocked > 0 {
        let by = draft.unit.blockers.iter().map(|blocker| brief(blocker)).collect::<Vec<_>>().join("; ");
        return Err(Refusal::rule(format!("it is blocked: {by}"))
            .hint(verbs::UNBLOCK.on(name).to("when what blocks it is gone")));
    }
    Ok(())
}

/// Refuses while workstreams are in progress, and says how they come to an end.
pub(super) fn refuse_running(draft: &Draft, why: &str) -> Result<(), Refusal> {
    let running = draft.ids(Bucket::InProgress);
    if running.is_empty() {
        return Ok(());
    }
    let name = &draft.name;
    Err(Refusal::rule(format!("{} in progress; {why}", running.join(", ")))
        .hint(verbs::STEP.on(name).word("done").names(&running, "STEP").to("when done"))
        .hint(verbs::STEP.on(name).word("fail").names(&running, "STEP").filled("--message", "TEXT").to("when stopped")))
}

/// Enters a phase by its number, or by its name in the specification.
pub(super) fn phase(draft: &mut Draft, stage: &str, phase: Option<&str>) -> Result<String, Refusal> {
    if phase.is_some() {
        return Err(Refusal::usage("the phases of a build have their names in its specification"));
    }
    refuse_when_blocked(draft)?;
    if draft.status == Some("initialized") {
        let hint = super::super::resume::next_command(draft);
        return Err(Refusal::rule("a build enters its first phase with a workstream").hint(hint));
    }
    let phases = draft.spec.as_ref().map_or(0, |spec| spec.phases.len());
    let is_named = |name: &Option<String>| name.as_deref().is_some_and(|name| name.eq_ignore_ascii_case(stage));
    let by_name = draft.spec.iter().flat_map(|spec| &spec.phases).position(|phase| is_named(&phase.name));
    let typed = stage.trim();
    let number = typed.strip_prefix("phase ").unwrap_or(typed).parse::<i64>().ok().filter(|number| *number > 0);
    let number = by_name.and_then(|place| i64::try_from(place + 1).ok()).or(number);
    let Some(number) = number.filter(|number| phases == 0 || usize::try_from(*number).is_ok_and(|n| n <= phases))
    else {
        return Err(Refusal::missing(format!("there is no phase {stage:?}")).hint(match phases {
            0 => "phases are numbered from 1".to_owned(),
            phases => format!("there are the phases 1 to {phases}"),
        }));
    };
    // Without a specification nobody knows how many there are, but each comes after the one before it.
    let next = draft.editor.int(&["current_phase"]).unwrap_or(0).max(0).saturating_add(1);
    if phases == 0 && number > next {
        return Err(Refusal::rule(format!("phase {next} comes before phase {number}"))
            .hint(verbs::STAGE.on(&draft.name).name(&next.to_string(), "STAGE")));
    }
    let open = [Bucket::Pending, Bucket::InProgress, Bucket::Failed].into_iter().flat_map(|bucket| draft.ids(bucket));
    let is_before = |id: &String| {
        draft.phase_of(id).and_then(|phase| i64::try_from(phase).ok()).is_some_and(|phase| phase < number)
    };
    let left: Vec<_> = open.filter(is_before).collect();
    if !left.is_empty() {
        return Err(Refusal::rule(format!("{} of an earlier phase is not completed", left.join(", ")))
            .hint(super::super::resume::next_command(draft)));
    }
    draft.editor.set(&["current_phase"], number);
    Ok(format!("phase {number}"))
}

/// Records what blocks the build; nothing begins until it is gone.
pub(super) fn blocked(
    draft: &mut Draft,
    message: &str,
    kind: Option<&str>,
    moment: &Moment,
) -> Result<String, Refusal> {
    if message.trim().is_empty() {
        return Err(Refusal::usage("say what blocks it: --message TEXT"));
    }
    let mut entry = json!({ "message": message });
    if let Some(kind) = kind {
        entry["type"] = kind.into();
    }
    entry["timestamp"] = moment.now.to_string().into();
    entry["by"] = moment.by.as_str().into();
    draft.add_entry("blocked_by", entry)?;
    Ok(format!("blocked: {}", brief(message)))
}

/// Takes blockers away, or approves of a review that asks a person, or states that what failed is fixed, or approves of
/// a pause: whichever there is, in this order.
pub(super) fn unblocked(draft: &mut Draft, which: Option<&str>, moment: &Moment) -> Result<String, Refusal> {
    let list = draft.editor.get(&["blocked_by"]).and_then(|list| list.as_array().cloned()).unwrap_or_default();
    if !list.is_empty() {
        return unblock(draft, list, which);
    }
    if let Some(which) = which {
        return Err(Refusal::missing(format!("nothing is blocked by {which:?}")));
    }
    if draft.waits_for_approval {
        return approve_review(draft, moment);
    }
    if draft.is_blocked_by_review || draft.status == Some("complete") {
        refuse_when_blocked(draft)?;
    }
    match draft.status {
        Some("failed") => {
            draft.clear_error()?;
            draft.set_status(BuildStatus::Paused);
            Ok("the error is cleared, paused for approval".to_owned())
        }
        Some("paused") => {
            // One without a reason paused itself at a gate, as the protocol has it.
            let reason = draft.editor.string(&["pause_reason"]);
            let is_approval = reason.is_none_or(|reason| reason.ends_with("waits for approval"));
            draft.editor.remove(&["pause_reason"]);
            go_on(draft);
            Ok(if is_approval { "approved" } else { "the pause is over" }.to_owned())
        }
        _ => Ok("nothing blocks it".to_owned()),
    }
}

/// Writes down that a person lets work begin after a review that asks for one.
fn approve_review(draft: &mut Draft, moment: &Moment) -> Result<String, Refusal> {
    if let Some(ticket) = moment.ticket {
        return Err(Refusal::rule(format!("the review asks a person, and attempt {ticket} is a worker's"))
            .hint(verbs::UNBLOCK.on(&draft.name).to("ask the user to approve it")));
    }
    draft.editor.set(&["adversarial_review", APPROVED_AT], moment.now.to_string());
    draft.editor.set(&["adversarial_review", "approved_by"], moment.by.as_str());
    Ok("the review is approved".to_owned())
}

fn unblock(draft: &mut Draft, list: Vec<NewValue>, which: Option<&str>) -> Result<String, Refusal> {
    let is_it = |(place, entry): (usize, &NewValue)| match which {
        None => true,
        Some(which) => which == (place + 1).to_string() || entry["message"].as_str() == Some(which),
    };
    let kept: Vec<_> = list.iter().enumerate().filter(|pair| !is_it(*pair)).map(|(_, entry)| entry.clone()).collect();
    if kept.len() == list.len() {
        let known = format!("there {}, numbered from 1", are_counted(list.len(), "blocker", "blockers"));
        return Err(Refusal::missing(format!("nothing is blocked by {:?}", which.unwrap_or_default())).hint(known));
    }
    let left = kept.len();
    if kept.is_empty() {
        draft.editor.remove(&["blocked_by"]);
        return Ok("unblocked".to_owned());
    }
    draft.editor.set(&["blocked_by"], kept);
    Ok(format!("unblocked, {left} left"))
}

/// Pauses the build; what runs must have come to an end.
pub(super) fn paused(draft: &mut Draft, reason: Option<&str>) -> Result<String, Refusal> {
    refuse_running(draft, "a paused build has nothing in progress")?;
    draft.set_status(BuildStatus::Paused);
    match reason.map(str::trim).filter(|reason| !reason.is_empty()) {
        Some(reason) => {
            draft.editor.set(&["pause_reason"], reason);
            Ok(format!("paused: {}", brief(reason)))
        }
        None => {
            draft.editor.remove(&["pause_reason"]);
            Ok("paused".to_owned())
        }
    }
}

/// Records that the build is continued. What was interrupted is begun again or continued, as the caller says; what
/// failed is continued once the caller says that it is fixed.
pub(super) fn resumed(draft: &mut Draft, mode: Option<ResumeMode>) -> Result<String, Refusal> {
    refuse_when_blocked(draft)?;
    let running = draft.ids(Bucket::InProgress);
    let restarts = mode == Some(ResumeMode::Restart);
    match draft.trail().last() {
        Some(BuildStatus::InProgress) => {
            if !restarts && mode != Some(ResumeMode::Continue) {
                return Err(both_ways(&draft.name));
            }
            for id in running.iter().filter(|_| restarts) {
                draft.put(id, Bucket::Pending);
                draft.set_artifacts_aside(id)?;
            }
            go_on(draft);
        }
        Some(BuildStatus::Failed) => {
            if mode != Some(ResumeMode::Fixed) {
                return Err(not_fixed(draft));
            }
            draft.clear_error()?;
            go_on(draft);
        }
        Some(BuildStatus::Paused) => {
            draft.editor.remove(&["pause_reason"]);
            go_on(draft);
        }
        // It has not begun, and begins with its first workstream.
        Some(BuildStatus::Initialized) | Some(BuildStatus::Complete) | None => {}
    }
    Ok(match (restarts, running.as_slice()) {
        (_, []) => "resumed".to_owned(),
        (true, running) => format!("resumed, {} pending again", running.join(", ")),
        (false, running) => format!("resumed, {} in progress", running.join(", ")),
    })
}

/// The refusal of a resume that does not say how.
pub(super) fn both_ways(name: &str) -> Refusal {
    let refusal = Refusal::rule("it is in progress: begin what was interrupted again, or go on with it");
    super::super::resume::both_ways(name).into_iter().fold(refusal, Refusal::hint)
}

/// The refusal of a resume that does not say whether what failed is fixed.
fn not_fixed(draft: &Draft) -> Refusal {
    let mut failures = draft.unit.troubles.iter().map(super::super::resume::failure);
    let failure = failures.next_back().unwrap_or_else(|| "it failed".to_owned());
    Refusal::rule(failure).hint(super::super::resume::when_fixed(&draft.name))
}

/// Continues after a pause, a failure or an interruption. `in_progress` needs a workstream that is executed, or a gate
/// that the completed ones wait for; without either the build is paused until the next workstream begins.
fn go_on(draft: &mut Draft) {
    let is_executed = !draft.ids(Bucket::InProgress).is_empty();
    let waits_for_gate = !draft.ids(Bucket::Completed).is_empty() && !draft.waiting.is_empty();
    draft.set_status(match is_executed || waits_for_gate {
        true => BuildStatus::InProgress,
        false => BuildStatus::Paused,
    });
}

/// The status after a workstream ended, in whatever way: executing, waiting for a gate, complete, or paused.
pub(super) fn settle(draft: &mut Draft) {
    if is_over(draft) {
        return complete(draft);
    }
    go_on(draft);
}

/// The status after a gate has passed: executing, waiting for another gate that is due, complete, or paused for a person.
pub(super) fn settle_gate(draft: &mut Draft) {
    if draft.trail().last() == Some(&BuildStatus::Complete) {
        return;
    }
    if is_over(draft) {
        return complete(draft);
    }
    // A gate before all work executes nothing.
    if draft.trail().last() == Some(&BuildStatus::Initialized) && draft.ids(Bucket::Completed).is_empty() {
        return;
    }
    let goes_on = !draft.ids(Bucket::InProgress).is_empty() || super::gates::due(draft).is_some();
    draft.set_status(if goes_on { BuildStatus::InProgress } else { BuildStatus::Paused });
}

/// Whether nothing is left to do, nothing keeps it from being complete, and the one who records it may say so: of
/// several workers none does, because the lead runs the gates itself.
fn is_over(draft: &Draft) -> bool {
    !draft.is_of_worker && refuse_when_blocked(draft).is_ok() && refuse_open(draft).is_ok()
}

fn complete(draft: &mut Draft) {
    if let Some(phases) = draft.spec.as_ref().map(|spec| spec.phases.len()).filter(|phases| *phases > 0) {
        draft.editor.set(&["current_phase"], phases);
    }
    draft.set_complete();
    draft.editor.remove(&["error"]);
}

/// Completes the build: no workstream and no gate may be left.
pub(super) fn finished(draft: &mut Draft) -> Result<String, Refusal> {
    if draft.unit.state == piton_model::State::Done {
        return Ok("already complete".to_owned());
    }
    refuse_when_blocked(draft)?;
    super::gates::leave_out_removed(draft);
    refuse_open(draft)?;
    complete(draft);
    Ok(format!("complete ({})", super::steps::counts(draft)))
}

/// Refuses while a workstream or a gate is left, and says how it is brought to its end.
fn refuse_open(draft: &Draft) -> Result<(), Refusal> {
    let open = [Bucket::InProgress, Bucket::Pending, Bucket::Failed].into_iter().flat_map(|bucket| draft.ids(bucket));
    let open: Vec<_> = open.collect();
    let by_spec: Vec<_> = draft.unit.steps.iter().filter(|step| draft.bucket_of(&step.id).is_none()).collect();
    let gates: Vec<_> = draft.waiting.iter().map(shown).collect();
    let name = &draft.name;
    if let Some(step) = by_spec.first() {
        return Err(Refusal::rule(format!("{} of the specification is in none of the lists", step.id))
            .hint(verbs::REPAIR.on(name).to("bring them into line")));
    }
    if !open.is_empty() || !gates.is_empty() {
        let parts = [("workstreams", &open), ("gates", &gates)].into_iter().filter(|(_, left)| !left.is_empty());
        let parts: Vec<_> = parts.map(|(what, left)| format!("{what} {}", left.join(", "))).collect();
        let refusal = Refusal::rule(format!("not everything is done: {} left", parts.join(" and ")));
        return Err(refusal.hint(super::super::resume::next_command(draft)));
    }
    if draft.ids(Bucket::Completed).is_empty() {
        return Err(
            Refusal::rule("no workstream is completed").hint(verbs::RESTART.on(name).to("begin it again from nothing"))
        );
    }
    Ok(())
}

/// Opens a build that is called complete, but is not.
pub(super) fn reopened(draft: &mut Draft) -> Result<String, Refusal> {
    let is_doubted = draft.unit.state == piton_model::State::Done;
    if draft.status != Some("complete") && !is_doubted {
        refuse_when_blocked(draft)?;
        return Err(Refusal::rule("it is not called complete"));
    }
    go_on(draft);
    Ok(format!("reopened ({})", super::steps::counts(draft)))
}

/// Brings the lists into line with each other and with the specification: every workstream in one list, every gate in
/// one, artifacts with completed workstreams. Nothing that is not done becomes done.
pub(super) fn repaired(draft: &mut Draft) -> Result<String, Refusal> {
    let before = draft.editor.clone().into_bytes();
    let listed: Vec<_> = draft.unit.steps.iter().map(|step| step.id.clone()).collect();
    for id in &listed {
        let bucket = draft.bucket_of(id).unwrap_or(Bucket::Pending);
        draft.tidy(id, bucket);
    }
    let artifacts = draft.editor.get(&["artifacts"]).and_then(|files| files.as_object().cloned()).unwrap_or_default();
    let failed = draft.editor.string(&["error", "workstream"]).filter(|_| draft.status == Some("failed"));
    for id in artifacts.keys().filter(|id| failed.as_ref() != Some(*id)) {
        if draft.bucket_of(id).is_some_and(|bucket| bucket != Bucket::Completed) {
            draft.set_artifacts_aside(id)?;
        }
    }
    super::gates::add_missing(draft)?;
    if draft.status.is_some_and(|status| status != "failed") {
        draft.editor.remove(&["error"]);
    }
    if draft.status != Some("in_progress") && draft.status.is_some() && !draft.ids(Bucket::InProgress).is_empty() {
        // Nobody executes anything at such a status.
        for id in draft.ids(Bucket::InProgress) {
            draft.put(&id, Bucket::Pending);
        }
    }
    let is_same = draft.editor.clone().into_bytes() == before;
    Ok(if is_same { "nothing to repair" } else { "lists brought into line" }.to_owned())
}
