//! The user goes on working while a run is at work: commits on `main`, edits the plan. Both are respected.

use crate::facts::has_arrived;
use crate::ground::Ground;
use crate::workers::Who;
use crate::works::{self, PLAN, PLAN_FILE, PLAN_TEXT, Work};

/// Runs until a worker is at its work, lets the user do something, and lets the worker go on.
fn meanwhile(work: &Work, who: Who, does: impl FnOnce(&Ground)) -> Ground {
    let ground = work.ground(who);
    ground.policy(who, "hold-work");
    let mut lead = ground.run(&format!("{} --yes", work.named));
    lead.worker_at("work");
    does(&ground);
    ground.lets_go("work");
    let ended = lead.end();
    has_arrived(&ground, work, ended);
    ground
}

fn commits(ground: &Ground) {
    ground.write("notes.txt", "what the user thought of\n");
    ground.commit("a note of the user");
}

fn keeps_the_commit(work: &Work, who: Who) {
    let ground = meanwhile(work, who, commits);
    assert_eq!(ground.git("show main:notes.txt"), "what the user thought of\n");
    assert!(ground.git("log --format=%s main").contains("a note of the user"));
}

crate::with_both! {
    fn a_commit_on_main_during_stories(who) {
        keeps_the_commit(&works::STORIES, who);
    }

    fn a_commit_on_main_during_a_plan(who) {
        keeps_the_commit(&PLAN, who);
    }

    fn a_commit_on_main_during_a_build(who) {
        keeps_the_commit(&works::BUILD, who);
    }

    fn a_commit_on_main_during_tasks(who) {
        keeps_the_commit(&works::TASKS, who);
    }

    fn a_commit_on_main_during_a_crew(who) {
        keeps_the_commit(&works::CREW, who);
    }

    fn a_box_that_the_user_ticks_is_done(who) {
        let work = Work { files: &["dig.txt", "pour.txt"], ..PLAN };
        let ground = meanwhile(&work, who, |ground| {
            let text = ground.text(PLAN_FILE);
            ground.write(PLAN_FILE, &text.replace("- [ ] Lay the bricks", "- [x] Lay the bricks"));
        });
        assert!(!ground.prompts().iter().any(|(name, _)| name.ends_with(" lay")), "no worker starts for what is done");
    }

    fn a_box_that_the_user_adds_is_worked_on(who) {
        let work = Work { files: &["dig.txt", "pour.txt", "lay.txt", "thatch.txt"], ..PLAN };
        meanwhile(&work, who, |ground| {
            let text = ground.text(PLAN_FILE);
            ground.write(PLAN_FILE, &format!("{text}- [ ] Thatch the roof <!-- TASK: thatch -->\n"));
        });
    }

    fn a_box_that_the_user_removes_is_left_alone(who) {
        let work = Work { files: &["dig.txt", "pour.txt"], ..PLAN };
        let ground = meanwhile(&work, who, |ground| {
            let text = ground.text(PLAN_FILE);
            ground.write(PLAN_FILE, &text.replace("- [ ] Lay the bricks <!-- TASK: lay -->\n", ""));
        });
        assert!(!ground.prompts().iter().any(|(name, _)| name.ends_with(" lay")), "no worker starts for what is gone");
        assert!(!ground.text(PLAN_FILE).contains("bricks"), "the box does not come back");
    }
}

#[test]
fn the_plan_has_the_boxes_that_these_journeys_change() {
    for text in ["- [ ] Lay the bricks", "- [ ] Lay the bricks <!-- TASK: lay -->\n"] {
        assert!(PLAN_TEXT.contains(text));
    }
}
