//! Work that another agent or another lead began: who continues it counts on what is on its branch.

use crate::whose_word::{is_on_main, said, set_hook, workers, yard};
use crate::yard::Yard;

const TASK: &str = "[[tasks]]\nagent = \"copy\"\nid = \"T1\"\ntitle = \"T1\"\nsubtasks = [\"one\", \"two\"]\n";

const CREW: &str = "[[agents]]\nagent = \"Secondary-A\"\nfeature = \"feature_01_x\"\ntext = \"Do.\"\n";

/// Does every step of its agent that is open.
const AGENT: &str = r#"keep rest; for step in 1 2 3 4 5 6 7 8 9; do "$PITON" step "$PITON_UNIT" done $step || true; done
"$PITON" finish "$PITON_UNIT"; exit 0"#;

/// Leaves half of an agent's work on its branch, recorded as done.
fn half_of(file: &str, text: &str, step: &str) -> Yard {
    let hook = format!(r#"[ -e half.txt ] || {{ keep half; "$PITON" step "$PITON_UNIT" done {step}; }}; exit 1"#);
    let yard = yard(&hook, "", &[(file, text)]);
    assert_eq!(yard.piton(&["run", file, "--yes"]).code, Some(4));
    yard
}

/// The list still has the agent that was taken over: the reason names the one that continues, and the commands work.
#[track_caller]
fn is_named(yard: &Yard, file: &str, old: &str, (new, run): (&str, &str)) {
    let before = workers(yard);
    for options in [&["run", file][..], &["run", file, "--retry"]] {
        let ended = yard.piton(options);
        assert_eq!(ended.code, Some(4), "{}", said(&ended));
        let reason = format!("paused: it was taken over; list {new} in its place, or continue that alone: {run}\n");
        assert!(said(&ended).contains(&reason), "{}", said(&ended));
        assert!(said(&ended).contains(&format!("see what became of it: piton log {old}")), "{}", said(&ended));
        assert!(!said(&ended).contains("repair") && !said(&ended).contains("piton why"), "{}", said(&ended));
    }
    assert_eq!(workers(yard), before, "no worker starts for {old}");
    assert!(yard.run(&["log", old]).stdout.contains("taken over by"));
}

#[test]
fn an_agent_that_takes_over_continues_on_the_branch_of_the_other() {
    let yard = half_of("crew.toml", CREW, "1");
    yard.run(&["takeover", "crew:Secondary-A", "--as", "Secondary-Y", "--force"]);
    yard.run(&["takeover", "crew:Secondary-Y", "--as", "Secondary-Z", "--force"]);
    is_named(&yard, "crew.toml", "crew:Secondary-A", ("crew:Secondary-Z", "piton run crew:Secondary-Z"));
    set_hook(&yard, AGENT);
    yard.workspace.write("crew.toml", CREW.replace("Secondary-A", "Secondary-Z"));
    yard.commit("Z has taken over");
    let ended = yard.piton(&["run", "crew.toml", "--retry"]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    let told = "crew:Secondary-Z: it continues on feature/Secondary-A-feature-01-x, the branch of crew:Secondary-A";
    assert!(said(&ended).contains(told), "{}", said(&ended));
    assert!(is_on_main(&yard, "half.txt") && is_on_main(&yard, "rest.txt"), "{}", said(&ended));
}

#[test]
fn an_agent_that_took_over_is_continued_alone_by_what_the_reason_prints() {
    let yard = half_of("crew.toml", CREW, "1");
    yard.run(&["takeover", "crew:Secondary-A", "--as", "Secondary-Z", "--force"]);
    is_named(&yard, "crew.toml", "crew:Secondary-A", ("crew:Secondary-Z", "piton run crew:Secondary-Z"));
    set_hook(&yard, AGENT);
    let ended = yard.piton(&["run", "crew:Secondary-Z"]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    assert!(is_on_main(&yard, "half.txt") && is_on_main(&yard, "rest.txt"), "{}", said(&ended));
}

#[test]
fn a_task_that_is_taken_over_is_continued_by_what_the_reason_prints() {
    let yard = half_of("tasks.toml", TASK, "one");
    yard.run(&["takeover", "task:copy/T1", "--as", "paste", "--force"]);
    is_named(&yard, "tasks.toml", "task:copy/T1", ("task:paste/T1", "piton run task:paste/T1 --retry"));
    set_hook(&yard, r#"keep rest; "$PITON" step "$PITON_UNIT" done two; "$PITON" finish "$PITON_UNIT"; exit 0"#);
    let ended = yard.piton(&["run", "task:paste/T1", "--retry"]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    assert!(is_on_main(&yard, "half.txt") && is_on_main(&yard, "rest.txt"), "{}", said(&ended));
}

const STATE: &str = r#"{"complete": false, "active_workers": 1, "stories_remaining": 1, "last_check": "2026-01-17T10:30:00Z",
 "story_state": {"A-2": "STAGE_2"}, "worker_map": {"A-2": "story-A-2-s2"}, "worktree_map": {"A-2": "PLACE"}, "depends_on": {}}"#;

const CHECKPOINT: &str = r#"{"storyId": "A-2", "stage": 2, "agentId": "old", "tasksCompleted": ["A-2-x"],
 "tasksRemaining": ["A-2-y"], "lastAction": "did x", "timestamp": "2026-01-17T10:29:00Z"}"#;

/// A story in the middle of stage 2, on a branch that another lead made in a worktree of its own.
fn story_of_another_lead(place: &str) -> Yard {
    let hook = r#"id=A-2; case $PITON_STAGE in
  0) "$PITON" step "$PITON_UNIT" begin A-2-y; "$PITON" verdict "$PITON_UNIT" PLAN --score 3 ;;
  1) "$PITON" verdict "$PITON_UNIT" GO --score 8 ;;
  2) keep y; "$PITON" step "$PITON_UNIT" done A-2-y ;;
  3) "$PITON" verdict "$PITON_UNIT" PASS --score 90 ;;
esac; exit 0"#;
    let yard = yard(hook, "", &[]);
    yard.workspace.write(".pipeline/state.json", STATE.replace("PLACE", place));
    yard.workspace.write(".pipeline/checkpoint-A-2.json", CHECKPOINT);
    yard.git(&["worktree", "add", "-q", "-b", "feature/A-2-two", place]);
    yard.workspace.write(&format!("{place}/x.txt"), "x\n");
    yard.git(&["-C", place, "add", "x.txt"]);
    yard.git(&["-C", place, "commit", "-qm", "x"]);
    yard
}

#[track_caller]
fn is_held(yard: &Yard, place: &str) {
    for options in [&["run", "--yes"][..], &["run", "--yes", "--retry"]] {
        let ended = yard.piton(options);
        assert_eq!(ended.code, Some(4), "{}", said(&ended));
        let reason = format!(
            "the branch feature/A-2-two in {place} has work of it that is not on main, and another lead began it; \
             merge it with: git merge feature/A-2-two; or begin the story again: piton restart pipeline:A-2\n"
        );
        assert!(said(&ended).contains(&reason), "{}", said(&ended));
    }
    assert!(workers(yard).is_empty(), "no worker starts");
}

#[test]
fn a_story_of_another_lead_waits_for_the_work_that_it_counts_on() {
    for place in [".worktrees/story-A-2", ".worktrees/elsewhere"] {
        let yard = story_of_another_lead(place);
        is_held(&yard, place);
        yard.git(&["merge", "-q", "-m", "x", "feature/A-2-two"]);
        let ended = yard.piton(&["run", "--yes"]);
        assert_eq!(ended.code, Some(0), "{}", said(&ended));
        assert!(is_on_main(&yard, "x.txt") && is_on_main(&yard, "y.txt"), "{}", said(&ended));
        // Its directory is there, and no branch of that name.
        let told = ".worktrees/story-A-2 is there already; it works on feature/A-2-2";
        assert_eq!(said(&ended).contains(told), place.ends_with("story-A-2"), "{}", said(&ended));
        assert!(!said(&ended).contains("feature/A-2 is there already"), "{}", said(&ended));
    }
}

#[test]
fn a_story_of_another_lead_can_be_begun_again() {
    let yard = story_of_another_lead(".worktrees/story-A-2");
    is_held(&yard, ".worktrees/story-A-2");
    yard.run(&["restart", "pipeline:A-2"]);
    let ended = yard.piton(&["run", "--yes"]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    assert!(is_on_main(&yard, "y.txt") && !is_on_main(&yard, "x.txt"), "{}", said(&ended));
}

#[test]
fn a_story_of_another_lead_waits_for_files_that_are_not_committed() {
    let yard = story_of_another_lead(".worktrees/story-A-2");
    yard.git(&["-C", ".worktrees/story-A-2", "reset", "-q", "HEAD~1"]);
    let ended = yard.piton(&["run", "--yes"]);
    let words = "take it up with: git -C .worktrees/story-A-2 add -A && git -C .worktrees/story-A-2 commit -m 'work of A-2' && \
                 git merge feature/A-2-two; or begin the story again: piton restart pipeline:A-2";
    assert!(said(&ended).contains(words), "{}", said(&ended));
    let explained = yard.run(&["run", "--explain"]).stdout;
    assert!(explained.contains("is paused, and no worker starts"), "{explained}");
    yard.git(&["-C", ".worktrees/story-A-2", "add", "-A"]);
    yard.git(&["-C", ".worktrees/story-A-2", "commit", "-qm", "work of A-2"]);
    yard.git(&["merge", "-q", "-m", "x", "feature/A-2-two"]);
    let ended = yard.piton(&["run", "--yes"]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    assert!(is_on_main(&yard, "x.txt") && is_on_main(&yard, "y.txt"), "{}", said(&ended));
}
