//! The user ends a run: with Ctrl-C, with `piton stop`, or by starting it detached and going away. What is open is
//! continued by the command that is printed.

use crate::facts::has_arrived;
use crate::lead::Lead;
use crate::works::STORIES;

crate::with_both! {
    fn ctrl_c_waits_for_the_workers(who) {
        let ground = STORIES.ground(who);
        ground.policy(who, "hold-work");
        let mut lead = ground.run("--yes");
        lead.worker_at("work");
        ground.types(&format!("kill -INT {}", lead.pid())).succeeds();
        ground.lets_go("work");
        let ended = lead.end().exits(1, &ground);
        let command = ended.next().pop().expect("a command");
        has_arrived(&ground, &STORIES, Lead::start(&ground, &command).end());
        assert_eq!(ground.prompts().len(), 8, "no worker was ended, none was started twice\n{}", ground.story());
    }

    fn stop_ends_the_workers_when_that_is_asked(who) {
        let ground = STORIES.ground(who);
        ground.policy(who, "hold-work");
        let mut lead = ground.run("--yes");
        lead.worker_at("work");
        ground.types("piton stop --workers").succeeds();
        let ended = lead.end().exits(1, &ground);
        ground.wait_for("the workers to be gone", || ground.processes().is_empty());
        let command = ended.next().pop().expect("a command");
        assert_eq!(ground.command_to_continue(), command, "the run and status say the same");
        has_arrived(&ground, &STORIES, Lead::start(&ground, &command).end());
    }

    fn detached_it_goes_on_alone(who) {
        let ground = STORIES.ground(who);
        ground.policy(who, "hold-work");
        ground.types("piton run --yes --detach").succeeds();
        ground.wait_for("a worker", || ground.worker_at("work").is_some());
        let status = ground.types("piton status").succeeds();
        assert!(status.said().lines().next().unwrap_or_default().contains("lead"), "a lead is at work: {status}");
        let lead = ground.run("");
        ground.lets_go("work");
        has_arrived(&ground, &STORIES, lead.end());
    }
}
