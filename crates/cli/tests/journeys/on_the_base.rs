//! Done means that the result is on `main`. A worker that leaves it uncommitted, on a branch of its own or in a file that
//! git ignores has not delivered it, and what was there before is no result.

use crate::facts::{has_arrived, is_on_main};
use crate::follow::Situation;
use crate::ground::Ground;
use crate::verdicts::goes_on;
use crate::workers::Who;
use crate::works::{self, Work};

/// A worker that misplaces its work once starts again with what is missing, and the work arrives.
fn is_delivered(work: &Work, who: Who, policy: &str) {
    let ground = work.ground(who);
    ground.policy(who, policy);
    has_arrived(&ground, work, ground.run(&format!("{} --yes", work.named)).end());
}

/// However it ends, nothing is called done that is not on `main`.
#[track_caller]
fn is_honest(ground: &Ground, work: &Work) {
    let ended = ground.run(&format!("{} --yes", work.named)).end();
    match ended.code {
        Some(0) => is_on_main(ground, work),
        Some(4) => {
            assert_ne!(ended.outcome()["outcome"], "done", "{ended}");
            let why = ground.types(&format!("piton why {}", work.units[0])).succeeds();
            assert!(
                work.files.iter().any(|file| why.stdout.contains(file)),
                "the reason names what is missing: {why}\n{ended}"
            );
        }
        _ => panic!("{ended}\n{}", ground.story()),
    }
}

const IGNORED: Work = Work::new("docs/EXECUTION-SPEC-PRD-035.md", &["build:PRD-035"], &["cache/table.txt"], |ground| {
    ground.types("echo cache/ >> .gitignore").succeeds();
    ground.write(
        "docs/EXECUTION-SPEC-PRD-035.md",
        "---\nprd: PRD-035\nprd_title: A table\nworkstreams:\n  WS1:\n    name: Table\n    outputs: [cache/table.txt]\n\
         execution_phases:\n  - name: All\n    parallel: [WS1]\n---\n# A table\n",
    );
});

const THERE_BEFORE: Work = Work::new("docs/EXECUTION-SPEC-PRD-036.md", &["build:PRD-036"], &["README.md"], |ground| {
    ground.write(
        "docs/EXECUTION-SPEC-PRD-036.md",
        "---\nprd: PRD-036\nprd_title: A page\nworkstreams:\n  WS1:\n    name: Page\n    outputs: [README.md]\n\
         execution_phases:\n  - name: All\n    parallel: [WS1]\n---\n# A page\n",
    );
});

crate::with_both! {
    fn what_a_story_left_uncommitted(who) {
        is_delivered(&works::STORIES, who, "uncommitted-once");
    }

    fn what_a_plan_left_uncommitted(who) {
        is_delivered(&works::PLAN, who, "uncommitted-once");
    }

    fn what_a_build_left_uncommitted(who) {
        is_delivered(&works::BUILD, who, "uncommitted-once");
    }

    fn what_a_task_left_uncommitted(who) {
        is_delivered(&works::TASKS, who, "uncommitted-once");
    }

    fn what_a_crew_left_uncommitted(who) {
        is_delivered(&works::CREW, who, "uncommitted-once");
    }

    fn what_a_worker_committed_on_a_branch_of_its_own(who) {
        for work in [works::STORIES, works::PLAN, works::BUILD] {
            let ground = work.ground_with(who, "reworks = 1\n");
            ground.policy(who, "own-branch");
            is_honest(&ground, &work);
        }
    }

    fn an_output_that_git_ignores(who) {
        is_honest(&IGNORED.ground_with(who, "reworks = 1\n"), &IGNORED);
    }
}

#[test]
fn an_output_that_was_there_before_is_not_made() {
    let who = Who::Obedient;
    let ground = THERE_BEFORE.ground_with(who, "reworks = 1\n");
    ground.policy(who, "nothing");
    let ended = ground.run(&format!("{} --yes", THERE_BEFORE.named)).end().exits(4, &ground);
    assert_ne!(ended.outcome()["outcome"], "done", "{ended}");
}

/// A user's branch has the name that Piton would give to a story's.
#[test]
fn a_branch_of_the_user_is_neither_used_nor_merged() {
    let ground = works::STORIES.ground(Who::ByTheBook);
    ground.types("git switch -q -c feature/PROJ-1-greet").succeeds();
    ground.write("secret.txt", "not for main\n");
    ground.commit("what the user tries out");
    ground.types("git switch -q main").succeeds();
    let before = ground.git("rev-parse feature/PROJ-1-greet");
    let ended = ground.run("--yes").end();
    assert!(!ground.git("ls-tree -r --name-only main").contains("secret.txt"), "it was merged unseen\n{ended}");
    assert_eq!(ground.git("rev-parse feature/PROJ-1-greet"), before, "the branch is the user's\n{ended}");
    if ended.code == Some(4) {
        // It is in the way: the run names it, and goes on when the user has renamed it.
        assert!(ended.said().contains("feature/PROJ-1-greet"), "{ended}");
        ground.types("git branch -m feature/PROJ-1-greet mine").succeeds();
        goes_on(&ground, &ended, Situation::default()).exits(0, &ground);
    } else {
        ended.exits(0, &ground);
    }
    assert!(!ground.git("ls-tree -r --name-only main").contains("secret.txt"), "it was merged unseen");
}
