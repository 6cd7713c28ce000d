//! A plan as its files say, and the boxes in them that are ticked and unticked.

use std::collections::HashMap;

use piton_model::{Refusal, text::counted};

use super::super::layout::{Paths, is_phase_file};
use super::super::{Mark, Parsed, checksum, parse};
use super::sum::Sum;
use crate::{Files, Findings};

/// One file of a plan.
pub(in crate::plan) struct Sheet {
    pub path: String,
    /// All of its text, with the byte order mark when it has one.
    text: String,
    /// How long that mark is.
    start: usize,
    pub parsed: Parsed,
    is_changed: bool,
}

impl Sheet {
    /// The text that the offsets of marks refer to.
    pub fn body(&self) -> &str {
        &self.text[self.start..]
    }
}

/// A task or criterion. There may be a hundred thousand of them, so it holds no text.
#[derive(Debug, Clone, Copy)]
pub(in crate::plan) struct Item {
    sheet: u32,
    mark: Mark,
    /// The place of its phase in [`Book::phases`].
    pub phase: usize,
    /// Whether the box was ticked when the file was read.
    pub was_ticked: bool,
    /// Whether it is now.
    pub is_ticked: bool,
}

/// All files of a plan, as one.
#[derive(Default)]
pub(in crate::plan) struct Book {
    pub sheets: Vec<Sheet>,
    /// The ids of the phases, in order.
    pub phases: Vec<String>,
    pub tasks: Vec<Item>,
    pub criteria: Vec<Item>,
    /// The checksum of `plan.md` as it was read.
    sum: Option<Sum>,
    /// The first byte of `plan.md` that has changed since.
    first_change: Option<usize>,
}

/// Which boxes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::plan) enum Boxes {
    Tasks,
    Criteria,
}

/// How far a phase is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::plan) struct Count {
    pub done: usize,
    pub all: usize,
}

impl Count {
    /// An empty phase is completed: nothing in it is left to do.
    pub fn is_complete(self) -> bool {
        self.done == self.all
    }
}

impl Book {
    /// Reads and parses a plan; nothing when `plan.md` is missing or is no text. A phase file that is no text is
    /// passed over, as the reader does.
    pub fn open(paths: &Paths, files: &dyn Files) -> Result<Option<Book>, Refusal> {
        let mut book = Book::default();
        let Some(Ok(plan)) = files.read(&paths.plan)?.map(String::from_utf8) else { return Ok(None) };
        let (sum, first) = summed_sheet(paths.plan.clone(), plan);
        book.sum = Some(sum);
        book.sheets.push(first);
        for name in files.list(&paths.directory).iter().filter(|name| is_phase_file(name)) {
            let path = format!("{}/{name}", paths.directory);
            if let Some(Ok(text)) = files.read(&path)?.map(String::from_utf8) {
                book.sheets.push(sheet(path, text));
            }
        }
        book.collect();
        Ok(Some(book))
    }

    /// All tasks, or all criteria.
    pub fn items(&self, boxes: Boxes) -> &[Item] {
        match boxes {
            Boxes::Tasks => &self.tasks,
            Boxes::Criteria => &self.criteria,
        }
    }

    /// An item's id.
    pub fn id(&self, item: &Item) -> &str {
        item.mark.id(self.sheets[item.sheet as usize].body())
    }

    /// Finds items by their ids, in the order asked for; the first that is not there is given back.
    pub fn find<'w>(&self, boxes: Boxes, wanted: &'w [String]) -> Result<Vec<usize>, &'w str> {
        // Nearly always it is one of many, and comparing is cheaper than hashing.
        if let [id] = wanted {
            let place = self.items(boxes).iter().position(|item| self.id(item) == id);
            return place.map(|place| vec![place]).ok_or(id);
        }
        let mut places: HashMap<&str, Option<usize>> = wanted.iter().map(|id| (id.as_str(), None)).collect();
        for (place, item) in self.items(boxes).iter().enumerate() {
            if let Some(found) = places.get_mut(self.id(item)) {
                *found = Some(place);
            }
        }
        wanted.iter().map(|id| places[id.as_str()].ok_or(id.as_str())).collect()
    }

    /// Ticks or unticks a box: one byte of its file changes. A box that is as wanted stays as it is, `[X]` included.
    pub fn tick(&mut self, boxes: Boxes, place: usize, ticked: bool) {
        let item = match boxes {
            Boxes::Tasks => &mut self.tasks[place],
            Boxes::Criteria => &mut self.criteria[place],
        };
        if item.is_ticked == ticked {
            return;
        }
        item.is_ticked = ticked;
        let (number, at) = (item.sheet, item.mark.box_at());
        // A box may carry a TASK and an ACCEPT marker.
        let others = match boxes {
            Boxes::Tasks => &mut self.criteria,
            Boxes::Criteria => &mut self.tasks,
        };
        for other in others {
            if other.sheet == number && other.mark.box_at() == at {
                other.is_ticked = ticked;
            }
        }
        let sheet = &mut self.sheets[number as usize];
        let at = sheet.start + at;
        sheet.text.replace_range(at..at + 1, if ticked { "x" } else { " " });
        sheet.is_changed = true;
        if number == 0 {
            self.first_change = Some(self.first_change.map_or(at, |first| first.min(at)));
        }
    }

    /// The checksum of `plan.md` as it is now.
    pub fn checksum(&self) -> String {
        let bytes = self.sheets.first().map_or(&[][..], |sheet| sheet.text.as_bytes());
        match (&self.sum, self.first_change) {
            (Some(sum), None) => sum.text().to_owned(),
            (Some(sum), Some(first)) => sum.again(bytes, first),
            (None, _) => checksum(bytes),
        }
    }

    /// The files that have changed, with all of their bytes.
    pub fn into_changed(self) -> impl Iterator<Item = (String, Vec<u8>)> {
        let changed = self.sheets.into_iter().filter(|sheet| sheet.is_changed);
        changed.map(|sheet| (sheet.path, sheet.text.into_bytes()))
    }

    /// Gives a file another text, and reads the plan anew.
    pub fn rewrite(&mut self, number: usize, body: &str) {
        let old = &self.sheets[number];
        let text = format!("{}{body}", &old.text[..old.start]);
        if number == 0 {
            self.first_change = Some(0);
        }
        self.sheets[number] = Sheet { is_changed: true, ..sheet(old.path.clone(), text) };
        self.collect();
    }

    /// How far each phase is now.
    pub fn counts(&self) -> Vec<Count> {
        self.count(|item| item.is_ticked)
    }

    /// How far each phase was when the files were read.
    pub fn counts_before(&self) -> Vec<Count> {
        self.count(|item| item.was_ticked)
    }

    /// How many tasks are done, and how many there are.
    pub fn progress(&self) -> Count {
        Count { done: self.tasks.iter().filter(|task| task.is_ticked).count(), all: self.tasks.len() }
    }

    /// The first phase that is not completed, and its first open task, if it still has one.
    pub fn position(&self) -> (Option<&str>, Option<&str>) {
        let Some(phase) = self.counts().iter().position(|count| !count.is_complete()) else { return (None, None) };
        let is_current = |task: &&Item| task.phase == phase && !task.is_ticked;
        (Some(&self.phases[phase]), self.tasks.iter().find(is_current).map(|task| self.id(task)))
    }

    /// The ids of open items, in order.
    pub fn open_ids(&self, boxes: Boxes) -> Vec<String> {
        self.items(boxes).iter().filter(|item| !item.is_ticked).map(|item| self.id(item).to_owned()).collect()
    }

    /// Whether any box can be counted.
    pub fn is_marked(&self) -> bool {
        !self.tasks.is_empty() || !self.criteria.is_empty()
    }

    /// How many boxes have no marker.
    pub fn unmarked_boxes(&self) -> usize {
        self.sheets.iter().map(|sheet| sheet.parsed.unmarked_boxes).sum()
    }

    /// What the plan's own BLOCKER markers say, in order.
    pub fn blockers(&self) -> Vec<String> {
        self.sheets.iter().flat_map(|sheet| &sheet.parsed.blockers).map(|blocker| blocker.text.clone()).collect()
    }

    /// What the plan's own DECISION markers say, in order.
    pub fn decisions(&self) -> impl Iterator<Item = &str> {
        self.sheets.iter().flat_map(|sheet| &sheet.parsed.decisions).map(|decision| decision.text.as_str())
    }

    /// Refuses an id that no box has, with those that are like it.
    pub fn unknown(&self, boxes: Boxes, id: &str, unit: &str) -> Refusal {
        let (what, other) = match boxes {
            Boxes::Tasks => ("task", Boxes::Criteria),
            Boxes::Criteria => ("acceptance criterion", Boxes::Tasks),
        };
        let refusal = Refusal::missing(format!("the plan has no {what} {id:?}"));
        if self.items(other).iter().any(|item| self.id(item) == id) {
            return refusal.hint(match other {
                Boxes::Criteria => format!("it is an acceptance criterion: piton gate {unit} pass {id}"),
                Boxes::Tasks => format!("it is a task: piton step {unit} done {id}"),
            });
        }
        let mut near: Vec<(usize, &str)> = self
            .items(boxes)
            .iter()
            .map(|item| self.id(item))
            .filter_map(|known| Some((likeness(known, id)?, known)))
            .collect();
        near.sort();
        let near: Vec<&str> = near.into_iter().take(3).map(|(_, known)| known).collect();
        match (near.is_empty(), self.unmarked_boxes()) {
            (false, _) => refusal.hint(format!("did you mean: {}", near.join(", "))),
            (true, 0) => refusal.hint(format!("see what there is: piton status {unit}")),
            (true, boxes) => refusal.hint(format!(
                "{} no id; give ids with: piton plan mark {unit}",
                counted(boxes, "box has", "boxes have")
            )),
        }
    }

    fn count(&self, is_done: impl Fn(&Item) -> bool) -> Vec<Count> {
        let mut counts = vec![Count::default(); self.phases.len()];
        for item in self.tasks.iter().chain(&self.criteria) {
            counts[item.phase].all += 1;
            counts[item.phase].done += usize::from(is_done(item));
        }
        counts
    }

    /// Puts the items of all files into one list each. Of an id that two files have the later one counts, at the place
    /// of the first.
    fn collect(&mut self) {
        self.phases.clear();
        let mut phases: HashMap<String, usize> = HashMap::new();
        let mut tasks = Vec::new();
        let mut criteria = Vec::new();
        for (number, sheet) in self.sheets.iter().enumerate() {
            let mut place_of = |id: &str| match phases.get(id) {
                Some(place) => *place,
                None => {
                    self.phases.push(id.to_owned());
                    phases.insert(id.to_owned(), self.phases.len() - 1);
                    self.phases.len() - 1
                }
            };
            let places: Vec<usize> = sheet.parsed.phases.iter().map(|phase| place_of(&phase.id)).collect();
            let item = |mark: &Mark| {
                let ticked = mark.is_ticked(sheet.body());
                let phase = places[mark.phase()];
                Item { sheet: number as u32, mark: *mark, phase, was_ticked: ticked, is_ticked: ticked }
            };
            tasks.extend(sheet.parsed.tasks.iter().map(item));
            criteria.extend(sheet.parsed.criteria.iter().map(item));
        }
        (self.tasks, self.criteria) = (Vec::new(), Vec::new());
        let is_single = self.sheets.len() == 1;
        self.tasks = if is_single { tasks } else { self.keep_last(tasks) };
        self.criteria = if is_single { criteria } else { self.keep_last(criteria) };
    }

    fn keep_last(&self, items: Vec<Item>) -> Vec<Item> {
        let mut places: HashMap<&str, usize> = HashMap::new();
        let mut kept: Vec<Item> = Vec::with_capacity(items.len());
        for item in items {
            match places.get(self.id(&item)) {
                Some(place) => kept[*place] = item,
                None => {
                    places.insert(self.id(&item), kept.len());
                    kept.push(item);
                }
            }
        }
        kept
    }
}

/// From this length on, a text is summed beside being parsed: each takes as long as starting a hundred threads.
const LARGE: usize = 1024 * 1024;

/// A file and its checksum.
fn summed_sheet(path: String, text: String) -> (Sum, Sheet) {
    if text.len() < LARGE {
        return (Sum::of(text.as_bytes()), sheet(path, text));
    }
    let (sum, parsed) = std::thread::scope(|scope| {
        let sum = scope.spawn(|| Sum::of(text.as_bytes()));
        let parsed = parsed(&text);
        (sum.join().expect("summing does not panic"), parsed)
    });
    (sum, Sheet { path, start: mark_length(&text), text, parsed, is_changed: false })
}

fn sheet(path: String, text: String) -> Sheet {
    let parsed = parsed(&text);
    Sheet { path, start: mark_length(&text), text, parsed, is_changed: false }
}

fn parsed(text: &str) -> Parsed {
    let body = &text[mark_length(text)..];
    parse(body, &mut Findings::new("".into(), body))
}

/// How long the byte order mark of a text is.
fn mark_length(text: &str) -> usize {
    if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 }
}

/// How far two ids are apart, when they are like each other at all.
fn likeness(known: &str, asked: &str) -> Option<usize> {
    if known.contains(asked) || asked.contains(known) {
        return Some(0);
    }
    let (known, asked) = (known.as_bytes(), asked.as_bytes());
    // Ids are short; a hostile one is not compared.
    if known.len().abs_diff(asked.len()) > 2 || asked.len() > 64 {
        return None;
    }
    let mut row: Vec<usize> = (0..=asked.len()).collect();
    for (i, a) in known.iter().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, b) in asked.iter().enumerate() {
            let least = (row[j] + 1).min(row[j + 1] + 1).min(diagonal + usize::from(a != b));
            diagonal = std::mem::replace(&mut row[j + 1], least);
        }
    }
    Some(row[asked.len()]).filter(|distance| *distance <= 2)
}
