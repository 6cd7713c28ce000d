//! Whether a unit may be taken from whoever has it: an agent that gives signs of life keeps it.

use piton_model::hint::verbs;
use piton_model::{Invocation, Lifecycle, Liveness, Patience, Refusal, Rule, UnitRef};
use serde_json::Value;

use crate::record::{ALIVE_AT, HOLDER, HOLDER_SESSION, RecordError, Recorder, Session};
use crate::target::Target;
use crate::{Found, find};

/// What somebody wants who takes a unit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Claim<'a> {
    /// Even if an agent seems to be alive.
    pub force: bool,
    /// The command that does it all the same, without `--force`.
    pub command: &'a Invocation,
    /// Whether it is to be gone on with. That is what a unit waits for that was given to another agent.
    pub goes_on: bool,
}

impl Session<'_> {
    /// The unit as its documents say, which were brought up to date when it was locked. Refuses to take it away from an
    /// agent that gives signs of life, and says who that is.
    pub(crate) fn take(&self, claim: &Claim<'_>, recorder: &Recorder) -> Result<Found, RecordError> {
        let wanted = exact(&self.target)?;
        let found = find(self.workspace(), &wanted, recorder.now).map_err(RecordError::NotFound)?;
        match refused_for_life(self, &found, claim, recorder) {
            Some(refusal) => Err(RecordError::Refused(refusal)),
            None => Ok(found),
        }
    }

    /// The same where nothing else has to be known. What cannot be found gives no signs of life.
    pub(crate) fn spare_the_living(&self, claim: &Claim<'_>, recorder: &Recorder) -> Result<(), RecordError> {
        match self.take(claim, recorder) {
            Ok(_) | Err(RecordError::NotFound(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

/// The target as a name that means it alone.
pub(crate) fn exact(target: &Target) -> Result<UnitRef, RecordError> {
    let full = match target.place.base.as_str() {
        "" => target.key.id.clone(),
        base => format!("{base}/{}", target.key.id),
    };
    // A directory may have a name that is no id; then the unit's own name has to do.
    UnitRef::to_full_name(target.dialect, &full)
        .map_or_else(|| UnitRef::parse(&target.name), Ok)
        .map_err(|error| RecordError::Failed { message: error.to_string() })
}

/// A unit that a lead has is the lead's: whoever takes it makes two of one worker.
fn refused_for_lead(name: &str, found: &Found, claim: &Claim<'_>, recorder: &Recorder) -> Option<Refusal> {
    // A worker does not take its unit from the lead that started it.
    let is_worker = recorder.attempt.is_some();
    let led = found.led.as_ref().filter(|led| led.is_held() && (is_worker || !claim.force))?;
    let lead = led.lead.shown(recorder.now);
    if is_worker {
        let refusal = Refusal::rule(format!("{name} is led: {lead} (run {}), and you are its worker", led.lead.run));
        return Some(refusal.hint("go on with your work, or end: the lead does the rest"));
    }
    Some(
        Refusal::rule(format!("{name} is led: {lead} (run {})", led.lead.run))
            .hint(verbs::RUN.call().to("show the run"))
            .hint(verbs::STOP.call().to("stop it after its current workers"))
            .hint(claim.command.clone().flag("--force").to("take the unit from it all the same")),
    )
}

fn refused_for_life(session: &Session<'_>, found: &Found, claim: &Claim<'_>, recorder: &Recorder) -> Option<Refusal> {
    if let Some(refusal) = refused_for_lead(&session.target.name, found, claim, recorder) {
        return Some(refusal);
    }
    let is_alive = matches!(found.judgement.liveness, Liveness::Alive);
    let carried = session.unit.last().map(|entry| &entry.carried);
    let text = |key: &str| carried.and_then(|carried| carried.get(key)).and_then(Value::as_str);
    // A session that lost its context asks for its own unit again.
    let is_own = recorder.session.is_some() && text(HOLDER_SESSION) == recorder.session.as_deref();
    // Whoever resumed just now may not have done anything yet that shows in a document.
    let is_open = matches!(found.unit.state.lifecycle(), Lifecycle::Queued | Lifecycle::Running | Lifecycle::Waiting);
    // A failure or a pause that was recorded last gives it back.
    let is_given_back = session.unit.last().is_some_and(|entry| matches!(&*entry.event, "failed" | "paused"));
    // Nobody is at work yet on what was taken over and not begun.
    let is_awaited = claim.goes_on && session.is_awaited();
    let is_silent = !is_given_back && matches!(found.judgement.liveness, Liveness::Idle | Liveness::Unknown);
    let recorded = text(ALIVE_AT).filter(|_| text(HOLDER).is_some());
    let recorded = recorded.and_then(|at| piton_dialect::time::read(at).time()).map(|at| at.age(recorder.now));
    let patience = Patience::of(session.target.dialect);
    // Where a lead had it, its processes tell that nobody is at it.
    let is_process_fact = matches!(found.judgement.rule, Rule::Process(_));
    let is_held = is_open && is_silent && !is_process_fact && recorded.is_some_and(|age| age.0 < patience.late);
    if !(is_alive || is_held) || claim.force || is_own || is_awaited {
        return None;
    }
    let name = &session.target.name;
    let age = if is_alive { found.judgement.believed.as_ref().map(|believed| believed.age) } else { recorded };
    let seen = age.map_or_else(String::new, |age| format!(", last seen {age} ago"));
    let last = session.unit.last().map(|entry| entry.by.as_str());
    let who = text(HOLDER).or(found.unit.agent.as_deref()).or(last).unwrap_or("somebody");
    // Who was never recorded has no attempt.
    let attempt = match session.unit.attempt() {
        0 => String::new(),
        attempt => format!(", attempt {attempt}"),
    };
    Some(
        Refusal::rule(format!("{name} has a live agent: {who}{attempt}{seen}"))
            .hint(verbs::WHY.on(name).to("see how it was judged"))
            .hint(claim.command.clone().flag("--force").to("if it is gone for certain")),
    )
}
