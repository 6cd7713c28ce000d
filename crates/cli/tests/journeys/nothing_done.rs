//! A worker looks around, does nothing and exits with 0. That is not "done": it has a reason of its own, with what the
//! worker printed, and the run offers a way on.

use crate::facts::has_arrived;
use crate::follow::Situation;
use crate::verdicts::goes_on;
use crate::workers::Who;
use crate::works::{self, Work};

fn has_not_finished(work: &Work) {
    let who = Who::Obedient;
    let ground = work.ground_with(who, "reworks = 1\n");
    ground.policy(who, "nothing");
    let ended = ground.run(&format!("{} --yes", work.named)).end().exits(4, &ground);
    let why = ground.types(&format!("piton why {}", work.units[0])).succeeds();
    assert!(why.stdout.contains("I looked around and found everything in order."), "{why}\n{ended}");
    let why = why.stdout.to_lowercase();
    assert!(why.contains("nothing") || why.contains("without"), "it is a reason of its own: {why}\n{ended}");
    ground.policy(who, "");
    has_arrived(&ground, work, goes_on(&ground, &ended, Situation::default()));
}

/// Once is mended by another worker, without a person.
fn is_started_again(work: &Work, who: Who) {
    let ground = work.ground(who);
    ground.policy(who, "nothing-once");
    has_arrived(&ground, work, ground.run(&format!("{} --yes", work.named)).end());
}

#[test]
fn by_the_worker_of_a_story() {
    has_not_finished(&works::STORIES);
}

#[test]
fn by_the_worker_of_a_plan() {
    has_not_finished(&works::PLAN);
}

#[test]
fn by_the_worker_of_a_build() {
    has_not_finished(&works::BUILD);
}

#[test]
fn by_the_worker_of_a_task() {
    has_not_finished(&works::TASKS);
}

#[test]
fn by_an_agent_of_a_crew() {
    has_not_finished(&works::CREW);
}

crate::with_both! {
    fn once_in_a_story(who) {
        is_started_again(&works::STORIES, who);
    }

    fn once_in_a_plan(who) {
        is_started_again(&works::PLAN, who);
    }

    fn once_in_a_build(who) {
        is_started_again(&works::BUILD, who);
    }

    fn once_in_a_task(who) {
        is_started_again(&works::TASKS, who);
    }

    fn once_in_a_crew(who) {
        is_started_again(&works::CREW, who);
    }
}
