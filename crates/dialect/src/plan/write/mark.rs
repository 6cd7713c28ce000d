//! Ids for boxes that have none: markers are put behind them, and nothing else in the plan changes.

use std::collections::{HashMap, HashSet};

use piton_model::{Change, Refusal, text::counted};
use serde_json::json;

use super::super::layout::Paths;
use super::super::markdown::Heading;
use super::super::{Parsed, Unmarked};
use super::book::Book;
use super::draft::Draft;
use super::ground::Ground;
use super::standing;
use crate::Place;

/// How long an id may be.
const LONGEST: usize = 40;

/// Gives ids to boxes that have none. A second time there is nothing left to do.
pub(super) fn mark(
    mut book: Book<'_>,
    mut draft: Draft<'_>,
    paths: &Paths,
    place: &Place,
    ground: Ground<'_>,
) -> Result<Change, Refusal> {
    let boxes = book.unmarked_boxes();
    if boxes == 0 {
        let summary = if book.is_marked() { "every box has an id" } else { "the plan has no checkboxes" };
        return Ok(Change { summary: summary.to_owned(), ..Change::default() });
    }
    let mut names = Names::of(&book);
    let before = (book.tasks.len(), book.criteria.len());
    for number in 0..book.sheets.len() {
        let sheet = &book.sheets[number];
        if sheet.parsed.unmarked.is_empty() {
            continue;
        }
        let body = marked_text(sheet.body(), &sheet.parsed, &mut names);
        book.rewrite(number, &body);
    }
    let (tasks, criteria) =
        (book.tasks.len() - before.0.min(book.tasks.len()), book.criteria.len().saturating_sub(before.1));
    // Whoever marks by halves would mark again and again.
    if tasks + criteria < boxes {
        return Err(Refusal::document(format!("a marker would not be read where a box stands: {}", paths.plan))
            .hint("end each task with a marker yourself: `<!-- TASK: id -->`"));
    }
    let what = format!("{}, {}", counted(tasks, "task", "tasks"), counted(criteria, "criterion", "criteria"));
    draft.summary = format!("marked {what} {}", standing(&book));
    if ground.json.is_none() {
        let effects = book.into_effects().collect();
        return Ok(Change { summary: draft.summary, warnings: draft.warnings, effects, next: None });
    }
    draft.log("plan_marked", &[("tasks", json!(tasks)), ("criteria", json!(criteria)), ("by", json!(draft.moment.by))]);
    // Boxes that are ticked already were ticked before anybody counted them.
    Ok(draft.finish(paths, &place.root, ground, Some(book)))
}

/// The text with markers.
fn marked_text(text: &str, parsed: &Parsed, names: &mut Names) -> String {
    let line_end = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let sections = Sections::of(text, &parsed.headings);
    let mut added: Vec<(usize, String)> = Vec::new();
    let mut label = None;
    let mut seen_to = 0;
    // Where the author has set phases, they stay as they are.
    let has_phases = parsed.phases.iter().any(|phase| phase.marker.is_some());
    let mut has_marker = HashSet::new();
    for place in &parsed.unmarked {
        let at = place.box_at as usize;
        label = label_before(text, seen_to, at).or(label.filter(|(from, _)| *from >= sections.start_of(at)));
        seen_to = at;
        if let Some(heading) = sections.phase_of(at).filter(|_| !has_phases)
            && has_marker.insert(heading.end)
        {
            let id = names.phase(&plain(&text[heading.text.clone()]));
            added.push((heading.end, format!("{line_end}<!-- CHECKPOINT: {id} -->")));
        }
        let is_criterion = match label {
            Some((_, is_criterion)) => is_criterion,
            None => sections.nearest(at).is_some_and(|heading| is_acceptance(&plain(&text[heading.text.clone()]))),
        };
        let word = if is_criterion { "ACCEPT" } else { "TASK" };
        let id = names.item(
            &text[at + 2..(place.text_end.min(place.first_line_end) as usize).max(at + 2)],
            if is_criterion { "criterion" } else { "task" },
        );
        added.push((insertion(text, place), format!(" <!-- {word}: {id} -->")));
    }
    added.sort_by_key(|(at, _)| *at);
    let mut out = String::with_capacity(text.len() + added.len() * 40);
    let mut end = 0;
    for (at, new) in added {
        out.push_str(&text[end..at]);
        out.push_str(&new);
        end = at;
    }
    out.push_str(&text[end..]);
    out
}

/// Behind the first line's text, as the protocol's own pattern asks; behind the last one's where the first may open a
/// code span or ends with a line break that is meant.
fn insertion(text: &str, place: &Unmarked) -> usize {
    let from = place.box_at as usize + 2;
    let first = &text[from..(place.first_line_end as usize).max(from)];
    let is_plain = place.first_line_end == place.last_line_end || !first.contains(['`', '\\', '<']);
    let end = if is_plain { place.first_line_end } else { place.last_line_end } as usize;
    let end = end.max(from);
    from + text[from..end].trim_end_matches([' ', '\t']).len()
}

/// A line of bold text or with a colon that stands before a list, like `**Acceptance criteria:**`: where it is, and
/// whether what follows is acceptance.
fn label_before(text: &str, from: usize, to: usize) -> Option<(usize, bool)> {
    let line_start = from + text[from..to].rfind('\n')? + 1;
    let mut at = from;
    let mut found = None;
    for line in text[from..line_start].split_inclusive('\n') {
        let said = line.trim();
        let is_label = !said.starts_with(['-', '+', '#', '<', '>', '`']) && !said.starts_with("* ");
        if is_label && (said.ends_with(':') || said.starts_with("**")) {
            found = Some((at, is_acceptance(&plain(said))));
        }
        at += line.len();
    }
    found
}

fn is_acceptance(heading: &str) -> bool {
    ["acceptance", "success criteria", "definition of done", "exit criteria", "done when"]
        .iter()
        .any(|word| heading.contains(word))
}

/// The words of a heading, in lower case.
fn plain(text: &str) -> String {
    text.trim_matches(['#', '*', '_', ' ', '\t', ':']).to_lowercase()
}

/// What the headings of a text say about a place in it.
struct Sections<'t> {
    text: &'t str,
    headings: &'t [Heading],
    /// For each heading the one that it is under.
    outer: Vec<Option<usize>>,
}

impl<'t> Sections<'t> {
    fn of(text: &'t str, headings: &'t [Heading]) -> Sections<'t> {
        let mut open: Vec<usize> = Vec::new();
        let mut outer = Vec::with_capacity(headings.len());
        for (place, heading) in headings.iter().enumerate() {
            while open.last().is_some_and(|last| headings[*last].level >= heading.level) {
                open.pop();
            }
            outer.push(open.last().copied());
            open.push(place);
        }
        Sections { text, headings, outer }
    }

    fn place(&self, at: usize) -> Option<usize> {
        self.headings.partition_point(|heading| heading.end <= at).checked_sub(1)
    }

    /// The heading right above.
    fn nearest(&self, at: usize) -> Option<&'t Heading> {
        self.place(at).map(|place| &self.headings[place])
    }

    fn start_of(&self, at: usize) -> usize {
        self.nearest(at).map_or(0, |heading| heading.end)
    }

    /// The heading that is a phase of the plan: one that calls itself so, else the nearest that is more than a word for
    /// a list. The plan's title is none.
    fn phase_of(&self, at: usize) -> Option<&'t Heading> {
        const PHASES: [&str; 8] = ["phase", "stage", "milestone", "sprint", "part", "week", "iteration", "step"];
        const LISTS: [&str; 8] = ["task", "tasks", "todo", "todos", "to do", "checklist", "steps", "work"];
        let mut nearest = None;
        let mut next = self.place(at);
        while let Some(place) = next {
            let heading = &self.headings[place];
            let said = plain(&self.text[heading.text.clone()]);
            if PHASES.iter().any(|word| said.split(|c: char| !c.is_alphanumeric()).next() == Some(word)) {
                return Some(heading);
            }
            let is_list = LISTS.contains(&said.as_str()) || is_acceptance(&said);
            if nearest.is_none() && !is_list && heading.level > 1 {
                nearest = Some(heading);
            }
            next = self.outer[place];
        }
        nearest
    }
}

/// Ids that are taken.
struct Names {
    taken: HashSet<String>,
    /// The next number to try for a text that many boxes have.
    next: HashMap<String, u64>,
}

impl Names {
    fn of(book: &Book<'_>) -> Names {
        let items = book.tasks.iter().chain(&book.criteria).map(|item| book.id(item).to_owned());
        Names { taken: items.chain(book.phases.iter().cloned()).collect(), next: HashMap::new() }
    }

    fn phase(&mut self, heading: &str) -> String {
        self.free(slug(heading, "phase"))
    }

    fn item(&mut self, text: &str, otherwise: &str) -> String {
        self.free(slug(&without_targets(text), otherwise))
    }

    fn free(&mut self, base: String) -> String {
        if self.taken.insert(base.clone()) {
            return base;
        }
        let number = self.next.entry(base.clone()).or_insert(2);
        loop {
            let suffix = format!("-{number}");
            *number += 1;
            let room = LONGEST - suffix.len();
            let id = format!("{}{suffix}", base[..base.len().min(room)].trim_end_matches('-'));
            if self.taken.insert(id.clone()) {
                return id;
            }
        }
    }
}

/// Links without what they lead to.
fn without_targets(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, target)) = rest.split_once("](") {
        out.push_str(before);
        rest = target.split_once(')').map_or("", |(_, after)| after);
        out.push(' ');
    }
    out.push_str(rest);
    out
}

/// An id from a text: its letters and digits in lower case, cut at a word.
fn slug(text: &str, otherwise: &str) -> String {
    let mut slug = String::new();
    for c in text.chars() {
        match c {
            c if c.is_ascii_alphanumeric() => slug.push(c.to_ascii_lowercase()),
            '\'' | '’' => {}
            _ if slug.is_empty() || slug.ends_with('-') => {}
            _ => slug.push('-'),
        }
        if slug.len() > LONGEST {
            break;
        }
    }
    if slug.len() > LONGEST {
        slug.truncate(LONGEST + 1);
        let cut = slug.rfind('-').filter(|at| *at >= LONGEST / 2).unwrap_or(LONGEST);
        slug.truncate(cut);
    }
    let slug = slug.trim_end_matches('-');
    if slug.is_empty() { otherwise.to_owned() } else { slug.to_owned() }
}
