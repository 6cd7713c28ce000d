//! Settings, lists and documents count as their user has them: what is undone in an editor, what is set up later, what another
//! branch or the stash holds.

use std::fs;

use crate::whose_word::{is_on_main, meanwhile, said, set_hook, workers, yard};
use crate::yard::wait_for;

const PLAN: &str = "# P\n\n## One\n<!-- CHECKPOINT: one -->\n- [ ] A <!-- TASK: a -->\n- [ ] B <!-- TASK: b -->\n";

const STORY: &str = "[[stories]]\nid = \"S-1\"\ntitle = \"One\"\nstages = [2, 3]\n";

const SPEC: &str = "docs/EXECUTION-SPEC-PRD-095.md";

const BUILD: &str = "---\nprd: PRD-095\nprd_title: A shed\nworkstreams:\n  WS1: {name: Floor, outputs: [WS1.txt]}\n  \
                     WS2: {name: Walls, outputs: [WS2.txt]}\nexecution_phases:\n  - {name: Ground, parallel: [WS1]}\n  \
                     - {name: Rest, parallel: [WS2]}\n---\n# A shed\n";

#[test]
fn set_up_that_is_named_after_the_first_worker_failed_is_done_for_its_worktree() {
    let hook = r#"if [ ! -e deps ] || [ "$(cat .env)" != KEY=1 ]; then echo "deps are missing" >&2; exit 1; fi"#;
    let yard = yard(hook, STORY, &[(".gitignore", ".piton/\n.pipeline/\n.worktrees/\ndeps\n.env\n")]);
    yard.workspace.write(".env", "KEY=1");
    assert_eq!(yard.piton(&["run", "--yes"]).code, Some(4));
    let setup = "[worktree]\nsetup = \"echo x > deps\"\ncopy = [\".env\"]\n";
    yard.workspace.write("piton.toml", format!("{setup}{}", yard.text("piton.toml")));
    yard.commit("worktrees are set up");
    yard.run(&["approve"]);
    let ended = yard.piton(&["run", "--retry"]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    assert!(is_on_main(&yard, "S-1.txt"), "{}", said(&ended));
}

#[test]
fn status_names_the_branch_that_has_the_plan_of_a_paused_run() {
    let yard = yard("exit 1", "", &[]);
    yard.git(&["checkout", "-q", "-b", "dev"]);
    yard.workspace.write("plans/p/plan.md", PLAN);
    yard.commit("a plan");
    assert_eq!(yard.piton(&["run", "plan:p", "--yes"]).code, Some(4));
    yard.commit("the plan's state");
    yard.git(&["checkout", "-q", "main"]);
    let status = yard.run(&["status"]).stdout;
    let way =
        "its document is on dev, which is not checked out: git checkout dev; then continue: piton run plan:p --retry";
    assert!(status.starts_with("run 1 was paused") && status.contains(way), "{status}");
    yard.git(&["checkout", "-q", "dev"]);
    set_hook(&yard, "");
    let ended = yard.piton(&["run", "plan:p", "--retry"]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
}

#[test]
fn status_names_the_stash_that_has_the_plan_of_a_paused_run() {
    let yard = yard("exit 1", "", &[]);
    yard.workspace.write("plans/p/plan.md", PLAN);
    assert_eq!(yard.piton(&["run", "plan:p", "--yes"]).code, Some(4));
    yard.git(&["stash", "-q", "-u"]);
    let status = yard.run(&["status"]).stdout;
    let way = "its document is in the stash: git stash pop; then continue: piton run plan:p --retry";
    assert!(status.contains(way), "{status}");
    yard.git(&["stash", "pop", "-q"]);
    set_hook(&yard, "");
    let ended = yard.piton(&["run", "plan:p", "--retry"]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
}

#[test]
fn status_names_the_branch_that_has_the_specification_of_a_build() {
    let yard = yard("", "", &[]);
    yard.git(&["checkout", "-q", "-b", "dev"]);
    yard.workspace.write(SPEC, BUILD);
    yard.commit("a specification");
    yard.run(&["approve", SPEC]);
    assert_eq!(yard.piton(&["run", SPEC]).code, Some(4));
    yard.git(&["checkout", "-q", "main"]);
    let status = yard.run(&["status"]).stdout;
    assert!(status.contains("which is not checked out: git checkout dev; then continue: piton run"), "{status}");
    yard.git(&["checkout", "-q", "dev"]);
    yard.run(&["approve", "build:PRD-095"]);
    let ended = yard.piton(&["run", "build:PRD-095"]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
}

#[test]
fn box_that_is_unticked_in_an_editor_is_done_again_whatever_was_stashed_before() {
    let yard = yard(r#"if [ "$step" = b ]; then exit 1; fi"#, "", &[("plans/p/plan.md", PLAN)]);
    assert_eq!(yard.piton(&["run", "plan:p", "--yes"]).code, Some(4));
    yard.git(&["stash", "-q"]);
    yard.git(&["stash", "apply", "-q"]);
    let ticked = yard.text("plans/p/plan.md");
    assert!(ticked.contains("[x] A"));
    yard.workspace.write("plans/p/plan.md", ticked.replace("[x] A", "[ ] A again"));
    set_hook(&yard, r#"git commit -q --allow-empty -m again"#);
    let ended = yard.piton(&["run", "plan:p", "--yes", "--retry"]);
    let count = workers(&yard).iter().filter(|step| *step == "a").count();
    assert_eq!((ended.code, count), (Some(0), 2), "{}", said(&ended));
}

#[test]
fn removed_box_is_not_merged_whatever_an_old_stash_has() {
    let gate = "[gates]\nok = \"test -e README.md\"\n";
    let plan = format!("{PLAN}- [ ] It holds <!-- ACCEPT: ok -->\n");
    let yard = yard(r#"if [ "$step" = a ]; then hold a; fi"#, gate, &[("plans/p/plan.md", &plan)]);
    yard.workspace.write("plans/p/plan.md", format!("{plan}\nA remark.\n"));
    yard.git(&["-c", "alias.old=!GIT_COMMITTER_DATE=2026-01-01T00:00:00Z git stash -q", "old"]);
    let collected = || yard.text(".piton/run/memory.json").contains("\"is\": \"integrated\"");
    let ended = meanwhile(&yard, &["run", "plan:p", "--yes"], "a", || {
        wait_for("the work of b", collected, || yard.piton(&["status"]).stdout);
        let text = yard.text("plans/p/plan.md");
        let without: String =
            text.lines().filter(|line| !line.contains("TASK: b")).map(|line| format!("{line}\n")).collect();
        yard.workspace.write("plans/p/plan.md", without);
        yard.commit("b is not wanted");
    });
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    assert!(is_on_main(&yard, "a.txt") && !is_on_main(&yard, "b.txt"), "{}", said(&ended));
}

#[test]
fn gate_that_is_added_to_the_settings_during_a_run_judges_the_story() {
    let yard = yard(r#"if [ "$step$PITON_STAGE" = S-12 ]; then hold S-1; fi"#, STORY, &[]);
    let ended = meanwhile(&yard, &["run", "--yes"], "S-1", || {
        yard.workspace.write("piton.toml", format!("[gates]\nlint = \"test -e lint.ok\"\n{}", yard.text("piton.toml")));
        yard.commit("a gate");
    });
    assert_eq!(ended.code, Some(4), "{}", said(&ended));
    assert!(
        said(&ended).contains("gates changed during the run: lint; judge by them: piton run --retry"),
        "{}",
        said(&ended)
    );
    assert!(!is_on_main(&yard, "S-1.txt"), "{}", said(&ended));
    yard.workspace.write("lint.ok", "");
    yard.commit("it passes");
    yard.run(&["approve"]);
    let ended = yard.piton(&["run", "--retry"]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    assert!(said(&ended).contains("gate lint passed"), "{}", said(&ended));
}

#[test]
fn settings_of_a_branch_that_is_checked_out_meanwhile_judge_nothing() {
    let gate = "[gates]\ntest = \"test -e README.md\"\n";
    let yard = yard(r#"if [ "$step$PITON_STAGE" = S-12 ]; then hold S-1; fi"#, &format!("{gate}{STORY}"), &[]);
    yard.git(&["checkout", "-q", "-b", "hotfix"]);
    yard.workspace.write("piton.toml", yard.text("piton.toml").replace("test -e README.md", "false"));
    yard.commit("another gate");
    yard.git(&["checkout", "-q", "main"]);
    let ended = meanwhile(&yard, &["run", "--yes"], "S-1", || drop(yard.git(&["checkout", "-q", "hotfix"])));
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    assert!(is_on_main(&yard, "S-1.txt"), "{}", said(&ended));
}

#[test]
fn restart_under_a_judge_that_writes_by_hand_begins_the_story_anew() {
    let hook = r#"if [ "$PITON_STAGE" = 3 ] && mkdir "$MARKS/judged" 2>/dev/null; then hold judge
printf '{"storyId":"S-1","stage":3,"agentId":"old","tasksCompleted":["S-1"],"tasksRemaining":[],"lastAction":"judged","timestamp":"2026-11-18T08:00:00Z","verdict":"PASS","qualityScore":92}\n' > "$PITON_CHECKPOINT"; exit 0; fi"#;
    let yard = yard(hook, STORY, &[]);
    let ended = meanwhile(&yard, &["run", "--yes"], "judge", || {
        yard.run(&["restart", "pipeline:S-1", "--force"]);
    });
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    assert_eq!(workers(&yard), ["S-1", "S-1", "S-1", "S-1"], "{}", said(&ended));
    assert!(said(&ended).contains("a person began it anew"), "{}", said(&ended));
}

#[test]
fn story_with_nothing_to_commit_is_accepted_as_printed() {
    let hook = r#"case $PITON_STAGE in
  2) "$PITON" step "$PITON_UNIT" done S-1 ;;
  3) "$PITON" verdict "$PITON_UNIT" PASS --score 90 ;;
esac; exit 0"#;
    for is_judged in [false, true] {
        let yard = yard(hook, STORY, &[]);
        let ended = yard.piton(&["run", "--yes"]);
        assert_eq!(ended.code, Some(4), "{}", said(&ended));
        let commit = "commit --allow-empty -m 'nothing to do'";
        for text in [said(&ended), yard.run(&["why", "pipeline:S-1"]).stdout] {
            assert!(text.contains(commit), "{text}");
        }
        let ended = match is_judged {
            false => {
                let tree = yard.workspace.path(".worktrees/story-S-1").display().to_string();
                yard.git(&["-C", &tree, "commit", "-q", "--allow-empty", "-m", "nothing to do"]);
                yard.piton(&["run", "--retry"])
            }
            true => {
                yard.run(&["unblock", "pipeline:S-1"]);
                yard.run(&["verdict", "pipeline:S-1", "WAIVED", "--score", "100"]);
                yard.piton(&["run"])
            }
        };
        assert_eq!(ended.code, Some(0), "{is_judged} {}", said(&ended));
    }
}

#[test]
fn outbox_that_a_worker_posts_to_is_left_to_piton() {
    let task = "[[tasks]]\nagent = \"copy\"\nid = \"T1\"\ntitle = \"one\"\nsubtasks = [\"one\", \"two\"]\n";
    let hook = r#"mkdir -p progress/outbox; echo "@orchestrator: Task T1 progress: 50%" >> progress/outbox/copy.md"#;
    let yard = yard(hook, "", &[("tasks.toml", task), (".gitignore", ".piton/\n.worktrees/\n")]);
    let ended = yard.piton(&["run", "tasks.toml", "--yes"]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    assert!(is_on_main(&yard, "T1.txt") && !is_on_main(&yard, "progress/outbox/copy.md"), "{}", said(&ended));
}

#[test]
fn subtask_and_criterion_that_a_worker_leaves_out_of_its_checkpoint_are_asked_for() {
    let task = "[[tasks]]\nagent = \"copy\"\nid = \"T1\"\ntitle = \"one\"\nsubtasks = [\"one\", \"two\"]\n\
                acceptance_criteria = [\"tidy\"]\n";
    let hook = r#"cat > "$MARKS/prompt"; keep T1
printf '{"checkpoint_id":"x","agent":"copy","task_id":"T1","task_title":"one","status":"complete","progress_percent":100,"started_at":"2026-11-18T08:00:00Z","updated_at":"2026-11-18T08:00:00Z","completed_at":"2026-11-18T08:00:00Z","subtasks":{"total":1,"completed":1,"failed":0,"items":[{"id":"one","status":"complete","output":null}]},"files_created":[],"files_modified":[],"acceptance_criteria_met":{},"errors":[],"resumable":false}\n' > "$PITON_CHECKPOINT"; exit 0"#;
    let yard = yard(hook, "", &[("tasks.toml", task)]);
    let ended = yard.piton(&["run", "tasks.toml", "--yes"]);
    assert_eq!(ended.code, Some(4), "{}", said(&ended));
    assert!(said(&ended).contains(r#"the subtask "two" of its list"#), "{}", said(&ended));
    assert!(said(&ended).contains(r#"the criterion "tidy" of its list"#), "{}", said(&ended));
    set_hook(
        &yard,
        r#"cat > "$MARKS/prompt"; "$PITON" step "$PITON_UNIT" done two; "$PITON" gate "$PITON_UNIT" pass tidy; "$PITON" finish "$PITON_UNIT"; exit 0"#,
    );
    let ended = yard.piton(&["run", "tasks.toml", "--yes", "--retry"]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    let prompt = fs::read_to_string(yard.outer("marks/prompt")).expect("a prompt");
    assert!(prompt.contains("two"), "{prompt}");
}
