//! What a run prints when work is refused: each reason once, the lines of a worker below it, and all that is paused by name.

use crate::whose_word::{said, yard};
use crate::yard::{Ended, Yard};

const STORY: &str = "[[stories]]\nid = \"S-1\"\ntitle = \"One\"\nstages = [2, 3]\n";

fn count(ended: &Ended, words: &str) -> usize {
    said(ended).matches(words).count()
}

fn paused(yard: &Yard, arguments: &[&str]) -> Ended {
    let ended = yard.piton(arguments);
    assert_eq!(ended.code, Some(4), "{}", said(&ended));
    ended
}

#[test]
fn a_gate_that_fails_is_printed_once() {
    let yard = yard("", &format!("{STORY}[gates]\ntest = \"echo no; exit 9\"\n"), &[]);
    let ended = paused(&yard, &["run", "--yes"]);
    assert_eq!(count(&ended, "gate test failed: "), 1, "{}", said(&ended));
    assert!(ended.stdout.contains("  pipeline:S-1: paused: `reworks` is 0\n"), "{}", said(&ended));
    assert!(ended.stdout.contains("\n  pipeline:S-1 is paused\n"), "{}", said(&ended));
    // Another lead did not tell it, so its end does.
    let ended = paused(&yard, &["run"]);
    assert_eq!(count(&ended, "gate test failed: "), 1, "{}", said(&ended));
}

#[test]
fn the_last_lines_of_a_worker_stand_below_the_reason_and_every_paused_unit_is_named() {
    let task = |id: &str| format!("[[tasks]]\nagent = \"copy\"\nid = \"{id}\"\nsubtasks = [\"one\"]\n");
    let tasks = format!("{}{}", task("T1"), task("T2"));
    let yard = yard("echo first; echo second; exit 3", "", &[("tasks.toml", &tasks)]);
    let ended = paused(&yard, &["run", "tasks.toml", "--yes"]);
    let lines = "; `respawn` is 0\n            its last lines:\n            first\n            second\n";
    assert_eq!((count(&ended, lines), count(&ended, "its last lines:")), (2, 2), "{}", said(&ended));
    let why = "next: see why: piton why task:copy/T1 && piton why task:copy/T2\n";
    assert!(ended.stdout.contains(why), "{}", said(&ended));
    for unit in ["task:copy/T1", "task:copy/T2"] {
        let why = yard.run(&["why", unit]).stdout;
        assert_eq!((why.matches("second").count(), why.contains("its last lines")), (1, false), "{why}");
    }
    let report = yard.text(".piton/run/report.md");
    assert!(report.contains("      second\n") && !report.contains("its last lines"), "{report}");
    let told = yard.text(".piton/run/report.json");
    assert!(told.contains(r"; `respawn` is 0\nits last lines:\nfirst\nsecond"), "{told}");
}

#[test]
fn the_pause_of_a_workstream_is_not_repeated_for_its_build() {
    let spec = "---\nprd: PRD-031\nworkstreams:\n  WS1:\n    name: One\n    outputs: [WS1.txt]\nexecution_phases:\n  \
                - name: All\n    parallel: [WS1]\n---\n";
    let path = "docs/EXECUTION-SPEC-PRD-031.md";
    let yard = yard("exit 3", "", &[(path, spec)]);
    let ended = paused(&yard, &["run", path, "--yes"]);
    let words = (count(&ended, "its worker exited with 3"), count(&ended, "build:PRD-031: build:PRD-031"));
    assert_eq!(words, (1, 0), "{}", said(&ended));
    assert!(ended.stdout.contains("\n  build:PRD-031 WS1 is paused\n"), "{}", said(&ended));
}

#[test]
fn a_no_go_says_what_can_be_changed_and_where() {
    let hook = r#"case $PITON_STAGE in
0) "$PITON" step "$PITON_UNIT" begin S-1-T1 --title One; "$PITON" verdict "$PITON_UNIT" PLAN --score 3; exit 0 ;;
1) "$PITON" verdict "$PITON_UNIT" NO-GO --score 2 --reason 'The price is missing.'; exit 0 ;; esac"#;
    let story = "[[stories]]\nid = \"S-1\"\ntitle = \"One\"\n";
    let later = "[[stories]]\nid = \"S-2\"\ntitle = \"Two\"\ndepends_on = [\"S-1\"]\n";
    let yard = yard(hook, &format!("{story}{later}"), &[]);
    let settings = yard.text("piton.toml").replace("reworks = 0", "reworks = 0\nvalidation_retries = 0");
    yard.workspace.write("piton.toml", settings);
    yard.commit("no second validation");
    let ended = paused(&yard, &["run", "--yes"]);
    assert_eq!(count(&ended, "NO-GO: The price is missing; `validation_retries` is 0"), 1, "{}", said(&ended));
    let next = "next: when the list of stories answers that in the `text` of pipeline:S-1, or leaves 1 out of its `stages`: \
                piton run --retry\n";
    assert!(ended.stdout.contains(next), "{}", said(&ended));
    let why = yard.run(&["why", "pipeline:S-2"]).stdout;
    assert_eq!(why.matches("waits for").count(), 1, "{why}");
    // As it says: the story goes on without its validation.
    crate::whose_word::set_hook(
        &yard,
        r#"[ "$PITON_STAGE" != 2 ] || { keep "$step"; "$PITON" step "$PITON_UNIT" done S-1-T1; }"#,
    );
    let settings = yard.text("piton.toml").replace("title = \"One\"\n", "title = \"One\"\nstages = [0, 2, 3]\n");
    yard.workspace.write("piton.toml", settings.replace("title = \"Two\"\n", "title = \"Two\"\nstages = [2, 3]\n"));
    yard.commit("without validation");
    let ended = yard.piton(&["run", "--retry"]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
}

#[test]
fn yes_says_what_it_approves_and_is_not_repeated_where_nothing_asks() {
    let yard = yard("exit 3", &format!("{STORY}[gates]\ntest = \"true\"\n"), &[]);
    let refused = yard.piton(&["run"]);
    assert!(refused.stderr.contains("look at them, then: piton approve\n"), "{}", said(&refused));
    let ended = paused(&yard, &["run", "--yes"]);
    assert!(ended.stderr.contains("approved: gate test: true\n"), "{}", said(&ended));
    assert!(ended.stdout.contains("piton run --retry\n") && !ended.stdout.contains("--yes"), "{}", said(&ended));
    // What changes meanwhile is not approved by the command that is printed.
    yard.workspace.write("piton.toml", yard.text("piton.toml").replace("test = \"true\"", "test = \"false\""));
    yard.commit("another gate");
    let refused = yard.piton(&["run", "--retry"]);
    assert!(refused.stderr.contains("gate test: false"), "{}", said(&refused));
    let ended = yard.piton(&["run", "--retry", "--yes"]);
    assert!(ended.stderr.contains("approved: gate test: false\n"), "{}", said(&ended));
}

#[test]
fn the_commands_of_a_file_are_approved_by_its_name() {
    let yard =
        yard("", "", &[("tasks.toml", "[[tasks]]\nagent = \"copy\"\nid = \"T1\"\nsubtasks = [\"one\", \"two\"]\n")]);
    let refused = yard.piton(&["run", "tasks.toml"]);
    assert!(refused.stderr.contains("look at them, then: piton approve tasks.toml\n"), "{}", said(&refused));
    let explained = yard.run(&["run", "tasks.toml", "--explain"]).stdout;
    assert!(explained.contains("not approved yet (piton approve tasks.toml):"), "{explained}");
    yard.run(&["approve", "tasks.toml"]);
    assert_eq!(yard.piton(&["run", "tasks.toml"]).code, Some(0));
}
