//! The lead is killed at every boundary: each time a stage, a phase, a gate or a merge is over. The user types what
//! `piton status` says, and the work arrives.

use std::collections::BTreeSet;

use crate::facts::{has_arrived, is_all_done};
use crate::follow::Situation;
use crate::lead::Lead;
use crate::workers::Who;
use crate::works::{self, Work};

/// What ends something that the next lead has to know about.
const BOUNDARIES: [&str; 6] = ["stage", "passed", "gate", "merged", "phase", "started"];

/// More leads than any of these journeys needs.
const LEADS: usize = 60;

/// Kills the lead at each boundary once; at least so many of them.
fn killed_everywhere(work: &Work, who: Who, at_least: usize) {
    let ground = work.ground(who);
    ground.types(&format!("piton approve --commands{}", work.arguments())).succeeds();
    let mut command = format!("piton run{}", work.arguments());
    let mut passed = BTreeSet::new();
    for _ in 0..LEADS {
        let mut lead = Lead::start(&ground, &command);
        let boundary = |event: &serde_json::Value| {
            BOUNDARIES.iter().any(|name| event["event"] == *name) && !passed.contains(&event_of(event))
        };
        if let Some(event) = lead.until(boundary) {
            passed.insert(event_of(&event));
            lead.kill();
            let Ok(offer) = ground.offer_to_continue() else {
                // The lead had ended the run before it was killed.
                assert!(passed.len() >= at_least, "only {} boundaries: {passed:?}", passed.len());
                return is_all_done(&ground, work);
            };
            command = offer;
            continue;
        }
        let ended = lead.end();
        if ended.code == Some(4) && ended.told("approval") {
            // A build waits for its user after each phase; the last command that it offers goes on.
            let mut next = ended.next();
            command = next.pop().expect("a command");
            if !next.is_empty() {
                ground.follows(&next, Situation::default());
            }
            continue;
        }
        assert!(passed.len() >= at_least, "only {} boundaries: {passed:?}", passed.len());
        return has_arrived(&ground, work, ended);
    }
    panic!("{LEADS} leads did not bring it to its end: {passed:?}\n{}", ground.story());
}

/// What happened to what; not when, nor how often.
fn event_of(event: &serde_json::Value) -> String {
    let text = event["text"].as_str().unwrap_or_default().replace(|c: char| c.is_ascii_digit(), "");
    format!("{} {} {text}", event["event"], event["name"])
}

crate::with_both! {
    fn of_stories(who) {
        killed_everywhere(&works::STORIES, who, 12);
    }

    fn of_a_plan(who) {
        killed_everywhere(&works::PLAN, who, 6);
    }

    fn of_a_build(who) {
        killed_everywhere(&works::BUILD, who, 10);
    }

    fn of_tasks(who) {
        killed_everywhere(&works::TASKS, who, 4);
    }

    fn of_a_crew(who) {
        killed_everywhere(&works::CREW, who, 5);
    }
}
