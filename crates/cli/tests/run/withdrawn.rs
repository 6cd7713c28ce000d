//! What a person takes back before it is merged: a verdict, a criterion, a step, a tick. Their word counts, also when gates
//! run, a worker is still at it or writes its document by hand.

use std::fs;

use crate::whose_word::{is_on_main, meanwhile, said, workers, yard};
use crate::yard::{Ended, Yard, wait_for};

/// A gate that waits until the test lets everything go.
const SLOW: &str = r#"": > \"$MARKS/held-gate\"; while [ ! -e \"$MARKS/go\" ]; do sleep 0.02; done""#;

const STORY: &str = "[[stories]]\nid = \"S-1\"\ntitle = \"One\"\nstages = [2, 3]\n";

/// The worker of a story: writes down its stage, does what is open.
const STAGES: &str = r#"echo "$PITON_STAGE" >> "$MARKS/stages"
if [ "$PITON_STAGE" = 2 ]; then
  keep "work-$(wc -l < "$MARKS/stages")"
  for part in S-1 S-1-fix1 S-1-fix2; do "$PITON" step "$PITON_UNIT" done $part; done
  exit 0
fi
"#;

fn stages(yard: &Yard) -> String {
    fs::read_to_string(yard.outer("marks/stages")).unwrap_or_default().replace('\n', " ")
}

fn set(yard: &Yard, line: &str, to: &str) {
    let settings = yard.text("piton.toml");
    assert!(settings.contains(line), "{settings}");
    yard.workspace.write("piton.toml", settings.replace(line, to));
    yard.commit("other settings");
}

fn log_has(yard: &Yard, words: &str) {
    let log = || fs::read_to_string(yard.workspace.path(".piton/run/runs/1/events.jsonl")).unwrap_or_default();
    wait_for(words, || log().contains(words), log);
}

fn count(ended: &Ended, words: &str) -> usize {
    said(ended).matches(words).count()
}

const REFUSE: [&str; 6] = ["verdict", "pipeline:S-1", "FAIL", "--score", "10", "--issues"];

fn refuse(yard: &Yard) {
    yard.run(&[&REFUSE[..], &["it leaks"]].concat());
}

#[test]
fn a_story_that_a_person_refuses_while_its_gates_run_is_worked_on_again() {
    let yard = yard(STAGES, &format!("{STORY}[gates]\ntest = {SLOW}\n"), &[]);
    set(&yard, "reworks = 0", "reworks = 1");
    let ended = meanwhile(&yard, &["run", "--yes"], "gate", || refuse(&yard));
    assert_eq!((ended.code, stages(&yard).as_str()), (Some(0), "2 3 2 3 "), "{}", said(&ended));
    assert_eq!((count(&ended, "stage 3: FAIL: it leaks; stage 2 is next"), count(&ended, "merged into main")), (1, 1));
    assert!(is_on_main(&yard, "work-3.txt"), "{}", said(&ended));
}

#[test]
fn a_story_that_a_person_refused_is_worked_on_by_a_retry_and_not_judged_again() {
    let fails = r#"if [ "$(wc -l < "$MARKS/stages")" = 2 ]; then "$PITON" verdict "$PITON_UNIT" FAIL --score 20 --issues bad; exit 0; fi"#;
    let yard = yard(&format!("{STAGES}{fails}"), &format!("{STORY}[gates]\ntest = {SLOW}\n"), &[]);
    set(&yard, "reworks = 0", "reworks = 1");
    let ended = meanwhile(&yard, &["run", "--yes"], "gate", || refuse(&yard));
    assert_eq!((ended.code, stages(&yard).as_str()), (Some(4), "2 3 2 3 "), "{}", said(&ended));
    assert_eq!((count(&ended, "FAIL: it leaks; reworked once"), is_on_main(&yard, "work-1.txt")), (1, false));
    let ended = yard.piton(&["run", "--yes", "--retry"]);
    assert_eq!((ended.code, stages(&yard).as_str()), (Some(0), "2 3 2 3 2 3 "), "{}", said(&ended));
    assert!(is_on_main(&yard, "work-5.txt"), "{}", said(&ended));
}

#[test]
fn a_story_that_is_begun_anew_while_its_gates_run_leaves_its_old_work_behind() {
    let yard = yard(STAGES, &format!("{STORY}[gates]\ntest = {SLOW}\n"), &[]);
    let ended = meanwhile(&yard, &["run", "--yes"], "gate", || {
        yard.run(&["restart", "pipeline:S-1", "--force"]);
    });
    assert_eq!((ended.code, count(&ended, "what was done before is not merged")), (Some(0), 1), "{}", said(&ended));
    let main = (is_on_main(&yard, "work-1.txt"), is_on_main(&yard, "work-3.txt"));
    assert_eq!(main, (false, true), "{}", said(&ended));
}

#[test]
fn a_task_that_a_person_takes_back_while_its_gates_run_gets_its_worker_again() {
    let hook = r#"keep T1; for part in one two; do "$PITON" step "$PITON_UNIT" done $part; done; "$PITON" gate "$PITON_UNIT" pass manual; exit 0"#;
    let list = "[[tasks]]\nagent = \"copy\"\nid = \"T1\"\nsubtasks = [\"one\", \"two\"]\nacceptance_criteria = [\"works\", \"manual\"]\n";
    for act in [&["gate", "task:copy/T1", "fail", "manual"], &["step", "task:copy/T1", "fail", "two"]] {
        let yard = yard(hook, &format!("[gates]\nworks = {SLOW}\n"), &[("tasks.toml", list)]);
        let ended = meanwhile(&yard, &["run", "tasks.toml", "--yes"], "gate", || {
            yard.run(act);
        });
        assert_eq!((ended.code, workers(&yard).len()), (Some(0), 2), "{act:?}: {}", said(&ended));
        let told = (count(&ended, "a person took its end back"), count(&ended, "merged into main"));
        assert_eq!(told, (1, 1), "{act:?}: {}", said(&ended));
    }
}

#[test]
fn a_judge_does_not_replace_the_verdict_that_a_person_gave_meanwhile() {
    let judges = r#"if [ "$(wc -l < "$MARKS/stages")" = 2 ]; then
  hold it
  "$PITON" verdict "$PITON_UNIT" PASS --score 90 2> "$MARKS/refusal"
  echo $? > "$MARKS/code"
  exit 0
fi"#;
    let yard = yard(&format!("{STAGES}{judges}"), STORY, &[]);
    set(&yard, "reworks = 0", "reworks = 1");
    set(&yard, "linger = 0.2", "linger = 60");
    let ended = meanwhile(&yard, &["run", "--yes"], "it", || refuse(&yard));
    assert_eq!((ended.code, stages(&yard).as_str()), (Some(0), "2 3 2 3 "), "{}", said(&ended));
    let mark = |name: &str| fs::read_to_string(yard.outer(&format!("marks/{name}"))).unwrap_or_default();
    assert_eq!(mark("code"), "4\n");
    assert!(mark("refusal").contains("a person said FAIL about pipeline:S-1 since you began"), "{}", mark("refusal"));
    assert!(mark("refusal").contains("end now"), "{}", mark("refusal"));
}

/// A worker that follows its protocol by hand, and writes all of its document when it is done.
const BY_HAND: &str = r#"hold it
keep "$step"
now=$(date -u +%FT%TZ)
case $PITON_UNIT in
crew:*) cat > "$PITON_CHECKPOINT" <<END
{ "agent_id": "Secondary-A", "agent_type": "secondary", "session_id": "abc", "feature": "Bells", "stage": "S2.P3",
  "phase": "Complete", "last_checkpoint": "$now", "next_checkpoint_expected": "$now", "status": "COMPLETE",
  "can_resume": true, "blockers": [], "files_modified": [], "recovery_instructions": "none", "current_step": "done",
  "completed_steps": ["S2.P1 complete", "S2.P2 complete", "S2.P3 complete"], "next_steps": [],
  "coordination_state": { "last_inbox_check": "$now", "unread_messages": 0, "last_epic_readme_update": "$now",
  "last_status_update": "$now" } }
END
;;
task:*) cat > "$PITON_CHECKPOINT" <<END
{ "task_id": "T1", "agent_id": "copy", "status": "completed", "started_at": "$now", "updated_at": "$now",
  "progress": { "completed_subtasks": ["one", "two"], "current_subtask": null, "remaining_subtasks": [] },
  "heartbeat": { "last_beat": "$now", "status": "alive" } }
END
;;
esac
exit 0"#;

#[test]
fn a_pause_holds_also_when_the_worker_writes_its_document_by_hand_after_it() {
    let crew = "[[agents]]\nagent = \"Secondary-A\"\nfeature = \"Bells\"\ntext = \"do it\"\ntype = \"secondary\"\n";
    let task = "[[tasks]]\nagent = \"copy\"\nid = \"T1\"\nsubtasks = [\"one\", \"two\"]\n";
    for (list, unit, file) in [(crew, "crew:Secondary-A", "Secondary-A.txt"), (task, "task:copy/T1", "T1.txt")] {
        let yard = yard(BY_HAND, "", &[("list.toml", list)]);
        let ended = meanwhile(&yard, &["run", "list.toml", "--yes"], "it", || {
            yard.run(&["pause", unit, "--reason", "let me look first"]);
        });
        assert_eq!((ended.code, is_on_main(&yard, file)), (Some(4), false), "{unit}: {}", said(&ended));
        assert!(said(&ended).contains(&format!("{unit}: not merged: let me look first")), "{}", said(&ended));
        let again = yard.piton(&["run", "list.toml", "--yes"]);
        assert_eq!((again.code, is_on_main(&yard, file)), (Some(4), false), "{unit}: {}", said(&again));
        let retried = yard.piton(&["run", "list.toml", "--yes", "--retry"]);
        assert_eq!((retried.code, is_on_main(&yard, file)), (Some(0), true), "{unit}: {}", said(&retried));
    }
}

fn gated(boxes: &str) -> String {
    format!("# P\n\n## One\n<!-- CHECKPOINT: one -->\n{boxes}- [ ] Holds <!-- ACCEPT: holds -->\n")
}

fn untick(yard: &Yard) {
    let text = yard.text("plans/p/plan.md");
    assert!(text.contains("[x] A"), "{text}");
    yard.workspace.write("plans/p/plan.md", text.replace("[x] A", "[ ] A"));
}

#[test]
fn a_box_that_is_unticked_while_its_phase_is_collected_or_judged_is_done_again() {
    let plan = gated("- [ ] A <!-- TASK: a -->\n- [ ] B <!-- TASK: b -->\n");
    let hook = |holds: &str| {
        format!("{holds}\nif [ \"$step\" = a ]; then keep \"a-$(wc -l < \"$MARKS/workers\" | tr -d ' ')\"; fi")
    };
    for (holds, gate, held) in [(r#"if [ "$step" = b ]; then hold b; fi"#, "\"test -d .\"", "b"), ("", SLOW, "gate")] {
        let yard = yard(&hook(holds), &format!("[gates]\nholds = {gate}\n"), &[("plans/p/plan.md", &plan)]);
        let ended = meanwhile(&yard, &["run", "plan:p", "--yes"], held, || {
            log_has(&yard, "merged into piton/plan-p-phase-1");
            untick(&yard);
            log_has(&yard, "its box was unticked: it is done again");
        });
        let begun = workers(&yard).iter().filter(|step| *step == "a").count();
        assert_eq!((ended.code, begun), (Some(0), 2), "{held}: {}", said(&ended));
        assert!(is_on_main(&yard, "a-3.txt") && yard.text("plans/p/plan.md").contains("[x] A"), "{}", said(&ended));
    }
}

#[test]
fn a_tick_that_is_stashed_while_its_phase_is_collected_is_no_refusal() {
    let plan = gated("- [ ] A <!-- TASK: a -->\n- [ ] B <!-- TASK: b -->\n");
    let hook = r#"if [ "$step" = b ]; then hold b; fi"#;
    let yard = yard(hook, "[gates]\nholds = \"test -d .\"\n", &[("plans/p/plan.md", &plan)]);
    let ended = meanwhile(&yard, &["run", "plan:p", "--yes"], "b", || {
        log_has(&yard, "merged into piton/plan-p-phase-1");
        yard.git(&["stash"]);
        let path = yard.workspace.path(".piton/run/memory.json");
        let time = || fs::metadata(&path).and_then(|found| found.modified()).ok();
        for _ in 0..2 {
            let before = time();
            wait_for("a heartbeat", || time() != before, String::new);
        }
        yard.git(&["stash", "pop"]);
    });
    assert_eq!((ended.code, workers(&yard).len()), (Some(0), 2), "{}", said(&ended));
}

#[test]
fn a_task_that_a_worker_of_another_one_records_gets_its_own_worker() {
    let plan = "# P\n\n## One\n<!-- CHECKPOINT: one -->\n- [ ] A <!-- TASK: a -->\n\n## Two\n\
                <!-- CHECKPOINT: two -->\n- [ ] B <!-- TASK: b -->\n";
    let hook = r#"if [ "$step" = a ]; then "$PITON" step plan:p done b; fi"#;
    let yard = yard(hook, "", &[("plans/p/plan.md", plan)]);
    let ended = yard.piton(&["run", "plan:p", "--yes"]);
    assert_eq!((ended.code, workers(&yard)), (Some(0), vec!["a".to_owned(), "b".to_owned()]), "{}", said(&ended));
    assert!(is_on_main(&yard, "b.txt"), "{}", said(&ended));
}
