//! What a worker wrote by hand about the steps of others is taken back, in the document that they share.

use std::collections::BTreeSet;

use piton_model::{Change, Dialect, Effect, UnitRef};
use piton_store::disk::Stamp;
use piton_store::journal::Hash;

use super::RunError;
use super::claim::explain;
use super::freed::LEAD;
use super::lead::Lead;
use super::shared_texts::{Correction, SharedTexts};
use crate::record::Session;
use crate::target::Target;

/// The files of a document, and how each looked just before it was last judged.
pub(super) type Judged = Vec<(String, Option<Stamp>)>;

impl Lead<'_> {
    /// Judges every shared document that changed since it was last judged.
    pub(super) fn set_all_right(&mut self) {
        (0..self.work.groups.len()).for_each(|group| self.set_right(group));
    }

    /// The same for one unit, before something is decided about its steps.
    pub(super) fn set_right(&mut self, group: usize) {
        let Some(unit) = self.work.groups[group].unit.clone() else { return };
        let stamp = |path: &str| self.workspace.disk.stamp(path).ok().flatten();
        let known = self.judged.get(&group).map(Vec::as_slice);
        let now: Judged = known.unwrap_or_default().iter().map(|(path, _)| (path.clone(), stamp(path))).collect();
        let name = self.work.fleet.groups[group].name.clone();
        let is_judged = self.memory.groups.get(&name).is_some_and(|known| known.judged > 0);
        if is_judged && known.is_some_and(|known| known == now) {
            return;
        }
        let Some(files) = self.files_of(group, &unit) else { return };
        let now: Judged = files.iter().map(|path| (path.clone(), stamp(path))).collect();
        let repository = self.repository.as_ref();
        let is_watched = known.is_some();
        let shared =
            SharedTexts { workspace: self.workspace, memory: &self.memory, repository, now: self.time(), is_watched };
        match shared.correction(&name, &unit) {
            Some(correction) => {
                // What is written back is judged once more; what cannot be is not tried again before it changes.
                let is_written = self.take_back(&name, &unit, &correction);
                self.judged.remove(&group);
                self.judged.extend((!is_written).then_some((group, now)));
            }
            None => {
                self.note_judged(&name, &unit, &now);
                self.judged.insert(group, now);
            }
        }
    }

    /// The files of a document that workers share, when it is not being written; nothing for other units.
    fn files_of(&self, group: usize, unit: &UnitRef) -> Option<Vec<String>> {
        let found = match self.work.groups[group].dialect {
            Dialect::Plan => self.written_plan(group, unit)?,
            Dialect::Build => crate::find::find_recorded(self.workspace, unit, self.time()).ok()?,
            Dialect::Pipeline | Dialect::Task | Dialect::Crew => return None,
        };
        let paths = found.unit.documents.iter().map(|document| document.path.to_string());
        match found.unit.dialect {
            Dialect::Plan if self.is_elsewhere(&found.unit) => None,
            Dialect::Plan => Some(paths.filter(|path| path.ends_with(".md")).collect()),
            _ => Some(paths.take(1).collect()),
        }
    }

    /// Remembers that the documents count as they are. A version that was written by hand is kept in the journal, so that the
    /// next one can be compared with it.
    fn note_judged(&mut self, name: &str, unit: &UnitRef, judged: &Judged) {
        let is_recorded = |lead: &Self| {
            let last = lead.events_of(unit).pop()?;
            let is_same = |path: &String| {
                let hash = last.document(path).and_then(|state| state.hash.clone());
                let bytes = lead.workspace.disk.read(path).ok().map(|content| content.bytes);
                hash == bytes.map(|bytes| Hash::of(&bytes))
            };
            judged.iter().all(|(path, _)| is_same(path)).then_some(last.seq)
        };
        // Before anything is recorded, no worker has begun.
        let is_journaled = !self.events_of(unit).is_empty();
        let mut seq = is_recorded(self);
        if seq.is_none() && is_journaled {
            self.observe(unit);
            seq = is_recorded(self);
        }
        // What was written after the judgement is in the journal by now, and is judged next.
        let is_unchanged =
            |(path, stamp): &(String, Option<Stamp>)| self.workspace.disk.stamp(path).is_ok_and(|now| now == *stamp);
        seq = seq.filter(|_| judged.iter().all(is_unchanged));
        let known = self.memory.groups.entry(name.to_owned()).or_default();
        if let Some(seq) = seq.filter(|seq| *seq != known.judged) {
            known.judged = seq;
            self.is_judged_due = true;
        }
    }

    /// Brings what others wrote into the documents of a unit into its journal.
    fn observe(&self, unit: &UnitRef) {
        let recorder = self.recorder(LEAD);
        if let Ok(target) = Target::find(self.workspace, unit, recorder.now)
            && target.is_journaled
        {
            // What is not observed now is observed with the next record.
            let _ = Session::open(self.workspace, target, &recorder);
        }
    }

    /// Saves what was judged, so that the next lead compares with it.
    pub(super) fn save_judged(&mut self) {
        if std::mem::take(&mut self.is_judged_due) {
            let saved = self.memory.save(self.workspace, &self.work.fleet).map_err(RunError::from);
            self.note_write(saved);
        }
    }

    fn take_back(&mut self, name: &str, unit: &UnitRef, correction: &Correction) -> bool {
        let (told, written) = (told(correction), self.write_back(unit, correction));
        let text = match &written {
            // Who takes an end back in a version of their own wants the step to be done again.
            Ok(()) if !correction.foreign.undone.is_empty() && correction.foreign.own.is_empty() => {
                format!("{told}: that is taken back; what you take back yourself is done again")
            }
            Ok(()) => format!("{told}: only its own step counts, the rest is taken back"),
            Err(why) => format!("{told}: that cannot be taken back: {why}"),
        };
        self.tell(Some(name), "restored", &text);
        self.is_state_due = true;
        written.is_ok()
    }

    fn write_back(&self, unit: &UnitRef, correction: &Correction) -> Result<(), String> {
        let recorder = self.recorder(LEAD);
        let target = Target::find(self.workspace, unit, recorder.now).map_err(|error| explain(error.into()))?;
        let mut session = Session::open(self.workspace, target, &recorder).map_err(explain)?;
        let attempt = session.unit.attempt().max(1);
        let summary = told(correction);
        let write = |(path, bytes): &(String, Vec<u8>)| Effect::Write { path: path.clone(), bytes: bytes.clone() };
        let effects: Vec<Effect> = correction.documents.iter().map(write).collect();
        let change = Change { summary, effects, ..Change::default() };
        session
            .change(&recorder, "restored", serde_json::Map::new(), attempt, &|_, _, _| Ok(change.clone()))
            .map(drop)
            .map_err(explain)
    }
}

/// What a worker wrote that does not count.
fn told(correction: &Correction) -> String {
    let found = &correction.foreign;
    let list = |names: &BTreeSet<String>| names.iter().cloned().collect::<Vec<_>>().join(", ");
    let parts = [
        ("calls done", &found.done),
        ("has not done any more", &found.undone),
        ("has not begun any more", &found.moved),
        ("leaves out", &found.missing),
        ("leaves out the criterion", &found.gates),
    ];
    let parts = parts.into_iter().filter(|(_, names)| !names.is_empty());
    let parts: Vec<String> = parts.map(|(what, names)| format!("{what}: {}", list(names))).collect();
    let own = if found.own.is_empty() { correction.writers.join(", ") } else { list(&found.own) };
    let path = correction.documents.first().map_or("its document", |(path, _)| path.as_str());
    let parts = if parts.is_empty() { "from an old copy".to_owned() } else { parts.join("; ") };
    format!("the worker of {own} wrote {path} by hand ({parts})")
}
