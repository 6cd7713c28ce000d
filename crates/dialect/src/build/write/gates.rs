//! Operation 4: gates pass or fail.

use piton_model::fleet::cannot_judge;
use piton_model::hint::verbs;
use piton_model::{BuildStatus, Evidence, GateJudgement, Moment, Refusal};

use super::super::checkpoint::Bucket;
use super::super::gates::{Listed, fold, is_for, owners as owners_of, parse, shown, steps_of};
use super::super::rules::gate_names;
use super::draft::{Draft, near};
use super::steps::{Failure, write_error};
use super::{life, notes};

/// Records what gates resulted in.
pub(super) fn judged(draft: &mut Draft, judged: &GateJudgement, moment: &Moment) -> Result<String, Refusal> {
    if judged.names.is_empty() {
        return Err(Refusal::usage("name at least one gate"));
    }
    // What has another form than texts is not written.
    draft.list(&["gates_passed"])?;
    draft.list(&["gates_pending"])?;
    let mut all = Vec::new();
    for typed in &judged.names {
        let found = find(draft, typed, judged.step.as_deref())?;
        // Who paused it for this gate has the answer.
        let waited =
            draft.editor.string(&["pause_reason"]).is_some_and(|why| why.starts_with(&cannot_judge(&found.name, "")));
        if waited {
            let word = if judged.passed { "passed" } else { "is not met" };
            draft.editor.set(&["pause_reason"], format!("gate {} {word}; its run continues with that", found.name));
        }
        all.extend(match judged.passed {
            true => pass(draft, &found)?,
            false => fail(draft, &found, judged.evidence.as_ref())?,
        });
    }
    if let Some(evidence) = &judged.evidence {
        for gate in &all {
            notes::evidence(draft, gate, evidence, moment)?;
        }
    }
    write_lists(draft);
    let named = all.join(", ");
    if !judged.passed {
        return Ok(format!("gate {named} failed"));
    }
    life::settle_gate(draft);
    let then = match draft.status {
        Some("complete") => format!("; complete ({})", super::steps::counts(draft)),
        Some("paused") => ", paused for approval".to_owned(),
        _ => String::new(),
    };
    Ok(format!("gate {named} passed{then}"))
}

/// A gate that is judged, and for which workstreams.
struct Found {
    name: String,
    steps: Vec<String>,
}

impl Found {
    /// As the lists name it: once for each workstream, or bare.
    fn entries(&self) -> Vec<Listed> {
        let entry = |step: &String| Listed { step: Some(step.clone()), ..bare(self.name.clone()) };
        if self.steps.is_empty() { vec![bare(self.name.clone())] } else { self.steps.iter().map(entry).collect() }
    }
}

/// Finds the gate by its name, and the workstreams that it is judged for.
fn find(draft: &Draft, typed: &str, step: Option<&str>) -> Result<Found, Refusal> {
    let typed = parse(typed, &|text| draft.bucket_of(text).is_some());
    let known = known_names(draft);
    let Some(name) = known.iter().find(|name| fold(name) == fold(&typed.name)).cloned() else {
        let names: Vec<_> = known.iter().map(String::as_str).collect();
        let message = format!("there is no gate {:?} in {}", typed.name, draft.name);
        return Err(Refusal::missing(message).hint(near(&names, &typed.name)));
    };
    let owners = owners(draft, &name);
    let steps = match step.or(typed.step.as_deref()) {
        Some(step) => vec![step.to_owned()],
        None => by_itself(draft, &name, &owners)?,
    };
    for step in &steps {
        if draft.known(step)? != Bucket::Completed {
            return Err(Refusal::rule(format!("{step} is not completed, so its gates are not due"))
                .hint(verbs::STEP.on(&draft.name).word("done").name(step, "STEP").to("when it is done")));
        }
    }
    Ok(Found { name, steps })
}

/// The workstreams that a gate is judged for when nobody says so: those that wait for it and are completed.
fn by_itself(draft: &Draft, name: &str, owners: &[String]) -> Result<Vec<String>, Refusal> {
    if is_before_all_work(draft, name) && !draft.passed.iter().any(|gate| fold(&gate.name) == fold(name)) {
        return Ok(Vec::new());
    }
    let has_passed = |step: &str| draft.passed.iter().any(|gate| is_for(gate, name, step));
    let is_done = |step: &String| draft.bucket_of(step) == Some(Bucket::Completed);
    if !owners.is_empty() {
        let due: Vec<_> = owners.iter().filter(|step| is_done(step)).cloned().collect();
        let open: Vec<_> = due.iter().filter(|step| !has_passed(step)).cloned().collect();
        return match (due.is_empty(), open.is_empty()) {
            (true, _) => {
                Err(Refusal::rule(format!("the gate {name} belongs to {}, not completed yet", owners.join(", ")))
                    .hint(verbs::STEP.on(&draft.name).word("done").name(&owners[0], "STEP").to("when it is done")))
            }
            (false, true) => Ok(due),
            (false, false) => Ok(open),
        };
    }
    let completed = draft.ids(Bucket::Completed);
    if completed.is_empty() {
        return Err(Refusal::rule(format!("no workstream is completed, so the gate {name} is not due"))
            .hint(verbs::STATUS.on(&draft.name).to("see what is left")));
    }
    let listed = draft.waiting.iter().filter(|gate| fold(&gate.name) == fold(name));
    let waiting: Vec<_> = listed.flat_map(steps_of).map(str::to_owned).filter(is_done).collect();
    if !waiting.is_empty() {
        return Ok(waiting);
    }
    // The one workstream that no gate has passed for is the one that is meant.
    let is_bare = |step: &&String| !draft.passed.iter().any(|gate| steps_of(gate).any(|known| known == step.as_str()));
    let bare: Vec<_> = completed.iter().filter(is_bare).cloned().collect();
    Ok(if bare.len() == 1 { bare } else { Vec::new() })
}

/// Whether a gate is that of a phase before the first workstream: it judges what there is before any work.
fn is_before_all_work(draft: &Draft, name: &str) -> bool {
    let phases = draft.spec.iter().flat_map(|spec| &spec.phases);
    let mut before = phases.take_while(|phase| phase.parallel.is_empty());
    before.any(|phase| phase.gates.iter().any(|gate| fold(gate) == fold(name)))
}

fn pass(draft: &mut Draft, found: &Found) -> Result<Vec<String>, Refusal> {
    let owners = owners(draft, &found.name);
    let mut shown_all = Vec::new();
    for entry in found.entries() {
        let step = entry.step.clone();
        if let Some(step) = step.as_ref().filter(|step| !owners.is_empty() && !owners.contains(step)) {
            draft.warnings.push(format!("the specification does not give the gate {} to {step}", found.name).into());
        }
        let is_same = |gate: &Listed| fold(&gate.name) == fold(&entry.name) && gate.step == entry.step;
        let is_new = !draft.passed.iter().any(is_same);
        draft.waiting.retain(|gate| gate.step.is_none() || !is_same(gate));
        shown_all.push(shown(&entry));
        if is_new {
            draft.passed.push(entry);
            advance(draft, step.as_deref());
        }
    }
    let is_open = |owner: &String| {
        draft.bucket_of(owner) != Some(Bucket::Skipped)
            && !draft.passed.iter().any(|gate| is_for(gate, &found.name, owner))
    };
    let is_bare_pass = found.steps.is_empty();
    if is_bare_pass || !owners.iter().any(is_open) {
        draft.waiting.retain(|gate| fold(&gate.name) != fold(&found.name) || gate.step.is_some());
    }
    Ok(shown_all)
}

fn fail(draft: &mut Draft, found: &Found, evidence: Option<&Evidence>) -> Result<Vec<String>, Refusal> {
    life::refuse_running(draft, "a gate fails when its phase has come to an end")?;
    let entries = found.entries();
    let last = draft.ids(Bucket::Completed).pop().unwrap_or_default();
    let workstream = found.steps.first().cloned().unwrap_or(last);
    let is_same =
        |gate: &Listed| entries.iter().any(|entry| fold(&gate.name) == fold(&entry.name) && gate.step == entry.step);
    draft.passed.retain(|gate| !is_same(gate));
    if !draft.waiting.iter().any(|gate| fold(&gate.name) == fold(&found.name)) {
        draft.waiting.push(bare(found.name.clone()));
    }
    let message = match evidence {
        Some(evidence) => evidence.failure(&found.name),
        None => format!("the gate {} failed", found.name),
    };
    // A paused build stays so: what its gate asks for is done when it is continued.
    if draft.trail().last() != Some(&BuildStatus::Paused) {
        write_error(draft, &workstream, &Failure { message: &message, file: None, line: None });
    }
    Ok(entries.iter().map(shown).collect())
}

/// Whether gates have passed already, for the workstream that is named or for any.
pub(super) fn have_passed(draft: &Draft, judged: &GateJudgement) -> bool {
    let has_passed = |typed: &String| {
        let typed = parse(typed, &|text| draft.bucket_of(text).is_some());
        let step = judged.step.as_ref().or(typed.step.as_ref());
        draft.passed.iter().any(|gate| match step {
            Some(step) => is_for(gate, &typed.name, step),
            None => !gate.has_failed && fold(&gate.name) == fold(&typed.name),
        })
    };
    !judged.names.is_empty() && judged.names.iter().all(has_passed)
}

/// The gate of a workstream, as the lists or the specification have it.
pub(super) fn of(draft: &Draft, step: &str) -> Option<String> {
    let listed = draft.passed.iter().find(|gate| steps_of(gate).any(|known| known == step)).map(|gate| &gate.name);
    let stream = draft.spec.iter().flat_map(|spec| &spec.workstreams).find(|stream| stream.id == step);
    listed.or_else(|| stream?.gate.as_ref()).or_else(|| Some(&draft.waiting.first()?.name)).cloned()
}

/// A gate that is pending for a workstream that is completed, as the specification has it.
pub(in super::super) fn due(draft: &Draft) -> Option<(String, String)> {
    let is_due = |name: &str, step: &String| {
        draft.bucket_of(step) == Some(Bucket::Completed) && !draft.passed.iter().any(|gate| is_for(gate, name, step))
    };
    draft.waiting.iter().find_map(|gate| {
        let step = owners(draft, &gate.name).into_iter().find(|step| is_due(&gate.name, step))?;
        Some((gate.name.clone(), step))
    })
}

/// The phase that is reached: that of the workstream in the specification; without one each gate that passes ends a
/// phase, as in the protocol's own example.
fn advance(draft: &mut Draft, step: Option<&str>) {
    let recorded = draft.editor.int(&["current_phase"]).unwrap_or(0).max(0);
    let by_spec = step.and_then(|step| draft.phase_of(step)).and_then(|phase| i64::try_from(phase).ok());
    let has_phases = draft.spec.as_ref().is_some_and(|spec| !spec.phases.is_empty());
    let phase = match by_spec {
        Some(phase) => recorded.max(phase),
        None if has_phases => recorded,
        None => recorded.saturating_add(1),
    };
    draft.editor.set(&["current_phase"], phase);
}

fn owners(draft: &Draft, name: &str) -> Vec<String> {
    draft.spec.iter().flat_map(|spec| owners_of(spec, name)).map(str::to_owned).collect()
}

fn known_names(draft: &Draft) -> Vec<String> {
    let by_spec = draft.spec.iter().flat_map(gate_names).map(str::to_owned);
    let listed = draft.waiting.iter().chain(&draft.passed).map(|gate| gate.name.clone());
    let mut names = Vec::new();
    for name in listed.chain(by_spec) {
        if !names.iter().any(|known: &String| fold(known) == fold(&name)) {
            names.push(name);
        }
    }
    names
}

/// Leaves out gates that are pending and that the specification does not have any more.
pub(super) fn leave_out_removed(draft: &mut Draft) {
    let Some(spec) = &draft.spec else { return };
    let known: Vec<String> = gate_names(spec).into_iter().map(fold).collect();
    let is_known = |gate: &Listed| known.is_empty() || known.contains(&fold(&gate.name));
    let (kept, removed): (Vec<Listed>, Vec<Listed>) = draft.waiting.drain(..).partition(is_known);
    draft.waiting = kept;
    for gate in &removed {
        draft.warnings.push(format!("the specification has no gate {} any more: it is left out", gate.name).into());
    }
    if !removed.is_empty() {
        write_lists(draft);
    }
}

fn write_lists(draft: &mut Draft) {
    let texts = |gates: &[Listed]| gates.iter().map(shown).collect::<Vec<_>>();
    let (passed, waiting) = (texts(&draft.passed), texts(&draft.waiting));
    draft.editor.set(&["gates_passed"], passed).set(&["gates_pending"], waiting);
}

/// Makes every gate pending that is in neither list, as the specification names it.
pub(super) fn add_missing(draft: &mut Draft) -> Result<(), Refusal> {
    draft.list(&["gates_passed"])?;
    draft.list(&["gates_pending"])?;
    let missing = missing(draft);
    draft.waiting.extend(missing.into_iter().map(bare));
    write_lists(draft);
    Ok(())
}

/// The gates of the specification that are in neither list.
pub(super) fn missing(draft: &Draft) -> Vec<String> {
    let is_listed = |name: &str| draft.passed.iter().chain(&draft.waiting).any(|gate| fold(&gate.name) == fold(name));
    known_names(draft).into_iter().filter(|name| !is_listed(name)).collect()
}

/// Makes every gate pending, once.
pub(super) fn forget(draft: &mut Draft) {
    let names = known_names(draft);
    (draft.passed, draft.waiting) = (Vec::new(), names.into_iter().map(bare).collect());
    write_lists(draft);
}

fn bare(name: String) -> Listed {
    Listed { name, step: None, stage: None, has_failed: false, result: None }
}
