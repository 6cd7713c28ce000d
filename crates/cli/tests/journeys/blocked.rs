//! A worker does not know how to go on and says so. The run ends with the question; the user's answer reaches the next
//! worker, and the work arrives.

use crate::facts::has_arrived;
use crate::follow::Situation;
use crate::verdicts::goes_on;
use crate::workers::Who;
use crate::works::{self, Work};

const ANSWER: &str = "use port 8080, the other one is taken";

fn answered(work: &Work, who: Who, policy: &str) {
    let ground = work.ground(who);
    ground.policy(who, policy);
    let ended = ground.run(&format!("{} --yes", work.named)).end().exits(4, &ground);
    let question = "which of two ports is wanted?";
    assert!(ended.to_string().contains(question), "{ended}");
    let asked = ground.prompts().len();
    let ended = goes_on(&ground, &ended, Situation { text: ANSWER, ..Situation::default() });
    let told = ground.prompts().into_iter().skip(asked).any(|(_, prompt)| {
        let prompt = prompt.split("<<<").next().unwrap_or_default().to_owned();
        prompt.contains(ANSWER)
    });
    assert!(told, "the answer is an instruction, and reaches the next worker\n{:?}", ground.prompts());
    has_arrived(&ground, work, ended);
}

crate::with_both! {
    fn a_plan(who) open(both) {
        answered(&works::PLAN, who, "block-once");
    }

    fn a_task(who) open(both) {
        answered(&works::TASKS, who, "block-once");
    }

    fn a_crew(who) open(both) {
        answered(&works::CREW, who, "block-once");
    }

    fn a_task_with_a_question(who) open(both) {
        answered(&works::TASKS, who, "question-once");
    }
}

/// The protocols of stories and builds have no word for a worker that is blocked; only a command can say it.
#[test]
#[ignore = "open"]
fn a_story() {
    answered(&works::STORIES, Who::Obedient, "block-once");
}

#[test]
#[ignore = "open"]
fn a_story_with_a_question() {
    answered(&works::STORIES, Who::Obedient, "question-once");
}

#[test]
#[ignore = "open"]
fn a_build() {
    answered(&works::BUILD, Who::Obedient, "block-once");
}
