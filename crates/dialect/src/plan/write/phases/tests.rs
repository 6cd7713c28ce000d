use piton_model::{Event, Id, Moment, Start, Time};
use proptest::prelude::*;

use super::super::super::{layout, record};
use super::*;
use crate::Place;
use crate::files::memory::MemoryFiles;
use crate::json::parse;

const LINES: [&str; 9] = [
    "<!-- CHECKPOINT: p -->",
    "<!-- CHECKPOINT: q -->",
    "- [ ] do <!-- TASK: a -->",
    "- [x] do <!-- TASK: b -->",
    "- [ ] do <!-- TASK: c -->",
    "- [x] holds <!-- ACCEPT: d -->",
    "- [ ] holds <!-- ACCEPT: e -->",
    "- [ ] both <!-- TASK: f --> <!-- ACCEPT: f -->",
    "- [ ] no id",
];

fn place() -> Place {
    let id = vec![Id::parse("x").expect("an id")];
    Place { base: String::new(), id, document: None, root: String::new(), typed_below: String::new() }
}

/// The state of a plan that was started.
fn state_of(files: &mut MemoryFiles, plan: &str) -> Option<String> {
    let now = Time::from_unix_seconds(0);
    let moment =
        Moment { now, by: "main".to_owned(), attempt: 1, session: None, fresh_id: "f".to_owned(), ticket: None };
    files.files.insert("plans/x/plan.md".to_owned(), plan.into());
    let change = record(&place(), files, &Event::Started(Start::default()), &moment).ok()?;
    files.apply(&change);
    String::from_utf8(files.files.get("plans/x/.checkpoint/state.json")?.clone()).ok()
}

proptest! {
    /// A state in the plan's order, with boxes that were ticked and unticked since: the quick way and the search see and
    /// change the same.
    #[test]
    fn in_order_nothing_else_is_changed_than_by_searching(
        lines in prop::collection::vec(prop::sample::select(&LINES[..]), 1..14),
        edited in prop::collection::vec((0usize..14, prop::sample::select(&LINES[..])), 0..3),
        flips in prop::collection::vec((0usize..14, any::<bool>()), 0..4),
        in_state in prop::collection::vec(0usize..8, 0..3),
        judged in prop::collection::btree_set(0usize..4, 0..3),
    ) {
        let mut files = MemoryFiles::default();
        let state = state_of(&mut files, &lines.join("\n"));
        prop_assume!(state.is_some());
        let mut state = state.unwrap_or_default();
        // Somebody set entries of the state.
        for at in in_state {
            let places: Vec<usize> = state.match_indices("\": false").map(|(at, _)| at + 3).collect();
            if let Some(at) = places.get(at) {
                state.replace_range(at..&(at + "false".len()), "true");
            }
        }
        let mut lines: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
        for (at, line) in edited {
            if at < lines.len() {
                lines[at] = line.to_owned();
            }
        }
        for (at, ticked) in flips {
            if let Some(line) = lines.get_mut(at) {
                let (from, to) = if ticked { ("- [ ]", "- [x]") } else { ("- [x]", "- [ ]") };
                *line = line.replacen(from, to, 1);
            }
        }
        files.files.insert("plans/x/plan.md".to_owned(), lines.join("\n").into());
        let paths = layout::paths(&place());
        let book = Book::open(&paths, &files).expect("it can be read").expect("it is there");
        let json = parse(&state).expect("it is a state");
        let phases = json.root().get("phases").expect("it has phases");
        let credit = Credit {
            done_by: judged.iter().map(|item| (*item, "main".to_owned())).collect(),
            judged: judged.clone(),
            ..Credit::default()
        };
        let line_up = |may_be_in_order: bool| {
            let mut splice = Splice::new(&json);
            let seen = into_line(&mut splice, phases, &book, &credit, "2026-02-20T12:00:00Z", may_be_in_order);
            (seen, splice.into_edits())
        };
        prop_assert_eq!(line_up(true), line_up(false));
    }
}
