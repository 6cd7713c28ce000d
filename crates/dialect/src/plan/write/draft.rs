//! What an event makes of a plan's files, until it is handed over as one change.

use std::collections::HashSet;

use piton_model::{Change, Effect, Hint, Moment, Percent};
use serde_json::{Map, Value as NewValue, json};

use super::super::layout::Paths;
use super::super::own::Own;
use super::beside::beside;
use super::book::Book;
use super::ground::{Ground, NewState};
use super::phases::{self, BY_HAND, Credit, Seen};
use super::splice::{Splice, to_new};
use crate::content;
use crate::json::{Json, Kind, Value};

/// A copy of the state is kept after so many checkpoints.
const BACKUP_EVERY: u64 = 5;

/// What the state says that does not follow from the plan, and what happens now.
pub(super) struct Draft<'a> {
    pub moment: &'a Moment,
    pub now: String,
    /// What `decisions` lists.
    pub decisions: Vec<NewValue>,
    pub notes: Option<String>,
    pub agents: Map<String, NewValue>,
    /// Our own key in the state: what the protocol has no place for.
    pub own: Own,
    pub credit: Credit,
    /// Lines of the log, in order.
    pub history: Vec<String>,
    /// Why a copy of the state is kept now.
    pub backup: Option<String>,
    pub warnings: Vec<Hint>,
    pub summary: String,
}

impl<'a> Draft<'a> {
    /// Takes over what a state says.
    pub fn open(state: Option<&Json<'_>>, moment: &'a Moment) -> Draft<'a> {
        let root = state.map(Json::root);
        let decisions = root.and_then(|root| root.get("decisions"));
        let decisions = match decisions.map(|list| (list.kind(), list)) {
            Some((Kind::Array, list)) => list.items().map(to_new).collect(),
            // A single text instead of a list is kept as the first decision.
            Some((_, text)) => content::as_text(text).map(|text| json!({"decision": text})).into_iter().collect(),
            None => Vec::new(),
        };
        let agents = match root.and_then(|root| root.get("agents")).map(to_new) {
            Some(NewValue::Object(agents)) => agents,
            _ => Map::new(),
        };
        let notes = root.and_then(|root| root.get("sessionNotes")).filter(|notes| !notes.is_null());
        Draft {
            moment,
            now: moment.now.to_string(),
            decisions,
            notes: notes.map(|notes| notes.as_str().map_or_else(|| notes.raw().to_owned(), |text| text.into_owned())),
            agents,
            own: root.map(Own::read).unwrap_or_default(),
            credit: Credit::default(),
            history: Vec::new(),
            backup: None,
            warnings: Vec::new(),
            summary: String::new(),
        }
    }

    /// Adds a line to the log. Whatever a text holds, the line stays one line: JSON has no raw line breaks.
    pub fn log(&mut self, event: &str, keys: &[(&str, NewValue)]) {
        self.history.push(line(&self.now, event, keys));
    }

    /// Adds to the notes of the session.
    pub fn add_note(&mut self, text: &str) {
        self.notes = Some(match self.notes.take().filter(|notes| !notes.is_empty()) {
            Some(notes) => format!("{notes}\n{text}"),
            None => text.to_owned(),
        });
    }

    /// Decisions that stand in the plan are in the state as well, since they were first seen.
    fn take_decisions(&mut self, book: &Book<'_>) {
        let known: HashSet<String> =
            self.decisions.iter().filter_map(|known| known.get("decision")?.as_str()).map(one_line).collect();
        for decision in book.decisions().filter(|decision| !known.contains(*decision)) {
            self.decisions.push(json!({"time": self.now, "decision": decision}));
        }
    }

    /// The change: the plan's files, its state, its backup and its log, all or nothing.
    pub fn finish(mut self, paths: &Paths, root: &str, mut ground: Ground<'_>, book: Option<Book<'_>>) -> Change {
        if let Some(book) = &book {
            self.take_decisions(book);
            // A plan that was finished and has open boxes again is not finished.
            self.own.finished = self.own.finished.take().filter(|_| book.position().0.is_none());
        }
        self.own.since_backup += 1;
        if self.own.since_backup >= BACKUP_EVERY && self.backup.is_none() {
            self.backup = Some("every_5_checkpoints".to_owned());
        }
        let (state, seen) = self.new_state(paths, root, &ground, book.as_ref());
        let mut history = std::mem::take(&mut ground.history);
        self.tell(&mut history, &seen, book.as_ref());
        let mut effects = std::mem::take(&mut ground.effects);
        effects.extend(book.into_iter().flat_map(Book::into_effects));
        if let Some(reason) = &self.backup {
            let bytes = saved(&self.now, reason, &ground.parts(&state));
            effects.push(Effect::Write { path: paths.recovery.clone(), bytes });
        }
        effects.push(ground.write(state, paths));
        let append = |line| Effect::Append { path: paths.history.clone(), line };
        effects.extend(history.into_iter().map(append));
        let mut warnings = ground.warnings;
        warnings.extend(self.warnings);
        Change { summary: self.summary, warnings, effects, next: None }
    }

    /// Says what was seen in the plan, before and after what the event itself says.
    fn tell(&mut self, history: &mut Vec<String>, seen: &Seen, book: Option<&Book<'_>>) {
        let now = self.now.clone();
        if !seen.regressed.is_empty() || !seen.vanished.is_empty() {
            let mut keys = vec![("tasks", json!(seen.regressed))];
            if !seen.vanished.is_empty() {
                keys.push(("gone", json!(seen.vanished)));
            }
            history.push(line(&now, "progress_regressed", &keys));
            self.warnings.insert(0, regress_warning(seen).into());
        }
        if let Some(book) = book {
            let by = self.credit.seen_by.clone().unwrap_or_else(|| BY_HAND.to_owned());
            let id = |task: &usize| json!(book.id(&book.tasks[*task]));
            history.extend(
                seen.ticked.iter().map(|task| line(&now, "task_completed", &[("taskId", id(task)), ("by", json!(by))])),
            );
        }
        history.append(&mut self.history);
        let phases = seen.completed.iter().filter_map(|place| book?.phases.get(*place));
        history.extend(phases.map(|phase| line(&now, "phase_completed", &[("phaseId", json!(phase))])));
    }

    /// The new state. When a phase ended, a copy is kept as well, and counted from there.
    fn new_state(
        &mut self,
        paths: &Paths,
        root: &str,
        ground: &Ground<'_>,
        book: Option<&Book<'_>>,
    ) -> (NewState, Seen) {
        let old = ground.json.as_ref().map(Json::root);
        let Some((json, old)) = ground.json.as_ref().zip(old) else {
            let empty = Book::default();
            let (phases, seen) = phases::make(book.unwrap_or(&empty), &self.credit, &self.now);
            self.count_backup(&seen);
            let mut state: Map<String, NewValue> = Map::new();
            for (key, value) in self.keys(paths, root, None, book) {
                state.insert(key.to_owned(), value.unwrap_or(NewValue::Null));
                if key == "progress" {
                    state.insert("phases".to_owned(), NewValue::Null);
                }
            }
            state.insert("phases".to_owned(), phases);
            let own = self.own.keys().into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?)));
            state.insert("piton".to_owned(), NewValue::Object(own.collect()));
            return (NewState::Made(format!("{:#}\n", NewValue::Object(state))), seen);
        };
        let mut splice = Splice::new(json);
        let mut keys = Vec::new();
        let seen = match (book, old.get("phases").filter(|phases| phases.kind() == Kind::Object)) {
            (Some(book), Some(phases)) => {
                // The checksum is one of the keys below, and is known then.
                let into_line = || phases::bring_into_line(&mut splice, phases, book, &self.credit, &self.now);
                beside(ground.files, book.is_large(), || book.checksum(), into_line).1
            }
            (Some(book), None) => {
                let (phases, seen) = phases::make(book, &self.credit, &self.now);
                keys.push(("phases", Some(phases)));
                seen
            }
            (None, _) => Seen::default(),
        };
        self.count_backup(&seen);
        keys.extend(self.keys(paths, root, Some(old), book));
        match old.get("piton").filter(|own| own.kind() == Kind::Object) {
            Some(own) => splice.set_keys(own, &self.own.keys()),
            None => {
                let own = self.own.keys().into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?)));
                keys.push(("piton", Some(NewValue::Object(own.collect()))));
            }
        }
        splice.set_keys(old, &keys);
        (NewState::Edited(splice.into_edits()), seen)
    }

    fn count_backup(&mut self, seen: &Seen) {
        if !seen.completed.is_empty() && self.backup.is_none() {
            self.backup = Some("phase_completed".to_owned());
        }
        if self.backup.is_some() {
            self.own.since_backup = 0;
        }
    }

    /// The keys of a state beside its phases, in the protocol's order.
    fn keys(
        &self,
        paths: &Paths,
        root: &str,
        old: Option<Value<'_, '_>>,
        book: Option<&Book<'_>>,
    ) -> Vec<(&'static str, Option<NewValue>)> {
        let (_, id) = super::super::layout::id(&paths.directory);
        let known = old.and_then(|old| content::text(old, "planPath")).filter(|path| path.ends_with(&paths.plan));
        let path = match (root.is_empty(), known) {
            (false, _) => format!("{}/{}", root.trim_end_matches('/'), paths.plan),
            (true, Some(known)) => known,
            (true, None) => paths.plan.clone(),
        };
        let mut keys: Vec<(&'static str, Option<NewValue>)> = vec![
            ("version", Some(2.into())),
            ("planId", Some(id.into())),
            ("planPath", Some(path.into())),
            ("lastCheckpoint", Some(self.now.as_str().into())),
        ];
        let mut blockers = self.own.blockers.clone();
        if let Some(book) = book {
            let count = book.progress();
            let percentage = Percent::of(count.done as u64, count.all as u64).to_string();
            let percentage: NewValue = serde_json::from_str(&percentage).unwrap_or_else(|_| 0.into());
            let progress = json!({"totalTasks": count.all, "completedTasks": count.done, "percentage": percentage});
            let (phase, task) = book.position();
            keys.push(("checksum", Some(book.checksum().into())));
            keys.push(("progress", Some(progress)));
            keys.push(("currentPhase", Some(json!(phase))));
            keys.push(("currentTask", Some(json!(task))));
            let named = book.blockers();
            let known: HashSet<&str> = named.iter().map(String::as_str).collect();
            blockers.retain(|blocker| !known.contains(blocker.as_str()));
            let all: Vec<&String> = named.iter().chain(&blockers).collect();
            keys.push(("blockers", Some(json!(all))));
        } else if let Some(old) = old {
            let known = content::texts(old, "blockers");
            let was_ours: HashSet<String> = Own::read(old).blockers.into_iter().collect();
            let mut all: Vec<String> = known.into_iter().filter(|blocker| !was_ours.contains(blocker)).collect();
            all.extend(blockers);
            keys.push(("blockers", Some(json!(all))));
        }
        keys.push(("decisions", Some(json!(self.decisions))));
        keys.push(("sessionNotes", Some(json!(self.notes))));
        keys.push(("agents", Some(NewValue::Object(self.agents.clone()))));
        keys
    }
}

/// A copy of a state, with when and why it was kept.
fn saved(now: &str, reason: &str, state: &[&[u8]]) -> Vec<u8> {
    let reason = NewValue::from(reason);
    let mut saved = format!("{{\n\"savedAt\": \"{now}\",\n\"reason\": {reason},\n\"state\": ").into_bytes();
    saved.reserve_exact(state.iter().map(|part| part.len()).sum::<usize>() + 4);
    state.iter().for_each(|part| saved.extend_from_slice(part));
    saved.truncate(saved.trim_ascii_end().len());
    saved.extend_from_slice(b"\n}\n");
    saved
}

/// A line of the log.
pub(super) fn line(now: &str, event: &str, keys: &[(&str, NewValue)]) -> String {
    let first = [("ts", NewValue::from(now)), ("event", NewValue::from(event))];
    let all = first.iter().chain(keys).map(|(key, value)| ((*key).to_owned(), value.clone()));
    format!("{}\n", NewValue::Object(all.collect()))
}

/// A text as the markers of a plan are read: on one line.
pub(super) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn regress_warning(seen: &Seen) -> String {
    let some = |ids: &[String]| match ids {
        [a, b, c, rest @ ..] if !rest.is_empty() => format!("{a}, {b}, {c} and {} more", rest.len()),
        ids => ids.join(", "),
    };
    match (seen.regressed.is_empty(), seen.vanished.is_empty()) {
        (false, true) => {
            format!("progress went backwards: done before, open in the plan now: {}", some(&seen.regressed))
        }
        (true, _) => format!("progress went backwards: done before, gone from the plan now: {}", some(&seen.vanished)),
        (false, false) => format!(
            "progress went backwards: done before, open in the plan now: {}; gone from it: {}",
            some(&seen.regressed),
            some(&seen.vanished)
        ),
    }
}
