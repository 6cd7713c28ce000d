//! A worker runs into its usage limit. It is parked until that is over, nobody counts it as dead, and the work arrives.

use crate::facts::has_arrived;
use crate::workers::Who;
use crate::works::{self, Work};

fn parked(work: &Work, who: Who) {
    let ground = work.ground(who);
    ground.policy(who, "limit-once");
    let ended = ground.run(&format!("{} --yes", work.named)).end();
    assert!(ended.told("parked"), "{ended}\n{}", ground.story());
    has_arrived(&ground, work, ended);
}

crate::with_both! {
    fn of_a_story(who) {
        parked(&works::STORIES, who);
    }

    fn of_a_plan(who) {
        parked(&works::PLAN, who);
    }

    fn of_a_build(who) {
        parked(&works::BUILD, who);
    }

    fn of_a_task(who) {
        parked(&works::TASKS, who);
    }

    fn of_a_crew(who) {
        parked(&works::CREW, who);
    }
}

/// While the limit lasts, every door says so; a lead that is killed meanwhile is followed by one that still waits.
#[test]
fn every_door_says_that_it_waits() {
    let who = Who::Obedient;
    let ground = works::STORIES.ground(who);
    ground.policy(who, "limit-long-once");
    let mut lead = ground.run("--yes");
    lead.until(|event| event["event"] == "parked").expect("it is parked");
    ground.wait_for("status to say that it waits", || {
        ground.reads("status pipeline:PROJ-1")["units"][0]["lifecycle"] == "waiting"
    });
    let why = ground.types("piton why pipeline:PROJ-1").succeeds();
    assert!(why.stdout.contains("limit"), "{why}");
    lead.kill();
    let command = ground.command_to_continue();
    let mut lead = crate::lead::Lead::start(&ground, &command);
    lead.until(|event| event["event"] == "parked").expect("it is still parked");
    assert_eq!(ground.prompts().len(), 1, "no worker starts before the limit is over\n{}", ground.story());
}
