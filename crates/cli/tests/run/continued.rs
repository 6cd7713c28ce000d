//! A run that is continued after its user changed what it is about: a list, a specification, a branch.

use crate::whose_word::{is_on_main, said, set_hook, workers, yard};
use crate::yard::{Yard, finish, wait_for};

const SPEC: &str = "docs/EXECUTION-SPEC-PRD-074.md";

fn build(gate: &str, third: bool) -> String {
    let stream = |n: u32| format!("  WS{n}:\n    name: Row {n}\n    outputs: [WS{n}.txt]\n");
    let streams: String = if third { [1, 2, 3].map(stream).concat() } else { [1, 2].map(stream).concat() };
    let second = if third { "WS2, WS3" } else { "WS2" };
    format!(
        "---\nprd: PRD-074\nprd_title: A wall\nworkstreams:\n{streams}execution_phases:\n  - name: Ground\n    parallel: \
         [WS1]\n    gates: [{gate}]\n  - name: Rest\n    parallel: [{second}]\n    gates: [{gate}]\ngates:\n  {gate}:\n    \
         command: test -s WS1.txt\n    success_criteria: it is there\n---\n# A wall\n"
    )
}

fn story(id: &str) -> String {
    format!("[[stories]]\nid = \"{id}\"\ntitle = \"{id}\"\nstages = [2, 3]\n")
}

/// S-2 is taken out of its list after its worker was stopped; S-3 takes its place.
fn without_second() -> Yard {
    let stories = story("S-1") + &story("S-2");
    let yard = yard("hold \"$step\"", &stories, &[]);
    let mut lead = yard.command(&["run", "--yes"]).spawn().expect("it starts");
    let is_held = || ["S-1", "S-2"].iter().all(|id| yard.outer(&format!("marks/held-{id}")).exists());
    wait_for("both workers", is_held, || yard.piton(&["status"]).stdout);
    lead.kill().expect("it is there");
    finish(lead);
    yard.run(&["stop", "--workers"]);
    set_hook(&yard, "");
    let settings = yard.text("piton.toml").replace("S-2", "S-3");
    yard.workspace.write("piton.toml", settings);
    yard.commit("another story");
    yard
}

#[test]
fn a_story_that_another_takes_the_place_of_is_left_out_and_that_is_said() {
    for arguments in [&["run"][..], &["run", "--retry"], &["run", "pipeline:S-1", "pipeline:S-3"]] {
        let yard = without_second();
        let ended = yard.piton(&[arguments, &["--yes"]].concat());
        assert_eq!(ended.code, Some(0), "{}", said(&ended));
        let left_out = "pipeline:S-2 is in no list of stories any more; the run continues without it";
        assert!(said(&ended).contains(left_out), "{arguments:?}: {}", said(&ended));
        let status = yard.run(&["status"]).stdout;
        assert!(!status.contains("run 1"), "nothing of it is left: {status}");
        // A story that is open and no part of the run is left: the pipeline is not complete.
        assert_eq!(yard.read_json(".pipeline/state.json")["complete"], false);
    }
}

#[test]
fn a_gate_that_is_renamed_in_the_specification_is_not_waited_for() {
    let yard = yard(r#"if [ "$step" = WS2 ]; then exit 1; fi"#, "", &[(SPEC, &build("tests", false))]);
    assert_eq!(yard.piton(&["run", SPEC, "--yes"]).code, Some(4));
    yard.workspace.write(SPEC, build("check", false));
    yard.commit("the gate is called check");
    set_hook(&yard, "");
    let ended = yard.piton(&["run", SPEC, "--yes", "--retry"]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
}

#[test]
fn a_workstream_that_is_taken_out_when_it_is_collected_does_not_hold_its_sibling() {
    let hook = r#"if [ "$step" = WS2 ]; then
  while ! grep -q 'WS3","text":"merged into' "$PITON_ROOT"/.piton/run/runs/1/events.jsonl; do sleep 0.02; done
  exit 1
fi"#;
    let yard = yard(hook, "", &[(SPEC, &build("tests", true))]);
    assert_eq!(yard.piton(&["run", SPEC, "--yes"]).code, Some(4));
    yard.workspace.write(SPEC, build("tests", false));
    yard.commit("the third row is not wanted");
    set_hook(&yard, "");
    let ended = yard.piton(&["run", SPEC, "--yes", "--retry"]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    assert!(is_on_main(&yard, "WS2.txt"), "{}", said(&ended));
}

#[test]
fn a_set_up_that_is_mended_on_the_base_passes_in_the_worktree_that_is_there() {
    let settings = format!("[worktree]\nsetup = \"test -e lock\"\n{}", story("S-1"));
    let yard = yard("", &settings, &[]);
    let ended = yard.piton(&["run", "--yes"]);
    assert!(said(&ended).contains("the worktree setup failed"), "{}", said(&ended));
    yard.workspace.write("lock", "1\n");
    yard.commit("what was missing");
    let ended = yard.piton(&["run", "--yes", "--retry"]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
}

#[test]
fn a_run_of_which_a_part_was_continued_counts_all_of_its_units() {
    let task = |id: &str, more: &str| {
        format!("[[tasks]]\nagent = \"copy\"\nid = \"{id}\"\nsubtasks = [\"one\", \"two\"]\n{more}")
    };
    let tasks = task("T1", "") + &task("T2", "depends_on = [\"T1\"]\n");
    let yard = yard("exit 1", "", &[("tasks.toml", &tasks)]);
    assert_eq!(yard.piton(&["run", "tasks.toml", "--yes"]).code, Some(4));
    set_hook(&yard, "");
    let ended = yard.piton(&["run", "task:copy/T1", "--retry", "--yes"]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    let status = yard.run(&["status"]).stdout;
    assert!(status.contains("run 1: a part of it was done") && status.contains("1 of 2 done"), "{status}");
    assert!(status.contains("continue it: piton run tasks.toml\n"), "{status}");
    assert_eq!(yard.piton(&["run", "tasks.toml", "--yes"]).code, Some(0));
}

#[test]
fn a_phase_that_is_put_between_two_others_is_done_between_them() {
    let phase = |name: &str| format!("## {name}\n<!-- CHECKPOINT: {name} -->\n- [ ] {name} <!-- TASK: {name} -->\n");
    let plan = format!("# P\n\n{}{}", phase("one"), phase("three"));
    let yard = yard(r#"if [ "$step" = one ]; then hold one; fi"#, "", &[("plans/p/plan.md", &plan)]);
    let lead = yard.command(&["run", "plan:p", "--yes"]).spawn().expect("it starts");
    let shown = || yard.piton(&["status"]).stdout;
    wait_for("the worker", || yard.outer("marks/held-one").exists(), shown);
    let text = yard.text("plans/p/plan.md").replace("## three", &format!("{}## three", phase("two")));
    yard.workspace.write("plans/p/plan.md", text);
    let log = || std::fs::read_to_string(yard.workspace.path(".piton/run/runs/1/events.jsonl")).unwrap_or_default();
    wait_for("the new box", || log().contains("its box was added to the plan"), shown);
    std::fs::write(yard.outer("marks/go"), "").expect("it can be written");
    let ended = finish(lead);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    assert_eq!(workers(&yard), ["one", "two", "three"], "{}", said(&ended));
}

#[test]
fn boxes_that_are_added_together_each_get_a_worker() {
    let plan = "# P\n\n## One\n<!-- CHECKPOINT: one -->\n- [ ] A <!-- TASK: a -->\n";
    let yard = yard(r#"if [ "$step" = a ]; then hold a; fi"#, "", &[("plans/p/plan.md", plan)]);
    let lead = yard.command(&["run", "plan:p", "--yes"]).spawn().expect("it starts");
    let shown = || yard.piton(&["status"]).stdout;
    wait_for("the worker", || yard.outer("marks/held-a").exists(), shown);
    let phase = "## Two\n<!-- CHECKPOINT: two -->\n- [ ] B <!-- TASK: b -->\n- [ ] C <!-- TASK: c -->\n- [ ] D <!-- TASK: d -->\n";
    yard.workspace.write("plans/p/phase-02-two.md", phase);
    yard.workspace.write("plans/p/plan.md", format!("{plan}- [ ] E <!-- TASK: e -->\n"));
    let log = || std::fs::read_to_string(yard.workspace.path(".piton/run/runs/1/events.jsonl")).unwrap_or_default();
    wait_for("the new boxes", || log().matches("its box was added to the plan").count() == 4, log);
    std::fs::write(yard.outer("marks/go"), "").expect("it can be written");
    let ended = finish(lead);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    for made in ["a.txt", "b.txt", "c.txt", "d.txt", "e.txt"] {
        assert!(is_on_main(&yard, made), "{made}: {}", said(&ended));
    }
}

const PLAN: &str = "# P\n\n## One\n<!-- CHECKPOINT: one -->\n- [ ] A <!-- TASK: a -->\n\n## Two\n<!-- CHECKPOINT: two -->\n\
                    - [ ] B <!-- TASK: b -->\n- [ ] Good <!-- ACCEPT: good -->\n\n## Three\n<!-- CHECKPOINT: three -->\n\
                    - [ ] C <!-- TASK: c -->\n";

/// Changes the plan while the worker of its first task is held, and says how the run ended.
fn changed_meanwhile(yard: &crate::yard::Yard, text: &str) -> crate::yard::Ended {
    let lead = yard.command(&["run", "plan:p", "--yes"]).spawn().expect("it starts");
    wait_for("the worker", || yard.outer("marks/held-a").exists(), || yard.piton(&["status"]).stdout);
    yard.workspace.write("plans/p/plan.md", text);
    std::fs::write(yard.outer("marks/go"), "").expect("it can be written");
    finish(lead)
}

#[test]
fn criteria_that_are_added_or_removed_meanwhile_judge_what_has_not_begun() {
    let without = PLAN.replace("- [ ] Good <!-- ACCEPT: good -->\n", "");
    let hook = r#"if [ "$step" = a ]; then hold a; fi"#;
    for (before, after, code) in [(without.as_str(), PLAN, 4), (PLAN, without.as_str(), 0)] {
        let yard = yard(hook, "[gates]\ngood = \"false\"\n", &[("plans/p/plan.md", before)]);
        let ended = changed_meanwhile(&yard, after);
        assert_eq!(ended.code, Some(code), "{}", said(&ended));
        assert_eq!(said(&ended).contains("gate good failed"), code == 4, "{}", said(&ended));
        assert_eq!(is_on_main(&yard, "b.txt"), code == 0, "what its gate refuses is not merged: {}", said(&ended));
    }
}

#[test]
fn a_phase_that_is_put_between_is_judged_once_more_at_the_end() {
    let before = "# P\n\n## One\n<!-- CHECKPOINT: one -->\n- [ ] A <!-- TASK: a -->\n\n## Three\n<!-- CHECKPOINT: three -->\n\
                  - [ ] C <!-- TASK: c -->\n";
    let hook = r#"if [ "$step" = a ]; then hold a; fi"#;
    let yard = yard(hook, "[gates]\ngood = \"test ! -e c.txt\"\n", &[("plans/p/plan.md", before)]);
    let ended = changed_meanwhile(&yard, PLAN);
    assert_eq!(ended.code, Some(4), "the last phase breaks what the middle one promised: {}", said(&ended));
    assert!(!is_on_main(&yard, "c.txt") && is_on_main(&yard, "b.txt"), "{}", said(&ended));
}

#[test]
fn what_is_known_of_the_rest_stays_when_a_part_of_a_run_is_continued() {
    let stories = story("S-1") + &story("S-2");
    let yard = yard("exit 1", &stories, &[]);
    assert_eq!(yard.piton(&["run", "--yes"]).code, Some(4));
    set_hook(&yard, "");
    assert_eq!(yard.piton(&["run", "pipeline:S-2", "--yes", "--retry"]).code, Some(0));
    let why = yard.run(&["why", "pipeline:S-1"]).stdout;
    assert!(why.contains("paused     its worker exited with 1"), "{why}");
    let status = yard.run(&["status"]).stdout;
    assert!(status.contains("1 of 2 done") && status.contains("piton run --retry"), "{status}");
    assert_eq!(yard.piton(&["run", "--yes", "--retry"]).code, Some(0));
}

#[test]
fn a_retry_of_an_older_run_names_its_units() {
    let task = "[[tasks]]\nagent = \"copy\"\nid = \"T1\"\nsubtasks = [\"one\", \"two\"]\n";
    let yard = yard("exit 1", &story("S-1"), &[("tasks.toml", task)]);
    assert_eq!(yard.piton(&["run", "--yes"]).code, Some(4));
    assert_eq!(yard.piton(&["run", "tasks.toml", "--yes"]).code, Some(4));
    let why = yard.run(&["why", "pipeline:S-1"]).stdout;
    assert!(why.contains("continue the run: piton run pipeline:S-1 --retry"), "{why}");
    set_hook(&yard, "");
    let ended = yard.piton(&["run", "pipeline:S-1", "--yes", "--retry"]);
    assert_eq!((ended.code, is_on_main(&yard, "S-1.txt")), (Some(0), true), "{}", said(&ended));
}

#[test]
fn a_commit_in_a_submodule_has_to_be_on_a_remote_branch_of_it() {
    let yard = yard("", &story("S-1"), &[]);
    let origin = yard.outer("library").display().to_string();
    yard.git(&["init", "-q", &origin]);
    let git = |arguments: &[&str]| yard.git(&[&["-C", &origin][..], arguments].concat());
    git(&["commit", "-q", "--allow-empty", "-m", "one"]);
    yard.git(&["-c", "protocol.file.allow=always", "submodule", "-q", "add", &origin, "library"]);
    yard.commit("a submodule");
    let hook = r#"if [ "$PITON_STAGE" = 2 ]; then
  git -c protocol.file.allow=always submodule -q update --init
  (cd library; git commit -q --allow-empty -m two)
fi"#;
    set_hook(&yard, hook);
    let ended = yard.piton(&["run", "--yes"]);
    assert_eq!(ended.code, Some(4), "{}", said(&ended));
    let words = "the commit of the submodule library, which is on no remote branch of it";
    assert!(said(&ended).contains(words), "{}", said(&ended));
}

#[test]
fn each_part_of_a_run_that_is_continued_leaves_what_is_known_of_the_others() {
    let stories = story("S-1") + &story("S-2") + &story("S-3");
    let yard = yard("exit 1", &stories, &[]);
    assert_eq!(yard.piton(&["run", "--yes"]).code, Some(4));
    set_hook(&yard, "");
    for part in ["pipeline:S-1", "pipeline:S-2"] {
        assert_eq!(yard.piton(&["run", part, "--yes", "--retry"]).code, Some(0));
    }
    let status = yard.run(&["status"]).stdout;
    assert!(status.contains("2 of 3 done") && status.contains("piton run --retry"), "{status}");
    assert_eq!(yard.piton(&["run", "--yes", "--retry"]).code, Some(0));
}

#[test]
fn criteria_of_a_phase_without_tasks_judge_the_last_work() {
    let plan = "# P\n\n## One\n<!-- CHECKPOINT: one -->\n- [ ] A <!-- TASK: a -->\n\n## Acceptance\n<!-- CHECKPOINT: two -->\n\
                - [ ] Good <!-- ACCEPT: good -->\n";
    let yard = yard("", "[gates]\ngood = \"false\"\n", &[("plans/p/plan.md", plan)]);
    let ended = yard.piton(&["run", "plan:p", "--yes"]);
    assert_eq!((ended.code, is_on_main(&yard, "a.txt")), (Some(4), false), "{}", said(&ended));
}

#[test]
fn a_criterion_that_is_removed_from_the_phase_at_work_is_not_asked_for() {
    let before =
        PLAN.replace("- [ ] A <!-- TASK: a -->\n", "- [ ] A <!-- TASK: a -->\n- [ ] Fine <!-- ACCEPT: fine -->\n");
    let after = PLAN.replace("- [ ] Good <!-- ACCEPT: good -->\n", "");
    let hook = r#"if [ "$step" = a ]; then hold a; fi"#;
    let gates = "[gates]\ngood = \"true\"\nfine = \"false\"\n";
    let yard = yard(hook, gates, &[("plans/p/plan.md", &before)]);
    let ended = changed_meanwhile(&yard, &after);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
}
