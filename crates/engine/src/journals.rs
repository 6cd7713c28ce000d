//! What journals add to units that a survey finds: the attempt, the one sign of life that is a fact, and what documents
//! are to hold that a writer did not come to.

use std::collections::HashMap;

use piton_model::{Dialect, Said, Sign, Source, Unit};
use piton_store::journal::Entry;
use piton_store::{Behind, Glance, Key, seal};

use crate::Workspace;
use crate::parallel::map_in_order;
use crate::record::ALIVE_AT;
use crate::target::key_of;

/// The journals of a workspace, by the directories that hold them.
#[derive(Default)]
pub(crate) struct Journals {
    units: HashMap<String, Known>,
    behind: Vec<Behind>,
}

/// What a journal knows of its unit.
struct Known {
    attempt: u64,
    /// When somebody last recorded something, as it was written down.
    alive_at: Option<String>,
}

impl Journals {
    /// Looks at them, at those of one dialect where only that is wanted; none when `.piton` is not there, or not ours.
    /// A journal that cannot be read is left out; whoever writes is told.
    pub(crate) fn look(workspace: &Workspace, only: Option<Dialect>) -> Journals {
        let disk = &*workspace.disk;
        let mut journals = Journals::default();
        if !matches!(seal::inspect(disk), Ok(seal::Home::Ours)) {
            return journals;
        }
        let below = |directory: String| {
            disk.list(&directory).into_iter().map(move |name| format!("{directory}/{name}")).collect::<Vec<_>>()
        };
        let dialects = match only {
            Some(dialect) => vec![format!("{}/{dialect}", Key::DIRECTORY)],
            None => below(Key::DIRECTORY.to_owned()),
        };
        let directories: Vec<String> = dialects.into_iter().flat_map(below).flat_map(below).collect();
        if directories.is_empty() {
            return journals;
        }
        let boot = disk.boot();
        let look = |(): &mut (), directory: &String| {
            let glance = Glance::take(disk, directory, &boot).ok().flatten()?;
            Some((directory.clone(), Known::of(&glance.last), glance.behind))
        };
        map_in_order(
            &directories,
            || (),
            look,
            |seen| {
                if let Some((directory, known, behind)) = seen {
                    journals.units.insert(directory, known);
                    journals.behind.extend(behind);
                }
            },
        );
        journals
    }

    /// The workspace as the journals say that it is, where some document is behind them.
    pub(crate) fn ahead_of(&mut self, workspace: &Workspace) -> Option<Workspace> {
        let behind = std::mem::take(&mut self.behind);
        (!behind.is_empty()).then(|| workspace.with(behind))
    }

    /// Adds to a unit what its journal knows.
    pub(crate) fn add_to(&self, unit: &mut Unit, full_name: &str) {
        if self.units.is_empty() {
            return;
        }
        let key = key_of(unit.dialect, full_name, &unit.id);
        let Some(known) = self.units.get(&key.directory()) else { return };
        unit.attempt = Some(known.attempt).filter(|attempt| *attempt > 0);
        if let Some(at) = known.alive_at.as_ref().and_then(|at| piton_dialect::time::read(at).time()) {
            unit.signs.push(Sign { source: Source::Journal, said: Said::At(at) });
        }
    }
}

impl Known {
    fn of(last: &Entry) -> Known {
        let alive_at = last.carried.get(ALIVE_AT).and_then(|at| at.as_str()).map(str::to_owned);
        Known { attempt: last.attempt, alive_at }
    }
}
