//! Documents that the workers of a unit share, a plan's text and a build's checkpoint, as they count: what a worker wrote
//! there about the steps of others is taken back. Needs no lead, so that readers see what the next lead will.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use piton_dialect::{build, plan};
use piton_model::authorship::{Foreign, SharedVersion, StepMark, Writer, Writing, foreign, own_steps};
use piton_model::{Dialect, StepState, Time, Unit, UnitRef};
use piton_store::Behind;
use piton_store::journal::{Entry, Hash};
use piton_supervisor::{End, KeeperProgram, Repository, Sight};
use serde_json::Value;

use super::memory::Memory;
use super::plans::is_of_another_branch;
use super::taken_back::is_seen;
use super::withdrawn::last_about;
use super::work::left_out;
use crate::Workspace;
use crate::find::find_recorded;
use crate::record::TICKET;

/// How shortly before a worker's end a text was written that the end may have cut off.
const MOMENT: Duration = Duration::from_secs(1);

/// By how much the time of a worker's end may be before that of a file that it wrote last: both are rounded.
const ROUNDED: Duration = Duration::from_millis(100);

/// How many versions of a text are compared with it.
const MOST_VERSIONS: usize = 100;

/// Whose words a text has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Copied {
    /// Those of the version that is known.
    Newest,
    /// Those of an earlier version.
    Older,
    /// New ones.
    Nothing,
}

/// Documents as they have to be, and what a worker wrote instead.
pub(super) struct Correction {
    pub documents: Vec<(String, Vec<u8>)>,
    pub foreign: Foreign,
    /// The steps of the workers that may have written it.
    pub writers: Vec<String>,
}

/// The workspace with every shared document as it counts, for readers.
pub(super) fn as_it_counts(workspace: &Workspace, now: Time) -> Workspace {
    let memory = Memory::load(workspace).unwrap_or_default();
    let judged = || memory.groups.iter().filter(|(_, known)| known.judged > 0).map(|(name, _)| name);
    let repository = judged().next().and_then(|_| Repository::find(workspace.root()).ok().flatten());
    let shared = SharedTexts { workspace, memory: &memory, repository: repository.as_ref(), now, is_watched: false };
    let corrections = judged().filter_map(|name| shared.correction(name, &UnitRef::parse(name).ok()?));
    let documents = corrections.flat_map(|correction| correction.documents);
    workspace.with(documents.map(|(path, bytes)| Behind { path, bytes: Some(bytes), written: 0 }).collect())
}

/// What tells who wrote a shared document.
pub(super) struct SharedTexts<'a> {
    pub workspace: &'a Workspace,
    pub memory: &'a Memory,
    pub repository: Option<&'a Repository>,
    pub now: Time,
    /// Whether a lead judged the version before this one: then one hand wrote what is new in it.
    pub is_watched: bool,
}

impl SharedTexts<'_> {
    /// What is to be put right in the documents of a unit; `name` is that of its group.
    pub fn correction(&self, name: &str, unit: &UnitRef) -> Option<Correction> {
        let judged = self.memory.groups.get(name).map_or(0, |known| known.judged);
        if judged == 0 || !self.has_had_workers(name) {
            return None;
        }
        let found = find_recorded(self.workspace, unit, self.now).ok()?;
        let is_shared = matches!(found.unit.dialect, Dialect::Plan | Dialect::Build);
        // A text in which an id is there twice says nothing about it for certain.
        let is_doubtful = found.unit.dialect == Dialect::Plan && left_out(&found).is_some();
        if !is_shared || is_doubtful || self.is_elsewhere(&found.unit) {
            return None;
        }
        let events = crate::log(self.workspace, unit, self.now).ok()?.log.events;
        let base = newest_known(&events, judged)?;
        let known = crate::show(self.workspace, unit, Some(base.seq), self.now).ok()?.documents;
        let is_kept = |path: &String| match found.unit.dialect {
            Dialect::Plan => path.ends_with(".md"),
            _ => found.unit.documents.first().is_some_and(|main| *main.path == **path),
        };
        let known: Vec<(String, Vec<u8>)> = known.into_iter().filter(|(path, _)| is_kept(path)).collect();
        let behind =
            known.iter().map(|(path, bytes)| Behind { path: path.clone(), bytes: Some(bytes.clone()), written: 0 });
        let before = find_recorded(&self.workspace.with(behind.collect()), unit, self.now).ok()?.unit;
        let (written, now) = (version(&before), version(&found.unit));
        let mut before = written.clone();
        fold(&mut before, events.iter().filter(|entry| entry.seq > base.seq), found.unit.dialect);
        // What a command called done is done, also when git brings a tick back.
        let is_recorded = |step: &str| last_about(&events, step).is_some_and(|entry| entry.event == "step_done");
        for (step, mark) in &mut before.steps {
            if now.steps.get(step) == Some(&StepMark::Done) && is_recorded(step) {
                *mark = StepMark::Done;
            }
        }
        let is_plan = found.unit.dialect == Dialect::Plan;
        let copy = if is_plan { self.copied(unit, &events, &known) } else { Copied::Nothing };
        let writing = Writing {
            writers: self.writers(name, &events, self.written(&events, &known)),
            is_peoples: is_plan,
            has_old_words: copy != Copied::Nothing,
            is_cut: known.iter().any(|(path, bytes)| is_cut(path, bytes, &self.read(path))),
        };
        let foreign = match foreign(&before, &now, &writing) {
            // A person may have edited the text before the worker ticked its own box in it.
            Some(found) if is_plan && !self.is_watched && copy == Copied::Nothing && !writing.is_cut => {
                Some(found.without_missing()).filter(|found| !found.is_empty())?
            }
            Some(foreign) => foreign,
            // A worker that writes its old copy back brings boxes and words back that the user has changed since.
            None if copy == Copied::Older => {
                let own = Some(own_steps(&before, &now, &writing)).filter(|own| !own.is_empty())?;
                Foreign { own, ..Foreign::default() }
            }
            None => return None,
        };
        if self.is_put_by_git(&known) {
            return None;
        }
        let mut steps = before.steps.clone();
        steps.extend(foreign.own.iter().map(|step| (step.clone(), StepMark::Done)));
        let documents = known.iter().map(|(path, bytes)| match is_plan {
            true => Some(self.restored_plan(path, bytes, &steps, &foreign, copy)),
            false => {
                let moved = steps.iter().filter(|(step, mark)| written.steps.get(*step) != Some(mark));
                self.restored_build(path, bytes, &moved.map(|(step, mark)| (step.clone(), *mark)).collect())
            }
        });
        let documents = documents.collect::<Option<Vec<_>>>()?;
        Some(Correction { documents, foreign, writers: writing.writers.into_iter().map(|it| it.step).collect() })
    }

    /// Whether the texts of a plan have the words of the version that is known, or of an earlier one.
    fn copied(&self, unit: &UnitRef, events: &[Entry], known: &[(String, Vec<u8>)]) -> Copied {
        let words = |path: &str, bytes: &[u8]| plan::words(path, &String::from_utf8_lossy(bytes));
        let now: Vec<(&str, String)> =
            known.iter().map(|(path, _)| (path.as_str(), words(path, &self.read(path)))).collect();
        let has = |documents: &[(String, Vec<u8>)]| {
            let text = |path: &str| documents.iter().find(|(known, _)| known == path);
            now.iter().all(|(path, now)| text(path).is_some_and(|(_, bytes)| words(path, bytes) == *now))
        };
        if has(known) {
            return Copied::Newest;
        }
        let is_older = |entry: &Entry| {
            let shown = crate::show(self.workspace, unit, Some(entry.seq), self.now);
            shown.is_ok_and(|shown| has(&shown.documents))
        };
        // The last observation may be this very version.
        let last = events.iter().rposition(|entry| !is_seen(entry)).map_or(0, |at| at + 1);
        match events[..last].iter().rev().take(MOST_VERSIONS).any(is_older) {
            true => Copied::Older,
            false => Copied::Nothing,
        }
    }

    fn read(&self, path: &str) -> Vec<u8> {
        self.workspace.disk.read(path).map(|content| content.bytes).unwrap_or_default()
    }

    /// A plan's text as it counts. An old copy, or one that was cut off, is replaced by the version that is known. In any other
    /// text are words of its user: there only the boxes are put right.
    fn restored_plan(
        &self,
        path: &str,
        bytes: &[u8],
        steps: &BTreeMap<String, StepMark>,
        foreign: &Foreign,
        copy: Copied,
    ) -> (String, Vec<u8>) {
        let (known, now) = (String::from_utf8_lossy(bytes).into_owned(), self.read(path));
        let now = String::from_utf8_lossy(&now).into_owned();
        let is_cut = is_cut(path, known.as_bytes(), now.as_bytes());
        let ticks = steps.iter().map(|(step, mark)| (step.clone(), *mark == StepMark::Done)).collect();
        let text = match copy == Copied::Older || is_cut {
            true => plan::with_remarks(path, &known, &now),
            false => plan::with_boxes(path, &now, &known, &foreign.missing.union(&foreign.gates).cloned().collect()),
        };
        (path.to_owned(), plan::with_ticks(path, &text, &ticks).into_bytes())
    }

    /// A build's checkpoint as it was known, with the steps that are further since.
    fn restored_build(
        &self,
        path: &str,
        bytes: &[u8],
        steps: &BTreeMap<String, StepMark>,
    ) -> Option<(String, Vec<u8>)> {
        Some((path.to_owned(), build::with_workstreams(path, bytes, &self.read(path), steps).ok()?))
    }

    fn has_had_workers(&self, name: &str) -> bool {
        self.lanes_of(name).next().is_some()
    }

    /// The steps of a unit that had a worker, with its home.
    fn lanes_of<'s>(&'s self, name: &'s str) -> impl Iterator<Item = (&'s str, &'s str)> {
        let lanes = self.memory.lanes.iter();
        lanes.filter_map(move |(lane, known)| {
            Some((lane.strip_prefix(name)?.strip_prefix(' ')?, known.home.as_deref()?))
        })
    }

    /// When the documents were last written by hand. Where a command wrote them since, that is not known any more.
    fn written(&self, events: &[Entry], known: &[(String, Vec<u8>)]) -> Option<SystemTime> {
        let last = |path: &str| events.last().and_then(|entry| entry.document(path)?.hash.clone());
        let by_hand = known.iter().filter_map(|(path, _)| {
            let bytes = self.workspace.disk.read(path).ok()?.bytes;
            if last(path) == Some(Hash::of(&bytes)) && events.last().is_some_and(|entry| !is_seen(entry)) {
                return None;
            }
            std::fs::metadata(self.workspace.root().join(path)).and_then(|found| found.modified()).ok()
        });
        by_hand.max()
    }

    /// The workers of a unit that lived when its documents were written. Where that moment is not known, those that still live.
    fn writers(&self, name: &str, events: &[Entry], written: Option<SystemTime>) -> Vec<Writer> {
        let writer = |(step, home): (&str, &str)| {
            let end = last_life(&self.workspace.root().join(home));
            if end.is_some_and(|end| written.is_none_or(|written| end + ROUNDED < written)) {
                return None;
            }
            let begins = |entry: &&Entry| entry.event == "step_begun" && names(entry).any(|name| name == step);
            let began = events.iter().rfind(begins).map_or(u64::MAX, |entry| entry.seq);
            let is_since = |other: &&str| {
                let last = last_about(events, other);
                last.is_some_and(|entry| entry.event == "step_done" && entry.seq > began)
            };
            let done = events.iter().filter(|entry| entry.seq > began).flat_map(names).filter(is_since);
            let done_since: BTreeSet<String> = done.map(str::to_owned).collect();
            let ticket = self.memory.lanes.get(&format!("{name} {step}")).and_then(|known| known.ticket.as_deref());
            let is_own = |entry: &Entry| entry.data.get(TICKET).and_then(Value::as_str) == ticket;
            let records = ticket.is_some() && events.iter().any(is_own);
            let has_just_ended = !records && end.zip(written).is_some_and(|(end, written)| end <= written + MOMENT);
            Some(Writer { step: step.to_owned(), done_since, has_just_ended })
        };
        self.lanes_of(name).filter_map(writer).collect()
    }

    fn is_elsewhere(&self, unit: &Unit) -> bool {
        let (Some(repository), Some(base)) = (self.repository, &self.memory.run.base) else { return false };
        unit.dialect == Dialect::Plan && is_of_another_branch(repository, base, unit)
    }

    /// Whether git put the documents where they are, or their user committed them: that is no worker's doing.
    fn is_put_by_git(&self, known: &[(String, Vec<u8>)]) -> bool {
        let Some(repository) = self.repository else { return false };
        let is_gits = |(path, before): &(String, Vec<u8>)| {
            let now = self.workspace.disk.read(path).map(|content| content.bytes).unwrap_or_default();
            let inside = repository.inside().join(path).display().to_string();
            let is_tracked = || repository.committed(&inside).is_ok_and(|found| found.is_some());
            now == *before || is_tracked() && repository.is_written_by_git(&inside).unwrap_or(false)
        };
        known.iter().all(is_gits)
    }
}

/// Whether a text is the beginning of another one, but for ticks and remarks.
fn is_cut(path: &str, whole: &[u8], text: &[u8]) -> bool {
    let words = |bytes: &[u8]| plan::words(path, &String::from_utf8_lossy(bytes));
    words(whole).starts_with(&words(text))
}

/// What a unit's documents say that its workers share.
fn version(unit: &Unit) -> SharedVersion {
    let mark = |state: &StepState| match state {
        StepState::Done { .. } | StepState::Skipped => StepMark::Done,
        StepState::Running if unit.dialect == Dialect::Build => StepMark::Begun,
        StepState::Running | StepState::Pending | StepState::Failed => StepMark::Open,
    };
    // The gates of a build are its specification's.
    let gates = unit.gates.iter().filter(|_| unit.dialect == Dialect::Plan).map(|gate| gate.name.clone());
    let decisions = unit.decisions.iter().map(|decision| decision.text.clone());
    SharedVersion {
        steps: unit.steps.iter().map(|step| (step.id.clone(), mark(&step.state))).collect(),
        gates: gates.collect(),
        remarks: decisions.chain(unit.blockers.iter().cloned()).collect(),
    }
}

/// The newest event whose version is known to be in order: what only commands wrote since a version was judged.
fn newest_known(events: &[Entry], judged: u64) -> Option<&Entry> {
    let mut newest = events.iter().find(|entry| entry.seq == judged)?;
    let mut is_clean = true;
    for entry in events.iter().filter(|entry| entry.seq > judged) {
        let is_anew = matches!(entry.event.as_str(), "started" | "restarted" | "rolled_back" | "reopened" | "restored");
        is_clean = is_anew || is_clean && !is_seen(entry);
        if is_clean {
            newest = entry;
        }
    }
    Some(newest)
}

/// Takes up what commands recorded since.
fn fold<'e>(version: &mut SharedVersion, events: impl Iterator<Item = &'e Entry>, dialect: Dialect) {
    for entry in events {
        let mark = match entry.event.as_str() {
            "step_done" | "step_skipped" => StepMark::Done,
            "step_begun" if dialect == Dialect::Build => StepMark::Begun,
            "step_begun" | "step_failed" => StepMark::Open,
            _ => continue,
        };
        for step in names(entry) {
            version.steps.entry(step.to_owned()).and_modify(|known| *known = mark);
        }
    }
}

/// The steps that an event names.
fn names(entry: &Entry) -> impl Iterator<Item = &str> {
    entry.data.get("steps").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

/// When the worker of a home was last known to live; nothing while it does.
fn last_life(home: &Path) -> Option<SystemTime> {
    let sight = piton_supervisor::Worker::adopt(&KeeperProgram::this(), home).ok().and_then(|it| it.sight().ok());
    match sight {
        Some(Sight::Running) => None,
        Some(Sight::Ended(End { at, .. })) => Some(at),
        // The machine went down with it, for instance: what it printed last is the last sign.
        Some(Sight::Gone) | None => {
            let files = std::fs::read_dir(home).into_iter().flatten().flatten();
            let times = files.filter_map(|file| file.metadata().and_then(|found| found.modified()).ok());
            Some(times.max().unwrap_or(UNIX_EPOCH))
        }
    }
}
