//! A worker is silent for longer than the lead's patience. The lead asks it before it is taken for dead: one that answers
//! goes on, one that does not is ended, and another one takes its place.

use crate::facts::has_arrived;
use crate::lead::Ended;
use crate::workers::Who;
use crate::works::{self, Work};

/// What is told about a worker, in the order in which it was told.
fn told_of<'a>(ended: &'a Ended, event: &str) -> Vec<&'a str> {
    ended.events.iter().filter(|each| each["event"] == event).filter_map(|each| each["text"].as_str()).collect()
}

fn answers(work: &Work, who: Who) {
    let ground = work.ground_with(who, "patience = 1\nanswer = 30\n");
    ground.policy(who, "silent-once");
    let ended = ground.run(&format!("{} --yes", work.named)).end();
    assert!(!told_of(&ended, "asked").is_empty(), "{ended}\n{}", ground.story());
    assert!(told_of(&ended, "stopping").is_empty(), "a worker that answered was ended\n{ended}\n{}", ground.story());
    has_arrived(&ground, work, ended);
}

fn never_answers(work: &Work, who: Who) {
    let ground = work.ground_with(who, "patience = 1\nanswer = 0.5\n");
    ground.policy(who, "hang-once");
    let ended = ground.run(&format!("{} --yes", work.named)).end();
    assert!(!told_of(&ended, "asked").is_empty(), "{ended}\n{}", ground.story());
    has_arrived(&ground, work, ended);
}

crate::with_both! {
    fn of_a_story_that_is_answered(who) {
        answers(&works::STORIES, who);
    }

    fn of_a_task_that_is_answered(who) {
        answers(&works::TASKS, who);
    }

    fn of_a_crew_that_is_answered(who) {
        answers(&works::CREW, who);
    }

    fn of_a_plan_that_is_not_answered(who) {
        never_answers(&works::PLAN, who);
    }

    fn of_a_build_that_is_not_answered(who) {
        never_answers(&works::BUILD, who);
    }

    fn of_a_story_that_is_not_answered(who) {
        never_answers(&works::STORIES, who);
    }
}
