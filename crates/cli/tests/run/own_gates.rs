//! A branch that changes what judges it: judged with the base's version, shown to a person, and after the approval judged
//! with its own.

use std::fs;

use crate::whose_word::{is_on_main, said, set_hook, workers, yard};
use crate::yard::{Yard, finish, wait_for};

const STORY: &str = "[gates]\ntest = \"sh check.sh\"\n[[stories]]\nid = \"S-1\"\ntitle = \"One\"\nstages = [2, 3]\n";

/// The work and its check belong together: each check refuses the other version of the work.
const BOTH: &str = "echo v2 > api.txt; echo 'grep -q v2 api.txt' > check.sh";

const FILES: [(&str, &str); 2] = [("api.txt", "v1\n"), ("check.sh", "grep -q v1 api.txt\n")];

const FAILED: &str = "gate test failed with the base's version of check.sh";

fn on_main(yard: &Yard, file: &str) -> String {
    yard.git(&["show", &format!("main:{file}")])
}

#[test]
fn a_gate_that_fails_with_the_bases_version_is_shown_to_a_person_and_to_no_worker() {
    let yard = yard(BOTH, STORY, &FILES);
    let ended = yard.piton(&["run", "--yes"]);
    assert_eq!((ended.code, workers(&yard).len()), (Some(4), 2), "{}", said(&ended));
    let asked = format!("it changes what judges it: check.sh; {FAILED}; approval lets its own version judge");
    assert!(said(&ended).contains(&asked), "{}", said(&ended));
    for door in [&["why", "pipeline:S-1"][..], &["status", "pipeline:S-1"], &["run", "--explain"]] {
        let shown = yard.run(door).stdout;
        assert!(shown.contains(FAILED), "{door:?} {shown}");
    }
    assert_eq!(on_main(&yard, "api.txt"), "v1\n");
    yard.run(&["approve", "pipeline:S-1"]);
    let ended = yard.run(&["run"]);
    assert!(said(&ended).contains("gate test passed\n"), "{}", said(&ended));
    assert_eq!((workers(&yard).len(), on_main(&yard, "api.txt").as_str()), (2, "v2\n"), "{}", said(&ended));
}

#[test]
fn an_approved_gate_has_to_pass_before_the_merge() {
    // The base's check passes, the new one does not.
    let hook = "echo 'test -s docs.txt' > check.sh";
    let yard = yard(hook, STORY, &FILES);
    let ended = yard.piton(&["run", "--yes"]);
    let passed = "it passed with the base's version; approval lets its own version judge";
    assert!(said(&ended).contains(passed), "{}", said(&ended));
    yard.run(&["approve", "pipeline:S-1"]);
    let ended = yard.piton(&["run"]);
    assert_eq!(ended.code, Some(4), "{}", said(&ended));
    assert!(said(&ended).contains("gate test failed: `sh check.sh` ended with exit code 1"), "{}", said(&ended));
    assert_eq!(on_main(&yard, "check.sh"), FILES[1].1, "nothing whose gate failed is on the base");
    // The approved version judges later commits, until one changes the file again.
    let tree = yard.workspace.path(".worktrees/story-S-1");
    fs::write(tree.join("docs.txt"), "x\n").expect("it can be written");
    let tree = tree.display().to_string();
    yard.git(&["-C", &tree, "add", "docs.txt"]);
    yard.git(&["-C", &tree, "commit", "-qm", "by hand"]);
    set_hook(&yard, "git commit -q --allow-empty -m again");
    let ended = yard.piton(&["run", "--retry"]);
    assert_eq!((ended.code, is_on_main(&yard, "docs.txt")), (Some(0), true), "{}", said(&ended));
    assert_eq!(on_main(&yard, "check.sh"), "test -s docs.txt\n");
}

#[test]
fn a_version_that_nobody_approved_is_asked_about_again() {
    let yard = yard("echo 'test -s docs.txt' > check.sh", STORY, &FILES);
    assert_eq!(yard.piton(&["run", "--yes"]).code, Some(4));
    yard.run(&["approve", "pipeline:S-1"]);
    assert_eq!(yard.piton(&["run"]).code, Some(4));
    let tree = yard.workspace.path(".worktrees/story-S-1");
    fs::write(tree.join("check.sh"), "true\n").expect("it can be written");
    let tree = tree.display().to_string();
    yard.git(&["-C", &tree, "commit", "-qam", "a weaker check"]);
    set_hook(&yard, "git commit -q --allow-empty -m again");
    let ended = yard.piton(&["run", "--retry"]);
    assert_eq!(ended.code, Some(4), "{}", said(&ended));
    assert!(said(&ended).contains("it changes what judges it: check.sh"), "{}", said(&ended));
    assert_eq!(on_main(&yard, "check.sh"), FILES[1].1);
}

const SPEC: &str = "docs/EXECUTION-SPEC-PRD-076.md";

fn build(workstreams: &[&str], gate: &str) -> String {
    let described = workstreams.iter().map(|name| format!("  {name}:\n    name: {name}\n    outputs: [{name}.txt]\n"));
    format!(
        "---\nprd: PRD-076\nprd_title: A roof\nworkstreams:\n{}execution_phases:\n  - name: Roof\n    parallel: [{}]\n    \
         gates: [api]\ngates:\n  api:\n    command: {gate}\n    success_criteria: ok\n---\n# A roof\n",
        described.collect::<String>(),
        workstreams.join(", ")
    )
}

#[test]
fn a_phase_is_judged_with_the_version_that_was_approved() {
    let spec = build(&["WS1"], "sh check.sh");
    let yard = yard(BOTH, "", &[FILES[0], FILES[1], (SPEC, &spec)]);
    let ended = yard.piton(&["run", SPEC, "--yes"]);
    assert_eq!(ended.code, Some(4), "{}", said(&ended));
    assert!(said(&ended).contains("check.sh; approval lets its own version judge"), "{}", said(&ended));
    yard.run(&["approve", "build:PRD-076"]);
    let ended = yard.run(&["run", SPEC]);
    assert_eq!((workers(&yard).len(), on_main(&yard, "api.txt").as_str()), (1, "v2\n"), "{}", said(&ended));
}

#[test]
fn what_the_user_changed_on_the_base_is_not_the_change_of_a_worker() {
    // WS2 begins before the user's commit, and brings it over after WS1 was collected.
    let hook = r#"if [ "$step" = WS2 ]; then hold WS2; git merge -q --no-edit main; fi"#;
    let yard = yard(hook, "", &[(SPEC, &build(&["WS1", "WS2"], "test -s WS1.txt"))]);
    let lead = yard.command(&["run", SPEC, "--yes"]).spawn().expect("it starts");
    let events = || fs::read_to_string(yard.workspace.path(".piton/run/runs/1/events.jsonl")).unwrap_or_default();
    let is_collected = || events().contains("merged into piton/") && yard.outer("marks/held-WS2").exists();
    wait_for("the first workstream", is_collected, events);
    // Of another length: git may not see a file that is as long and as old as before.
    let settings = yard.text("piton.toml").replace("heartbeat = 1\n", "heartbeat = 15\n");
    yard.workspace.write("piton.toml", settings);
    yard.git(&["commit", "-qam", "settings of the user"]);
    fs::write(yard.outer("marks/go"), "").expect("it can be written");
    let ended = finish(lead);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    assert!(is_on_main(&yard, "WS2.txt") && !said(&ended).contains("judges it"), "{}", said(&ended));
}

#[test]
fn approved_settings_of_a_branch_judge_it() {
    let settings =
        "[gates]\ntest = \"test -e never.txt\"\n[[stories]]\nid = \"S-1\"\ntitle = \"One\"\nstages = [2, 3]\n";
    let hook = "sed -i 's/test -e never.txt/test -e S-1.txt/' piton.toml";
    let yard = yard(hook, settings, &[]);
    let ended = yard.piton(&["run", "--yes"]);
    assert_eq!(ended.code, Some(4), "{}", said(&ended));
    let asked = r#"it changes what judges it: piton.toml; test becomes "test -e S-1.txt""#;
    assert!(said(&ended).contains(asked), "{}", said(&ended));
    yard.run(&["approve", "pipeline:S-1"]);
    let ended = yard.run(&["run"]);
    assert!(said(&ended).contains("gate test passed\n"), "{}", said(&ended));
    assert!(on_main(&yard, "piton.toml").contains("test -e S-1.txt"), "{}", said(&ended));
    assert_eq!(workers(&yard).len(), 2, "{}", said(&ended));
}

#[test]
fn correction_of_a_file_that_only_its_phase_has_needs_no_approval() {
    let plan =
        "# P\n\n## One\n<!-- CHECKPOINT: one -->\n- [ ] A <!-- TASK: a -->\n- [ ] There <!-- ACCEPT: there -->\n";
    let hook = r#"if mkdir "$MARKS/once" 2>/dev/null; then : > a.txt; git add a.txt; git commit -qm empty
"$PITON" step "$PITON_UNIT" done a; exit 0; fi"#;
    let yard = yard(hook, "[gates]\nthere = \"test -s a.txt\"\n", &[("plans/p/plan.md", plan)]);
    let settings = yard.text("piton.toml").replace("reworks = 0", "reworks = 1");
    yard.workspace.write("piton.toml", settings);
    yard.commit("one rework");
    let ended = yard.run(&["run", "plan:p", "--yes"]);
    assert!(is_on_main(&yard, "a.txt") && !said(&ended).contains("what judges it"), "{}", said(&ended));
}
