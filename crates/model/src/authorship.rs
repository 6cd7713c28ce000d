//! Who wrote a new version of a document that several workers share: a plan's text, a build's checkpoint.
//!
//! A worker may keep such a document by hand. Then its own step counts, and what it asks or decided. What its version says
//! about other steps is no person's word: it may come from an old copy, or from a text that was cut off.

use std::collections::{BTreeMap, BTreeSet};

/// How far a document has a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepMark {
    /// No worker is at it.
    Open,
    /// A worker is at it. Boxes of a plan do not tell that.
    Begun,
    /// It is done, or left out.
    Done,
}

/// What a version of a shared document says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SharedVersion {
    /// Its steps.
    pub steps: BTreeMap<String, StepMark>,
    /// The names of its criteria.
    pub gates: BTreeSet<String>,
    /// Its decisions and blockers.
    pub remarks: BTreeSet<String>,
}

/// A worker that lived when a version was written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Writer {
    /// The step that it was started for.
    pub step: String,
    /// Steps that were recorded as done since it began: an old copy of its own has them open.
    pub done_since: BTreeSet<String>,
    /// Whether it ended within a moment of the write, and recorded nothing with commands: the end may have cut its text off.
    pub has_just_ended: bool,
}

/// What decides besides the two versions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Writing {
    /// The workers that may have written the version.
    pub writers: Vec<Writer>,
    /// Whether people change the steps of such a document by hand, as they do with boxes.
    pub is_peoples: bool,
    /// Whether the version has the words of an earlier one: it differs by ticks and remarks alone, or is an old copy.
    pub has_old_words: bool,
    /// Whether the version is the beginning of the one before.
    pub is_cut: bool,
}

/// What a worker's version says beyond what the worker may say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Foreign {
    /// The steps of workers that became done: these count.
    pub own: BTreeSet<String>,
    /// Steps of others that it calls done.
    pub done: BTreeSet<String>,
    /// Steps that were done and are not any more.
    pub undone: BTreeSet<String>,
    /// Steps of others that it moves otherwise.
    pub moved: BTreeSet<String>,
    /// Steps that it lacks.
    pub missing: BTreeSet<String>,
    /// Criteria that it lacks.
    pub gates: BTreeSet<String>,
}

impl Foreign {
    /// The same where the text may have been edited by a person too: what it lacks was taken out.
    #[must_use]
    pub fn without_missing(self) -> Foreign {
        Foreign { missing: BTreeSet::new(), gates: BTreeSet::new(), ..self }
    }

    /// Whether all of the version counts.
    pub fn is_empty(&self) -> bool {
        [&self.done, &self.undone, &self.moved, &self.missing, &self.gates].iter().all(|names| names.is_empty())
    }
}

/// Returns what does not count in a new version, when one of the workers wrote it; nothing when all of it counts.
///
/// Steps that a command recorded since belong into `before`.
pub fn foreign(before: &SharedVersion, now: &SharedVersion, writing: &Writing) -> Option<Foreign> {
    let mut found = Foreign { own: own_steps(before, now, writing), ..Foreign::default() };
    for (step, was) in &before.steps {
        let changed = match now.steps.get(step) {
            None => &mut found.missing,
            Some(is) if is == was || found.own.contains(step) => continue,
            Some(_) if *was == StepMark::Done => &mut found.undone,
            Some(StepMark::Done) => &mut found.done,
            Some(StepMark::Open | StepMark::Begun) => &mut found.moved,
        };
        changed.insert(step.clone());
    }
    found.gates = before.gates.difference(&now.gates).cloned().collect();
    (is_by_worker(before, now, writing, &found) && !found.is_empty()).then_some(found)
}

/// Returns the steps of the workers that became done in a new version.
pub fn own_steps(before: &SharedVersion, now: &SharedVersion, writing: &Writing) -> BTreeSet<String> {
    let is_done = |version: &SharedVersion, step: &str| version.steps.get(step) == Some(&StepMark::Done);
    let own = writing.writers.iter().map(|writer| &writer.step);
    let own = own.filter(|step| is_done(now, step) && before.steps.contains_key(*step) && !is_done(before, step));
    own.cloned().collect()
}

fn is_by_worker(before: &SharedVersion, now: &SharedVersion, writing: &Writing, found: &Foreign) -> bool {
    if writing.writers.is_empty() || !found.own.is_empty() {
        return !found.own.is_empty();
    }
    // A person unticks a box and leaves the rest as it is. A worker that writes down what it decided or asks takes the
    // ticks back that were made since it read the text.
    let has_remark = !now.remarks.is_subset(&before.remarks);
    let is_old = |writer: &Writer| !found.undone.is_empty() && found.undone.is_subset(&writer.done_since);
    let is_copy = has_remark && writing.has_old_words;
    let is_old_copy = (is_copy || !writing.is_peoples) && writing.writers.iter().any(is_old);
    let is_cut = writing.is_cut && !(found.missing.is_empty() && found.gates.is_empty());
    is_old_copy || is_cut && writing.writers.iter().any(|writer| writer.has_just_ended)
}

#[cfg(test)]
mod tests;
