//! What a run writes down about stories that are paused, planned badly, taken over, or done by a part of it.

use std::fs;

use crate::whose_word::{said, set_hook, workers, yard};

const STORY: &str = "[[stories]]\nid = \"S-1\"\ntitle = \"One\"\nstages = [2, 3]\n";

const FAILS: &str =
    r#"if [ "$PITON_STAGE" = 3 ]; then "$PITON" verdict "$PITON_UNIT" FAIL --score 20 --issues slow; exit 0; fi"#;

#[test]
fn a_paused_story_has_its_commits_in_state_and_report() {
    let yard = yard(FAILS, STORY, &[]);
    let ended = yard.piton(&["run", "--yes"]);
    assert_eq!(ended.code, Some(4), "{}", said(&ended));
    let state = yard.read_json(".pipeline/state.json");
    assert_eq!(state["git_stats"]["S-1"]["files_changed"], 1, "{state}");
    let report = yard.read_json(".piton/run/report.json");
    assert_eq!(report["lanes"][0]["git"]["commits"], 1, "{report}");
}

/// Its judge refuses the work once. Each worker takes a second and more.
const FAILS_ONCE: &str = r#"sleep 1.1
if [ "$PITON_STAGE" = 2 ]; then for fix in S-1-fix1; do keep again; "$PITON" step "$PITON_UNIT" done $fix; done; fi
if [ "$PITON_STAGE" = 3 ] && ! [ -e "$MARKS/failed" ]; then
  : > "$MARKS/failed"; "$PITON" verdict "$PITON_UNIT" FAIL --score 20 --issues slow; exit 0
fi"#;

#[test]
fn times_of_stages_that_are_worked_on_twice_do_not_overlap() {
    let yard = yard(FAILS_ONCE, STORY, &[]);
    let settings = yard.text("piton.toml").replace("reworks = 0", "reworks = 1");
    yard.workspace.write("piton.toml", settings);
    let ended = yard.run(&["run", "--yes"]);
    assert_eq!(workers(&yard).len(), 4, "{}", said(&ended));
    let report = yard.read_json(".piton/run/report.json");
    let seconds = |lane: &serde_json::Value| lane["seconds"].as_u64().expect("a number");
    let (lane, whole) = (&report["lanes"][0], seconds(&report));
    assert!(seconds(lane) >= 4 && seconds(lane) <= whole, "{report}");
    for stage in lane["stages"].as_array().expect("stages") {
        assert!(seconds(stage) >= 2 && seconds(stage) < whole, "{report}");
    }
}

#[test]
fn end_of_a_worker_is_told_with_what_its_work_lacks() {
    let yard = yard("exit 0", STORY, &[]);
    let ended = yard.piton(&["run", "--yes"]);
    assert_eq!(ended.code, Some(4), "{}", said(&ended));
    let report = yard.text(".piton/run/report.md");
    assert!(report.contains("its worker ended: exit code 0; not complete: "), "{report}");
}

#[test]
fn a_run_whose_stories_are_all_paused_has_ended() {
    let more = format!("{STORY}[[stories]]\nid = \"S-2\"\ntitle = \"Two\"\nstages = [2, 3]\ndepends_on = [\"S-1\"]\n");
    let yard = yard(FAILS, &more, &[]);
    assert_eq!(yard.piton(&["run", "--yes"]).code, Some(4));
    let state = yard.read_json(".pipeline/state.json");
    assert_eq!((&state["complete"], &state["story_state"]["S-2"]), (&true.into(), &"PAUSED".into()), "{state}");
    // The one that is taken up again opens the pipeline.
    set_hook(&yard, "");
    yard.run(&["run", "--retry"]);
}

#[test]
fn the_readiness_of_another_lead_decides_how_the_quality_is_judged() {
    let hook = r#"[ "$PITON_STAGE" != 3 ] || cat > "$MARKS/judge""#;
    let yard = yard(hook, "", &[]);
    let checkpoint = r#"{"storyId": "A-3", "stage": 1, "agentId": "old", "tasksCompleted": [], "tasksRemaining": [],
        "lastAction": "x", "timestamp": "2026-02-14T10:00:00Z", "verdict": "GO", "readiness": 10, "plannedTasks": [{"id": "A-3"}]}"#;
    yard.workspace.write(".pipeline/checkpoint-A-3.json", checkpoint);
    yard.workspace.write(".pipeline/state.json", r#"{"complete": false, "story_state": {"A-3": "STAGE_2"}}"#);
    let ended = yard.piton(&["run", "--yes"]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    assert_eq!(yard.read_json(".pipeline/state.json")["readiness_scores"]["A-3"], 10);
    let prompt = fs::read_to_string(yard.outer("marks/judge")).expect("a prompt");
    assert!(prompt.contains("short review"), "{prompt}");
}

/// Plans with a score that a file of the test gives, and keeps its prompts.
const PLANS: &str = r#"case $PITON_STAGE in
0) cat >> "$MARKS/plans"; "$PITON" step "$PITON_UNIT" begin S-1 --title T --description D
"$PITON" verdict "$PITON_UNIT" PLAN --score "$(cat "$MARKS/score")"; exit 0 ;;
1) "$PITON" verdict "$PITON_UNIT" GO --score 8; exit 0 ;; esac"#;

#[test]
fn a_poor_plan_goes_back_to_a_worker_that_knows_its_score() {
    let yard = yard(PLANS, "[[stories]]\nid = \"S-1\"\ntitle = \"One\"\n", &[]);
    fs::write(yard.outer("marks/score"), "1").expect("it can be written");
    let ended = yard.piton(&["run", "--yes"]);
    assert_eq!(ended.code, Some(4), "{}", said(&ended));
    assert!(said(&ended).contains("the plan's score is 1; 2 is needed"), "{}", said(&ended));
    assert_eq!(workers(&yard).len(), 2, "{}", said(&ended));
    let told = || fs::read_to_string(yard.outer("marks/plans")).expect("prompts");
    assert_eq!(told().matches("Its score was 1 of 4; 2 is needed").count(), 1, "{}", told());
    fs::write(yard.outer("marks/score"), "3").expect("it can be written");
    yard.run(&["run", "--retry"]);
    assert_eq!(told().matches("Its score was 1 of 4; 2 is needed").count(), 2, "{}", told());
}

#[test]
fn the_report_of_a_run_keeps_what_its_last_lead_had_no_part_in() {
    let more = format!("{STORY}[[stories]]\nid = \"S-2\"\ntitle = \"Two\"\nstages = [2, 3]\n");
    let yard = yard(r#"if [ "$PITON_UNIT" = pipeline:S-2 ]; then exit 1; fi"#, &more, &[]);
    assert_eq!(yard.piton(&["run", "--yes"]).code, Some(4));
    set_hook(&yard, "");
    yard.run(&["run", "pipeline:S-2", "--retry"]);
    let report = yard.read_json(".piton/run/runs/1/report.json");
    let lanes = report["lanes"].as_array().expect("lanes");
    let mut names: Vec<_> = lanes.iter().map(|lane| (lane["name"].as_str(), lane["state"].as_str())).collect();
    names.sort();
    assert_eq!(names, [(Some("pipeline:S-1"), Some("done")), (Some("pipeline:S-2"), Some("done"))], "{report}");
    let page = yard.text(".piton/run/runs/1/report.md");
    assert!(page.contains("| pipeline:S-1 | One | done | 2 |"), "{page}");
}
