//! Before a worker starts again, what is recorded as done is proved. (That it then goes on where nothing is wrong is in
//! every test in which a worker dies; what is put right is in the tests of lies.)

use std::fs;

use crate::dialects::{CHECKPOINT, SPEC};
use crate::yard::{Ended, Yard};

const SETTINGS: &str = "[run]\nworkers = 3\nheartbeat = 1\npatience = 60\ngrace = 0.3\n";

fn build(spoil: &str) -> Yard {
    let yard = Yard::with(SETTINGS, "").env("BAD", "spoils").env("SPOILT", "WS2").env("SPOIL", spoil);
    yard.workspace.write(
        "docs/EXECUTION-SPEC-PRD-031.md",
        SPEC.replace("depends_on: [WS1]\n    outputs: [WS2", "depends_on: [WS3]\n    outputs: [WS2"),
    );
    yard.commit("a specification");
    yard
}

fn run(yard: &Yard) -> Ended {
    yard.piton(&["run", "docs/EXECUTION-SPEC-PRD-031.md", "--yes"])
}

#[test]
fn the_last_phase_judges_every_gate_once_more() {
    let yard = build("true");
    let ended = run(&yard);
    assert_eq!(ended.code, Some(0), "{}{}", ended.stdout, ended.stderr);
    // With its workstream, with its phase, and with the last one.
    assert_eq!(ended.stdout.matches("gate floor passed").count(), 3, "{}", ended.stdout);
    assert_eq!(yard.read_json(CHECKPOINT)["status"], "complete");
    yard.assert_nothing_left();
}

#[test]
fn what_others_made_and_is_gone_pauses_a_build_until_it_is_back() {
    let yard = build("git reset -q --hard HEAD^1");
    let ended = run(&yard);
    assert_eq!(ended.code, Some(4), "{}{}", ended.stdout, ended.stderr);
    let want = "WS2: paused: WS1 is claimed done, not there: WS1.txt; bring it back, and try again";
    assert!(ended.stdout.contains(want), "{}", ended.stdout);
    yard.git(&["reset", "-q", "--hard", "ORIG_HEAD"]);
    // As the run itself said.
    let next = "next: when it is fixed: piton run docs/EXECUTION-SPEC-PRD-031.md --yes --retry\n";
    assert!(ended.stdout.contains(next), "{}", ended.stdout);
    let ended = yard.piton(&["run", "docs/EXECUTION-SPEC-PRD-031.md", "--yes", "--retry"]);
    assert_eq!(ended.code, Some(0), "{}{}", ended.stdout, ended.stderr);
    assert_eq!(yard.ledger().iter().filter(|(_, step, _)| step == "WS1").count(), 1);
}

#[test]
fn file_that_is_deleted_in_the_users_tree_alone_is_on_the_base() {
    let yard = build("rm WS1.txt");
    let ended = run(&yard);
    assert_eq!(ended.code, Some(0), "{}{}", ended.stdout, ended.stderr);
    assert_eq!(yard.ledger().iter().filter(|(_, step, _)| step == "WS1").count(), 1);
}

#[test]
fn a_file_that_a_commit_took_away_on_purpose_is_not_missed() {
    let spoil = "git rm -q WS1.txt && git -c user.name=u -c user.email=u@l commit -qm away && : > WS1.txt";
    // The workstream that made it is not called a liar; but the gate asks for the file, and nothing is complete without it.
    let yard = build(&format!("{spoil} && rm WS1.txt"));
    let ended = run(&yard);
    assert_eq!(ended.code, Some(4), "{}{}", ended.stdout, ended.stderr);
    assert!(!ended.stdout.contains("claimed done"), "{}", ended.stdout);
    assert!(ended.stdout.contains("gate floor failed: `test -f WS1.txt` ended with exit code 1"), "{}", ended.stdout);
    assert_ne!(yard.read_json(CHECKPOINT)["status"], "complete");
}

#[test]
fn a_criterion_that_no_longer_holds_is_seen_before_a_plan_is_complete() {
    let plan = "# Plan\n\n## Ground\n<!-- CHECKPOINT: ground -->\n- [ ] Dig <!-- TASK: dig -->\n\
                - [ ] It holds <!-- ACCEPT: holds -->\n\n## Walls\n<!-- CHECKPOINT: walls -->\n- [ ] Lay <!-- TASK: lay -->\n";
    let spoil = "echo sand > dig.txt && git -c user.name=u -c user.email=u@l commit -qam sand";
    let yard = Yard::with(SETTINGS, "[gates]\nholds = 'grep -q dig dig.txt'\n");
    let yard = yard.env("BAD", "spoils").env("SPOILT", "lay").env("SPOIL", spoil);
    yard.workspace.write("plans/260301-0900-hut/plan.md", plan);
    yard.commit("a plan");
    let ended = yard.piton(&["run", "plan:260301-0900-hut", "--yes"]);
    assert_eq!(ended.code, Some(4), "{}{}", ended.stdout, ended.stderr);
    assert!(
        ended.stdout.contains("gate holds failed: `grep -q dig dig.txt` ended with exit code 1"),
        "{}",
        ended.stdout
    );
    // The wall is not on the base: its phase was judged together with what the base had become.
    assert!(!yard.workspace.path("lay.txt").exists());
}

#[test]
fn a_commit_that_nobody_has_pauses_a_story_and_a_task() {
    let story = Yard::with(SETTINGS, "[[stories]]\nid = \"S-1\"\n").env("BAD", "strays");
    let task = Yard::with(SETTINGS, "").env("BAD", "strays");
    task.workspace.write("registry.json", r#"{"tasks": [{"agent": "copy", "id": "T01", "subtasks": ["one", "two"]}]}"#);
    for (yard, wanted, unit) in [(story, "pipeline:S-1", "pipeline:S-1"), (task, "registry.json", "task:copy/T01")] {
        let ended = yard.piton(&["run", wanted, "--yes"]);
        assert_eq!(ended.code, Some(4), "{unit}: {}{}", ended.stdout, ended.stderr);
        let want = format!(
            "{unit}: paused: a commit 0123456789abcdef0123456789abcdef01234567 is named that the repository does not have"
        );
        assert!(ended.stdout.contains(&want), "{unit}: {}", ended.stdout);
    }
}

#[test]
fn a_gate_without_a_command_pauses_until_a_person_gives_one_or_judges() {
    for way in ["settings", "judged", "typed"] {
        let yard = Yard::with(SETTINGS, "");
        let spec = SPEC.replace("  floor:\n    command: test -f WS1.txt\n", "  floor:\n    description: It is level\n");
        assert_ne!(spec, SPEC);
        yard.workspace.write("docs/EXECUTION-SPEC-PRD-031.md", spec);
        yard.commit("a specification");
        let ended = run(&yard);
        assert_eq!(ended.code, Some(4), "{}{}", ended.stdout, ended.stderr);
        let want = "gate floor cannot judge: no command is known for it; name one in piton.toml, [gates] floor = \
                    \"COMMAND\", or judge it: piton gate build:PRD-031 pass floor --step WS1";
        assert!(ended.stdout.contains(want), "{way}: {}", ended.stdout);
        let pass = ["gate", "build:PRD-031", "pass", "floor", "--step", "WS1", "--evidence"];
        if way == "typed" {
            yard.run(&pass[..6]);
        } else if way == "settings" {
            let settings = yard.text("piton.toml");
            fs::write(yard.workspace.path("piton.toml"), format!("{settings}[gates]\nfloor = 'test -f WS1.txt'\n"))
                .expect("settings");
        } else {
            let refused = yard.piton(&[&pass[..], &["test -f WS9.txt"]].concat());
            assert_eq!(refused.code, Some(4), "{}{}", refused.stdout, refused.stderr);
            yard.run(&[&pass[..], &["test -f WS1.txt"]].concat());
        }
        let ended = yard.piton(&["run", "build:PRD-031", "--yes", "--retry"]);
        assert_eq!(ended.code, Some(0), "{way}: {}{}", ended.stdout, ended.stderr);
        assert_eq!(yard.read_json(CHECKPOINT)["status"], "complete", "{way}");
        yard.assert_nothing_left();
    }
}
