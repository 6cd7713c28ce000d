//! A plan as its files say, and the boxes in them that are ticked and unticked.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::OnceLock;

use piton_model::hint::verbs;
use piton_model::{Effect, Refusal, text::counted};

use super::super::layout::{Paths, is_phase_file};
use super::super::read::checksum_text;
use super::super::{Mark, Parsed};
use super::sheet::Sheet;
use crate::Files;
use crate::digest::digest_of;

/// All files of a plan, as one.
#[derive(Default)]
pub(in crate::plan) struct Book<'f> {
    files: Option<&'f dyn Files>,
    pub sheets: Vec<Sheet<'f>>,
    /// The ids of the phases, in order.
    pub phases: Vec<String>,
    /// The tasks of all files. The phase of each is a place in [`Book::phases`].
    pub tasks: Vec<Mark>,
    pub criteria: Vec<Mark>,
    /// How far it is now; known when it was asked for.
    tallies: OnceLock<Tallies>,
}

/// How far a plan is.
struct Tallies {
    /// Tasks and criteria of each phase.
    phases: Vec<Count>,
    /// All tasks.
    tasks: Count,
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

/// The line that a marker stands on, with its end, when nothing else stands there; else the marker alone.
fn whole_line(text: &str, marker: &Range<usize>) -> Range<usize> {
    let start = text[..marker.start].rfind('\n').map_or(0, |at| at + 1);
    let end = text[marker.end..].find('\n').map_or(text.len(), |at| marker.end + at + 1);
    let is_alone = text[start..marker.start].trim().is_empty() && text[marker.end..end].trim().is_empty();
    if is_alone { start..end } else { marker.clone() }
}

impl<'f> Book<'f> {
    /// Reads and parses a plan; nothing when `plan.md` is missing or is no text. A phase file that is no text is
    /// passed over, as the reader does.
    pub fn open(paths: &Paths, files: &'f dyn Files) -> Result<Option<Book<'f>>, Refusal> {
        let mut book = Book { files: Some(files), ..Book::default() };
        let Some(plan) = Sheet::open_summed(&paths.plan, files)? else { return Ok(None) };
        book.sheets.push(plan);
        for name in files.list(&paths.directory).iter().filter(|name| is_phase_file(name)) {
            book.sheets.extend(Sheet::open(&format!("{}/{name}", paths.directory), files)?);
        }
        book.collect();
        Ok(Some(book))
    }

    /// All tasks, or all criteria.
    pub fn items(&self, boxes: Boxes) -> &[Mark] {
        match boxes {
            Boxes::Tasks => &self.tasks,
            Boxes::Criteria => &self.criteria,
        }
    }

    /// An item's id.
    pub fn id(&self, item: &Mark) -> &str {
        item.id(self.sheets[item.sheet as usize].body())
    }

    /// Finds items by their ids, in the order asked for; the first that is not there is given back.
    pub fn find<'w>(&self, boxes: Boxes, wanted: &'w [String]) -> Result<Vec<usize>, &'w str> {
        // Nearly always it is one of many, and comparing is cheaper than hashing.
        if let [id] = wanted {
            let is_it = |item: &Mark| item.id_length() == id.len() && self.id(item) == id;
            let place = self.items(boxes).iter().position(is_it);
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
        self.tallies = OnceLock::new();
        item.is_ticked = ticked;
        let (number, at) = (item.sheet, item.box_at());
        // A box may carry a TASK and an ACCEPT marker.
        let others = match boxes {
            Boxes::Tasks => &mut self.criteria,
            Boxes::Criteria => &mut self.tasks,
        };
        for other in others {
            if other.sheet == number && other.box_at() == at {
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
        self.sheets.iter().any(Sheet::is_large)
    }

    /// What happens to the files that have changed.
    pub fn into_effects(self) -> impl Iterator<Item = Effect> {
        self.sheets.into_iter().filter_map(move |sheet| sheet.effect(self.files))
    }

    /// Gives a file another text, and reads the plan anew.
    pub fn rewrite(&mut self, number: usize, body: &str) {
        self.sheets[number] = self.sheets[number].rewritten(body);
        self.collect();
    }

    /// How far each phase is now.
    pub fn counts(&self) -> &[Count] {
        &self.tallies().phases
    }

    fn tallies(&self) -> &Tallies {
        self.tallies.get_or_init(|| Tallies {
            phases: self.count(|item| item.is_ticked),
            tasks: Count { done: self.tasks.iter().filter(|task| task.is_ticked).count(), all: self.tasks.len() },
        })
    }

    /// How far each phase was when the files were read.
    pub fn counts_before(&self) -> Vec<Count> {
        self.count(|item| item.was_ticked)
    }

    /// How many tasks are done, and how many there are.
    pub fn progress(&self) -> Count {
        self.tallies().tasks
    }

    /// The first phase that is not completed, and its first open task, if it still has one.
    pub fn position(&self) -> (Option<&str>, Option<&str>) {
        let Some(phase) = self.counts().iter().position(|count| !count.is_complete()) else { return (None, None) };
        let is_current = |task: &&Mark| task.phase() == phase && !task.is_ticked;
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

    /// How many boxes have no marker, are open, and are no detail of the box above them.
    pub fn open_unmarked(&self) -> usize {
        self.sheets.iter().map(Sheet::open_unmarked).sum()
    }

    /// What the plan's own BLOCKER markers say, in order.
    pub fn blockers(&self) -> Vec<String> {
        self.sheets.iter().flat_map(|sheet| &sheet.parsed.blockers).map(|blocker| blocker.text.clone()).collect()
    }

    /// Takes markers of blockers out of the text. A line that has nothing else goes with its marker.
    pub fn remove_blockers(&mut self, texts: &[String]) {
        for number in 0..self.sheets.len() {
            let sheet = &self.sheets[number];
            let gone = sheet.parsed.blockers.iter().filter(|blocker| texts.contains(&blocker.text));
            let mut spans: Vec<Range<usize>> = gone.map(|blocker| whole_line(sheet.body(), &blocker.marker)).collect();
            if spans.is_empty() {
                continue;
            }
            spans.sort_by_key(|span| span.start);
            let (mut body, mut from) = (String::new(), 0);
            for span in spans {
                body.push_str(&sheet.body()[from..span.start.max(from)]);
                from = span.end.max(from);
            }
            body.push_str(&sheet.body()[from..]);
            self.rewrite(number, &body);
        }
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
                Boxes::Criteria => {
                    verbs::GATE.on(unit).word("pass").name(id, "NAME").to("it is an acceptance criterion")
                }
                Boxes::Tasks => verbs::STEP.on(unit).word("done").name(id, "STEP").to("it is a task"),
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
            (true, 0) => refusal.hint(verbs::STATUS.on(unit).to("see what there is")),
            (true, boxes) => refusal.hint(
                verbs::PLAN_MARK
                    .on(unit)
                    .to(format!("{} no id; give ids with", counted(boxes, "box has", "boxes have"))),
            ),
        }
    }

    fn count(&self, is_done: impl Fn(&Mark) -> bool) -> Vec<Count> {
        let mut counts = vec![Count::default(); self.phases.len()];
        for item in self.tasks.iter().chain(&self.criteria) {
            counts[item.phase()].all += 1;
            counts[item.phase()].done += usize::from(is_done(item));
        }
        counts
    }

    /// Puts the items of all files into one list each. Of an id that two files have the later one counts, at the place
    /// of the first.
    fn collect(&mut self) {
        self.tallies = OnceLock::new();
        if let [only] = &mut self.sheets[..] {
            // Nobody else needs them, and copies of so many would have to be made.
            let Parsed { phases, tasks, criteria, .. } = &mut only.parsed;
            self.phases = phases.iter().map(|phase| phase.id.clone()).collect();
            (self.tasks, self.criteria) = (std::mem::take(tasks), std::mem::take(criteria));
            return;
        }
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
            let item = |mark: &Mark| mark.in_book(number, places[mark.phase()]);
            tasks.extend(sheet.parsed.tasks.iter().map(item));
            criteria.extend(sheet.parsed.criteria.iter().map(item));
        }
        (self.tasks, self.criteria) = (self.keep_last(tasks), self.keep_last(criteria));
    }

    fn keep_last(&self, items: Vec<Mark>) -> Vec<Mark> {
        let mut places: HashMap<&str, usize> = HashMap::new();
        let mut kept: Vec<Mark> = Vec::with_capacity(items.len());
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
