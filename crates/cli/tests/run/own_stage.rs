//! The result of a stage is the word of the worker that was started for it. A worker that goes on to the next stage, calls
//! its story done or writes a later checkpoint by hand speaks for its own stage only.

use std::fs;

use crate::whose_word::{is_on_main, said, set_hook, yard};
use crate::yard::Yard;

const STORY: &str = "[[stories]]\nid = \"S-1\"\ntitle = \"One\"\n";

/// Writes down which stage a worker was started for.
const NOTES: &str = r#"echo "$PITON_STAGE" >> "$MARKS/stages"
write() {
  printf '{"storyId":"S-1","stage":%s,"agentId":"me","timestamp":"%s","lastAction":"wrote","tasksCompleted":[%s],"tasksRemaining":[%s]%s}' \
    "$1" "$(date -u +%Y-%m-%dT%H:%M:%SZ)" "$2" "$3" "$4" > "$PITON_CHECKPOINT"
}
"#;

/// Does its tasks, goes on to stage 3, judges its own work and finishes the story.
const EAGER: &str = r#"if [ "$PITON_STAGE" = 2 ]; then
  keep S-1
  "$PITON" step "$PITON_UNIT" done S-1
  "$PITON" verdict "$PITON_UNIT" PASS --score 90 2>> "$MARKS/heard"
  "$PITON" stage "$PITON_UNIT" 3 2>> "$MARKS/heard"
  "$PITON" finish "$PITON_UNIT" 2>> "$MARKS/heard"
  exit 0
fi
"#;

/// The same by hand, in one checkpoint.
const EAGER_BY_HAND: &str = r#"if [ "$PITON_STAGE" = 2 ]; then
  keep S-1
  write 3 '"S-1"' '' ',"verdict":"PASS","qualityScore":90'
  exit 0
fi
"#;

const JUDGE_DIES: &str = r#"if [ "$PITON_STAGE" = 3 ]; then exit 1; fi"#;

fn story(hook: &str, stages: &str, more: &str) -> Yard {
    let story = format!("{more}{STORY}stages = {stages}\n");
    let yard = yard(&format!("{NOTES}{hook}"), &story, &[]);
    let settings = yard.text("piton.toml").replace("reworks = 0", "reworks = 1");
    yard.workspace.write("piton.toml", settings);
    yard.commit("settings");
    yard
}

fn stages(yard: &Yard) -> String {
    fs::read_to_string(yard.outer("marks/stages")).unwrap_or_default().split_whitespace().collect()
}

#[test]
fn verdict_of_the_author_is_not_that_of_a_judge_that_dies() {
    for eager in [EAGER, EAGER_BY_HAND] {
        let yard = story(&format!("{eager}{JUDGE_DIES}"), "[2, 3]", "");
        let ended = yard.piton(&["run", "--yes"]);
        assert_eq!(ended.code, Some(4), "{}", said(&ended));
        assert!(said(&ended).contains("stage 2: Done; stage 3 is next"), "{}", said(&ended));
        assert_eq!(stages(&yard), "23", "{}", said(&ended));
        assert!(!is_on_main(&yard, "S-1.txt"), "{}", said(&ended));
        // A judge that comes to its end decides.
        set_hook(&yard, NOTES);
        let ended = yard.piton(&["run", "--yes", "--retry"]);
        assert_eq!(ended.code, Some(0), "{}", said(&ended));
        assert_eq!(stages(&yard), "233", "{}", said(&ended));
        assert!(is_on_main(&yard, "S-1.txt"), "{}", said(&ended));
    }
}

#[test]
fn worker_of_a_stage_is_told_to_end_when_it_goes_on_to_the_next() {
    let yard = story(EAGER, "[2, 3]", "");
    let ended = yard.piton(&["run", "--yes"]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    assert_eq!(stages(&yard), "23", "a judge was started: {}", said(&ended));
    let heard = fs::read_to_string(yard.outer("marks/heard")).expect("it heard something");
    let told = "error: stage 3 has a worker of its own; you are the worker of stage 2\n\
                hint: end now; what you made stays where it is\n";
    assert_eq!(heard.matches(told).count(), 2, "{heard}");
    assert!(heard.contains("error: the lead finishes a story, when its work is merged\nhint: end now"), "{heard}");
}

#[test]
fn worker_that_goes_on_too_early_is_told_what_its_own_stage_lacks() {
    let early = r#"if [ "$PITON_STAGE" = 2 ]; then "$PITON" stage "$PITON_UNIT" 3 2>> "$MARKS/heard"; fi"#;
    let yard = story(early, "[2, 3]", "");
    let ended = yard.piton(&["run", "--yes"]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    let heard = fs::read_to_string(yard.outer("marks/heard")).expect("it heard something");
    assert!(heard.contains("hint: complete stage 2, and end; it lacks: the task S-1 (One) is not done"), "{heard}");
}

#[test]
fn plan_that_its_planner_validates_by_hand_gets_a_validation() {
    let eager = r#"if [ "$PITON_STAGE" = 0 ]; then
  write 1 '' '"S-1"' ',"planScore":3,"readiness":9,"verdict":"GO"'
  exit 0
fi
if [ "$PITON_STAGE" = 1 ]; then exit 1; fi"#;
    let yard = story(eager, "[0, 1, 2, 3]", "");
    let ended = yard.piton(&["run", "--yes"]);
    assert_eq!(ended.code, Some(4), "{}", said(&ended));
    assert!(said(&ended).contains("stage 0: planned, score 3; stage 1 is next"), "{}", said(&ended));
    assert_eq!(stages(&yard), "01", "{}", said(&ended));
}

#[test]
fn verdict_that_a_person_gives_before_the_judge_begins_stays() {
    let held = r#"if [ "$PITON_STAGE" = 2 ]; then keep S-1; "$PITON" step "$PITON_UNIT" done S-1; hold S-1; exit 0; fi
if [ "$PITON_STAGE" = 3 ]; then exit 1; fi"#;
    let yard = story(held, "[2, 3]", "");
    let ended = crate::whose_word::meanwhile(&yard, &["run", "--yes"], "S-1", || {
        yard.run(&["stage", "pipeline:S-1", "3"]);
        yard.run(&["verdict", "pipeline:S-1", "PASS", "--score", "95"]);
    });
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    assert!(said(&ended).contains("PASS, quality 95"), "{}", said(&ended));
}

#[test]
fn story_that_its_judge_calls_done_is_worked_on_when_a_gate_refuses_it() {
    // By the verb, and by hand in the lead's state.
    for done in [
        r#""$PITON" finish "$PITON_UNIT" 2>> "$MARKS/heard""#,
        r#"sed -i 's/"STAGE_3"/"DONE"/' "$PITON_ROOT/.pipeline/state.json""#,
    ] {
        let hook = format!(
            r#"if [ "$PITON_STAGE" = 3 ]; then "$PITON" verdict "$PITON_UNIT" PASS --score 90; {done}; exit 0; fi
if [ -e "$MARKS/worked" ]; then keep fixed; "$PITON" step "$PITON_UNIT" done S-1-fix1; exit 0; fi
: > "$MARKS/worked"
"#
        );
        let yard = story(&hook, "[2, 3]", "[gates]\nfixed = \"test -e fixed.txt\"\n");
        let ended = yard.piton(&["run", "--yes"]);
        assert_eq!(ended.code, Some(0), "{}", said(&ended));
        assert_eq!(stages(&yard), "2323", "{}", said(&ended));
        assert!(is_on_main(&yard, "fixed.txt"), "{}", said(&ended));
    }
}
