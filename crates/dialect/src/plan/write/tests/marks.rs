//! Ids for boxes that have none.

use proptest::prelude::*;

use super::*;

fn marked(text: &str) -> String {
    let mut files = with(&[("plan.md", text)]);
    go(&mut files, &Event::Marked, &at("12:00", "main"));
    let once = files.text(&path("plan.md")).to_owned();
    let again = go(&mut files, &Event::Marked, &at("12:01", "main"));
    assert_eq!(again.effects, [], "a second time changes nothing: {once}");
    once
}

#[test]
fn boxes_get_ids_from_their_text() {
    for (text, want) in [
        ("- [ ] Create the schema\n", "- [ ] Create the schema <!-- TASK: create-the-schema -->\n"),
        ("- [x] Übung `a_b`!  \r\n", "- [x] Übung `a_b`! <!-- TASK: bung-a-b -->  \r\n"),
        ("- [ ]", "- [ ] <!-- TASK: task -->"),
        (
            "- [ ] a\n- [ ] a\n* [X] A",
            "- [ ] a <!-- TASK: a -->\n- [ ] a <!-- TASK: a-2 -->\n* [X] A <!-- TASK: a-3 -->",
        ),
        ("- [ ] b <!-- TASK: a -->\n- [ ] a\n", "- [ ] b <!-- TASK: a -->\n- [ ] a <!-- TASK: a-2 -->\n"),
        ("- [ ] [Docs](https://x.y/z)\n  more\n", "- [ ] [Docs](https://x.y/z) <!-- TASK: docs -->\n  more\n"),
        ("- [ ] a `b\n  c` d\n", "- [ ] a `b\n  c` d <!-- TASK: a-b -->\n"),
        (
            "- [ ] one two three four five six seven eight nine ten eleven\n",
            "- [ ] one two three four five six seven eight nine ten eleven <!-- TASK: one-two-three-four-five-six-seven-eight -->\n",
        ),
        (
            "```\n- [ ] code\n```\n<!--\n- [ ] hidden\n-->\n- [ ] a\n",
            "```\n- [ ] code\n```\n<!--\n- [ ] hidden\n-->\n- [ ] a <!-- TASK: a -->\n",
        ),
    ] {
        assert_eq!(marked(text), want, "{text:?}");
    }
}

#[test]
fn headings_become_phases_and_acceptance_is_told_from_tasks() {
    let text = "# Title\n\n## Phase 1: Setup\n### Tasks\n- [ ] a\n### Acceptance criteria\n- [ ] b\n\n## Ship it\r\ntext\n- [ ] c\n\n**Success criteria:**\n- [ ] d\n\n## Notes\n\nnothing\n";
    let want = "# Title\n\n## Phase 1: Setup\r\n<!-- CHECKPOINT: phase-1-setup -->\n### Tasks\n- [ ] a <!-- TASK: a -->\n### Acceptance criteria\n- [ ] b <!-- ACCEPT: b -->\n\n## Ship it\r\n<!-- CHECKPOINT: ship-it -->\r\ntext\n- [ ] c <!-- TASK: c -->\n\n**Success criteria:**\n- [ ] d <!-- ACCEPT: d -->\n\n## Notes\n\nnothing\n";
    assert_eq!(marked(text), want);
}

#[test]
fn phases_that_a_person_has_set_stay() {
    let text = "<!-- CHECKPOINT: p -->\n## A\n- [ ] a\n## B\n- [ ] b <!-- TASK: b -->\n";
    assert_eq!(
        marked(text),
        "<!-- CHECKPOINT: p -->\n## A\n- [ ] a <!-- TASK: a -->\n## B\n- [ ] b <!-- TASK: b -->\n"
    );
}

#[test]
fn a_plan_that_has_a_state_is_counted_at_once() {
    let mut files = with(&[("plan.md", PLAN)]);
    go(&mut files, &start(), &at("11:49", "main"));
    files.files.insert(path("plan.md"), format!("{PLAN}- [x] more\n").into_bytes());
    let change = go(&mut files, &Event::Marked, &at("12:00", "main"));
    assert_eq!(change.summary, "marked 1 task, 0 criteria (1/4)");
    assert_eq!(state(&files)["progress"]["totalTasks"], json!(4));
    assert!(events(&files).contains(&"plan_marked".to_owned()));
}

/// The text without what a marking has added to it; nothing when something else has changed.
fn unmarked(text: &str, marked: &str) -> Option<()> {
    let mut rest = marked;
    for c in text.chars() {
        while let Some(start) = [" <!-- TASK: ", " <!-- ACCEPT: ", "\n<!-- CHECKPOINT: ", "\r\n<!-- CHECKPOINT: "]
            .iter()
            .find_map(|start| rest.strip_prefix(start))
        {
            rest = start.split_once(" -->")?.1;
        }
        rest = rest.strip_prefix(c)?;
    }
    Some(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn nothing_but_markers_is_added(parts in proptest::collection::vec(proptest::sample::select(vec![
        "- [ ] a", "* [x] b c", "  - [ ] `d", "1. [ ] e\\", "\n", "\n", "\r\n", "\n\n", " ", "`", "```\n", "    ", "# H\n", "## Phase 1\n",
        "## Acceptance\n", "Title\n===\n", "> ", "<!-- x -->", "<div>\n", "</div>\n", "text", "- [ ]", "  ", "**Success criteria:**\n", "é",
        "<b", "<!--", "-->", "\t", "- ", "[x](y)",
    ]), 0..24)) {
        let text: String = parts.concat();
        let mut files = with(&[("plan.md", &text)]);
        if let Ok(change) = record(&place(), &files, &Event::Marked, &at("12:00", "main")) {
            files.apply(&change);
            let marked = files.text(&path("plan.md")).to_owned();
            prop_assert!(unmarked(&text, &marked).is_some(), "{text:?} became {marked:?}");
            let again = record(&place(), &files, &Event::Marked, &at("12:00", "main")).expect("nothing to do");
            prop_assert_eq!(again.effects, []);
        } else if !text.contains(['`', '<', '\\']) {
            prop_assert!(false, "refused without need: {text:?}");
        }
    }
}
