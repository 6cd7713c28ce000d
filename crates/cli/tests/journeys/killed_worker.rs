//! A worker is killed in the middle of its step, with work that it had not committed. Another one goes on, and the work
//! arrives.

use crate::facts::has_arrived;
use crate::workers::Who;
use crate::works::{self, Work};

/// Kills a worker at a point of its work, and with it the lead when that is asked for.
fn killed_at(work: &Work, who: Who, point: &str, with_its_lead: bool) {
    let ground = work.ground(who);
    ground.policy(who, &format!("hold-{point}"));
    ground.types(&format!("piton approve --commands{}", work.arguments())).succeeds();
    let mut lead = ground.run(&format!("{} --yes", work.named));
    let worker = lead.worker_at(point).to_string();
    let lead = if with_its_lead {
        lead.kill();
        ground.types(&format!("kill -9 {worker}")).succeeds();
        let command = ground.command_to_continue();
        crate::lead::Lead::start(&ground, &command)
    } else {
        ground.types(&format!("kill -9 {worker}")).succeeds();
        lead
    };
    has_arrived(&ground, work, lead.end());
}

crate::with_both! {
    fn of_a_story(who) {
        killed_at(&works::STORIES, who, "work", false);
    }

    fn of_a_story_after_it_recorded_a_task(who) {
        killed_at(&works::STORIES, who, "recorded", false);
    }

    fn of_a_story_together_with_its_lead(who) {
        killed_at(&works::STORIES, who, "work", true);
    }

    fn of_a_plan(who) {
        killed_at(&works::PLAN, who, "work", false);
    }

    fn of_a_plan_together_with_its_lead(who) {
        killed_at(&works::PLAN, who, "work", true);
    }

    fn of_a_build(who) {
        killed_at(&works::BUILD, who, "work", false);
    }

    fn of_a_build_together_with_its_lead(who) {
        killed_at(&works::BUILD, who, "work", true);
    }

    fn of_a_task(who) {
        killed_at(&works::TASKS, who, "work", false);
    }

    fn of_a_task_after_it_recorded_a_subtask(who) {
        killed_at(&works::TASKS, who, "recorded", false);
    }

    fn of_a_crew(who) {
        killed_at(&works::CREW, who, "work", false);
    }

    fn of_a_crew_together_with_its_lead(who) {
        killed_at(&works::CREW, who, "work", true);
    }
}
