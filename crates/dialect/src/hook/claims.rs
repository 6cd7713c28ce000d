//! Which of a plan's tasks a text talks about, and which of them it says are done.
//!
//! What a helper says decides nothing: a claim is compared with the plan, and told when the plan does not show it. So
//! a claim that is missed costs nothing but a warning, and one that is seen where none is costs a look at the plan.

/// The tasks that a text names, in the order of `ids`.
///
/// An id that could be a plain word, such as `light`, counts only where it is marked as a name: in quotes, or behind the
/// word "task".
pub fn named<'i>(text: &str, ids: &[&'i str]) -> Vec<&'i str> {
    ids.iter().copied().filter(|id| places(text, id).next().is_some()).collect()
}

/// The tasks that a text says are done, in the order of `ids`.
pub fn claimed<'i>(text: &str, ids: &[&'i str]) -> Vec<&'i str> {
    let mut found = vec![false; ids.len()];
    let mut is_under_done = false;
    for line in text.lines() {
        let said = verdict(line);
        let is_item = line.trim_start().starts_with(['-', '*', '+', '•']) || starts_numbered(line);
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
                let is_named = places(clause, id).next().is_some();
                is_named && verdict(clause).unwrap_or(is_item && is_under_done && said.is_none())
            });
        }
    }
    ids.iter().zip(found).filter(|(_, found)| *found).map(|(id, _)| *id).collect()
}

/// Whether a piece of text says that something is done, is not done, or neither.
fn verdict(text: &str) -> Option<bool> {
    const DONE: [&str; 12] = [
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
    ];
    const NOT: [&str; 24] = [
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
        "without",
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
    ];
    let lower = text.to_lowercase().replace('’', "'");
    let words = || lower.split(|c: char| !(c.is_alphanumeric() || c == '\'')).filter(|word| !word.is_empty());
    let has_mark = |marks: &[&str]| marks.iter().any(|mark| lower.contains(mark));
    if words().any(|word| NOT.contains(&word)) || has_mark(&["[ ]", "❌", "✗"]) {
        return Some(false);
    }
    (words().any(|word| DONE.contains(&word)) || has_mark(&["[x]", "✅", "✓", "✔"])).then_some(true)
}

/// The parts of a line that each say something of their own.
fn clauses(line: &str) -> impl Iterator<Item = &str> {
    [". ", "; ", "! ", "? ", " but "]
        .iter()
        .fold(vec![line], |parts, end| parts.into_iter().flat_map(|part| part.split(end)).collect())
        .into_iter()
}

fn starts_numbered(line: &str) -> bool {
    let line = line.trim_start();
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    digits > 0 && line[digits..].starts_with(['.', ')'])
}

/// Where an id stands in a text as a whole word that means the task.
fn places<'t>(text: &'t str, id: &'t str) -> impl Iterator<Item = usize> + use<'t> {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    let is_plain_word = id.chars().all(char::is_alphabetic);
    text.match_indices(id).filter_map(move |(at, _)| {
        let (before, behind) = (&text[..at], &text[at + id.len()..]);
        let is_whole = !id.is_empty() && !before.ends_with(is_part) && !behind.starts_with(is_part);
        let is_quoted =
            before.ends_with(['`', '"', '\'', '*', '[', '<']) && behind.starts_with(['`', '"', '\'', '*', ']', '>']);
        let lead = before.trim_end_matches([' ', ':', '#', '=']).to_lowercase();
        let is_called = ["task", "tasks", "step", "steps"].iter().any(|word| lead.ends_with(word));
        (is_whole && (!is_plain_word || is_quoted || is_called)).then_some(at)
    })
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
            ("", vec![]),
        ] {
            assert_eq!(claimed(text, &IDS), want, "{text:?}");
        }
    }

    #[test]
    fn names_are_whole_words() {
        assert_eq!(named("do db-schema and auth-2, mind the light", &IDS), ["db-schema", "auth-2"]);
        assert_eq!(named("tasks: light", &IDS), ["light"]);
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
