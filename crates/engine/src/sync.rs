//! Whether the crews of a workspace are at their sync point.

use piton_dialect::crew::sync_ready;
use piton_model::{Dialect, Judgement, Patience, Refusal, Time, Unit};

use crate::Workspace;
use crate::crew::{crews, ends_with, shown};

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
    let wanted = epic.map(|epic| epic.trim_start_matches("./").trim_end_matches('/'));
    let is_wanted = |base: &str| match wanted {
        None => true,
        Some("" | ".") => base.is_empty(),
        Some(wanted) => ends_with(base, wanted),
    };
    let points: Vec<SyncPoint> = all
        .iter()
        .filter(|crew| is_wanted(&crew.base))
        .map(|crew| {
            let agents: Vec<(&Unit, &Judgement)> =
                crew.agents.iter().map(|found| (&found.unit, &found.judgement)).collect();
            let missing = sync_ready(&agents, Patience::of(Dialect::Crew).stale, now);
            SyncPoint { crew: crew.base.clone(), agents: agents.len(), missing }
        })
        .collect();
    if !points.is_empty() {
        return Ok(points);
    }
    let refusal = match epic {
        Some(epic) => Refusal::missing(format!("there is no crew in {epic}")),
        None => Refusal::missing("there is no crew in this workspace")
            .hint("begin one with: piton start crew:Agent-Primary --feature FEATURE --stage S2.P1"),
    };
    Err(all.iter().fold(refusal, |refusal, crew| refusal.hint(format!("there is one in {}", shown(&crew.base)))))
}
