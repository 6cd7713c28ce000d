//! Which of a plan's tasks a text talks about, and which of them it says are done.
//!
//! What a helper says decides nothing: a claim is compared with the plan, and told when the plan does not show it. So
//! a claim that is missed costs nothing but a warning, and one that is seen where none is costs a look at the plan.

mod structured;

/// The tasks that a text names, in the order of `ids`.
///
/// An id that could be a plain word, such as `light`, counts only where it is marked as a name: in quotes, behind the word
/// "task", beside a mark, or as an item of a list.
pub fn named<'i>(text: &str, ids: &[&'i str]) -> Vec<&'i str> {
    ids.iter().copied().filter(|id| places(text, id, ids).next().is_some()).collect()
}

/// The tasks that a text says are done, in the order of `ids`: in a sentence, in a list, or in JSON. Marks such as `[x]`
/// and `✅` beside an id are understood in every language, words in English.
pub fn claimed<'i>(text: &str, ids: &[&'i str]) -> Vec<&'i str> {
    let mut found = vec![false; ids.len()];
    let words = structured::claims(text, ids, &mut found);
    in_lines(&words, ids, &mut found);
    ids.iter().zip(found).filter(|(_, found)| *found).map(|(id, _)| *id).collect()
}

fn in_lines(text: &str, ids: &[&str], found: &mut [bool]) {
    let mut is_under_done = false;
    for line in text.lines() {
        let said = verdict(line);
        let is_item = starts_item(line);
        if !is_item && !line.trim().is_empty() {
            // "Completed:" speaks for the items below it.
            let ends_open = line.trim_end().trim_end_matches(['*', '_']).ends_with(':') || line.starts_with('#');
            is_under_done = ends_open && said == Some(true);
        }
        for (place, id) in ids.iter().enumerate() {
            if found[place] {
                continue;
            }
            found[place] = clauses(line).any(|clause| {
                let mut places = places(clause, id, ids);
                let by_marks = |at| marked(clause, at, ids);
                let said_of = |at| by_marks(at).or_else(|| verdict(clause));
                places.any(|at| said_of(at).unwrap_or(is_item && is_under_done && said.is_none()))
            });
        }
    }
}

/// Words that say that something is done.
const DONE: [&str; 13] = [
    "done",
    "complete",
    "completed",
    "finished",
    "implemented",
    "ticked",
    "fixed",
    "shipped",
    "merged",
    "closed",
    "checked",
    "accomplished",
    "passed",
];

/// Words that take it back, or say it of another time.
const NOT: [&str; 35] = [
    "not",
    "never",
    "cannot",
    "isn't",
    "wasn't",
    "couldn't",
    "can't",
    "don't",
    "didn't",
    "haven't",
    "hasn't",
    "won't",
    "incomplete",
    "unfinished",
    "pending",
    "remaining",
    "remains",
    "todo",
    "blocked",
    "failed",
    "partially",
    "skipped",
    "before",
    "until",
    "once",
    "when",
    "if",
    "will",
    "would",
    "must",
    "should",
    "need",
    "needs",
    "false",
    "almost",
];

/// Marks that stand for such words.
const DONE_MARKS: [&str; 6] = ["[x]", "✅", "✓", "✔", "☑", "🗹"];
const NOT_MARKS: [&str; 9] = ["[ ]", "❌", "✗", "✘", "☐", "🔲", "⬜", "⏳", "🚧"];

/// Whether a piece of text says that something is done, is not done, or neither.
fn verdict(text: &str) -> Option<bool> {
    let lower = text.to_lowercase().replace('’', "'");
    let words = || lower.split(|c: char| !(c.is_alphanumeric() || c == '\'')).filter(|word| !word.is_empty());
    let has_mark = |marks: &[&str]| marks.iter().any(|mark| lower.contains(mark));
    let is_asked = lower.trim_end().ends_with('?');
    if is_asked || words().any(|word| NOT.contains(&word)) || has_mark(&NOT_MARKS) {
        return Some(false);
    }
    (words().any(|word| DONE.contains(&word)) || has_mark(&DONE_MARKS)).then_some(true)
}

/// What the marks of a text say about the id that stands at a place, where they do not all say the same. Marks stand
/// before their ids or behind them, as the first one does.
fn marked(text: &str, at: usize, ids: &[&str]) -> Option<bool> {
    let lower = text.to_lowercase();
    // Letters that change their length with their case are rare enough to be left to words.
    if lower.len() != text.len() {
        return None;
    }
    let find = |marks: &[&str], is_done: bool| -> Vec<(usize, bool)> {
        marks.iter().flat_map(|mark| lower.match_indices(mark)).map(|(at, _)| (at, is_done)).collect()
    };
    let mut marks = [find(&DONE_MARKS, true), find(&NOT_MARKS, false)].concat();
    marks.sort_unstable();
    let (first, _) = *marks.first()?;
    if marks.iter().all(|(_, is_done)| *is_done == marks[0].1) {
        return None;
    }
    let named = ids.iter().flat_map(|id| places(text, id, ids)).min()?;
    let own = match first < named {
        true => marks.iter().rev().find(|(mark, _)| *mark < at),
        false => marks.iter().find(|(mark, _)| *mark > at),
    };
    own.map(|(_, is_done)| *is_done)
}

/// The parts of a line that each say something of their own, with what ends them.
fn clauses(line: &str) -> impl Iterator<Item = &str> {
    let mut rest = line;
    std::iter::from_fn(move || {
        let ends = [". ", "; ", "! ", "? ", " but "];
        let end = ends.iter().filter_map(|end| Some(rest.find(end)? + end.len())).min().unwrap_or(rest.len());
        let (clause, behind) = rest.split_at(end);
        rest = behind;
        (!clause.is_empty()).then_some(clause)
    })
}

/// Whether a line is an item of a list.
fn starts_item(line: &str) -> bool {
    let line = line.trim_start();
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    line.starts_with(['-', '*', '+', '•']) || (digits > 0 && line[digits..].starts_with(['.', ')']))
}

/// Where an id stands in a text as a whole word that means the task.
fn places<'t>(text: &'t str, id: &'t str, ids: &'t [&str]) -> impl Iterator<Item = usize> + use<'t> {
    let is_plain_word = id.chars().all(char::is_alphabetic);
    text.match_indices(id).filter_map(move |(at, _)| {
        let (before, behind) = (&text[..at], &text[at + id.len()..]);
        let is_whole = !id.is_empty() && !before.ends_with(is_part) && !behind.starts_with(is_part);
        let is_name = || is_quoted(before, behind) || is_called(before, ids) || is_listed(before, behind);
        (is_whole && (!is_plain_word || is_name())).then_some(at)
    })
}

/// Whether a letter can be a part of an id.
fn is_part(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-')
}

/// In quotes of any kind.
fn is_quoted(before: &str, behind: &str) -> bool {
    before.ends_with(['`', '"', '\'', '*', '[', '<']) && behind.starts_with(['`', '"', '\'', '*', ']', '>'])
}

/// Behind the word "task", or behind others that stand there: "tasks a, b and c".
fn is_called(before: &str, ids: &[&str]) -> bool {
    let mut rest = before;
    loop {
        rest = rest.trim_end_matches([' ', ':', '#', '=', ',', '`', '"', '\'']);
        let word = rest.rsplit(|c| !is_part(c)).next().unwrap_or_default();
        rest = &rest[..rest.len() - word.len()];
        match word.to_lowercase().as_str() {
            "task" | "tasks" | "step" | "steps" => return true,
            "and" | "or" => {}
            "" => return false,
            _ if ids.contains(&word) => {}
            _ => return false,
        }
    }
}

/// Beside a mark, or all that an item of a list begins with.
fn is_listed(before: &str, behind: &str) -> bool {
    let between = [' ', ':', '|', '\t', '–', '—'];
    let (lead, rest) = (before.trim_end_matches(between), behind.trim_start_matches(between));
    let mut marks = DONE_MARKS.iter().chain(&NOT_MARKS);
    let is_marked = marks.any(|mark| {
        let is_before = lead.len() >= mark.len() && lead.is_char_boundary(lead.len() - mark.len());
        let is_before = is_before && lead[lead.len() - mark.len()..].to_lowercase() == *mark;
        is_before || rest.get(..mark.len()).is_some_and(|start| start.to_lowercase() == *mark)
    });
    let bullet = before.rsplit('\n').next().unwrap_or_default();
    let is_item = starts_item(bullet) && !bullet.contains(char::is_alphabetic);
    let ends = behind.is_empty() || [":", ",", " (", " -", " –", " —", "\n"].iter().any(|end| behind.starts_with(end));
    is_marked || (is_item && ends)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const IDS: [&str; 4] = ["db-schema", "auth-2", "light", "db"];

    #[test]
    fn claims_are_told_from_talk() {
        for (text, want) in [
            ("db-schema is done.", vec!["db-schema"]),
            ("Completed tasks: db-schema, auth-2", vec!["db-schema", "auth-2"]),
            ("I finished db-schema. auth-2 is not done yet.", vec!["db-schema"]),
            ("db-schema is done but auth-2 is pending", vec!["db-schema"]),
            ("- [x] schema <!-- TASK: db-schema -->", vec!["db-schema"]),
            ("- [ ] schema <!-- TASK: db-schema -->", vec![]),
            ("Completed:\n- db-schema\n- auth-2\n\nRemaining:\n- light", vec!["db-schema", "auth-2"]),
            ("## Done\n1. `light`\n2) auth-2", vec!["auth-2", "light"]),
            ("Remaining:\n- db-schema", vec![]),
            ("Completed:\n- db-schema\n- auth-2 (not started)", vec!["db-schema"]),
            ("I looked at db-schema", vec![]),
            ("all done", vec![]),
            ("the light is done", vec![]),
            ("task light is done", vec!["light"]),
            ("`light` ✅", vec!["light"]),
            ("db-schema-old is done", vec![]),
            ("I couldn’t get db-schema done", vec![]),
            ("db-schema isn't complete", vec![]),
            ("I finished db-schema without any trouble", vec!["db-schema"]),
            ("Is db-schema done? I did not look. auth-2 is done!", vec!["auth-2"]),
            ("is db-schema done?", vec![]),
            ("db-schema will be done tomorrow", vec![]),
            ("once db-schema is done, begin with auth-2", vec![]),
            ("db-schema needs to be completed", vec![]),
            ("", vec![]),
            // Whatever the language.
            ("- [X] Schema angelegt (db-schema)\n- [ ] Anmeldung (auth-2)", vec!["db-schema"]),
            ("db-schema ✅ erledigt, auth-2 ❌ offen", vec!["db-schema"]),
            ("auth-2: ❌ db-schema: ✅", vec!["db-schema"]),
            ("✅ db-schema ❌ auth-2", vec!["db-schema"]),
            ("[ ] auth-2 [x] db-schema", vec!["db-schema"]),
            ("| db-schema | 完了 ✔️ |\n| auth-2 | 未着手 ⏳ |", vec!["db-schema"]),
            ("## ✅ 完成\n- db-schema\n## ⏳ 未完成\n- auth-2", vec!["db-schema"]),
            ("☑ `light`\n☐ auth-2", vec!["light"]),
            ("Ho finito db-schema", vec![]),
            ("Fertig: light ✅, auth-2 ✅.", vec!["auth-2", "light"]),
            ("[X] light", vec!["light"]),
            ("Completed tasks: db-schema, light and db", vec!["db-schema", "light", "db"]),
            ("Done:\n- light\n- db: the table", vec!["light", "db"]),
            ("Done:\n- light the lamp", vec![]),
            ("mind the light, all tasks are done", vec![]),
        ] {
            assert_eq!(claimed(text, &IDS), want, "{text:?}");
        }
    }

    #[test]
    fn names_are_whole_words() {
        assert_eq!(named("do db-schema and auth-2, mind the light", &IDS), ["db-schema", "auth-2"]);
        assert_eq!(named("tasks: light", &IDS), ["light"]);
        assert_eq!(named("do the tasks db-schema and light, then look", &IDS), ["db-schema", "light"]);
        assert_eq!(named("tasks of the night and light", &IDS), [""; 0]);
        assert_eq!(named("nothing of that", &IDS), [""; 0]);
        assert_eq!(named("x", &[""]), [""; 0]);
    }

    proptest! {
        /// Whatever is said: no panic, and nothing is claimed that is not named.
        #[test]
        fn nothing_is_claimed_that_is_not_named(text in "(?s).{0,200}", words in "[a-z2 .:`✅\\n-]{0,200}") {
            for text in [text, words] {
                let named = named(&text, &IDS);
                prop_assert!(claimed(&text, &IDS).iter().all(|id| named.contains(id)), "{text:?}");
            }
        }
    }
}
