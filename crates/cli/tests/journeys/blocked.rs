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
    let told = ground.prompts().into_iter().skip(asked).any(|(_, prompt)| outside_of_fences(&prompt).contains(ANSWER));
    assert!(told, "the answer is an instruction, and reaches the next worker\n{:?}", ground.prompts());
    has_arrived(&ground, work, ended);
}

/// What a prompt says itself. What stands inside of a fence are words of others, which instruct nobody.
fn outside_of_fences(prompt: &str) -> String {
    let mut is_inside = false;
    let is_outside = |line: &&str| {
        let was_inside = is_inside;
        is_inside = if was_inside { !line.ends_with(">>>") } else { line.starts_with("<<<") };
        !was_inside && !is_inside
    };
    prompt.lines().filter(is_outside).map(|line| format!("{line}\n")).collect()
}

crate::with_both! {
    fn a_plan(who) {
        answered(&works::PLAN, who, "block-once");
    }

    fn a_task(who) {
        answered(&works::TASKS, who, "block-once");
    }

    fn a_crew(who) {
        answered(&works::CREW, who, "block-once");
    }

    fn a_task_with_a_question(who) {
        answered(&works::TASKS, who, "question-once");
    }
}

/// The protocols of stories and builds have no word for a worker that is blocked; only a command can say it.
#[test]
fn a_story() {
    answered(&works::STORIES, Who::Obedient, "block-once");
}

#[test]
fn a_story_with_a_question() {
    answered(&works::STORIES, Who::Obedient, "question-once");
}

#[test]
fn a_build() {
    answered(&works::BUILD, Who::Obedient, "block-once");
}
