//! Whether something about a unit has changed, for a door that tells others about it.

use piton_model::{Time, UnitRef};
use piton_store::disk::Stamp;

use crate::target::key_of;
use crate::{NotFound, Workspace, find};

/// What a unit's files looked like when somebody last asked.
#[derive(Debug)]
pub struct Watch {
    files: Vec<(String, Option<Stamp>)>,
}

impl Watch {
    /// Remembers how a unit's documents and its journal look now.
    pub fn of(workspace: &Workspace, wanted: &UnitRef, now: Time) -> Result<Watch, NotFound> {
        let found = find(workspace, wanted, now)?;
        let journal = key_of(found.unit.dialect, &found.full_name, &found.unit.id).journal();
        let documents = found.unit.documents.iter().map(|document| document.path.to_string());
        let files = documents.chain([journal]).map(|path| (path.clone(), stamp(workspace, &path))).collect();
        Ok(Watch { files })
    }

    /// Whether one of the files has changed since the last look. No file is read.
    pub fn has_changed(&mut self, workspace: &Workspace) -> bool {
        let mut has_changed = false;
        for (path, known) in &mut self.files {
            let found = stamp(workspace, path);
            has_changed |= *known != found;
            *known = found;
        }
        has_changed
    }
}

/// A file that cannot be looked at is as good as not there.
fn stamp(workspace: &Workspace, path: &str) -> Option<Stamp> {
    workspace.disk.stamp(path).ok().flatten()
}
