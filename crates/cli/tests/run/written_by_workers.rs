//! Workers that write the document which they share with others by hand: only their own step counts, whatever else their
//! version says.

use std::fs;

use crate::whose_word::{is_on_main, meanwhile, said, set_hook, workers, yard};
use crate::yard::{Yard, finish, wait_for};

const PLAN: &str = "plans/p/plan.md";

const TWO: &str = "# P\n\n## One\n<!-- CHECKPOINT: one -->\n- [ ] A <!-- TASK: a -->\n\n## Two\n\
                   <!-- CHECKPOINT: two -->\n- [ ] B <!-- TASK: b -->\n";

const SIDE_BY_SIDE: &str =
    "# P\n\n## One\n<!-- CHECKPOINT: one -->\n- [ ] A <!-- TASK: a -->\n- [ ] B <!-- TASK: b -->\n";

const SPEC: &str = "docs/EXECUTION-SPEC-PRD-081.md";

const WALL: &str = "---\nprd: PRD-081\nprd_title: A wall\nworkstreams:\n  WS1: {name: Floor, outputs: [WS1.txt]}\n  \
                    WS2: {name: Walls, outputs: [WS2.txt]}\n  WS3: {name: Roof, outputs: [WS3.txt]}\n\
                    execution_phases:\n  - {name: Ground, parallel: [WS1, WS2]}\n  - {name: Top, parallel: [WS3]}\n---\n# A wall\n";

/// What a worker of `a` does that ticks its box in a text which a command makes of the plan.
fn writes(command: &str) -> String {
    format!(
        "plan=$PITON_ROOT/{PLAN}\nif [ \"$step\" = a ] && [ ! -e \"$MARKS/written\" ]; then keep a; : > \"$MARKS/written\"\n\
         sed 's/\\[ \\] A/[x] A/' \"$plan\" | {command} > \"$MARKS/new\"; cat \"$MARKS/new\" > \"$plan\"; exit 0; fi"
    )
}

fn count(yard: &Yard, step: &str) -> usize {
    workers(yard).iter().filter(|known| *known == step).count()
}

/// Waits until the lead remembers that a lane is done.
fn wait_until_done(yard: &Yard, lane: &str) {
    let is_done = || yard.read_json(".piton/run/memory.json")["lanes"][lane]["state"]["is"] == "done";
    wait_for("the end of a step", is_done, || yard.piton(&["status"]).stdout);
}

fn lets_go(yard: &Yard) {
    fs::write(yard.outer("marks/go"), "").expect("it can be written");
}

#[test]
fn boxes_that_a_worker_ticks_for_others_or_leaves_out_get_their_worker() {
    for (command, told) in [("sed 's/\\[ \\]/[x]/'", "calls done: b"), ("head -n 5", "leaves out: b")] {
        let yard = yard(&writes(command), "", &[(PLAN, TWO)]);
        let ended = yard.piton(&["run", "plan:p", "--yes"]);
        assert_eq!(ended.code, Some(0), "{}", said(&ended));
        assert_eq!(workers(&yard), ["a", "b"], "{}", said(&ended));
        assert!(is_on_main(&yard, "a.txt") && is_on_main(&yard, "b.txt"), "{}", said(&ended));
        let line = format!("the worker of a wrote {PLAN} by hand ({told}): only its own step counts");
        assert_eq!(said(&ended).matches(&line).count(), 1, "{}", said(&ended));
    }
}

#[test]
fn a_text_that_ends_with_its_worker_removes_no_box() {
    // The worker ends before it came to its own box.
    let hook = format!(
        "plan=$PITON_ROOT/{PLAN}\nhead -n 4 \"$plan\" > \"$MARKS/new\"; cat \"$MARKS/new\" > \"$plan\"; kill -9 $$"
    );
    let yard = yard(&hook, "", &[(PLAN, TWO)]);
    let ended = yard.piton(&["run", "plan:p", "--yes"]);
    assert_eq!(ended.code, Some(4), "{}", said(&ended));
    assert_eq!(yard.text(PLAN), TWO, "{}", said(&ended));
    set_hook(&yard, "");
    let ended = yard.run(&["run", "plan:p", "--yes", "--retry"]);
    assert!(is_on_main(&yard, "a.txt") && is_on_main(&yard, "b.txt"), "{}", said(&ended));
}

#[test]
fn a_criterion_that_a_worker_leaves_out_judges_its_work() {
    let gated = TWO.replace("\n## Two", "- [ ] It holds <!-- ACCEPT: holds -->\n\n## Two");
    let yard = yard(&writes("grep -v ACCEPT"), "[gates]\nholds = \"test -f level.txt\"\n", &[(PLAN, &gated)]);
    let ended = yard.piton(&["run", "plan:p", "--yes"]);
    assert_eq!(ended.code, Some(4), "{}", said(&ended));
    assert!(said(&ended).contains("leaves out the criterion: holds"), "{}", said(&ended));
    assert!(said(&ended).contains("gate holds failed") && !is_on_main(&yard, "a.txt"), "{}", said(&ended));
}

#[test]
fn a_decision_in_an_old_copy_of_the_plan_unticks_nothing() {
    // The worker waits until the tick of its sibling is there again.
    let hook = format!(
        "plan=$PITON_ROOT/{PLAN}\nif [ \"$step\" = a ]; then cp \"$plan\" \"$MARKS/old\"; hold a\n\
         {{ cat \"$MARKS/old\"; echo '<!-- DECISION: use brick -->'; }} > \"$MARKS/new\"; cat \"$MARKS/new\" > \"$plan\"\n\
         while ! grep -q '\\[x\\] B' \"$plan\"; do sleep 0.02; done\n\
         else while [ ! -e \"$MARKS/held-a\" ]; do sleep 0.02; done; fi"
    );
    let yard = yard(&hook, "", &[(PLAN, SIDE_BY_SIDE)]);
    let ended = meanwhile(&yard, &["run", "plan:p", "--yes"], "a", || wait_until_done(&yard, "plan:p b"));
    assert_eq!((ended.code, count(&yard, "b")), (Some(0), 1), "{}", said(&ended));
    assert!(said(&ended).contains("has not done any more: b"), "{}", said(&ended));
    let text = yard.text(PLAN);
    assert!(text.contains("[x] A") && text.contains("<!-- DECISION: use brick -->"), "{text}");
}

#[test]
fn what_a_worker_writes_without_a_lead_is_judged_by_the_next() {
    for (change, is_done) in [("cat", true), ("sed 's/\\[ \\] C/[x] C/'", false)] {
        let plan = format!("{SIDE_BY_SIDE}\n## Two\n<!-- CHECKPOINT: two -->\n- [ ] C <!-- TASK: c -->\n");
        let hook = format!(
            "plan=$PITON_ROOT/{PLAN}\nif [ \"$step\" = a ]; then cp \"$plan\" \"$MARKS/old\"; keep a; hold a\n\
             sed 's/\\[ \\] A/[x] A/' \"$MARKS/old\" | {change} > \"$MARKS/new\"; cat \"$MARKS/new\" > \"$plan\"\n\
             : > \"$MARKS/wrote\"; exit 0\n\
             else while [ ! -e \"$MARKS/held-a\" ]; do sleep 0.02; done; fi"
        );
        let yard = yard(&hook, "", &[(PLAN, &plan)]);
        let mut lead = yard.command(&["run", "plan:p", "--yes"]).spawn().expect("it starts");
        wait_for("the worker", || yard.outer("marks/held-a").exists(), String::new);
        wait_until_done(&yard, "plan:p b");
        lead.kill().expect("it can be killed");
        lead.wait().expect("it is gone");
        lets_go(&yard);
        wait_for("the text", || yard.outer("marks/wrote").exists(), String::new);
        let foreseen = yard.run(&["run", "--explain", "plan:p"]).stdout;
        let of = |step: &str| foreseen.split("plan:p ").find(|part| part.starts_with(step)).unwrap_or_default();
        assert!(of("b ").contains("is done") && !of("c ").contains("is done"), "{foreseen}");
        let ended = yard.piton(&["run", "plan:p", "--yes"]);
        assert_eq!(ended.code, Some(0), "{}", said(&ended));
        assert_eq!((count(&yard, "a"), count(&yard, "b"), count(&yard, "c")), (1, 1, 1), "{}", said(&ended));
        assert_eq!(said(&ended).contains("calls done: c"), !is_done, "{}", said(&ended));
        assert!(is_on_main(&yard, "a.txt") && is_on_main(&yard, "c.txt"), "{}", said(&ended));
    }
}

#[test]
fn ticks_that_the_user_commits_or_makes_alone_count_beside_a_worker() {
    for is_committed in [true, false] {
        let yard = yard("if [ \"$step\" = a ]; then hold a; fi", "", &[(PLAN, TWO)]);
        let other = yard.outer("other");
        yard.git(&["worktree", "add", "-q", "-b", "other", &other.display().to_string()]);
        let ticked = |text: String, task: &str| text.replace(&format!("[ ] {task}"), &format!("[x] {task}"));
        let ended = meanwhile(&yard, &["run", "plan:p", "--yes"], "a", || {
            let text = ticked(yard.text(PLAN), "B");
            if is_committed {
                fs::write(other.join(PLAN), ticked(text, "A")).expect("it can be written");
                yard.git(&["-C", &other.display().to_string(), "commit", "-qam", "by hand"]);
                yard.git(&["merge", "-q", "--ff-only", "other"]);
            } else {
                fs::write(yard.workspace.path(PLAN), text).expect("it can be written");
            }
            let events = || yard.text(".piton/run/runs/1/events.jsonl");
            wait_for("the tick", || events().contains("its box was ticked by hand"), events);
        });
        assert_eq!((ended.code, workers(&yard)), (Some(0), vec!["a".to_owned()]), "{}", said(&ended));
    }
}

/// What a worker of WS1 does that writes the checkpoint of its build by hand.
fn checkpoints(completed: &str, pending: &str, status: &str) -> String {
    format!(
        r#"if [ "$step" = WS1 ]; then keep WS1; hold WS1
cat > "$PITON_CHECKPOINT" <<END
{{"prd": "PRD-081", "prd_title": "A wall", "current_phase": 1, "status": "{status}", "completed_workstreams": [{completed}],
"in_progress_workstreams": [], "pending_workstreams": [{pending}], "artifacts": {{"WS1": ["WS1.txt"]}}, "gates_passed": [],
"gates_pending": [], "timestamp": "2026-03-10T10:00:00Z"}}
END
exit 0; fi"#
    )
}

#[test]
fn workstreams_that_a_worker_completes_for_others_get_their_worker() {
    let hook = checkpoints(r#""WS1", "WS2", "WS3""#, "", "complete");
    let yard = yard(&hook, "", &[(SPEC, &WALL.replace("WS2: {name: Walls", "WS2: {name: Walls, depends_on: [WS1]"))]);
    let ended = meanwhile(&yard, &["run", SPEC, "--yes"], "WS1", || ());
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    assert_eq!(workers(&yard), ["WS1", "WS2", "WS3"], "{}", said(&ended));
    assert!(is_on_main(&yard, "WS2.txt") && is_on_main(&yard, "WS3.txt"), "{}", said(&ended));
    assert!(said(&ended).contains("(calls done: WS2, WS3): only its own step counts"), "{}", said(&ended));
}

#[test]
fn a_workstream_that_a_worker_writes_as_pending_is_not_built_again() {
    let hook = checkpoints(r#""WS1""#, r#""WS2", "WS3""#, "in_progress");
    for is_killed in [false, true] {
        let yard = yard(&hook, "", &[(SPEC, WALL)]);
        yard.run(&["approve", SPEC]);
        let mut lead = yard.command(&["run", SPEC]).spawn().expect("it starts");
        wait_for("the worker", || yard.outer("marks/held-WS1").exists(), String::new);
        wait_until_done(&yard, "build:PRD-081 WS2");
        if is_killed {
            lead.kill().expect("it can be killed");
            lead.wait().expect("it is gone");
        }
        lets_go(&yard);
        let ended = match is_killed {
            true => {
                let text = || yard.text(".claude/skills/build-pipeline/checkpoints/PRD-081.json");
                wait_for("the checkpoint", || text().contains(r#"["WS1"]"#), text);
                yard.piton(&["run", SPEC])
            }
            false => finish(lead),
        };
        assert_eq!(ended.code, Some(4), "{}", said(&ended));
        assert!(said(&ended).contains("(has not done any more: WS2)"), "{}", said(&ended));
        assert!(said(&ended).contains("piton approve build:PRD-081"), "{}", said(&ended));
        yard.run(&["approve", "build:PRD-081"]);
        let ended = yard.piton(&["run", SPEC]);
        assert_eq!((ended.code, workers(&yard).len()), (Some(0), 3), "{}", said(&ended));
    }
}

const THREE: &str = "# P\n\n## One\n<!-- CHECKPOINT: one -->\n- [ ] A <!-- TASK: a -->\n\n## Two\n<!-- CHECKPOINT: two -->\n\
                     - [ ] C <!-- TASK: c -->\n- [ ] B <!-- TASK: b -->\n";

/// Edits the plan as its user does in an editor: takes `c` out, adds `e`, and words `b` otherwise.
fn edit(yard: &Yard) {
    let text = yard.text(PLAN).replace("- [ ] C <!-- TASK: c -->\n", "").replace("] B <", "] B with care <");
    fs::write(yard.workspace.path(PLAN), format!("{text}- [ ] E <!-- TASK: e -->\n")).expect("it can be written");
}

fn must_have_followed_the_edit(yard: &Yard, shown: &str) {
    let mut all = workers(yard);
    all.sort_unstable();
    assert_eq!(all, ["a", "b", "e"], "{shown}");
    let text = yard.text(PLAN);
    assert!(
        text.contains("[x] B with care <") && text.contains("[x] E <") && !text.contains("TASK: c"),
        "{text}\n{shown}"
    );
}

#[test]
fn old_copy_of_a_worker_takes_back_no_edit_of_the_user() {
    let hook = format!(
        "plan=$PITON_ROOT/{PLAN}\nif [ \"$step\" = a ]; then cp \"$plan\" \"$MARKS/old\"; keep a; hold a\n\
         sed 's/\\[ \\] A/[x] A/' \"$MARKS/old\" > \"$MARKS/new\"; cat \"$MARKS/new\" > \"$plan\"; exit 0; fi"
    );
    let yard = yard(&hook, "", &[(PLAN, THREE)]);
    let ended = meanwhile(&yard, &["run", "plan:p", "--yes"], "a", || {
        edit(&yard);
        let log = || yard.piton(&["log", "plan:p"]).stdout;
        wait_for("the lead to see the edit", || log().contains("observed"), log);
    });
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    assert!(said(&ended).contains("the worker of a wrote plans/p/plan.md by hand"), "{}", said(&ended));
    must_have_followed_the_edit(&yard, &said(&ended));
}

#[test]
fn edit_of_the_user_counts_beside_a_worker_that_ticks_its_box_without_a_lead() {
    let hook = format!(
        "plan=$PITON_ROOT/{PLAN}\nif [ \"$step\" = a ]; then keep a; hold a\n\
         sed 's/\\[ \\] A/[x] A/' \"$plan\" > \"$MARKS/new\"; cat \"$MARKS/new\" > \"$plan\"; : > \"$MARKS/wrote\"; exit 0; fi"
    );
    let yard = yard(&hook, "", &[(PLAN, THREE)]);
    let mut lead = yard.command(&["run", "plan:p", "--yes"]).spawn().expect("it starts");
    let shown = || yard.piton(&["status"]).stdout;
    wait_for("the worker", || yard.outer("marks/held-a").exists(), shown);
    lead.kill().expect("it can be killed");
    lead.wait().expect("it is gone");
    edit(&yard);
    lets_go(&yard);
    wait_for("the worker's tick", || yard.outer("marks/wrote").exists(), shown);
    let ended = yard.piton(&["run", "plan:p", "--yes"]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    must_have_followed_the_edit(&yard, &said(&ended));
}

#[test]
fn edit_with_a_decision_is_the_users_when_it_has_new_words() {
    let plan = format!("{SIDE_BY_SIDE}\n## Two\n<!-- CHECKPOINT: two -->\n- [ ] C <!-- TASK: c -->\n");
    let hook = r#"if [ "$step" = a ]; then hold a; fi
if [ "$step" = b ]; then while [ ! -e "$MARKS/held-a" ]; do sleep 0.02; done; echo again >> b.txt; fi"#;
    let yard = yard(hook, "", &[(PLAN, &plan)]);
    let ended = meanwhile(&yard, &["run", "plan:p", "--yes"], "a", || {
        wait_until_done(&yard, "plan:p b");
        let text = yard.text(PLAN).replace("[x] B", "[ ] B");
        let more = "<!-- DECISION: b stores cents -->\n- [ ] E <!-- TASK: e -->\n";
        fs::write(yard.workspace.path(PLAN), format!("{text}{more}")).expect("it can be written");
        wait_for("b to be done again", || count(&yard, "b") == 2, || yard.piton(&["status"]).stdout);
    });
    assert_eq!((ended.code, count(&yard, "e")), (Some(0), 1), "{}", said(&ended));
}
