//! Whether the crews of a workspace are at their sync point.

use piton_dialect::crew::sync_ready;
use piton_model::{Dialect, Judgement, Patience, Refusal, Time, Unit};

use crate::Workspace;
use crate::crew::{crews, directory, is_meant, no_crew};

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
    let points: Vec<SyncPoint> = all
        .iter()
        .filter(|crew| is_meant(&crew.base, wanted))
        .map(|crew| {
            let agents: Vec<(&Unit, &Judgement)> =
                crew.agents.iter().map(|found| (&found.unit, &found.judgement)).collect();
            let missing = sync_ready(&agents, Patience::of(Dialect::Crew).stale, now);
            SyncPoint { crew: crew.base.clone(), agents: agents.len(), missing }
        })
        .collect();
    match points.is_empty() {
        true => Err(no_crew(wanted, all.iter().map(|crew| crew.base.as_str()))),
        false => Ok(points),
    }
}
