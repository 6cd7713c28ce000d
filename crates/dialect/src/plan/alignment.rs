//! Whether a plan's state is what its text says, without changing anything.

use piton_model::{Refusal, seek};

use super::is_state;
use super::layout;
use super::write::{Book, Boxes};
use crate::json::{Value, parse};
use crate::{Files, Place};

/// How a plan's state stands to its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Alignment {
    /// There is no plan that can be read.
    NoPlan,
    /// No box of the plan has an id.
    Unmarked {
        /// How many boxes there are.
        boxes: usize,
    },
    /// The plan has no state yet.
    New,
    /// The state is that of this text.
    InLine,
    /// The state is of another text, or broken.
    Behind,
}

/// Compares a plan's state with its text.
pub fn alignment(place: &Place, files: &dyn Files) -> Result<Alignment, Refusal> {
    let paths = layout::paths(place);
    let Some(book) = Book::open(&paths, files)? else { return Ok(Alignment::NoPlan) };
    if !book.is_marked() {
        return Ok(Alignment::Unmarked { boxes: book.unmarked_boxes() });
    }
    let Some(bytes) = files.read(&paths.state)? else {
        return Ok(match files.read(&paths.recovery)? {
            Some(_) => Alignment::Behind,
            None => Alignment::New,
        });
    };
    let checksum = book.checksum();
    if seek::word(checksum.as_bytes(), &bytes).is_none() {
        // Whatever else it says, it is not of this text.
        return Ok(Alignment::Behind);
    }
    let text = std::str::from_utf8(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes)).ok();
    let Some(json) = text.and_then(|text| parse(text).ok()).filter(|json| is_state(json.root())) else {
        return Ok(Alignment::Behind);
    };
    let root = json.root();
    let is_same_text = root.get("checksum").and_then(Value::as_str).as_deref() == Some(checksum.as_str());
    Ok(if is_same_text && same_boxes(&book, root) { Alignment::InLine } else { Alignment::Behind })
}

/// Whether a text may hold a task with an id. One that does not holds none.
pub fn may_be_marked(text: &[u8]) -> bool {
    seek::word(b"TASK:", text).is_some()
}

/// Whether the state has every box as the text has it. Phase files are not in the checksum.
pub(super) fn same_boxes(book: &Book<'_>, state: Value<'_, '_>) -> bool {
    let same = |boxes: Boxes, list: &str, key: &str| {
        let phases = state.get("phases").into_iter().flat_map(Value::entries);
        let known = phases.filter_map(|(_, phase)| phase.get(list)).flat_map(Value::entries);
        let (mut all, mut done) = (0, 0);
        for (_, entry) in known {
            all += 1;
            done += usize::from(entry.get(key).and_then(Value::as_bool) == Some(true));
        }
        let items = book.items(boxes);
        all == items.len() && done == items.iter().filter(|item| item.is_ticked).count()
    };
    same(Boxes::Tasks, "tasks", "done") && same(Boxes::Criteria, "acceptance", "met")
}

#[cfg(test)]
mod tests {
    use piton_model::{Event, Id, Moment, Start, Time};

    use super::*;
    use crate::files::memory::MemoryFiles;
    use crate::plan::record;

    const PLAN: &str = "<!-- CHECKPOINT: p -->\n- [ ] a <!-- TASK: a -->\n- [ ] b <!-- TASK: b -->\n";

    fn place() -> Place {
        let id = vec![Id::parse("x").expect("an id")];
        Place { base: String::new(), id, document: None, root: String::new(), typed_below: String::new() }
    }

    fn started() -> MemoryFiles {
        let mut files = MemoryFiles::default();
        files.files.insert("plans/x/plan.md".to_owned(), PLAN.into());
        let moment = Moment {
            now: Time::from_unix_seconds(0),
            by: "main".to_owned(),
            attempt: 1,
            session: None,
            fresh_id: "f".to_owned(),
            ticket: None,
        };
        let change = record(&place(), &files, &Event::Started(Start::default()), &moment).expect("it starts");
        files.apply(&change);
        files
    }

    #[test]
    fn a_state_is_in_line_until_the_text_or_the_state_changes() {
        let files = started();
        assert_eq!(alignment(&place(), &files), Ok(Alignment::InLine));
        let with = |path: &str, bytes: Option<&str>| {
            let mut files = files.clone();
            match bytes {
                Some(bytes) => files.files.insert(path.to_owned(), bytes.into()),
                None => files.files.remove(path),
            };
            alignment(&place(), &files).expect("it can be read")
        };
        for (path, bytes, want) in [
            ("plans/x/plan.md", Some(PLAN.replace("[ ] a", "[x] a")), Alignment::Behind),
            ("plans/x/plan.md", Some("- [ ] a\n- [ ] b\n".to_owned()), Alignment::Unmarked { boxes: 2 }),
            ("plans/x/plan.md", None, Alignment::NoPlan),
            ("plans/x/phase-02.md", Some("- [ ] c <!-- TASK: c -->\n".to_owned()), Alignment::Behind),
            ("plans/x/.checkpoint/state.json", Some("{".to_owned()), Alignment::Behind),
            ("plans/x/.checkpoint/state.json", None, Alignment::New),
        ] {
            assert_eq!(with(path, bytes.as_deref()), want, "{path} {bytes:?}");
        }
    }
}
