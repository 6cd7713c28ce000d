//! Workers whose end is known, of units without a lead: nobody works on such a unit, even when its last event is new.

use std::cell::OnceCell;

use piton_model::{Dialect, UnitRef};
use piton_supervisor::{KeeperProgram, Sight, Worker};

use super::memory::Memory;
use crate::Workspace;

/// The last workers of all lanes that leads remember.
#[derive(Debug, Default)]
pub(super) struct EndedWorkers {
    /// Each unit with the home of a worker; read when it is first asked for.
    homes: OnceCell<Vec<(UnitRef, String)>>,
}

impl EndedWorkers {
    /// How the worker of a unit ended that had this attempt; nothing while one runs, and when none is known.
    pub fn fact(
        &self,
        workspace: &Workspace,
        dialect: Dialect,
        full_name: &str,
        attempt: Option<u64>,
    ) -> Option<String> {
        let attempt = attempt?.to_string();
        let homes = self.homes.get_or_init(|| homes(workspace));
        let mut fact = None;
        for (_, home) in homes.iter().filter(|(unit, _)| unit.means(dialect, full_name)) {
            let Ok(worker) = Worker::adopt(&KeeperProgram::this(), &workspace.root().join(home)) else { continue };
            // Workers that share an attempt have a number of their own behind a dot.
            let own = worker.launch().about.attempt.as_deref().and_then(|own| own.split('.').next());
            if own != Some(&attempt) {
                continue;
            }
            fact = match worker.sight().ok()? {
                Sight::Running => return None,
                Sight::Ended(end) => Some(format!("its worker ended: {}, and no run has it any more", end.exit)),
                Sight::Gone => Some("its worker is gone, and no run has it any more".to_owned()),
            };
        }
        fact
    }
}

fn homes(workspace: &Workspace) -> Vec<(UnitRef, String)> {
    if !super::is_ours(workspace) {
        return Vec::new();
    }
    let lanes = Memory::load(workspace).map(|memory| memory.lanes).unwrap_or_default().into_iter();
    let unit = |lane: &str| UnitRef::parse(lane.split(' ').next()?).ok();
    lanes.filter_map(|(name, lane)| Some((unit(&name)?, lane.home?))).collect()
}
