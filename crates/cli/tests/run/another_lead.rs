//! Stories of another lead: a FAIL that it left is corrected before anything is judged again, and what is said about a story
//! before and after a run is what the run does.

use crate::whose_word::{is_on_main, said, set_hook, workers, yard};
use crate::yard::Yard;

const STATE: &str = r#"{"complete": false, "active_workers": 1, "stories_remaining": 1, "last_check": "2026-01-17T10:30:00Z",
 "story_state": {"A-2": "STAGE_2"}, "worker_map": {"A-2": "story-A-2-s2"}, "quality_cycles": {"A-2": CYCLES},
 "worktree_map": {"A-2": ".worktrees/story-A-2"}, "depends_on": {}}"#;

const REFUSED: &str = r#"{"storyId": "A-2", "stage": 3, "agentId": "old", "tasksCompleted": ["A-2-x"], "tasksRemaining": [],
 "lastAction": "judged", "timestamp": "2026-01-17T10:29:00Z", "verdict": "FAIL", "qualityScore": 40, "issues": "too slow"}"#;

const HALF: &str = r#"{"storyId": "A-2", "stage": 2, "agentId": "old", "tasksCompleted": ["A-2-x"],
 "tasksRemaining": ["A-2-y"], "lastAction": "did x", "timestamp": "2026-01-17T10:29:00Z"}"#;

/// Does the task that is named, and judges.
const WORKER: &str = r#"case $PITON_STAGE in
  2) cat > "$MARKS/prompt"; keep y; "$PITON" step "$PITON_UNIT" done TASK ;;
  3) "$PITON" verdict "$PITON_UNIT" PASS --score 90 ;;
esac; exit 0"#;

/// What another lead left of a story, whose first task is on the base or on a branch of its own.
fn left(checkpoint: &str, cycles: u32, is_merged: bool) -> Yard {
    let yard = yard("keep half; exit 1", "", &[]);
    yard.workspace.write("piton.toml", yard.text("piton.toml").replace("reworks = 0", "reworks = 2"));
    yard.commit("settings");
    yard.workspace.write(".pipeline/state.json", STATE.replace("CYCLES", &cycles.to_string()));
    yard.workspace.write(".pipeline/checkpoint-A-2.json", checkpoint);
    if is_merged {
        yard.workspace.write("x.txt", "x\n");
        yard.commit("x");
        return yard;
    }
    let place = ".worktrees/story-A-2";
    yard.git(&["worktree", "add", "-q", "-b", "feature/A-2-two", place]);
    yard.workspace.write(&format!("{place}/x.txt"), "x\n");
    yard.git(&["-C", place, "add", "x.txt"]);
    yard.git(&["-C", place, "commit", "-qm", "x"]);
    yard
}

#[test]
fn a_fail_that_another_lead_took_back_is_a_task_that_has_to_be_done() {
    // What the other lead counted may be missing.
    for cycles in [1, 0] {
        let yard = left(REFUSED, cycles, true);
        let ended = yard.piton(&["run", "--yes"]);
        assert_eq!((ended.code, workers(&yard).len()), (Some(4), 1), "{}", said(&ended));
        let reason = "its worker exited with 1; not complete: the task A-2-fix1 (Correct what was refused) is not done";
        assert!(said(&ended).contains(reason) && !said(&ended).contains("stage 2: Done"), "{}", said(&ended));
        set_hook(&yard, &WORKER.replace("TASK", "A-2-fix1"));
        let ended = yard.piton(&["run", "--yes", "--retry"]);
        assert_eq!((ended.code, workers(&yard).len()), (Some(0), 3), "{}", said(&ended));
        let prompt = std::fs::read_to_string(yard.outer("marks/prompt")).unwrap_or_default();
        assert!(prompt.contains("too slow"), "{prompt}");
        assert!(is_on_main(&yard, "half.txt") && is_on_main(&yard, "y.txt"), "{}", said(&ended));
    }
}

#[test]
fn a_second_fail_of_such_a_story_is_another_task() {
    let yard = left(REFUSED, 1, true);
    let fails = r#"if [ $PITON_STAGE = 3 ] && mkdir "$MARKS/failed" 2>/dev/null; then
  "$PITON" verdict "$PITON_UNIT" FAIL --score 20 --issues 'still slow'; exit 0; fi
if [ $PITON_STAGE = 2 ] && [ -e "$MARKS/failed" ]; then keep z; "$PITON" step "$PITON_UNIT" done A-2-fix2; exit 0; fi
"#;
    set_hook(&yard, &format!("{fails}{}", WORKER.replace("TASK", "A-2-fix1")));
    let ended = yard.piton(&["run", "--yes"]);
    assert_eq!((ended.code, workers(&yard).len()), (Some(0), 4), "{}", said(&ended));
    assert!(is_on_main(&yard, "y.txt") && is_on_main(&yard, "z.txt"), "{}", said(&ended));
}

const REASON: &str = "the branch feature/A-2-two in .worktrees/story-A-2 has work of it that is not on main";

#[test]
fn a_story_that_a_run_would_hold_is_explained_as_held() {
    let yard = left(HALF, 0, false);
    let explained = yard.run(&["run", "--explain"]).stdout;
    assert!(explained.contains(&format!("is paused, and no worker starts: {REASON}")), "{explained}");
    let ended = yard.piton(&["run", "--yes"]);
    assert_eq!((ended.code, workers(&yard).len()), (Some(4), 0), "{}", said(&ended));
    for door in [&["status"][..], &["why", "pipeline:A-2"]] {
        let text = yard.run(door).stdout;
        assert!(text.contains("the branch feature/A-2-two in .worktrees/story-A-2 has work of it"), "{door:?}: {text}");
    }
}

#[test]
fn a_story_whose_branch_was_merged_as_printed_is_not_called_paused() {
    let yard = left(HALF, 0, false);
    assert_eq!(yard.piton(&["run", "--yes"]).code, Some(4));
    yard.git(&["merge", "-q", "-m", "x", "feature/A-2-two"]);
    for door in [&["status"][..], &["why", "pipeline:A-2"], &["run", "--explain"]] {
        let text = yard.run(door).stdout;
        assert!(!text.contains("not on main") && !text.contains("no worker starts"), "{door:?}: {text}");
    }
    let status = yard.run(&["status"]).stdout;
    assert!(status.contains("continue it: piton run\n"), "{status}");
    set_hook(&yard, &WORKER.replace("TASK", "A-2-y"));
    let ended = yard.run(&["run"]);
    assert!(is_on_main(&yard, "x.txt") && is_on_main(&yard, "y.txt"), "{}", said(&ended));
}

#[test]
fn a_task_whose_lead_was_forgotten_is_explained_as_held_until_its_branch_is_merged() {
    let list = "[[tasks]]\nagent = \"copy\"\nid = \"T1\"\ntitle = \"T1\"\nsubtasks = [\"one\", \"two\"]\n";
    let hook = r#"keep one; "$PITON" step "$PITON_UNIT" done one; exit 1"#;
    let yard = yard(hook, "", &[("tasks.toml", list)]);
    assert_eq!(yard.piton(&["run", "tasks.toml", "--yes"]).code, Some(4));
    std::fs::remove_dir_all(yard.workspace.path(".piton/run")).expect("it is there");
    let explain = ["run", "tasks.toml", "--explain", "--retry"];
    let explained = yard.run(&explain).stdout;
    let branch = yard.git(&["for-each-ref", "--format=%(refname:short)", "refs/heads/feature"]).trim().to_owned();
    let reason = format!("the branch {branch} has work of it that is not on main, and no lead remembers it");
    assert!(explained.contains(&reason), "{explained}");
    let ended = yard.piton(&["run", "tasks.toml", "--yes", "--retry"]);
    assert_eq!((ended.code, workers(&yard).len()), (Some(4), 1), "{}", said(&ended));
    yard.git(&["merge", "-q", &branch]);
    for door in [&["status"][..], &["why", "task:copy/T1"], &explain] {
        let text = yard.run(door).stdout;
        assert!(!text.contains("not on main") && !text.contains("no worker starts"), "{door:?}: {text}");
    }
    set_hook(&yard, r#"keep two; "$PITON" step "$PITON_UNIT" done two; "$PITON" finish "$PITON_UNIT"; exit 0"#);
    let ended = yard.run(&["run", "tasks.toml", "--yes", "--retry"]);
    assert!(is_on_main(&yard, "one.txt") && is_on_main(&yard, "two.txt"), "{}", said(&ended));
}

#[test]
fn story_that_stage_3_has_with_open_tasks_goes_back_to_stage_2() {
    let ahead = HALF.replace("\"stage\": 2", "\"stage\": 3");
    for is_freed in [false, true] {
        let yard = left(&ahead, 0, true);
        yard.workspace.write(
            ".pipeline/state.json",
            STATE.replace("CYCLES", "0").replace("STAGE_2", "STAGE_3").replace(".worktrees/story-A-2", "none"),
        );
        set_hook(&yard, &WORKER.replace("TASK", "A-2-y"));
        let mut ended = yard.piton(&["run", "--yes"]);
        if ended.code != Some(0) && is_freed {
            yard.piton(&["unblock", "pipeline:A-2"]);
        }
        if ended.code != Some(0) {
            ended = yard.piton(&["run", "--retry"]);
        }
        assert_eq!(ended.code, Some(0), "{is_freed} {}", said(&ended));
        assert!(is_on_main(&yard, "y.txt"), "{is_freed} {}", said(&ended));
    }
}
