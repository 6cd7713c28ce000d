//! What is known of a run stays known when a person acts or another run is led meanwhile: every door says the same, and
//! what it says to type continues the work.

use crate::whose_word::{is_on_main, said, set_hook, workers, yard};
use crate::yard::{Yard, finish, wait_for};

const STORY: &str = "[[stories]]\nid = \"S-1\"\ntitle = \"One\"\nstages = [2, 3]\n";

const OTHER: (&str, &str) = ("plans/q/plan.md", "# Q\n\n## One\n<!-- CHECKPOINT: one -->\n- [ ] Z <!-- TASK: z -->\n");

const SPEC: &str = "docs/EXECUTION-SPEC-PRD-071.md";

fn build() -> String {
    let stream = |n: u32| format!("  WS{n}:\n    name: Row {n}\n    outputs: [WS{n}.txt]\n");
    let phase = |n: u32| format!("  - name: Row {n}\n    parallel: [WS{n}]\n");
    let (streams, phases) = ([stream(1), stream(2)].concat(), [phase(1), phase(2)].concat());
    format!("---\nprd: PRD-071\nprd_title: A wall\nworkstreams:\n{streams}execution_phases:\n{phases}---\n# A wall\n")
}

fn other_run(yard: &Yard) {
    let ended = yard.piton(&["run", "plan:q", "--yes"]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
}

fn why(yard: &Yard, unit: &str) -> String {
    yard.run(&["why", unit]).stdout
}

fn liveness(yard: &Yard, unit: &str) -> String {
    yard.json(&["status", unit, "--json"])["units"][0]["liveness"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn a_unit_whose_question_is_answered_waits_for_its_run() {
    let hook = "\"$PITON\" block \"$PITON_UNIT\" --message 'which port?'; exit 0";
    let yard = yard(hook, STORY, &[]);
    assert_eq!(yard.piton(&["run", "--yes"]).code, Some(4));
    yard.run(&["unblock", "pipeline:S-1", "--message", "80"]);
    let text = why(&yard, "pipeline:S-1");
    assert!(text.contains("next       continue the run: piton run\n"), "{text}");
    assert_eq!(liveness(&yard, "pipeline:S-1"), "idle");
    set_hook(&yard, "");
    let ended = yard.piton(&["run", "--yes"]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
}

#[test]
fn a_story_whose_merge_was_refused_is_continued_by_its_run_after_another_one() {
    let yard = yard("", STORY, &[OTHER]);
    yard.workspace.write("S-1.txt", "in the way\n");
    assert_eq!(yard.piton(&["run", "pipeline:S-1", "--yes"]).code, Some(4));
    other_run(&yard);
    std::fs::remove_file(yard.workspace.path("S-1.txt")).expect("it is there");
    assert_eq!(liveness(&yard, "pipeline:S-1"), "idle");
    let text = why(&yard, "pipeline:S-1");
    assert!(text.contains("next       continue the run: piton run pipeline:S-1 --retry"), "{text}");
    let ended = yard.piton(&["run", "pipeline:S-1", "--yes", "--retry"]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    assert!(is_on_main(&yard, "S-1.txt"), "{}", said(&ended));
}

#[test]
fn an_approval_can_be_given_after_another_run_and_is_not_asked_twice() {
    let yard = yard("", "", &[(SPEC, &build()), OTHER]);
    yard.run(&["approve", "--commands", SPEC]);
    assert_eq!(yard.piton(&["run", SPEC]).code, Some(4));
    other_run(&yard);
    let text = why(&yard, "build:PRD-071");
    let next = format!("approve and continue: piton approve build:PRD-071 && piton run {SPEC}");
    assert!(text.contains(&next), "{text}");
    yard.run(&["approve", "build:PRD-071"]);
    let status = yard.run(&["status"]).stdout;
    assert!(status.contains("approved; continue it: piton run") && !status.contains("piton approve"), "{status}");
    let text = why(&yard, "build:PRD-071");
    assert!(text.contains(&format!("next       continue the run: piton run {SPEC}\n")), "{text}");
    let ended = yard.piton(&["run", SPEC]);
    assert!(is_on_main(&yard, "WS2.txt"), "{}", said(&ended));
}

#[test]
fn an_approval_that_a_killed_lead_asked_for_can_be_given_after_another_run() {
    let yard = yard("", STORY, &[(SPEC, &build()), OTHER]);
    set_hook(&yard, r#"if [ "$step" = S-1 ]; then hold S-1; fi"#);
    let wanted = ["run", SPEC, "pipeline:S-1"];
    yard.run(&["approve", "--commands", SPEC, "pipeline:S-1"]);
    let mut lead = yard.command(&wanted).spawn().expect("it starts");
    let shown = || yard.piton(&["status"]).stdout;
    wait_for("the question", || shown().contains("waits for approval: piton approve build:PRD-071"), shown);
    lead.kill().expect("it is there");
    finish(lead);
    yard.run(&["stop", "--workers"]);
    set_hook(&yard, "");
    other_run(&yard);
    yard.run(&["approve", "build:PRD-071"]);
    let ended = yard.piton(&wanted);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    assert!(is_on_main(&yard, "WS2.txt") && is_on_main(&yard, "S-1.txt"), "{}", said(&ended));
}

#[test]
fn an_approval_from_before_a_restart_is_not_used() {
    let hook = r#"keep() { echo "$PITON_ATTEMPT" > "$1.txt"; git add -A; git commit -qm "$1"; }"#;
    let yard = yard(hook, "", &[(SPEC, &build())]);
    yard.run(&["approve", "--commands", SPEC]);
    assert_eq!(yard.piton(&["run", SPEC]).code, Some(4));
    yard.run(&["approve", "build:PRD-071"]);
    yard.run(&["restart", "build:PRD-071", "--force"]);
    let ended = yard.piton(&["run", SPEC]);
    assert_eq!(ended.code, Some(4), "{}", said(&ended));
    let told = "an approval of another run, or from before a restart, was not used";
    assert!(ended.stdout.contains(told) && !is_on_main(&yard, "WS2.txt"), "{}", said(&ended));
    yard.run(&["approve", "build:PRD-071"]);
    let ended = yard.piton(&["run", SPEC]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
}

#[test]
fn a_build_that_a_person_resumes_has_its_next_phase_approved() {
    // Phases that share a gate are judged again by the next lead.
    let gates = "gates:\n  tests:\n    command: \"true\"\n    success_criteria: it passes\n---\n# A wall";
    let shared = build().replace("---\n# A wall", gates).replace("]\n  - name", "]\n    gates: [tests]\n  - name");
    let shared = shared.replace("parallel: [WS2]\n", "parallel: [WS2]\n    gates: [tests]\n");
    for spec in [build(), shared] {
        let yard = yard("", "", &[(SPEC, &spec)]);
        yard.run(&["approve", "--commands", SPEC]);
        assert_eq!(yard.piton(&["run", SPEC]).code, Some(4));
        let brief = yard.run(&["resume", "build:PRD-071"]);
        assert!(said(&brief).contains("resuming approves of the next phase"), "{}", said(&brief));
        for words in [&["status"][..], &["why", "build:PRD-071"], &["run", SPEC, "--explain"]] {
            let shown = yard.run(words).stdout;
            assert!(!shown.contains("waits for approval") && !shown.contains("piton approve"), "{words:?}: {shown}");
        }
        let why = yard.run(&["why", "build:PRD-071"]).stdout;
        assert!(why.contains(&format!(": piton run {SPEC}\n")), "{why}");
        let ended = yard.piton(&["run", SPEC]);
        assert_eq!(ended.code, Some(0), "{}", said(&ended));
        assert!(is_on_main(&yard, "WS2.txt"), "{}", said(&ended));
    }
}

#[test]
fn a_failed_build_that_a_person_unblocks_continues_with_the_next_run() {
    let yard = yard("exit 1", "", &[(SPEC, &build())]);
    assert_eq!(yard.piton(&["run", SPEC, "--yes"]).code, Some(4));
    set_hook(&yard, "");
    yard.run(&["unblock", "build:PRD-071", "--message", "mended"]);
    let ended = yard.piton(&["run", SPEC, "--yes"]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
}

#[test]
fn a_criterion_that_a_person_calls_not_met_is_worked_on_again() {
    let plan = "# P\n\n## One\n<!-- CHECKPOINT: one -->\n- [ ] A <!-- TASK: a -->\n- [ ] Good <!-- ACCEPT: good -->\n";
    let yard = yard("cat > \"$MARKS/prompt\"", "", &[("plans/p/plan.md", plan)]);
    let settings = yard.text("piton.toml").replace("reworks = 0", "reworks = 2");
    yard.workspace.write("piton.toml", settings);
    yard.commit("reworks");
    assert_eq!(yard.piton(&["run", "plan:p", "--yes"]).code, Some(4));
    yard.run(&["note", "plan:p", "make it blue"]);
    yard.run(&["gate", "plan:p", "fail", "good"]);
    let ended = yard.piton(&["run", "plan:p", "--yes", "--retry"]);
    assert_eq!(workers(&yard), ["a", "a"], "{}", said(&ended));
    let prompt = std::fs::read_to_string(yard.outer("marks/prompt")).expect("a prompt");
    assert!(prompt.contains("a person judged good: not met; make it blue"), "{prompt}");
    // The worker corrected it: the person judges again.
    assert!(ended.stdout.contains("piton gate plan:p pass good"), "{}", said(&ended));
    yard.run(&["gate", "plan:p", "pass", "good"]);
    let ended = yard.piton(&["run", "plan:p", "--yes"]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
}

fn tasks() -> String {
    let task = |id: &str| {
        format!("[[tasks]]\nagent = \"copy\"\nid = \"{id}\"\ntitle = \"{id}\"\nsubtasks = [\"one\", \"two\"]\n")
    };
    let second = format!("{}depends_on = [\"T1\"]\n", task("T2"));
    format!("{}{second}", task("T1"))
}

#[test]
fn a_run_of_which_one_task_is_named_is_not_finished_with_it() {
    let yard = yard("exit 1", "", &[("tasks.toml", &tasks())]);
    assert_eq!(yard.piton(&["run", "tasks.toml", "--yes"]).code, Some(4));
    set_hook(&yard, "");
    let ended = yard.piton(&["run", "task:copy/T1", "--yes", "--retry"]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    let status = yard.run(&["status"]).stdout;
    assert!(status.contains("piton run tasks.toml"), "{status}");
    let ended = yard.piton(&["run", "tasks.toml", "--yes"]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    assert_eq!(workers(&yard), ["T1", "T1", "T2"], "{}", said(&ended));
}

#[test]
fn a_story_that_is_taken_out_of_the_settings_is_no_part_of_the_run_any_more() {
    let second = STORY.replace("S-1", "S-2");
    let yard = yard(r#"[ "$step" = S-1 ] && exit 1"#, &format!("{STORY}{second}"), &[]);
    assert_eq!(yard.piton(&["run", "--yes"]).code, Some(4));
    let settings = yard.text("piton.toml").replace(STORY, "");
    yard.workspace.write("piton.toml", settings);
    yard.commit("without S-1");
    let ended = yard.piton(&["run", "--yes"]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    let status = yard.run(&["status"]).stdout;
    assert!(!status.contains("run 1"), "{status}");
}

#[test]
fn stories_stay_in_a_run_that_gets_other_units_too() {
    let second = STORY.replace("S-1", "S-2");
    let yard = yard("exit 1", &format!("{STORY}{second}"), &[OTHER]);
    assert_eq!(yard.piton(&["run", "--yes"]).code, Some(4));
    set_hook(&yard, "");
    assert_eq!(yard.piton(&["run", "pipeline:S-1", "plan:q", "--yes", "--retry"]).code, Some(0));
    let status = yard.run(&["status"]).stdout;
    assert!(status.contains("pipeline:S-2"), "{status}");
    let ended = yard.piton(&["run", "pipeline:S-1", "pipeline:S-2", "plan:q", "--yes", "--retry"]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    assert!(is_on_main(&yard, "S-2.txt"), "{}", said(&ended));
}

#[test]
fn a_specification_that_is_moved_is_named_by_its_build() {
    let yard = yard("exit 1", "", &[(SPEC, &build())]);
    assert_eq!(yard.piton(&["run", SPEC, "--yes"]).code, Some(4));
    yard.git(&["mv", SPEC, "docs/EXECUTION-SPEC-PRD-071-wall.md"]);
    yard.commit("another name");
    set_hook(&yard, "");
    let text = yard.run(&["status"]).stdout;
    assert!(text.contains("piton run build:PRD-071 --yes --retry"), "{text}");
    let ended = yard.piton(&["run", "build:PRD-071", "--yes", "--retry"]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
}

#[test]
fn a_run_that_git_refuses_does_not_begin() {
    let yard = yard("", STORY, &[]);
    std::fs::write(yard.outer(".gitconfig"), "[broken\n").expect("it can be written");
    let ended = yard.piton(&["run", "--yes"]);
    assert_eq!(ended.code, Some(1), "{}", said(&ended));
    let ended = yard.piton(&["run", "--yes", "--detach"]);
    assert_ne!(ended.code, Some(0), "{}", said(&ended));
    std::fs::remove_file(yard.outer(".gitconfig")).expect("it is there");
    let status = yard.run(&["status"]).stdout;
    assert!(!status.contains("run 1"), "{status}");
}
