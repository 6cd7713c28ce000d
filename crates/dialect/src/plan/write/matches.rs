//! Which entries of a state's phases are about which boxes of the plan.

use std::collections::HashMap;

use super::super::Mark;
use super::book::{Book, Boxes};
use crate::json::Value;

/// Which entries of the state are about which boxes of the plan.
pub(super) struct Matches<'a, 'j> {
    pub boxes: Boxes,
    /// For each entry, over all phases in order: its box, when it is the entry that counts and stands in the right
    /// phase.
    pub box_of_entry: Vec<Option<u32>>,
    /// Whether a box has such an entry.
    is_kept: Vec<bool>,
    /// Entries of boxes that have moved to another phase.
    pub moved: HashMap<usize, Value<'a, 'j>>,
    /// Done entries that no box of the plan has.
    pub vanished: Vec<String>,
    /// For each phase, the boxes in it that have no such entry.
    pub missing: HashMap<usize, Vec<usize>>,
}

impl<'a, 'j> Matches<'a, 'j> {
    /// A state that has no entries.
    pub fn none(book: &Book<'_>, boxes: Boxes) -> Matches<'a, 'j> {
        let mut none = Matches::new(book, boxes);
        none.find_missing(book);
        none
    }

    fn new(book: &Book<'_>, boxes: Boxes) -> Matches<'a, 'j> {
        let is_kept = vec![false; book.items(boxes).len()];
        let (moved, missing) = (HashMap::new(), HashMap::new());
        Matches { boxes, box_of_entry: Vec::new(), is_kept, moved, vanished: Vec::new(), missing }
    }

    /// Finds the entries.
    pub fn find(
        phases: Value<'a, 'j>,
        book: &Book<'_>,
        boxes: Boxes,
        place_of_entry: &[Option<usize>],
    ) -> Matches<'a, 'j> {
        let items = book.items(boxes);
        let mut search = Search::new(book, boxes);
        let mut found: Vec<Option<(u32, bool)>> = Vec::with_capacity(items.len());
        let mut last: Vec<u32> = vec![u32::MAX; items.len()];
        let mut matches = Matches::new(book, boxes);
        for ((_, phase), place) in phases.entries().zip(place_of_entry) {
            for (key, value) in phase.get(key_of(boxes)).into_iter().flat_map(Value::entries) {
                let item = search.find(key);
                let entry = found.len() as u32;
                found.push(item.map(|item| (item as u32, *place == Some(items[item].phase()))));
                let Some(item) = item else {
                    if value.get("done").and_then(Value::as_bool) == Some(true) {
                        matches.vanished.push(key.as_str().unwrap_or_default().into_owned());
                    }
                    continue;
                };
                last[item] = entry;
                match *place == Some(items[item].phase()) {
                    // Nearly always nothing has moved, and nothing is to be looked for.
                    true if matches.moved.is_empty() => {}
                    true => drop(matches.moved.remove(&item)),
                    false => drop(matches.moved.insert(item, value)),
                }
            }
        }
        for (entry, found) in found.into_iter().enumerate() {
            let counts = found.filter(|(item, in_place)| *in_place && last[*item as usize] == entry as u32);
            matches.box_of_entry.push(counts.map(|(item, _)| item));
            if let Some((item, _)) = counts {
                matches.is_kept[item as usize] = true;
            }
        }
        matches.find_missing(book);
        matches
    }

    fn find_missing(&mut self, book: &Book<'_>) {
        for (place, item) in book.items(self.boxes).iter().enumerate().filter(|(place, _)| !self.is_kept[*place]) {
            self.missing.entry(item.phase()).or_default().push(place);
        }
    }
}

/// Finds the boxes that a state's entries are about. The state mostly lists them in the plan's own order, so the box
/// behind the last one is looked at first; a table is made only when that fails.
pub(in crate::plan) struct Search<'b, 'f> {
    book: &'b Book<'f>,
    items: &'b [Mark],
    next: usize,
    table: Option<HashMap<&'b str, u32>>,
}

impl<'b, 'f> Search<'b, 'f> {
    /// A search that begins with the first box.
    pub fn new(book: &'b Book<'f>, boxes: Boxes) -> Search<'b, 'f> {
        Search { book, items: book.items(boxes), next: 0, table: None }
    }

    /// The place of the box that has a key for its id.
    pub fn find(&mut self, key: Value<'_, '_>) -> Option<usize> {
        let Search { book, items, next, table } = self;
        let place = match items.get(*next) {
            Some(item) if key.is_key(book.id(item)) => *next,
            _ => {
                let places = || items.iter().enumerate().map(|(place, item)| (book.id(item), place as u32)).collect();
                *table.get_or_insert_with(places).get(&*key.as_str()?)? as usize
            }
        };
        *next = place + 1;
        Some(place)
    }
}

/// The key of a phase that lists these boxes.
pub(super) fn key_of(boxes: Boxes) -> &'static str {
    match boxes {
        Boxes::Tasks => "tasks",
        Boxes::Criteria => "acceptance",
    }
}
