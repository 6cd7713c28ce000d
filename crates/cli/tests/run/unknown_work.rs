//! Documents that call work done while no lead remembers it: the base has the work, a branch that was left here has it, or it
//! stayed where it was done.

use std::fs;

use crate::sync_points::FINISHES;
use crate::whose_word::{is_on_main, said, set_hook, workers, yard};
use crate::yard::{Ended, Yard, wait_for};

const CREW: &str = "[[agents]]\nagent = \"Secondary-A\"\nfeature = \"bells\"\ntext = \"Do.\"\nepic = \"epics/e\"\n";
const CREW_RUN: [&str; 3] = ["run", "crew.toml", "--yes"];

const PLAN: &str = "# P\n\n## One\n<!-- CHECKPOINT: one -->\n- [ ] A <!-- TASK: a -->\n- [ ] B <!-- TASK: b -->\n\
                    - [ ] There <!-- ACCEPT: there -->\n";
const PLAN_RUN: [&str; 3] = ["run", "plan:p", "--yes"];

const SPEC: &str = "EXECUTION-SPEC-PRD-009.md";
const BUILD: &str = "---\nprd: PRD-009\ntitle: x\nworkstreams:\n  WS1:\n    name: one\n    outputs: [WS1.txt]\n    gate: size\n  \
                     WS2:\n    name: two\n    outputs: [WS2.txt]\nexecution_phases:\n  - name: one\n    parallel: [WS1, WS2]\n\
                     gates:\n  size:\n    command: test -s WS1.txt\n---\n";

/// What is left after `git clean -fdx`: documents, branches and worktrees.
fn forget(yard: &Yard) {
    fs::remove_dir_all(yard.workspace.path(".piton")).expect("it is there");
}

/// What a clone has to which no branch was pushed.
fn clone_without_branches(yard: &Yard) {
    forget(yard);
    fs::remove_dir_all(yard.workspace.path(".worktrees")).expect("it is there");
    yard.git(&["worktree", "prune"]);
    let branches = yard.git(&["for-each-ref", "--format=%(refname)", "refs/heads/feature", "refs/heads/piton"]);
    for branch in branches.lines() {
        yard.git(&["update-ref", "-d", branch]);
    }
}

/// Types the merge that a reason names.
fn merge_as_printed(yard: &Yard, ended: &Ended) {
    let text = said(ended);
    let (_, branch) = text.split_once("merge it with: git merge ").unwrap_or_else(|| panic!("no merge in {text}"));
    yard.git(&["merge", "-q", branch.split([';', '\n']).next().unwrap_or_default()]);
}

/// Makes the commits of the user older than whatever the run does.
fn age(yard: &Yard) {
    let amend = "alias.old=!GIT_COMMITTER_DATE=2026-01-01T00:00:00Z git commit -q --amend --no-edit";
    yard.git(&["-c", amend, "old"]);
}

/// A crew of one agent that has finished and whose merge its gate refused.
fn refused_agent() -> Yard {
    let hook = format!("keep bad\n{FINISHES}");
    let yard = yard(&hook, "[gates]\ntest = \"! ls bad.txt\"\n", &[("crew.toml", CREW)]);
    assert_eq!(yard.piton(&CREW_RUN).code, Some(4));
    yard
}

#[test]
fn refused_agent_that_no_lead_remembers_is_held_with_its_branch() {
    let yard = refused_agent();
    let tip = yard.git(&["for-each-ref", "--format=%(objectname)", "refs/heads/feature"]).trim().to_owned();
    forget(&yard);
    let branch = yard.git(&["for-each-ref", "--format=%(refname:short)", "refs/heads/feature"]).trim().to_owned();
    let reason = format!("the branch {branch} has work of it that is not on main");
    let before = workers(&yard).len();
    for options in [&[][..], &["--explain"], &["--retry"]] {
        let ended = yard.piton(&[&CREW_RUN, options].concat());
        assert!(said(&ended).contains(&reason), "{options:?}: {}", said(&ended));
        assert!(!said(&ended).contains("sync point passed"), "{}", said(&ended));
    }
    merge_as_printed(&yard, &yard.piton(&CREW_RUN));
    let ended = yard.run(&CREW_RUN);
    assert!(yard.git(&["branch", "--contains", &tip]).contains("main"), "{}", said(&ended));
    assert_eq!(workers(&yard).len(), before, "{}", said(&ended));
}

#[test]
fn refused_agent_of_another_clone_is_held_until_its_branch_is_fetched() {
    let yard = refused_agent();
    let branch = yard.git(&["for-each-ref", "--format=%(refname:short)", "refs/heads/feature"]).trim().to_owned();
    let tip = yard.git(&["rev-parse", &branch]).trim().to_owned();
    clone_without_branches(&yard);
    let reason = "its checkpoint has work of it that is not on main, and no branch here has it; push its branch from where it \
                  was done, then: git fetch --all; or do the feature again: piton reopen";
    for options in [&[][..], &["--explain"], &["--retry"]] {
        let ended = yard.piton(&[&CREW_RUN, options].concat());
        assert!(said(&ended).contains(reason), "{options:?}: {}", said(&ended));
    }
    yard.git(&["update-ref", &format!("refs/remotes/origin/{branch}"), &tip]);
    merge_as_printed(&yard, &yard.piton(&CREW_RUN));
    yard.run(&CREW_RUN);
    assert!(is_on_main(&yard, "Secondary-A.txt"));
}

#[test]
fn refused_agent_of_another_clone_is_begun_again_as_printed() {
    let yard = refused_agent();
    clone_without_branches(&yard);
    let ended = yard.piton(&CREW_RUN);
    assert_eq!(ended.code, Some(4), "{}", said(&ended));
    set_hook(&yard, FINISHES);
    let printed = said(&ended);
    let unit =
        printed.split("or do the feature again: piton reopen ").nth(1).and_then(|rest| rest.split_whitespace().next());
    yard.run(&["reopen", unit.expect("it is printed")]);
    let ended = yard.run(&["run", "crew.toml", "--retry"]);
    assert!(is_on_main(&yard, "Secondary-A.txt"), "{}", said(&ended));
}

#[test]
fn agent_whose_work_is_on_the_base_is_done_in_another_clone() {
    // A gate that fails once leaves its note in the document.
    let hook = format!(
        "if mkdir \"$MARKS/once\" 2>/dev/null; then keep bad; else git rm -q bad.txt; git commit -qm good; fi\n{FINISHES}"
    );
    let yard = yard(&hook, "[gates]\ntest = \"! ls bad.txt\"\n", &[("crew.toml", CREW)]);
    let settings = yard.text("piton.toml").replace("reworks = 0", "reworks = 1");
    yard.workspace.write("piton.toml", settings);
    yard.commit("one rework");
    yard.run(&CREW_RUN);
    clone_without_branches(&yard);
    let before = workers(&yard).len();
    let ended = yard.run(&CREW_RUN);
    assert_eq!(workers(&yard).len(), before, "{}", said(&ended));
}

#[test]
fn agent_that_a_session_finished_by_hand_is_done() {
    for (files, is_done) in
        [("[]", true), ("[\"bells.txt\", \"epics/e/spec.md\", \"e.md\"]", true), ("[\"no.txt\"]", false)]
    {
        let checkpoint = format!(
            r#"{{"agent_id": "Secondary-A", "agent_type": "secondary", "session_id": "s", "feature": "bells", "stage": "S2.P3",
            "phase": "x", "last_checkpoint": "2026-01-15T14:00:00Z", "next_checkpoint_expected": "2026-01-15T14:15:00Z",
            "status": "COMPLETE", "can_resume": false, "blockers": [], "files_modified": {files}, "recovery_instructions": "x",
            "current_step": "done", "completed_steps": ["S2.P1 complete", "S2.P2 complete", "S2.P3 complete"], "next_steps": [],
            "coordination_state": {{"last_inbox_check": "2026-01-15T14:00:00Z", "unread_messages": 0,
            "last_epic_readme_update": "2026-01-15T14:00:00Z", "last_status_update": "2026-01-15T14:00:00Z"}}}}"#
        );
        let path = "epics/e/agent_checkpoints/secondary_a.json";
        let made = [("bells.txt", "x\n"), ("epics/e/spec.md", "x\n"), ("epics/e/e.md", "x\n")];
        let all = [&[("crew.toml", CREW), (path, checkpoint.as_str())], &made[..]].concat();
        let yard = yard("exit 1", "", &all);
        let ended = yard.piton(&CREW_RUN);
        assert_eq!(ended.code, Some(if is_done { 0 } else { 4 }), "{files}: {}", said(&ended));
        assert_eq!(workers(&yard), [""; 0], "{files}: {}", said(&ended));
    }
}

/// A plan of which a task is collected for the gate of its phase, and another one was at work.
fn collected_plan() -> Yard {
    let hook = r#"if [ "$step" = b ] && [ ! -e "$MARKS/go" ]; then hold b; exit 1; fi
keep "$step"; "$PITON" step "$PITON_UNIT" done "$step"; exit 0"#;
    let yard = yard(hook, "[gates]\nthere = \"true\"\n", &[("plans/p/plan.md", PLAN)]);
    age(&yard);
    let lead = yard.command(&PLAN_RUN).spawn().expect("it starts");
    let collected = || yard.git(&["for-each-ref", "--format=%(contents:subject)", "refs/heads/piton/"]);
    wait_for("the work of a", || collected().lines().any(|line| line == "a"), collected);
    wait_for("b", || yard.outer("marks/held-b").exists(), String::new);
    yard.run(&["stop", "--workers"]);
    crate::yard::finish(lead);
    fs::write(yard.outer("marks/go"), "").expect("it can be written");
    yard
}

#[test]
fn task_that_a_lead_of_another_clone_collected_is_held() {
    let yard = collected_plan();
    let branch = "feature/p-a-a";
    let tip = yard.git(&["rev-parse", branch]).trim().to_owned();
    clone_without_branches(&yard);
    let reason = "its plan has work of it that is not on main, and no branch here has it; push its branch from where it was \
                  done, then: git fetch --all; or untick its box in plans/p/plan.md, and it is done again; or, where main has it, say so: \
                  piton step plan:p done a";
    for options in [&["--explain", "--retry"][..], &["--retry"], &["--retry"]] {
        let ended = yard.piton(&[&PLAN_RUN, options].concat());
        assert!(said(&ended).contains(reason), "{options:?}: {}", said(&ended));
    }
    yard.git(&["update-ref", &format!("refs/remotes/origin/{branch}"), &tip]);
    merge_as_printed(&yard, &yard.piton(&[&PLAN_RUN[..], &["--retry"]].concat()));
    let ended = yard.run(&[&PLAN_RUN[..], &["--retry"]].concat());
    assert!(is_on_main(&yard, "a.txt") && is_on_main(&yard, "b.txt"), "{}", said(&ended));
    assert_eq!(workers(&yard).iter().filter(|step| *step == "a").count(), 1, "{}", said(&ended));
}

#[test]
fn task_that_a_lead_of_another_clone_collected_is_done_again_when_it_is_unticked() {
    let yard = collected_plan();
    clone_without_branches(&yard);
    assert_eq!(yard.piton(&[&PLAN_RUN[..], &["--retry"]].concat()).code, Some(4));
    let text = yard.text("plans/p/plan.md").replace("[x] A", "[ ] A");
    yard.workspace.write("plans/p/plan.md", text);
    let ended = yard.run(&[&PLAN_RUN[..], &["--retry"]].concat());
    assert!(is_on_main(&yard, "a.txt") && is_on_main(&yard, "b.txt"), "{}", said(&ended));
}

#[test]
fn task_that_a_lead_of_another_clone_collected_is_done_when_its_user_says_so() {
    let yard = collected_plan();
    clone_without_branches(&yard);
    yard.workspace.write("a.txt", "the same\n");
    yard.commit("a, by hand");
    assert_eq!(yard.piton(&[&PLAN_RUN[..], &["--retry"]].concat()).code, Some(4));
    yard.run(&["step", "plan:p", "done", "a"]);
    let before = workers(&yard).len();
    let ended = yard.run(&[&PLAN_RUN[..], &["--retry"]].concat());
    assert_eq!(workers(&yard)[before..], ["b"], "{}", said(&ended));
}

#[test]
fn task_that_its_user_did_and_ticked_is_done_in_another_clone() {
    for has_run in [true, false] {
        let yard = yard("exit 1", "[gates]\nthere = \"test -s a.txt\"\n", &[("plans/p/plan.md", PLAN)]);
        age(&yard);
        if has_run {
            assert_eq!(yard.piton(&PLAN_RUN).code, Some(4));
        }
        yard.workspace.write("a.txt", "by hand\n");
        let text = yard.text("plans/p/plan.md").replace("[ ] A", "[x] A");
        yard.workspace.write("plans/p/plan.md", text);
        yard.commit("a");
        if has_run {
            clone_without_branches(&yard);
        }
        let before = workers(&yard).len();
        set_hook(&yard, r#"keep "$step"; "$PITON" step "$PITON_UNIT" done "$step"; exit 0"#);
        let ended = yard.run(&[&PLAN_RUN[..], &["--retry"]].concat());
        assert_eq!(workers(&yard)[before..], ["b"], "{}", said(&ended));
        assert!(is_on_main(&yard, "b.txt"), "{}", said(&ended));
    }
}

#[test]
fn workstream_that_no_lead_remembers_is_held_with_its_branch() {
    let hook = r#"if [ "$step" = WS2 ] && [ ! -e "$MARKS/go" ]; then exit 1; fi"#;
    let yard = yard(hook, "", &[(SPEC, BUILD)]);
    let run = ["run", SPEC, "--yes"];
    assert_eq!(yard.piton(&run).code, Some(4));
    forget(&yard);
    fs::write(yard.outer("marks/go"), "").expect("it can be written");
    let reason = "the branch feature/PRD-009-WS1-one has work of it that is not on main";
    for options in [&[][..], &["--explain"], &["--retry"]] {
        let ended = yard.piton(&[&run, options].concat());
        assert!(said(&ended).contains(reason), "{options:?}: {}", said(&ended));
    }
    merge_as_printed(&yard, &yard.piton(&[&run[..], &["--retry"]].concat()));
    let ended = yard.run(&[&run[..], &["--retry"]].concat());
    assert!(is_on_main(&yard, "WS1.txt") && is_on_main(&yard, "WS2.txt"), "{}", said(&ended));
    assert_eq!(workers(&yard).iter().filter(|step| *step == "WS1").count(), 1, "{}", said(&ended));
}
