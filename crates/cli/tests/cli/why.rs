//! `why`: how a unit was judged, and which sign decided.

use insta::assert_snapshot;

use crate::support::harbour::harbour;

#[test]
fn the_sign_that_decided_is_named() {
    let workspace = harbour();
    for (name, unit) in [
        ("a_field_decides", "crew:Agent-Primary"),
        ("a_future_time_is_not_believed", "crew:Secondary-F"),
        ("words_are_not_a_time", "crew:Secondary-E"),
        ("who_waits_is_not_expected", "crew:Secondary-B"),
        ("who_is_blocked_says_by_what", "task:boats/T063"),
        ("a_queued_story_waits_for_another", "pipeline:HARB-5"),
        ("a_plan_without_markers_counts_its_boxes", "plan:260219-1000-buoys"),
        ("a_failed_build_says_why", "build:PRD-003"),
        ("a_sentence_is_not_a_status", "build:PRD-005"),
    ] {
        assert_snapshot!(name, workspace.run(&["why", unit]).exits(0).transcript());
    }
    assert_snapshot!("why_json", workspace.run(&["why", "crew:Secondary-F", "--json"]).exits(0).transcript());
}
