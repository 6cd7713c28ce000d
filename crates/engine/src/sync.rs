//! Whether the crews of a workspace are at their sync point.

use piton_dialect::crew::{AtSync, sync_ready};
use piton_model::{Dialect, Patience, Refusal, Time};

use crate::crew::{Crew, crews, directory, is_meant, no_crew};
use crate::run::LedAgents;
use crate::{Found, Workspace};

/// A crew before its sync point.
#[derive(Debug)]
pub struct SyncPoint {
    /// The crew's directory; empty for the workspace itself.
    pub crew: String,
    /// How many agents it has.
    pub agents: usize,
    /// Who is missing, and why; nobody when it is reached.
    pub missing: Vec<(String, String)>,
}

/// Tells of each crew who is missing at its sync point; of one crew, when its directory is named.
pub fn sync(workspace: &Workspace, epic: Option<&str>, now: Time) -> Result<Vec<SyncPoint>, Refusal> {
    let all = crews(workspace, now);
    let wanted = epic.map(directory);
    let led = LedAgents::look(workspace);
    let points: Vec<SyncPoint> = all
        .iter()
        .filter(|crew| is_meant(&crew.base, wanted))
        .map(|crew| {
            let mut missing = missing_at_sync(crew, |agent| led.is_done(&agent.full_name), now);
            // An agent that calls itself complete is not there before its run has merged what it did.
            let is_open = |agent: &&Found| {
                led.is_open(&agent.full_name) && missing.iter().all(|(name, _)| *name != agent.unit.id)
            };
            let open: Vec<String> = crew.agents.iter().filter(is_open).map(|agent| agent.unit.id.clone()).collect();
            missing.extend(open.into_iter().map(|agent| (agent, "its run has not merged its work yet".to_owned())));
            SyncPoint { crew: crew.base.clone(), agents: crew.agents.len(), missing }
        })
        .collect();
    match points.is_empty() {
        true => Err(no_crew(wanted, all.iter().map(|crew| crew.base.as_str()))),
        false => Ok(points),
    }
}

/// Who of a crew is missing at its sync point, and why. `is_led` says of an agent that a lead brought it to its end.
pub(crate) fn missing_at_sync(crew: &Crew, is_led: impl Fn(&Found) -> bool, now: Time) -> Vec<(String, String)> {
    let agents = crew.agents.iter().map(|found| {
        let Found { unit, judgement, .. } = found;
        AtSync { unit, judgement, is_led: is_led(found) }
    });
    let agents: Vec<AtSync<'_>> = agents.collect();
    sync_ready(&agents, Patience::of(Dialect::Crew).stale, now)
}
