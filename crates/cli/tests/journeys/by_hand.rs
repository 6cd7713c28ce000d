//! Documents that a worker wrote where its protocol lets it, and not where the lead looks first.

use crate::facts::has_arrived;
use crate::workers::Who;
use crate::works;

/// A relative `.pipeline/` lands in the worktree.
#[test]
fn a_checkpoint_in_the_worktree_is_found() {
    let who = Who::ByTheBook;
    let ground = works::STORIES.ground(who);
    ground.policy(who, "stray");
    has_arrived(&ground, &works::STORIES, ground.run("--yes").end());
}

#[test]
fn a_box_ticked_in_the_worktree_is_found() {
    let who = Who::ByTheBook;
    let ground = works::PLAN.ground(who);
    ground.policy(who, "tick-in-worktree");
    has_arrived(&ground, &works::PLAN, ground.run("plan:260301-0900-hut --yes").end());
}

#[test]
fn a_task_that_its_agent_archived_is_complete() {
    let who = Who::ByTheBook;
    let ground = works::TASKS.ground(who);
    ground.policy(who, "archive");
    has_arrived(&ground, &works::TASKS, ground.run("tasks.toml --yes").end());
}

/// Torn while a lead is at work: it is written again from what is known.
#[test]
fn a_state_that_is_torn_is_rebuilt_by_the_living_lead() {
    let who = Who::ByTheBook;
    let ground = works::STORIES.ground(who);
    ground.policy(who, "hold-work");
    let mut lead = ground.run("--yes");
    lead.worker_at("work");
    ground.write(".pipeline/state.json", "{\"complete\": fal");
    ground.lets_go("work");
    has_arrived(&ground, &works::STORIES, lead.end());
}

/// Gone between two leads.
#[test]
fn a_state_that_is_lost_is_rebuilt_by_the_next_lead() {
    let who = Who::ByTheBook;
    let ground = works::STORIES.ground(who);
    ground.policy(who, "hold-work");
    let mut lead = ground.run("--yes");
    lead.worker_at("work");
    lead.kill();
    std::fs::remove_file(ground.path(".pipeline/state.json")).expect("it is there");
    ground.lets_go("work");
    let command = ground.command_to_continue();
    has_arrived(&ground, &works::STORIES, crate::lead::Lead::start(&ground, &command).end());
}
