//! What journals add to units that a survey finds: the attempt, and the one sign of life that is a fact.

use std::collections::HashSet;

use piton_model::{Said, Sign, Source, Unit};
use piton_store::{History, Key, seal};

use crate::Workspace;
use crate::record::ALIVE_AT;
use crate::target::key_of;

/// The journals of a workspace, by the directories that hold them.
pub(crate) struct Journals<'w> {
    workspace: &'w Workspace,
    directories: HashSet<String>,
}

impl<'w> Journals<'w> {
    /// Lists them; none when `.piton` is not there, or not ours.
    pub(crate) fn list(workspace: &'w Workspace) -> Journals<'w> {
        let disk = &*workspace.disk;
        let mut directories = HashSet::new();
        if matches!(seal::inspect(disk), Ok(seal::Home::Ours)) {
            let below = |directory: &str| {
                let directory = directory.to_owned();
                disk.list(&directory).into_iter().map(move |name| format!("{directory}/{name}"))
            };
            let units = below(Key::DIRECTORY).flat_map(|dialect| below(&dialect)).flat_map(|id| below(&id));
            directories.extend(units);
        }
        Journals { workspace, directories }
    }

    /// Adds to a unit what its journal knows. A journal that cannot be read adds nothing; whoever writes is told.
    pub(crate) fn add_to(&self, unit: &mut Unit, full_name: &str) {
        if self.directories.is_empty() {
            return;
        }
        let key = key_of(unit.dialect, full_name, &unit.id);
        if !self.directories.contains(&key.directory()) {
            return;
        }
        let history = History::open(&*self.workspace.disk, &key).ok().flatten();
        let Some(last) = history.and_then(|history| history.last().ok().flatten()) else { return };
        unit.attempt = Some(last.attempt).filter(|attempt| *attempt > 0);
        let alive_at = last.carried.get(ALIVE_AT).and_then(|at| at.as_str());
        if let Some(at) = alive_at.and_then(|at| piton_dialect::time::read(at).time()) {
            unit.signs.push(Sign { source: Source::Journal, said: Said::At(at) });
        }
    }
}
