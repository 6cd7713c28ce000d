//! The `phases` of a state, brought into line with the plan. The plan says what is done; the state keeps who and when.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde_json::{Map, Value as NewValue};

use super::book::{Book, Boxes, Count};
use super::matches::{Matches, key_of};
use super::splice::{Splice, to_new};
use crate::content;
use crate::json::{Kind, Value};

/// What an event says about the boxes, beyond whether they are ticked. It is about few of them, and every box asks.
#[derive(Default)]
pub(super) struct Credit {
    /// Tasks that are done by somebody now, and by whom.
    pub done_by: BTreeMap<usize, String>,
    /// Criteria that were judged now.
    pub judged: BTreeSet<usize>,
    /// Phases that were begun now.
    pub begun: BTreeSet<usize>,
    /// Who ticks the boxes that were ticked without a word, where that is known.
    pub seen_by: Option<String>,
}

/// What was seen while the state was brought into line.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Seen {
    /// Boxes that the state has as ticked and the plan does not: progress went backwards.
    pub regressed: Vec<String>,
    /// Tasks that the state has as done and the plan has not at all any more.
    pub vanished: Vec<String>,
    /// Tasks that were ticked in the plan without a word.
    pub ticked: Vec<usize>,
    /// Phases that became complete.
    pub completed: Vec<usize>,
}

/// Brings the phases of a state into line.
pub(super) fn bring_into_line<'a>(
    splice: &mut Splice<'a>,
    phases: Value<'a, '_>,
    book: &Book<'_>,
    credit: &Credit,
    now: &str,
) -> Seen {
    into_line(splice, phases, book, credit, now, true)
}

/// The same; in the order of the plan where that is to be tried and can be done, else by looking for each entry.
fn into_line<'a>(
    splice: &mut Splice<'a>,
    phases: Value<'a, '_>,
    book: &Book<'_>,
    credit: &Credit,
    now: &str,
    may_be_in_order: bool,
) -> Seen {
    let mut sync = Sync {
        book,
        credit,
        now,
        counts: book.counts(),
        before: book.counts_before(),
        is_fresh: false,
        seen: Seen::default(),
    };
    let names: HashMap<&str, usize> = book.phases.iter().enumerate().map(|(place, id)| (id.as_str(), place)).collect();
    let mut place_of_entry: Vec<Option<usize>> = Vec::new();
    let mut last_entry: Vec<Option<usize>> = vec![None; book.phases.len()];
    for (entry, (key, value)) in phases.entries().enumerate() {
        let place = key.as_str().and_then(|id| names.get(&*id).copied()).filter(|_| value.kind() == Kind::Object);
        place_of_entry.push(place);
        if let Some(place) = place {
            last_entry[place] = Some(entry);
        }
    }
    // Of a phase that stands twice the last one counts.
    for (entry, place) in place_of_entry.iter_mut().enumerate() {
        *place = place.filter(|place| last_entry[*place] == Some(entry));
    }
    // Nearly always the state lists the plan's phases and boxes, all of them and in their order.
    if may_be_in_order
        && place_of_entry.iter().enumerate().all(|(entry, place)| *place == Some(entry))
        && place_of_entry.len() == book.phases.len()
        && let Some(tasks) = sync.differing(phases, Boxes::Tasks)
        && let Some(criteria) = sync.differing(phases, Boxes::Criteria)
    {
        sync.differing_phases(splice, phases, [(Boxes::Tasks, tasks), (Boxes::Criteria, criteria)]);
        return sync.seen;
    }
    let tasks = Matches::find(phases, book, Boxes::Tasks, &place_of_entry);
    let criteria = Matches::find(phases, book, Boxes::Criteria, &place_of_entry);
    sync.note_vanished(&tasks);
    let (mut next_task, mut next_criterion) = (0, 0);
    let mut gone = Vec::new();
    for (entry, (_, old)) in phases.entries().enumerate() {
        match place_of_entry[entry] {
            Some(place) => sync.phase(splice, old, place, (&tasks, &mut next_task), (&criteria, &mut next_criterion)),
            None => {
                gone.push(entry);
                next_task += old.get("tasks").map_or(0, |tasks| tasks.entries().count());
                next_criterion += old.get("acceptance").map_or(0, |criteria| criteria.entries().count());
            }
        }
    }
    let is_new = |place: &usize| last_entry[*place].is_none();
    let added: Vec<_> = (0..book.phases.len())
        .filter(is_new)
        .map(|place| (book.phases[place].clone(), sync.new_phase(place, &tasks, &criteria)))
        .collect();
    splice.reshape(phases, &gone, &added);
    sync.seen.completed.sort_unstable();
    sync.seen
}

/// All phases, for a state that is made anew.
pub(super) fn make(book: &Book<'_>, credit: &Credit, now: &str) -> (NewValue, Seen) {
    let mut sync = Sync {
        book,
        credit,
        now,
        counts: book.counts(),
        before: book.counts_before(),
        is_fresh: true,
        seen: Seen::default(),
    };
    let (tasks, criteria) = (Matches::none(book, Boxes::Tasks), Matches::none(book, Boxes::Criteria));
    let phases =
        book.phases.iter().enumerate().map(|(place, id)| (id.clone(), sync.new_phase(place, &tasks, &criteria)));
    let phases: Map<String, NewValue> = phases.collect();
    // What is found ticked at the very beginning was not ticked just now.
    sync.seen.ticked.clear();
    (NewValue::Object(phases), sync.seen)
}

struct Sync<'b> {
    book: &'b Book<'b>,
    credit: &'b Credit,
    now: &'b str,
    counts: &'b [Count],
    before: Vec<Count>,
    /// Whether there was no state: nobody knows then since when a box is ticked.
    is_fresh: bool,
    seen: Seen,
}

impl Sync<'_> {
    fn note_vanished(&mut self, tasks: &Matches<'_, '_>) {
        self.seen.vanished.extend(tasks.vanished.iter().cloned());
    }

    /// The boxes whose entries do not say what the plan says, with those entries; nothing when the entries are not those of
    /// all boxes in their order, and have to be looked for.
    fn differing<'a, 'j>(&self, phases: Value<'a, 'j>, boxes: Boxes) -> Option<Vec<(usize, Value<'a, 'j>)>> {
        let mut items = self.book.items(boxes).iter().enumerate();
        let mut differing = Vec::new();
        for (place, (_, phase)) in phases.entries().enumerate() {
            let list = phase.get(key_of(boxes)).filter(|list| list.kind() == Kind::Object)?;
            for (key, entry) in list.entries() {
                let (number, item) = items.next()?;
                if item.phase() != place || !key.is_key(self.book.id(item)) {
                    return None;
                }
                if !self.says_so(entry, boxes, number) {
                    differing.push((number, entry));
                }
            }
        }
        items.next().is_none().then_some(differing)
    }

    /// Brings phases into line whose boxes are in their order.
    fn differing_phases<'a>(
        &mut self,
        splice: &mut Splice<'a>,
        phases: Value<'a, '_>,
        differing: [(Boxes, Vec<(usize, Value<'a, '_>)>); 2],
    ) {
        let mut differing = differing.map(|(boxes, all)| (boxes, all.into_iter().peekable()));
        for (place, (_, old)) in phases.entries().enumerate() {
            let keys = self.phase_keys(place, old);
            for (boxes, rest) in &mut differing {
                let items = self.book.items(*boxes);
                while let Some((item, old)) = rest.next_if(|(item, _)| items[*item].phase() == place) {
                    self.change_entry(splice, old, *boxes, item);
                }
            }
            splice.set_keys(old, &keys);
        }
    }

    /// The keys of a phase that is there.
    fn phase_keys(&mut self, place: usize, old: Value<'_, '_>) -> Vec<(&'static str, Option<NewValue>)> {
        let was_complete = content::text(old, "status").as_deref() == Some("completed");
        self.note_completed(place, was_complete);
        self.keys(place, Some(old))
    }

    fn phase<'a>(
        &mut self,
        splice: &mut Splice<'a>,
        old: Value<'a, '_>,
        place: usize,
        tasks: (&Matches<'a, '_>, &mut usize),
        criteria: (&Matches<'a, '_>, &mut usize),
    ) {
        let mut keys = self.phase_keys(place, old);
        for (matches, next) in [tasks, criteria] {
            let key = key_of(matches.boxes);
            match old.get(key).filter(|object| object.kind() == Kind::Object) {
                Some(object) => self.boxes(splice, object, place, matches, next),
                None => keys.push((key, Some(self.new_boxes(place, matches)))),
            }
        }
        splice.set_keys(old, &keys);
    }

    fn new_phase(&mut self, place: usize, tasks: &Matches<'_, '_>, criteria: &Matches<'_, '_>) -> NewValue {
        self.note_completed(place, self.before[place].is_complete());
        let keys = self.keys(place, None).into_iter();
        let mut phase: Map<String, NewValue> = keys.filter_map(|(key, value)| Some((key.to_owned(), value?))).collect();
        for matches in [tasks, criteria] {
            phase.insert(key_of(matches.boxes).to_owned(), self.new_boxes(place, matches));
        }
        NewValue::Object(phase)
    }

    fn note_completed(&mut self, place: usize, was_complete: bool) {
        if self.counts[place].is_complete() && !was_complete {
            self.seen.completed.push(place);
        }
    }

    /// `status`, `startedAt` and `completedAt` of a phase.
    fn keys(&self, place: usize, old: Option<Value<'_, '_>>) -> Vec<(&'static str, Option<NewValue>)> {
        let known = |key: &str| old.and_then(|old| old.get(key)).filter(is_text).map(to_new);
        let count = self.counts[place];
        let is_begun = self.credit.begun.contains(&place);
        let started = known("startedAt");
        let was_begun = started.is_some() && count.done == 0;
        let status = match count {
            count if count.is_complete() => "completed",
            Count { done: 0, .. } if !is_begun && !was_begun => "pending",
            _ => "in_progress",
        };
        // What was ticked before anybody looked began nobody knows when.
        let begins_now = is_begun || count.done > self.before[place].done || !self.is_fresh && count.done > 0;
        let started = started.or_else(|| begins_now.then(|| self.now.into()));
        let ends_now = count.all > 0 && (!self.is_fresh || count.done > self.before[place].done);
        let completed = known("completedAt").or_else(|| ends_now.then(|| self.now.into()));
        let completed = completed.filter(|_| count.is_complete());
        vec![("status", Some(status.into())), ("startedAt", started), ("completedAt", completed)]
    }

    fn boxes<'a>(
        &mut self,
        splice: &mut Splice<'a>,
        object: Value<'a, '_>,
        place: usize,
        matches: &Matches<'a, '_>,
        next: &mut usize,
    ) {
        let mut gone = Vec::new();
        for (entry, (_, old)) in object.entries().enumerate() {
            let item = matches.box_of_entry.get(*next).copied().flatten();
            *next += 1;
            match item {
                Some(item) if self.says_so(old, matches.boxes, item as usize) => {}
                Some(item) => self.change_entry(splice, old, matches.boxes, item as usize),
                None => gone.push(entry),
            }
        }
        let missing = matches.missing.get(&place).map_or(&[][..], Vec::as_slice);
        let added: Vec<_> = missing.iter().map(|item| self.new_entry(matches, *item)).collect();
        splice.reshape(object, &gone, &added);
    }

    fn new_boxes(&mut self, place: usize, matches: &Matches<'_, '_>) -> NewValue {
        let missing = matches.missing.get(&place).map_or(&[][..], Vec::as_slice);
        NewValue::Object(missing.iter().map(|item| self.new_entry(matches, *item)).collect())
    }

    /// Whether an entry says what the plan says, and this event nothing more: nearly always it does.
    fn says_so(&self, old: Value<'_, '_>, boxes: Boxes, item: usize) -> bool {
        let is_news = match boxes {
            Boxes::Tasks => self.credit.done_by.contains_key(&item),
            Boxes::Criteria => self.credit.judged.contains(&item),
        };
        let was = old.get(flag_of(boxes)).and_then(Value::as_bool);
        was == Some(self.book.items(boxes)[item].is_ticked) && !is_news
    }

    /// An entry that is there and does not say what it should.
    fn change_entry<'a>(&mut self, splice: &mut Splice<'a>, old: Value<'a, '_>, boxes: Boxes, item: usize) {
        if old.kind() != Kind::Object {
            let (_, new) = self.made_entry(boxes, item, None);
            splice.become_value(old, &new);
            return;
        }
        let keys = self.entry_keys(boxes, item, Some(old));
        splice.set_keys(old, &keys);
    }

    fn new_entry(&mut self, matches: &Matches<'_, '_>, item: usize) -> (String, NewValue) {
        self.made_entry(matches.boxes, item, matches.moved.get(&item).copied())
    }

    fn made_entry(&mut self, boxes: Boxes, item: usize, old: Option<Value<'_, '_>>) -> (String, NewValue) {
        let mut entry = match old.map(to_new) {
            Some(NewValue::Object(entry)) => entry,
            _ => Map::new(),
        };
        for (key, value) in self.entry_keys(boxes, item, old) {
            match value {
                Some(value) => drop(entry.insert(key.to_owned(), value)),
                None => drop(entry.shift_remove(key)),
            }
        }
        (self.book.id(&self.book.items(boxes)[item]).to_owned(), NewValue::Object(entry))
    }

    /// Whether a box is ticked, since when and by whom.
    fn entry_keys(
        &mut self,
        boxes: Boxes,
        item: usize,
        old: Option<Value<'_, '_>>,
    ) -> Vec<(&'static str, Option<NewValue>)> {
        let found = &self.book.items(boxes)[item];
        let was = old.and_then(|old| old.get(flag_of(boxes))).and_then(Value::as_bool) == Some(true);
        let known = |key: &str| old.filter(|_| was).and_then(|old| old.get(key)).filter(is_text).map(to_new);
        // A box that this very event unticks is no surprise.
        if was && !found.is_ticked && !found.was_ticked {
            self.seen.regressed.push(self.book.id(found).to_owned());
        }
        let is_news = found.is_ticked && !was;
        let at = (is_news && (!self.is_fresh || !found.was_ticked)).then(|| self.now.into());
        let at = known(time_of(boxes)).or(at).filter(|_| found.is_ticked);
        let flag = (flag_of(boxes), Some(found.is_ticked.into()));
        if boxes == Boxes::Criteria {
            let now = self.credit.judged.contains(&item).then(|| self.now.into());
            return vec![flag, ("verifiedAt", now.filter(|_| found.is_ticked).or(at))];
        }
        let credited = self.credit.done_by.get(&item);
        if is_news && credited.is_none() {
            self.seen.ticked.push(item);
        }
        let by = known("completedBy").or_else(|| credited.cloned().map(NewValue::from));
        let by_hand = || self.credit.seen_by.clone().unwrap_or_else(|| BY_HAND.to_owned());
        let by = by.or_else(|| (is_news && !self.is_fresh).then(|| by_hand().into()));
        vec![flag, ("completedAt", at), ("completedBy", by.filter(|_| found.is_ticked))]
    }
}

/// Who ticked a box by hand, outside of any session.
pub(super) const BY_HAND: &str = "main";

fn flag_of(boxes: Boxes) -> &'static str {
    match boxes {
        Boxes::Tasks => "done",
        Boxes::Criteria => "met",
    }
}

fn time_of(boxes: Boxes) -> &'static str {
    match boxes {
        Boxes::Tasks => "completedAt",
        Boxes::Criteria => "verifiedAt",
    }
}

/// Times and names are texts; anything else in their place says nothing.
fn is_text(value: &Value<'_, '_>) -> bool {
    value.kind() == Kind::String
}

#[cfg(test)]
mod tests;
