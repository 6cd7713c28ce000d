//! Workers that never call Piton: they write their documents as their protocol says, in their worktree, and exit.

use crate::whose_word::{is_on_main, said, set_hook, workers, yard};
use crate::yard::Yard;

const TASK: &str = "[[tasks]]\nagent = \"copy\"\nid = \"T1\"\ntitle = \"T1\"\nsubtasks = [\"one\", \"two\"]\n";

const GROUND: &str = "# P\n\n## Ground\n<!-- CHECKPOINT: ground -->\n- [ ] A <!-- TASK: a -->\n";

const ROOF: &str = "## Roof\n<!-- CHECKPOINT: roof -->\n- [ ] B <!-- TASK: b -->\n";

/// Ticks its box in the worktree, wherever it is, and commits that with its work.
const TICKS: &str = r#"sed -i "/TASK: $step /s/\[ \]/[x]/" plans/p/*.md; keep "$step"; exit 0"#;

/// A plan whose second phase is in a file of its own.
fn plan_in_two_files(hook: &str) -> Yard {
    yard(hook, "", &[("plans/p/plan.md", GROUND), ("plans/p/phase-02-roof.md", ROOF)])
}

#[test]
fn a_box_that_its_worker_ticks_in_a_phase_file_is_found() {
    let yard = plan_in_two_files(TICKS);
    let ended = yard.piton(&["run", "plan:p", "--yes"]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    assert_eq!(workers(&yard), ["a", "b"], "{}", said(&ended));
    assert!(
        said(&ended).contains("its worker ticked b in .worktrees/plan-p-b/plans/p/phase-02-roof.md: recorded"),
        "{}",
        said(&ended)
    );
    assert!(yard.text("plans/p/phase-02-roof.md").contains("[x] B"), "{}", said(&ended));
}

#[test]
fn a_text_that_its_worker_changes_in_a_phase_file_is_named() {
    let yard = plan_in_two_files("echo more >> plans/p/phase-02-roof.md");
    let ended = yard.piton(&["run", "plan:p", "--yes"]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    let told = "plan:p b: its worker changed the text of plans/p/phase-02-roof.md, which is not merged; \
                it is on its branch: git show feature/p-b-b:plans/p/phase-02-roof.md";
    assert!(said(&ended).contains(told), "{}", said(&ended));
    assert!(yard.git(&["show", "feature/p-b-b:plans/p/phase-02-roof.md"]).ends_with("more\n"));
}

#[test]
fn a_worker_that_stays_after_it_recorded_a_box_of_a_phase_file_is_through() {
    let yard = plan_in_two_files(r#"keep "$step"; "$PITON" step "$PITON_UNIT" done "$step"; exec sleep 1000"#);
    let settings = yard.text("piton.toml").replace("patience = 60", "patience = 600");
    yard.workspace.write("piton.toml", settings);
    let ended = yard.piton(&["run", "plan:p", "--yes"]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
}

/// Leaves b paused, and a merged with a tick that is not committed; the user stashes the tick and retries.
fn stash_and_retry(file: &str, text: &str) -> (Yard, String) {
    let yard = yard("[ $step = b ] && exit 1", "", &[("plans/p/plan.md", "# P\n"), (file, text)]);
    assert_eq!(yard.piton(&["run", "plan:p", "--yes"]).code, Some(4));
    assert!(yard.text(file).contains("[x] A"));
    yard.git(&["stash"]);
    assert!(yard.text(file).contains("[ ] A"));
    set_hook(&yard, "");
    let ended = yard.piton(&["run", "plan:p", "--yes", "--retry"]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    (yard, said(&ended))
}

#[test]
fn a_tick_that_its_user_stashed_keeps_no_plan_open() {
    for file in ["plans/p/plan.md", "plans/p/phase-01-ground.md"] {
        let (yard, told) = stash_and_retry(file, &format!("{GROUND}\n{ROOF}"));
        assert_eq!(workers(&yard), ["a", "b", "b"], "a is done and merged: {told}");
        assert!(
            told.contains("plan:p a: its box is open as git has it, and its work is merged: it is ticked again;"),
            "{told}"
        );
        let text = yard.text(file);
        assert!(text.contains("[x] A") && text.contains("[x] B"), "{text}");
        assert!(yard.run(&["status", "plan:p"]).stdout.contains("done (completed)"));
        // The text that has both ticks takes the stash.
        yard.git(&["commit", "-qam", "ticks"]);
        yard.git(&["stash", "pop"]);
    }
}

/// Completes the checkpoint in the worktree, under the archive's name, and commits its work without it.
const ARCHIVES: &str = r#"keep "$step"; mkdir -p progress/checkpoints
sed 's/"pending"/"complete"/; s/"in_progress"/"complete"/; s/"completed": 0/"completed": 2/' "$PITON_CHECKPOINT" \
  > progress/checkpoints/copy-T1.json
mv progress/checkpoints/copy-T1.json progress/checkpoints/copy-T1-complete.json"#;

#[test]
fn a_checkpoint_that_its_worker_archived_in_the_worktree_is_found() {
    for (ignored, then) in [(true, ""), (false, ""), (false, "; keep archived")] {
        let yard = yard(&format!("{ARCHIVES}{then}; exit 0"), "", &[("tasks.toml", TASK)]);
        if !ignored {
            yard.workspace.write(".gitignore", ".piton/\n.worktrees/\n");
            yard.commit("documents are no secret");
        }
        let ended = yard.piton(&["run", "tasks.toml", "--yes"]);
        assert_eq!(ended.code, Some(0), "{}", said(&ended));
        assert_eq!(workers(&yard), ["T1"], "one worker did all of it: {}", said(&ended));
        let told = "its worker wrote .worktrees/task-copy-T1/progress/checkpoints/copy-T1-complete.json";
        assert!(said(&ended).contains(told), "{}", said(&ended));
        assert!(is_on_main(&yard, "T1.txt") && !is_on_main(&yard, "progress/checkpoints/copy-T1-complete.json"));
    }
}

#[test]
fn an_archive_that_git_checked_out_is_no_work_of_its_worker() {
    let yard = yard("touch progress/checkpoints/copy-T1-complete.json; exit 0", "", &[("tasks.toml", TASK)]);
    let old = r#"{"task_id": "T1", "agent": "copy", "status": "complete", "subtasks": {"total": 1, "completed": 1,
"items": [{"id": "one", "status": "complete"}]}}"#;
    yard.workspace.write("progress/checkpoints/copy-T1-complete.json", old);
    yard.git(&["add", "-f", "progress/checkpoints/copy-T1-complete.json"]);
    yard.commit("an earlier task of this name");
    let ended = yard.piton(&["run", "tasks.toml", "--yes"]);
    assert!(!said(&ended).contains("that is its document now"), "{}", said(&ended));
}

const STORY: &str = "[[stories]]\nid = \"S-1\"\ntitle = \"One\"\n";

/// Writes each checkpoint by hand, whole; `review` writes that of stage 3.
fn story(review: &str) -> Yard {
    let hook = format!(
        r#"write() {{
  printf '{{"storyId":"S-1","stage":%s,"agentId":"me","timestamp":"%s","lastAction":"wrote","tasksCompleted":[%s],"tasksRemaining":[%s]%s}}' \
    "$PITON_STAGE" "$(date -u +%Y-%m-%dT%H:%M:%SZ)" "$1" "$2" "$3" > "$PITON_CHECKPOINT"
}}
case $PITON_STAGE in
  0) write '' '"S-1-a","S-1-b"' ',"planScore":3' ;;
  1) write '' '' ',"readiness":8,"verdict":"GO"' ;;
  2) keep work; write '"S-1-a","S-1-b"' '' '' ;;
  3) {review} ;;
esac
exit 0"#
    );
    let yard = yard(&hook, STORY, &[]);
    let settings = yard.text("piton.toml").replace("respawn = 0", "respawn = 1");
    yard.workspace.write("piton.toml", settings);
    yard
}

#[test]
fn a_review_that_forgets_a_task_is_given_again() {
    for forgetful in ["", r#""S-1-b""#] {
        let pass = r#"',"verdict":"PASS","qualityScore":90'"#;
        let review = format!(
            r#"if mkdir "$MARKS/forgot"; then write '{forgetful}' '' {pass}; else write '"S-1-a","S-1-b"' '' {pass}; fi"#
        );
        let yard = story(&review);
        let ended = yard.piton(&["run", "--yes"]);
        assert_eq!(ended.code, Some(0), "{}", said(&ended));
        assert_eq!(workers(&yard).len(), 5, "one worker a stage, and a second review: {}", said(&ended));
        assert!(is_on_main(&yard, "work.txt"), "{}", said(&ended));
        let checked = yard.piton(&["check"]);
        assert_eq!(checked.code, Some(0), "{}", said(&checked));
    }
}

#[test]
fn a_review_that_always_forgets_a_task_is_paused_with_what_it_forgets() {
    let yard = story(r#"write '"S-1-a"' '' ',"verdict":"PASS","qualityScore":90'"#);
    let ended = yard.piton(&["run", "--yes"]);
    assert_eq!(ended.code, Some(4), "{}", said(&ended));
    assert!(said(&ended).contains("`tasksCompleted` lacks what was planned, at stage 3: S-1-b"), "{}", said(&ended));
    assert!(!is_on_main(&yard, "work.txt"), "{}", said(&ended));
    let state = yard.read_json(".pipeline/state.json");
    assert_eq!(state["story_state"]["S-1"], "PAUSED", "{state}");
}
