//! A story is judged: NO-GO goes back to validation, FAIL back to work, each with what was wrong. When that does not help
//! the story is paused, and what the run says to type goes on with it.

use crate::facts::has_arrived;
use crate::follow::Situation;
use crate::ground::Ground;
use crate::lead::{Ended, Lead};
use crate::workers::Who;
use crate::works::STORIES;

/// Types what a run that ended said to type, until work has arrived.
#[track_caller]
pub fn goes_on(ground: &Ground, ended: &Ended, situation: Situation<'_>) -> Ended {
    let mut next = ended.next();
    let run = next.iter().position(|command| command.starts_with("piton run")).unwrap_or_else(|| panic!("{ended}"));
    let run = next.remove(run);
    if !next.is_empty() {
        ground.follows(&next, situation);
    }
    Lead::start(ground, &situation.fill(&run)).end()
}

fn judged(who: Who, policy: &str) -> (Ground, Ended) {
    let ground = STORIES.ground(who);
    ground.policy(who, policy);
    let ended = ground.run("--yes").end();
    (ground, ended)
}

crate::with_both! {
    fn a_no_go_is_validated_again(who) {
        let (ground, ended) = judged(who, "nogo-once");
        has_arrived(&ground, &STORIES, ended);
        let state = ground.json(".pipeline/state.json");
        assert_eq!(state["validation_retries"]["PROJ-1"], 1, "{state}");
        // Whoever validates again knows why it was no.
        let again = ground.prompts().into_iter().filter(|(name, _)| name.contains("pipeline-PROJ-1 1")).nth(1);
        let (_, prompt) = again.expect("a second validation");
        assert!(prompt.contains("the edge cases are not described"), "{prompt}");
    }

    fn a_fail_is_worked_on_again(who) {
        let (ground, ended) = judged(who, "fail-once");
        has_arrived(&ground, &STORIES, ended);
        let state = ground.json(".pipeline/state.json");
        assert_eq!(state["quality_cycles"]["PROJ-1"], 1, "{state}");
        let again = ground.prompts().into_iter().filter(|(name, _)| name.contains("pipeline-PROJ-1 2")).nth(1);
        let (_, prompt) = again.expect("a second execution");
        assert!(prompt.contains("the edge cases are not"), "{prompt}");
    }

    fn what_is_never_ready_is_paused_and_has_a_way_out(who) {
        let (ground, ended) = judged(who, "nogo");
        let ended = ended.exits(4, &ground);
        let state = ground.json(".pipeline/state.json");
        assert_eq!(state["story_state"]["PROJ-1"], "PAUSED", "{state}\n{}", ground.story());
        assert!(ground.types("piton why pipeline:PROJ-1").succeeds().stdout.contains("the edge cases are not described"));
        // The user describes them, and goes on.
        ground.policy(who, "");
        let ended = goes_on(&ground, &ended, Situation { text: "they are described now", ..Situation::default() });
        has_arrived(&ground, &STORIES, ended);
    }

    fn what_always_fails_is_paused_and_has_a_way_out(who) {
        let (ground, ended) = judged(who, "fail");
        let ended = ended.exits(4, &ground);
        let state = ground.json(".pipeline/state.json");
        assert_eq!(state["story_state"]["PROJ-1"], "PAUSED", "{state}\n{}", ground.story());
        assert!(state["story_results"]["PROJ-1"]["stage3"].as_str().is_some_and(|text| text.contains("FAIL")), "{state}");
        ground.policy(who, "");
        let ended = goes_on(&ground, &ended, Situation { text: "they are tested now", ..Situation::default() });
        has_arrived(&ground, &STORIES, ended);
    }
}

/// Every verdict that lets a story pass is one that the prompt offers.
#[test]
fn a_story_arrives_with_concerns_and_with_a_waiver() {
    for policy in ["concerns", "waived"] {
        let (ground, ended) = judged(Who::Obedient, policy);
        has_arrived(&ground, &STORIES, ended);
        let state = ground.json(".pipeline/state.json");
        let result = &state["story_results"]["PROJ-1"]["stage3"];
        assert!(result.as_str().is_some_and(|text| text.contains(&policy.to_uppercase())), "{state}");
    }
}
