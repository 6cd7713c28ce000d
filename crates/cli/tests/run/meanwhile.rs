//! What a person does about a unit while a lead is at work, or between two leads, is theirs.

use std::fs;

use crate::whose_word::{is_on_main, said, set_hook, workers, yard};
use crate::yard::{Ended, Yard, finish, wait_for};

fn tasks(ids: &[&str]) -> String {
    let task = |id: &&str| format!("[[tasks]]\nagent = \"copy\"\nid = \"{id}\"\nsubtasks = [\"one\", \"two\"]\n");
    ids.iter().map(task).collect()
}

fn plan(boxes: &str) -> String {
    format!("# P\n\n## One\n<!-- CHECKPOINT: one -->\n{boxes}")
}

/// Begins a run, waits for a mark, does something, and lets the held workers go.
fn while_it_runs(yard: &Yard, work: &[&str], mark: &str, act: impl FnOnce()) -> Ended {
    let lead = yard.command(work).spawn().expect("it starts");
    let mark = yard.outer(&format!("marks/{mark}"));
    wait_for("the mark", || mark.exists(), || yard.piton(&["status"]).stdout);
    act();
    fs::write(yard.outer("marks/go"), "").expect("it can be written");
    finish(lead)
}

fn log_has(yard: &Yard, words: &str) {
    let log = || fs::read_to_string(yard.workspace.path(".piton/run/runs/1/events.jsonl")).unwrap_or_default();
    wait_for(words, || log().contains(words), log);
}

#[test]
fn a_task_that_is_begun_by_hand_before_its_turn_is_left_to_its_session() {
    let yard = yard("hold it", "", &[("tasks.toml", &tasks(&["T1", "T2"]))]);
    let settings = yard.text("piton.toml").replace("workers = 2", "workers = 1");
    yard.workspace.write("piton.toml", settings);
    let ended = while_it_runs(&yard, &["run", "tasks.toml", "--yes"], "held-it", || {
        yard.run(&["start", "task:copy/T2", "--title", "T", "--step", "one", "--step", "two"]);
        yard.run(&["step", "task:copy/T2", "done", "one"]);
    });
    assert_eq!((ended.code, workers(&yard).len()), (Some(4), 1), "{}", said(&ended));
    assert!(said(&ended).contains("another session is at work on it, until it ends"), "{}", said(&ended));
}

#[test]
fn a_session_that_writes_its_task_by_hand_is_left_alone() {
    let yard = yard("", "", &[("tasks.toml", &tasks(&["T1"]))]);
    let now = yard.json(&["status", "--json"])["as_of"].as_str().expect("a time").to_owned();
    let checkpoint = serde_json::json!({
        "task_id": "T1", "agent_id": "copy", "status": "in_progress", "started_at": now, "updated_at": now,
        "progress": { "completed_subtasks": ["one"], "current_subtask": "two", "remaining_subtasks": [] },
        "heartbeat": { "last_beat": now, "status": "alive" },
    });
    yard.workspace.write("progress/checkpoints/copy-T1.json", format!("{checkpoint:#}\n"));
    let explained = yard.run(&["run", "--explain", "tasks.toml"]).stdout;
    assert!(explained.contains("another session is at work on it"), "{explained}");
    let ended = yard.piton(&["run", "tasks.toml", "--yes"]);
    assert_eq!((ended.code, workers(&yard).len()), (Some(4), 0), "{}", said(&ended));
}

#[test]
fn what_a_person_waives_is_merged_and_not_reviewed_again() {
    let story = "[[stories]]\nid = \"S-1\"\ntitle = \"One\"\nstages = [2, 3]\n";
    let fails =
        r#"if [ "$PITON_STAGE" = 3 ]; then "$PITON" verdict "$PITON_UNIT" FAIL --score 20 --issues bad; exit 0; fi"#;
    let yard = yard(fails, story, &[]);
    assert_eq!(yard.piton(&["run", "--yes"]).code, Some(4));
    yard.run(&["resume", "pipeline:S-1"]);
    yard.run(&["verdict", "pipeline:S-1", "WAIVED", "--score", "70"]);
    let begun = workers(&yard).len();
    let ended = yard.piton(&["run", "--yes", "--retry"]);
    assert_eq!((ended.code, workers(&yard).len()), (Some(0), begun), "{}", said(&ended));
    assert!(is_on_main(&yard, "S-1.txt"));
}

#[test]
fn a_half_that_a_dead_worker_left_is_not_merged_unasked() {
    let yard = yard("keep half; exit 1", "", &[("tasks.toml", &tasks(&["T1"]))]);
    assert_eq!(yard.piton(&["run", "tasks.toml", "--yes"]).code, Some(4));
    yard.run(&["resume", "task:copy/T1"]);
    yard.run(&["step", "task:copy/T1", "done", "one", "two"]);
    let ended = yard.piton(&["run", "tasks.toml", "--yes"]);
    assert_eq!((ended.code, is_on_main(&yard, "half.txt")), (Some(4), false), "{}", said(&ended));
    assert!(said(&ended).contains("has commits that are not on main; merge them: piton run"), "{}", said(&ended));
    yard.run(&["run", "tasks.toml", "--yes", "--retry"]);
    assert!(is_on_main(&yard, "half.txt"));
}

#[test]
fn a_task_that_a_person_finishes_while_the_lead_is_at_work_is_done() {
    let list = format!("{}depends_on = [\"T1\"]\n", tasks(&["T1", "T2", "T3"]));
    let hook = r#"case $step in T1) exit 3 ;; T2) hold it ;; esac"#;
    let yard = yard(hook, "", &[("tasks.toml", &list)]);
    let ended = while_it_runs(&yard, &["run", "tasks.toml", "--yes"], "held-it", || {
        log_has(&yard, "its worker exited with 3");
        let resumes = || yard.piton(&["resume", "task:copy/T1"]).code == Some(0);
        wait_for("its pause", resumes, || yard.piton(&["status"]).stdout);
        yard.run(&["step", "task:copy/T1", "done", "one", "two"]);
        yard.run(&["finish", "task:copy/T1"]);
        wait_for("T3", || is_on_main(&yard, "T3.txt"), || yard.piton(&["status"]).stdout);
    });
    assert_eq!((ended.code, is_on_main(&yard, "T3.txt")), (Some(0), true), "{}", said(&ended));
}

#[test]
fn what_halted_a_plan_is_judged_while_the_lead_is_at_work_on_another() {
    let first = plan(
        "- [ ] A <!-- TASK: a -->\n- [ ] Nice <!-- ACCEPT: nice -->\n\n## Two\n<!-- CHECKPOINT: two -->\n- [ ] C <!-- TASK: c -->\n",
    );
    let second = plan("- [ ] Z <!-- TASK: z -->\n");
    let files = [("plans/p/plan.md", first.as_str()), ("plans/q/plan.md", second.as_str())];
    let yard = yard(r#"if [ "$step" = z ]; then hold it; fi"#, "", &files);
    let ended = while_it_runs(&yard, &["run", "plan:p", "plan:q", "--yes"], "held-it", || {
        log_has(&yard, "judge it: piton gate plan:p pass nice");
        let why = || yard.piton(&["why", "plan:p"]).stdout;
        wait_for("its pause", || why().contains("judge it"), why);
        yard.run(&["gate", "plan:p", "pass", "nice"]);
        wait_for("c", || is_on_main(&yard, "c.txt"), || yard.piton(&["status"]).stdout);
    });
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
}

#[test]
fn a_task_of_a_plan_that_is_done_by_hand_while_the_lead_is_at_work_gets_no_worker() {
    let first = plan("- [ ] A <!-- TASK: a -->\n\n## Two\n<!-- CHECKPOINT: two -->\n- [ ] C <!-- TASK: c -->\n");
    let second = plan("- [ ] Z <!-- TASK: z -->\n");
    let files = [("plans/p/plan.md", first.as_str()), ("plans/q/plan.md", second.as_str())];
    let yard = yard(r#"case $step in z) hold it ;; a) exit 3 ;; esac"#, "", &files);
    let ended = while_it_runs(&yard, &["run", "plan:p", "plan:q", "--yes"], "held-it", || {
        log_has(&yard, "plan:p a: its worker exited with 3");
        let text = yard.text("plans/p/plan.md").replace("[ ] A", "[x] A");
        yard.workspace.write("plans/p/plan.md", text);
        wait_for("c", || is_on_main(&yard, "c.txt"), || yard.piton(&["status"]).stdout);
    });
    let begun = workers(&yard).iter().filter(|step| *step == "a").count();
    assert_eq!((ended.code, begun), (Some(0), 1), "{}", said(&ended));
}

#[test]
fn a_task_that_is_taken_by_force_is_not_taken_back() {
    let hook = r#"hold it; exit 3"#;
    let yard = yard(hook, "", &[("tasks.toml", &tasks(&["T1"]))]);
    let settings = yard.text("piton.toml").replace("respawn = 0", "respawn = 1");
    yard.workspace.write("piton.toml", settings);
    let ended = while_it_runs(&yard, &["run", "tasks.toml", "--yes"], "held-it", || {
        yard.run(&["resume", "task:copy/T1", "--force"]);
        yard.run(&["step", "task:copy/T1", "done", "one"]);
    });
    assert_eq!((ended.code, workers(&yard).len()), (Some(4), 1), "{}", said(&ended));
}

#[test]
fn a_stage_that_a_person_takes_back_is_done_again() {
    let story = "[[stories]]\nid = \"S-1\"\ntitle = \"One\"\nstages = [1, 2, 3]\n";
    let hook = r#"case $PITON_STAGE in 1) "$PITON" verdict "$PITON_UNIT" GO --score 9; exit 0 ;; 2) [ -e "$MARKS/go" ] || exit 3 ;; esac"#;
    let yard = yard(hook, story, &[]);
    assert_eq!(yard.piton(&["run", "--yes"]).code, Some(4));
    let log = yard.run(&["log", "pipeline:S-1"]).stdout;
    let first = log.lines().next().and_then(|line| line.split_whitespace().next()).expect("an event").to_owned();
    yard.run(&["rollback", &format!("pipeline:S-1{first}")]);
    fs::write(yard.outer("marks/go"), "").expect("it can be written");
    let ended = yard.piton(&["run", "--yes", "--retry"]);
    assert_eq!(ended.code, Some(0), "{}", said(&ended));
    assert!(said(&ended).contains("stage 1: GO"), "{}", said(&ended));
}

#[test]
fn a_shorter_journal_forgets_no_branch() {
    let story = "[[stories]]\nid = \"S-1\"\ntitle = \"One\"\nstages = [2, 3]\n";
    let yard = yard("keep part; exit 3", story, &[]);
    assert_eq!(yard.piton(&["run", "--yes"]).code, Some(4));
    yard.run(&["compact", "pipeline:S-1", "--keep", "1"]);
    set_hook(&yard, "");
    yard.run(&["run", "--yes", "--retry"]);
    assert!(is_on_main(&yard, "part.txt"));
}
