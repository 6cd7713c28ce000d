//! A plan as its files say, and the boxes in them that are ticked and unticked.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::sync::OnceLock;

use piton_model::{Digest, Edit, Effect, Refusal, text::counted};

use super::super::layout::{Paths, is_phase_file};
use super::super::read::checksum_text;
use super::super::{Mark, Parsed, parse};
use super::beside::{LARGE, beside};
use crate::digest::digest_of;
use crate::{Files, Findings};

/// One file of a plan. A hundred thousand boxes are megabytes, so its text is lent and ticks are kept beside it.
pub(in crate::plan) struct Sheet<'f> {
    pub path: String,
    /// All of its text, with the byte order mark when it has one, but for the ticks.
    text: Cow<'f, str>,
    /// How long that mark is.
    start: usize,
    pub parsed: Parsed,
    /// The boxes that are not as the text has them: where each one's byte is, and whether it is ticked now.
    ticks: BTreeMap<usize, bool>,
    /// Whether the text is another one than that of the file.
    is_rewritten: bool,
    /// What the file is to hold, and whether it can be edited; known when it was asked for.
    now: OnceLock<(Digest, bool)>,
}

impl<'f> Sheet<'f> {
    fn new(path: String, text: Cow<'f, str>, parsed: Parsed) -> Sheet<'f> {
        let start = mark_length(&text);
        Sheet { path, text, start, parsed, ticks: BTreeMap::new(), is_rewritten: false, now: OnceLock::new() }
    }

    /// The text that the offsets of marks refer to, but for the ticks.
    pub fn body(&self) -> &str {
        &self.text[self.start..]
    }

    fn tick(&mut self, at: usize, ticked: bool) {
        let was_ticked = matches!(self.body().as_bytes()[at], b'x' | b'X');
        match was_ticked == ticked {
            true => drop(self.ticks.remove(&(self.start + at))),
            false => drop(self.ticks.insert(self.start + at, ticked)),
        }
        self.now = OnceLock::new();
    }

    fn edits(&self) -> Vec<Edit> {
        let edit = |(at, ticked): (&usize, &bool)| Edit {
            at: *at,
            removed: 1,
            inserted: if *ticked { b"x" } else { b" " }.to_vec(),
        };
        self.ticks.iter().map(edit).collect()
    }

    /// What the file is to hold, and whether it can be edited.
    fn now(&self, files: Option<&dyn Files>) -> (Digest, bool) {
        *self.now.get_or_init(|| {
            let edits = self.edits();
            let known = files.filter(|_| !self.is_rewritten).and_then(|files| files.digest(&self.path, &edits));
            known.map_or_else(|| (digest_of(self.parts(&edits)), false), |digest| (digest, true))
        })
    }

    fn parts<'s>(&'s self, edits: &'s [Edit]) -> Vec<&'s [u8]> {
        Edit::parts(self.text.as_bytes(), edits).expect("boxes are in the text, one behind the other")
    }

    /// What happens to the file; nothing when it stays.
    fn effect(self, files: Option<&dyn Files>) -> Option<Effect> {
        if self.ticks.is_empty() && !self.is_rewritten {
            return None;
        }
        let edits = self.edits();
        Some(match self.now(files) {
            (digest, true) => Effect::Edit { path: self.path, edits, digest },
            (_, false) => {
                let bytes = self.parts(&edits).concat();
                Effect::Write { path: self.path, bytes }
            }
        })
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
pub(in crate::plan) struct Book<'f> {
    files: Option<&'f dyn Files>,
    pub sheets: Vec<Sheet<'f>>,
    /// The ids of the phases, in order.
    pub phases: Vec<String>,
    pub tasks: Vec<Item>,
    pub criteria: Vec<Item>,
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

impl<'f> Book<'f> {
    /// Reads and parses a plan; nothing when `plan.md` is missing or is no text. A phase file that is no text is
    /// passed over, as the reader does.
    pub fn open(paths: &Paths, files: &'f dyn Files) -> Result<Option<Book<'f>>, Refusal> {
        let mut book = Book { files: Some(files), ..Book::default() };
        let Some(plan) = files.look(&paths.plan)?.and_then(text_of) else { return Ok(None) };
        book.sheets.push(summed_sheet(paths.plan.clone(), plan, files));
        for name in files.list(&paths.directory).iter().filter(|name| is_phase_file(name)) {
            let path = format!("{}/{name}", paths.directory);
            if let Some(text) = files.look(&path)?.and_then(text_of) {
                let parsed = parsed(&text);
                book.sheets.push(Sheet::new(path, text, parsed));
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
        self.sheets[number as usize].tick(at, ticked);
    }

    /// The checksum of `plan.md` as it is now.
    pub fn checksum(&self) -> String {
        checksum_text(self.sheets.first().map_or_else(|| digest_of([]), |sheet| sheet.now(self.files).0))
    }

    /// Whether work on it is worth a second core.
    pub fn is_large(&self) -> bool {
        self.sheets.iter().any(|sheet| sheet.text.len() >= LARGE)
    }

    /// What happens to the files that have changed.
    pub fn into_effects(self) -> impl Iterator<Item = Effect> {
        self.sheets.into_iter().filter_map(move |sheet| sheet.effect(self.files))
    }

    /// Gives a file another text, and reads the plan anew.
    pub fn rewrite(&mut self, number: usize, body: &str) {
        let old = &self.sheets[number];
        let text = format!("{}{body}", &old.text[..old.start]);
        let parsed = parsed(&text);
        self.sheets[number] = Sheet { is_rewritten: true, ..Sheet::new(old.path.clone(), text.into(), parsed) };
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

/// `plan.md` with its digest, where nobody has it yet: each takes as long as starting a hundred threads.
fn summed_sheet<'f>(path: String, text: Cow<'f, str>, files: &dyn Files) -> Sheet<'f> {
    if let Some(digest) = files.digest(&path, &[]) {
        let parsed = parsed(&text);
        let sheet = Sheet::new(path, text, parsed);
        let _ = sheet.now.set((digest, true));
        return sheet;
    }
    let (digest, parsed) = beside(text.len() >= LARGE, || digest_of([text.as_bytes()]), || parsed(&text));
    let sheet = Sheet::new(path, text, parsed);
    let _ = sheet.now.set((digest, false));
    sheet
}

/// Bytes as text, lent as they were.
fn text_of(bytes: Cow<'_, [u8]>) -> Option<Cow<'_, str>> {
    match bytes {
        Cow::Borrowed(bytes) => std::str::from_utf8(bytes).ok().map(Cow::Borrowed),
        Cow::Owned(bytes) => String::from_utf8(bytes).ok().map(Cow::Owned),
    }
}

/// What a text says, without its byte order mark.
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
