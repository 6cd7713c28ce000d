//! Whether a unit may be taken from whoever has it: an agent that gives signs of life keeps it.

use piton_model::{Liveness, Refusal, UnitRef};
use serde_json::Value;

use crate::record::{RecordError, Recorder, Session};
use crate::target::Target;
use crate::{Found, find};

/// Under which keys a journal carries who resumed the unit last.
pub(crate) const HOLDER: &str = "holder";
pub(crate) const HOLDER_SESSION: &str = "holder_session";

/// What somebody wants who takes a unit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Claim<'a> {
    /// Even if an agent seems to be alive.
    pub force: bool,
    /// The command that does it all the same, without `--force`.
    pub command: &'a str,
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
fn exact(target: &Target) -> Result<UnitRef, RecordError> {
    let full = match target.place.base.as_str() {
        "" => target.name.clone(),
        base => format!("{}:{base}/{}", target.dialect, target.key.id),
    };
    // A directory may have a name that is no id; then the unit's own name has to do.
    UnitRef::parse(&full)
        .or_else(|_| UnitRef::parse(&target.name))
        .map_err(|error| RecordError::Failed { message: error.to_string() })
}

fn refused_for_life(session: &Session<'_>, found: &Found, claim: &Claim<'_>, recorder: &Recorder) -> Option<Refusal> {
    let is_alive = matches!(found.judgement.liveness, Liveness::Alive);
    let carried = session.unit.last().map(|entry| &entry.carried);
    let text = |key: &str| carried.and_then(|carried| carried.get(key)).and_then(Value::as_str);
    // A session that lost its context asks for its own unit again.
    let is_own = recorder.session.is_some() && text(HOLDER_SESSION) == recorder.session.as_deref();
    if !is_alive || claim.force || is_own {
        return None;
    }
    let name = &session.target.name;
    let seen = found.judgement.believed.as_ref();
    let seen = seen.map_or_else(String::new, |believed| format!(", last seen {} ago", believed.age));
    let who = text(HOLDER).or(found.unit.agent.as_deref()).unwrap_or("an agent");
    Some(
        Refusal::rule(format!("{name} has a live agent: {who} (attempt {}{seen})", session.unit.attempt()))
            .hint(format!("see why it counts as alive: piton why {name}"))
            .hint(format!("if it is gone for certain: {} --force", claim.command)),
    )
}
