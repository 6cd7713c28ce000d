//! Stories that go on in another way than they began: without planning, or from another lead.

use crate::whose_word::{is_on_main, said, set_hook, workers, yard};
use crate::yard::Ended;

const STORY: &str = "[[stories]]\nid = \"S-1\"\ntitle = \"One\"\ntext = \"Do it.\"\n";

/// Validates when it is asked to; the rest is as usual.
const VALIDATES: &str = r#"if [ "$PITON_STAGE" = 1 ]; then "$PITON" verdict "$PITON_UNIT" GO --score 8; exit 0; fi"#;

fn must_be_done(ended: &Ended) {
    assert_eq!(ended.code, Some(0), "{}", said(ended));
}

#[test]
fn planning_may_be_left_out_after_its_worker_died() {
    let yard = yard(r#"if [ "$PITON_STAGE" = 0 ]; then exit 1; fi"#, STORY, &[]);
    assert_eq!(yard.piton(&["run", "--yes"]).code, Some(4));
    set_hook(&yard, VALIDATES);
    yard.workspace.write("piton.toml", format!("{}stages = [1, 2, 3]\n", yard.text("piton.toml")));
    yard.commit("without planning");
    must_be_done(&yard.piton(&["run", "--yes", "--retry"]));
    assert!(is_on_main(&yard, "S-1.txt"));
}

#[test]
fn story_without_planning_begins_again_when_it_is_restarted() {
    let dies = format!(r#"{VALIDATES}; if [ "$PITON_STAGE" = 2 ]; then exit 1; fi"#);
    let yard = yard(&dies, &format!("{STORY}stages = [1, 2, 3]\n"), &[]);
    assert_eq!(yard.piton(&["run", "--yes"]).code, Some(4));
    yard.run(&["restart", "pipeline:S-1"]);
    set_hook(&yard, VALIDATES);
    must_be_done(&yard.piton(&["run", "--yes"]));
    assert!(is_on_main(&yard, "S-1.txt"));
}

#[test]
fn story_of_another_lead_without_its_checkpoint_goes_on_as_the_pause_says() {
    let yard = yard("", "", &[]);
    let state = r#"{"complete": false, "active_workers": 0, "stories_remaining": 1, "last_check": "2026-02-17T10:00:00Z",
"story_state": {"S-1": "STAGE_3"}, "worker_map": {}, "quality_cycles": {}, "validation_retries": {}, "crash_count": {},
"priority_queue_ids": [], "depends_on": {}}"#;
    yard.workspace.write(".pipeline/state.json", state);
    let ended = yard.piton(&["run", "--yes"]);
    assert_eq!(ended.code, Some(4), "{}", said(&ended));
    assert!(said(&ended).contains("piton start pipeline:S-1 --stage 2"), "{}", said(&ended));
    yard.run(&["start", "pipeline:S-1", "--stage", "2"]);
    must_be_done(&yard.piton(&["run", "--yes"]));
    assert_eq!(workers(&yard), ["S-1", "S-1"], "one executes, one judges");
}
