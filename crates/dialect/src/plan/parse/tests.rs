use proptest::prelude::*;

use super::*;

struct Outcome {
    tasks: Vec<String>,
    criteria: Vec<String>,
    phases: Vec<String>,
    codes: Vec<&'static str>,
    plan: Parsed,
}

fn read(text: &str) -> Outcome {
    let mut findings = Findings::new("plan.md".into(), text);
    let plan = parse(text, &mut findings);
    let show = |mark: &Mark| {
        let tick = if mark.is_ticked() { "x" } else { " " };
        format!("{}/{} [{tick}] {}", plan.phases[mark.phase()].id, mark.id(text), mark.text(text))
    };
    Outcome {
        tasks: plan.tasks.iter().map(show).collect(),
        criteria: plan.criteria.iter().map(show).collect(),
        phases: plan.phases.iter().map(|phase| phase.id.clone()).collect(),
        codes: findings.finish().iter().map(|finding| finding.code.name).collect(),
        plan,
    }
}

#[test]
fn the_documents_own_markers_are_read() {
    let text = "## Phase 1: Setup\n<!-- CHECKPOINT: phase-1-setup -->\n\
        - [ ] Create database schema <!-- TASK: db-schema -->\n- [x] Setup auth middleware <!-- TASK: auth-middleware -->\n\
        - [ ] All migrations pass <!-- ACCEPT: migrations -->\n- [x] Tests green <!-- ACCEPT: tests -->\n\
        <!-- DECISION: Using async SQLAlchemy 2.0 for better performance -->\n\
        <!-- BLOCKER: Waiting for API key from external team -->\n";
    let read = read(text);
    assert_eq!(
        read.tasks,
        [
            "phase-1-setup/db-schema [ ] Create database schema",
            "phase-1-setup/auth-middleware [x] Setup auth middleware"
        ]
    );
    assert_eq!(
        read.criteria,
        ["phase-1-setup/migrations [ ] All migrations pass", "phase-1-setup/tests [x] Tests green"]
    );
    assert_eq!(read.plan.decisions[0].text, "Using async SQLAlchemy 2.0 for better performance");
    assert_eq!(read.plan.blockers[0].text, "Waiting for API key from external team");
    assert_eq!(read.codes, [""; 0]);
}

#[test]
fn odd_forms_are_read_or_named() {
    for (text, tasks, codes) in [
        ("- [X] upper <!-- TASK: a -->", &["main/a [x] upper"][..], &["plan-not-canonical"][..]),
        ("* [x] star <!-- TASK: a -->", &["main/a [x] star"], &["plan-not-canonical"]),
        ("1. [x] number <!-- TASK: a -->", &["main/a [x] number"], &["plan-not-canonical"]),
        ("- [ ] tight <!--TASK:a-->", &["main/a [ ] tight"], &["plan-not-canonical"]),
        ("- [ ] wide <!--   TASK :  a   -->", &["main/a [ ] wide"], &["plan-not-canonical"]),
        ("- [ ] <!-- TASK: a -->", &["main/a [ ] "], &["plan-not-canonical"]),
        ("- [ ] under\n  <!-- TASK: a -->", &["main/a [ ] under"], &[]),
        ("- [ ] lazy\n<!-- TASK: a -->", &[], &["plan-no-box"]),
        ("- [x] two <!-- TASK: a --> <!-- TASK: b -->", &["main/a [x] two"], &["plan-two-markers"]),
        ("- [ ] both <!-- ACCEPT: c --> <!-- TASK: a -->", &["main/a [ ] both"], &[]),
        ("- [ ] one <!-- TASK: a -->\n- [x] two <!-- TASK: a -->", &["main/a [x] two"], &["plan-duplicate-id"]),
        ("- [ ] dotted <!-- TASK: v1.2 -->", &[], &["plan-bad-id"]),
        ("- [ ] accent <!-- TASK: caf\u{e9} -->", &[], &["plan-bad-id"]),
        ("- [ ] placeholder <!-- TASK: {id} -->", &[], &["plan-bad-id"]),
        ("- no box <!-- TASK: a -->", &[], &["plan-no-box"]),
        ("- [-] dash <!-- TASK: a -->", &[], &["plan-no-box"]),
        ("```\n- [x] code <!-- TASK: a -->\n```", &[], &[]),
        ("    - [x] code <!-- TASK: a -->", &[], &[]),
        ("- [x] `<!-- TASK: a -->`", &[], &[]),
        ("<!-- outer <!-- TASK: a -->", &[], &[]),
        ("<!-- never closed\n- [ ] hidden <!-- TASK: a", &[], &["plan-open-comment"]),
        ("<!-- BLOCKER: -->", &[], &["plan-empty-remark"]),
        ("<!-- CHECKPOINT: p -->\n<!-- CHECKPOINT: p -->", &[], &["plan-duplicate-id"]),
        ("- [ ] a plain word <!-- task: a -->", &[], &[]),
    ] {
        let read = read(text);
        assert_eq!(
            (read.tasks.as_slice(), read.codes.as_slice()),
            (&tasks.iter().map(|t| t.to_string()).collect::<Vec<_>>()[..], codes),
            "{text}"
        );
    }
}

#[test]
fn tasks_belong_to_the_nearest_phase_above() {
    let read = read(
        "- [ ] a <!-- TASK: a -->\n<!-- CHECKPOINT: one -->\n- [ ] b <!-- TASK: b -->\n# x\n<!-- CHECKPOINT: two -->\n- [ ] c <!-- TASK: c -->\n",
    );
    assert_eq!(read.phases, ["main", "one", "two"]);
    assert_eq!(read.tasks, ["main/a [ ] a", "one/b [ ] b", "two/c [ ] c"]);
}

#[test]
fn boxes_without_markers_are_counted_apart() {
    let read = read("- [ ] a\n- [x] b\n  <!-- not a marker -->\n- [ ] c <!-- TASK: c -->\n");
    assert_eq!((read.plan.unmarked_boxes, read.plan.tasks.len()), (2, 1));
}

#[test]
fn a_multi_line_blocker_is_one_line() {
    assert_eq!(read("<!-- BLOCKER:\nmulti-line\n  text -->\n").plan.blockers[0].text, "multi-line text");
}

/// The second, simple implementation: the protocol's own pattern, line by line, for plain plans.
fn by_pattern(text: &str) -> Vec<(String, bool)> {
    let one = |line: &str| {
        let rest = line.strip_prefix("- [")?;
        let (tick, rest) = (rest.chars().next()?, rest.get(1..)?.strip_prefix("] ")?);
        let (_, marker) = rest.split_once(" <!-- TASK: ")?;
        Some((marker.strip_suffix(" -->")?.to_owned(), tick == 'x'))
    };
    text.lines().filter_map(one).collect()
}

proptest! {
    #[test]
    fn plain_plans_read_like_the_protocols_own_pattern(lines in prop::collection::vec(("[ a-z]{1,12}", any::<bool>(), 0u8..4), 0..40)) {
        let mut text = String::new();
        for (i, (words, done, kind)) in lines.iter().enumerate() {
            let words = format!("w{words}w");
            text += &match kind {
                0 => format!("## {words}\n<!-- CHECKPOINT: p{i} -->\n\n"),
                1 => format!("{words}\n\n"),
                _ => format!("- [{}] {words} <!-- TASK: t{i} -->\n", if *done { 'x' } else { ' ' }),
            };
        }
        let mut findings = Findings::new("plan.md".into(), &text);
        let plan = parse(&text, &mut findings);
        let ours: Vec<_> = plan.tasks.iter().map(|task| (task.id(&text).to_owned(), task.is_ticked())).collect();
        prop_assert_eq!(ours, by_pattern(&text));
        prop_assert_eq!(findings.finish(), vec![]);
    }

    #[test]
    fn a_boxs_span_is_the_one_byte_that_ticks_it(text in "((- \\[[ x]\\] [a-z`<]{0,6} (<!-- TASK: [a-c] -->)?|```|[ >-]{0,4}|<!--|-->)\n){0,12}") {
        let mut findings = Findings::new("plan.md".into(), &text);
        let plan = parse(&text, &mut findings);
        for place in 0..plan.tasks.len() {
            let task = plan.tasks[place];
            let mut ticked = text.clone().into_bytes();
            ticked[task.box_at()] = if task.is_ticked() { b' ' } else { b'x' };
            let ticked = String::from_utf8(ticked).expect("one ASCII byte for another");
            let again = parse(&ticked, &mut Findings::new("plan.md".into(), &ticked));
            let states = |plan: &Parsed, text: &str| -> Vec<_> { plan.tasks.iter().map(|task| (task.id(text).to_owned(), task.is_ticked())).collect() };
            let mut want = states(&plan, &text);
            want[place].1 = !want[place].1;
            prop_assert_eq!(states(&again, &ticked), want);
        }
    }
}
