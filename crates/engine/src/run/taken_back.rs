//! Git may put an earlier version in a document's place: a stash, a discarded change, another branch. That says nothing
//! about the work, which is done all the same.

use std::collections::BTreeSet;

use piton_model::fleet::{LaneAt, LaneState};
use piton_model::{Dialect, Time, UnitRef};
use piton_store::journal::{Entry, Hash};
use piton_supervisor::Repository;
use serde_json::Value;

use super::freed::LEAD;
use super::lead::Lead;
use super::memory::{LaneMemory, SavedState};
use super::other_work::is_retitled;
use super::plans::{BoxState, box_state};
use super::strays::is_ticked;
use super::task_list::begun_steps;
use super::work::LaneWork;
pub(super) use crate::persons_word::is_seen;

/// A document whose content is an earlier version of it.
struct TakenBack {
    path: String,
    /// The event after which the document was as it should be.
    seq: u64,
}

/// The newest version of a document that was recorded, when an earlier one is in its place and nothing was recorded since.
fn newest_before(events: &[Entry], path: &str, now: &Hash) -> Option<(u64, String)> {
    let hash = |entry: &Entry| entry.document(path).and_then(|state| state.hash.clone());
    let last = events.iter().rposition(|entry| !is_seen(entry))?;
    let newest = hash(&events[last])?;
    let is_earlier = events[..last].iter().any(|entry| hash(entry).as_ref() == Some(now));
    let is_only_seen = events[last + 1..].iter().all(|entry| hash(entry).is_none_or(|it| it == *now || it == newest));
    (newest != *now && is_earlier && is_only_seen).then(|| (events[last].seq, events[last].at.clone()))
}

/// Whether the last word of a unit's journal is its end.
fn is_finished(events: &[Entry]) -> bool {
    let is_word =
        |entry: &&Entry| !is_seen(entry) && !matches!(entry.event.as_str(), "rolled_back" | "repaired" | "noted");
    events.iter().rfind(is_word).is_some_and(|last| last.event == "finished")
}

/// Whether a unit was done by a lead, and its document is away for the moment: in the stash or on another branch. The
/// documents of tasks and agents may also have been tidied away; a board of stories is removed to begin anew. Whether the
/// base has its work is not asked here.
pub(super) fn is_finished_and_away(
    repository: Option<&Repository>,
    work: &LaneWork,
    known: &LaneMemory,
    events: &[Entry],
) -> bool {
    let is_kept = |path: &str| {
        repository.is_some_and(|repository| {
            let path = repository.inside().join(path).display().to_string();
            let is_in_stash = repository.stashed_since(&path, 0).ok().flatten().is_some();
            is_in_stash || repository.is_on_a_branch(&path).unwrap_or(false)
        })
    };
    let documents = || events.last().into_iter().flat_map(|last| &last.documents);
    known.state == SavedState::Done
        && !is_another(work, known, events)
        && is_finished(events)
        && match work.dialect {
            Dialect::Pipeline => documents().any(|document| is_kept(&document.path)),
            // What its list got since is done as soon as its document is back.
            Dialect::Task if !added_steps(work, known, events).is_empty() => {
                documents().any(|document| is_kept(&document.path))
            }
            Dialect::Task | Dialect::Crew => true,
            Dialect::Plan | Dialect::Build => false,
        }
}

/// The subtasks that the list of a task got since its workers had it.
pub(super) fn added_steps(work: &LaneWork, known: &LaneMemory, events: &[Entry]) -> Vec<String> {
    let before = begun_steps(Some(known), events);
    work.start.steps.iter().filter(|step| !before.contains(step)).cloned().collect()
}

/// Whether a list describes other work by a unit's name than its workers did: another feature, another title.
fn is_another(work: &LaneWork, known: &LaneMemory, events: &[Entry]) -> bool {
    let Some(began) = events.iter().rfind(|entry| entry.event == "started") else { return false };
    match work.dialect {
        Dialect::Crew => began.data.get("feature").and_then(Value::as_str) != work.start.feature.as_deref(),
        Dialect::Task | Dialect::Pipeline | Dialect::Plan | Dialect::Build => is_retitled(work, Some(known), events),
    }
}

impl Lead<'_> {
    /// Restores checkpoints that git took back to an earlier version. The text of a plan is its user's: there only boxes are
    /// ticked again, at its end.
    pub(super) fn restore_taken_back(&mut self) {
        let mut seen = BTreeSet::new();
        for at in 0..self.work.lanes.len() {
            if seen.insert(self.work.lanes[at].unit.to_string()) {
                self.restore_document(at);
            }
        }
    }

    /// The same for the unit of one lane, before it is judged, started or merged.
    pub(super) fn restore_document(&mut self, at: LaneAt) {
        let unit = self.work.lanes[at].unit.clone();
        let name = unit.to_string();
        if self.work.lanes[at].dialect == Dialect::Plan {
            return;
        }
        let Some(TakenBack { path, seq }) = self.taken_back(at, &unit) else { return };
        // Who takes work off the base takes its record back as well.
        let is_off_base = |lane: LaneAt| self.work.lanes[lane].unit == unit && self.is_merge_off_base(lane);
        if (0..self.work.lanes.len()).any(is_off_base) {
            return;
        }
        let text = match crate::rollback(self.workspace, &unit, seq, &self.recorder(LEAD)) {
            Ok(_) => {
                self.restored.insert(name.clone());
                format!("git had put an earlier version of {path} in its place: version {seq} is restored")
            }
            Err(error) => format!("git put an earlier version of {path} in its place, and it stays: {error}"),
        };
        self.tell(Some(&name), "restored", &text);
        self.is_state_due = true;
    }

    fn taken_back(&self, at: LaneAt, unit: &UnitRef) -> Option<TakenBack> {
        let path = self.document_of(at);
        let bytes = self.workspace.disk.read(&path).ok()?.bytes;
        let (seq, at) = newest_before(&self.events_of(unit), &path, &Hash::of(&bytes))?;
        let at = piton_dialect::time::read(&at).time()?;
        self.is_gits(&path, &bytes, at).then_some(TakenBack { path, seq })
    }

    /// Whether a lane's work is where its lead put it: on the base, on the branch on which its phase is collected, or, while
    /// it is about to be merged, on its own branch.
    fn is_in_place(&self, at: LaneAt) -> bool {
        let known = self.memory.lanes.get(&self.work.fleet.lanes[at].name);
        if !matches!(self.work.fleet.lanes[at].state, LaneState::Done | LaneState::Integrated) {
            let branch = known.and_then(|known| known.branch.as_ref());
            let repository = self.repository.as_ref();
            return repository.zip(branch).is_none_or(|(it, branch)| matches!(it.tip(branch), Ok(Some(_))));
        }
        let is_collected = || {
            let commit = known.filter(|known| known.merged.is_none()).and_then(|known| known.collected.as_ref());
            let target = self.target_branch(&self.work.fleet.lanes[at]);
            let (Some(repository), Some(commit), Some(target)) = (&self.repository, commit, target) else {
                return false;
            };
            repository.is_reachable(commit, &format!("refs/heads/{target}")).unwrap_or(false)
        };
        // Work that was done again and found to be right has no merge of its own.
        let has_no_merge = |known: &LaneMemory| {
            let is_on_base = |commit: &String| {
                let base = self.memory.run.base.as_ref().zip(self.repository.as_ref());
                base.is_some_and(|(base, it)| it.is_reachable(commit, &format!("refs/heads/{base}")).unwrap_or(false))
            };
            let is_unmerged = known.merged.is_none() && known.collected.is_none();
            is_unmerged && known.state == SavedState::Done && known.worked.as_ref().is_none_or(is_on_base)
        };
        self.is_merge_on_base(at) || is_collected() || known.is_some_and(has_no_merge)
    }

    /// Whether a unit was done and is merged, and its document is away.
    pub(super) fn is_finished_and_away(&self, at: LaneAt) -> bool {
        let work = &self.work.lanes[at];
        let known = self.memory.lanes.get(&self.work.fleet.lanes[at].name);
        let repository = self.repository.as_ref();
        let is_away = |known| is_finished_and_away(repository, work, known, &self.events_of(&work.unit));
        known.is_some_and(is_away) && self.is_merge_on_base(at)
    }

    /// Whether a unit that was done and merged had its document brought back: that opens nothing again.
    pub(super) fn is_brought_back(&self, at: LaneAt) -> bool {
        let last = self.events_of(&self.work.lanes[at].unit).pop();
        last.is_some_and(|last| last.event == "repaired")
            && is_finished(&self.events_of(&self.work.lanes[at].unit))
            && self.is_merge_on_base(at)
    }

    /// Whether a unit that was done is done all the same: its document was taken back or is gone, the journal's last word
    /// is its end, and its work is on the base.
    pub(super) fn is_done_without_document(&self, at: LaneAt) -> bool {
        let work = &self.work.lanes[at];
        let is_gone = work.step.is_none() && (self.is_document_gone(at) || self.is_end_in_stash(at));
        let is_lost = self.restored.contains(&work.unit.to_string()) || is_gone;
        is_lost && self.is_merge_on_base(at) && is_finished(&self.events_of(&self.work.lanes[at].unit))
    }

    /// Whether the document with which a unit ended is in the stash: what other documents say about the unit is older.
    fn is_end_in_stash(&self, at: LaneAt) -> bool {
        let documents = self.events_of(&self.work.lanes[at].unit).pop().map(|last| last.documents).unwrap_or_default();
        let is_away = |path: &str| matches!(self.workspace.disk.stamp(path), Ok(None)) && self.is_in_stash(path);
        documents.iter().any(|document| document.hash.is_some() && is_away(&document.path))
    }

    /// Whether a file is as the commit that is checked out has it, git wrote it, and it was not committed since a moment. A file
    /// that its user edited until it was the same again is not as git wrote it.
    pub(super) fn is_gits(&self, path: &str, bytes: &[u8], since: Time) -> bool {
        let Some(repository) = &self.repository else { return false };
        let path = repository.inside().join(path).display().to_string();
        let committed = repository.committed(&path).ok().flatten();
        let is_same = committed.is_some_and(|(text, made)| text == bytes && made <= since.unix_seconds());
        is_same && repository.is_written_by_git(&path).unwrap_or(false)
    }

    /// Whether a plan's box is open because git has the text without its tick in its place: the user stashed the tick,
    /// discarded it with other changes, or committed it on another branch. They did not untick it then.
    pub(super) fn is_untick_of_git(&self, at: LaneAt) -> bool {
        if self.work.lanes[at].dialect != Dialect::Plan || self.work.lanes[at].step.is_none() {
            return false;
        }
        let Some(done) = self.done_since(at) else { return false };
        self.is_stashed(at) || self.is_discarded(at, done)
    }

    /// Since when a lane is done: since its worker recorded that, and its stage ended.
    fn done_since(&self, at: LaneAt) -> Option<Time> {
        let known = self.memory.lanes.get(&self.work.fleet.lanes[at].name);
        self.recorded_done(at).max(known.and_then(LaneMemory::stage_ended))
    }

    /// Whether the tick of a box is in the user's stash. The box may be in any of the plan's files.
    fn is_stashed(&self, at: LaneAt) -> bool {
        let (Some(repository), Some(step)) = (&self.repository, &self.work.lanes[at].step) else { return false };
        let began = self.memory.lanes.get(&self.work.fleet.lanes[at].name).and_then(LaneMemory::stage_began);
        let Some(began) = began else { return false };
        self.texts_of(at).iter().any(|file| {
            let path = repository.inside().join(file).display().to_string();
            let stashed = repository.stashed_since(&path, began.unix_seconds()).ok().flatten();
            // What the user edited since, they edited on purpose: a stash may have been applied.
            stashed.is_some_and(|text| is_ticked(&path, &String::from_utf8_lossy(&text), step))
                && (repository.is_written_by_git(&path).unwrap_or(false) || self.is_as_recorded(at, file))
        })
    }

    /// Whether a document is as Piton recorded it last.
    fn is_as_recorded(&self, at: LaneAt, path: &str) -> bool {
        let events = self.events_of(&self.work.lanes[at].unit);
        let recorded = events.iter().rfind(|entry| !is_seen(entry)).and_then(|last| last.document(path)?.hash.clone());
        let written = self.workspace.disk.read(path).ok().map(|content| Hash::of(&content.bytes));
        recorded.is_some() && recorded == written
    }

    /// Ticks boxes again that are open because git discarded their ticks. A stash stays as it is until all of the plan is
    /// done: its user may take it back.
    pub(super) fn tick_discarded(&mut self) {
        let is_discarded = |at: &LaneAt| {
            let lane = &self.work.fleet.lanes[*at];
            let done = self.done_since(*at);
            let is_plan = self.work.lanes[*at].dialect == Dialect::Plan;
            // The worker that recorded it may not have ended yet; the first box that is ticked makes the text another one.
            let has_left = || !self.live.contains_key(at) || self.recorded_done(*at).is_some();
            let is_closing = || self.was_complete(*at) && has_left();
            let is_done = is_plan && (matches!(lane.state, LaneState::Done | LaneState::Integrated) || is_closing());
            done.is_some_and(|done| {
                is_done && self.is_open_box(*at) && !self.is_stashed(*at) && self.is_discarded(*at, done)
            })
        };
        // The first tick makes the text another one than git has.
        let discarded: Vec<LaneAt> = (0..self.work.lanes.len()).filter(is_discarded).collect();
        for at in discarded {
            let work = self.work.lanes[at].clone();
            if self.finish_step(&work, work.step.as_deref().unwrap_or_default()).is_ok() {
                self.tell_ticked_again(at, "its work is kept");
            }
        }
    }

    /// Whether a lane is a task of a plan, and its box is open.
    pub(super) fn is_open_box(&self, at: LaneAt) -> bool {
        let work = &self.work.lanes[at];
        let is_open = || self.unit_of(at).is_ok_and(|unit| box_state(&unit, work.step.as_deref()) == BoxState::Open);
        work.dialect == Dialect::Plan && work.step.is_some() && is_open()
    }

    /// Reports that the lead ticks a box again that is open as git has it. The lead cannot always tell git from the user's
    /// editor here, so the message names the way to have the task done again.
    pub(super) fn tell_ticked_again(&mut self, at: LaneAt, why: &str) {
        let how = "to have it done again, commit the plan with its ticks, and untick it then";
        self.tell_lane(at, "plan", &format!("its box is open as git has it, and {why}: it is ticked again; {how}"));
    }

    /// Whether the file with a box is as git wrote it, and the work of the box is where its lead put it.
    fn is_discarded(&self, at: LaneAt, done: Time) -> bool {
        let path = self.recorded_in(at);
        let Ok(content) = self.workspace.disk.read(&path) else { return false };
        self.is_in_place(at) && self.is_gits(&path, &content.bytes, done)
    }
}

#[cfg(test)]
mod tests {
    use piton_store::journal::DocumentState;

    use super::*;

    fn entry(seq: u64, event: &str, text: &str) -> Entry {
        let hash = Some(Hash::of(text.as_bytes()));
        let state = DocumentState { path: "d".to_owned(), hash, was: None, base: 0, weight: 0, splices: 0 };
        Entry {
            seq,
            at: "2026-03-10T10:00:00Z".to_owned(),
            attempt: 1,
            by: "u".to_owned(),
            carried: serde_json::Map::new(),
            event: event.to_owned(),
            summary: String::new(),
            data: serde_json::Map::new(),
            files: Vec::new(),
            documents: vec![state],
        }
    }

    #[test]
    fn earlier_version_is_taken_back_unless_something_was_recorded_since() {
        let recorded = [("started", "1"), ("step_done", "2"), ("step_done", "3")];
        for (more, now, want) in [
            (&[][..], "3", None),
            (&[], "1", Some(3)),
            (&[], "2", Some(3)),
            (&[], "other", None),
            (&[("observed", "1")], "1", Some(3)),
            (&[("observed", "1"), ("observed", "2")], "2", None),
            (&[("observed", "1"), ("note", "1 and more")], "1 and more", None),
            (&[("rolled_back", "1")], "1", None),
        ] {
            let all = recorded.iter().chain(more).zip(1..);
            let events: Vec<Entry> = all.map(|((event, text), seq)| entry(seq, event, text)).collect();
            let found = newest_before(&events, "d", &Hash::of(now.as_bytes())).map(|(seq, _)| seq);
            assert_eq!(found, want, "{more:?} {now}");
        }
    }
}
