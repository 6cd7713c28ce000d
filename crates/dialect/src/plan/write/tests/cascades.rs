//! The four error cascades of the protocol.

use super::*;

fn started() -> MemoryFiles {
    let mut files = with(&[("plan.md", PLAN)]);
    go(&mut files, &start(), &at("11:49", "main"));
    go(&mut files, &done(&["db-schema"]), &at("11:52", "main"));
    go(&mut files, &Event::Decided { text: "keep it".to_owned(), reason: None }, &at("11:53", "main"));
    go(&mut files, &Event::BackedUp { reason: "test".to_owned() }, &at("11:54", "main"));
    files
}

fn put(files: &mut MemoryFiles, name: &str, bytes: &[u8]) {
    files.files.insert(path(name), bytes.to_vec());
}

fn last_events(files: &MemoryFiles, count: usize) -> Vec<NewValue> {
    let mut lines = history(files);
    lines.drain(..lines.len() - count);
    lines
}

#[test]
fn a_changed_plan_is_read_again_and_wins() {
    let mut files = started();
    let edited = files.text(&path("plan.md")).replacen("- [ ] Setup", "- [x] Setup", 1).replace("Deploy", "Deploy it");
    put(&mut files, "plan.md", edited.as_bytes());
    let change = go(&mut files, &Event::Repaired, &at("12:00", "main"));
    assert_eq!(change.summary, "in line with plan.md (2/3)");
    let lines = last_events(&files, 2);
    assert_eq!(lines[0], json!({"ts":"2026-02-20T12:00:00Z","event":"checksum_mismatch","action":"reparse"}));
    assert_eq!(lines[1]["taskId"], json!("auth-middleware"));
    let task = &state(&files)["phases"]["phase-1-setup"]["tasks"]["auth-middleware"];
    assert_eq!(*task, json!({"done": true, "completedAt": "2026-02-20T12:00:00Z", "completedBy": "main"}));
    // A second time there is nothing to say.
    let count = history(&files).len();
    go(&mut files, &Event::Repaired, &at("12:01", "main"));
    assert_eq!(history(&files).len(), count);
}

#[test]
fn progress_that_goes_backwards_is_an_alarm() {
    let mut files = started();
    put(&mut files, "plan.md", PLAN.as_bytes());
    let plan = resume(&place(), &files, None, &at("12:00", "main")).expect("a plan");
    assert!(
        plan.reasons.iter().any(|reason| reason.to_string().contains("progress went backwards")),
        "{:?}",
        plan.reasons
    );
    let change = go(&mut files, &Event::Beat, &at("12:00", "main"));
    assert!(
        change.warnings[0]
            .to_string()
            .contains("progress went backwards: done before, open in the plan now: db-schema")
    );
    let lines = last_events(&files, 2);
    assert_eq!((&lines[0]["event"], &lines[1]["event"]), (&json!("checksum_mismatch"), &json!("progress_regressed")));
    assert_eq!(lines[1]["tasks"], json!(["db-schema"]));
    assert_eq!(state(&files)["phases"]["phase-1-setup"]["tasks"]["db-schema"], json!({"done": false}));
    assert_eq!(go(&mut files, &Event::Beat, &at("12:01", "main")).warnings, [""; 0]);
}

#[test]
fn without_a_readable_plan_the_state_is_used_and_no_box_is_ticked() {
    for plan in [None, Some(&b"# P \xff\xfe"[..])] {
        let mut files = started();
        files.files.remove(&path("plan.md"));
        plan.into_iter().for_each(|bytes| put(&mut files, "plan.md", bytes));
        let refusal = refused(&files, &done(&["deploy"]));
        assert_eq!(refusal.kind, RefusalKind::Document);
        let before = state(&files)["phases"].clone();
        go(&mut files, &Event::Decided { text: "wait".to_owned(), reason: None }, &at("12:00", "main"));
        let lines = last_events(&files, 2);
        assert_eq!(lines[0], json!({"ts":"2026-02-20T12:00:00Z","event":"parse_error","fallback":"state.json"}));
        assert_eq!(state(&files)["phases"], before);
        assert_eq!(state(&files)["decisions"][1]["decision"], json!("wait"));
        let plan = resume(&place(), &files, None, &at("12:00", "main")).expect("a plan");
        assert_eq!((plan.action, plan.done), (ResumeAction::Continue, Names::from_iter(["db-schema"])));
        go(&mut files, &Event::Resumed { mode: None }, &at("12:01", "main"));
        assert_eq!(last_events(&files, 1)[0]["tasksRestored"], json!(1));
    }
}

#[test]
fn a_broken_state_comes_back_from_its_copy_but_the_plan_wins() {
    for torn in [&b"{\"version\": 2, \"pl"[..], b"", b"\0\0\0\0", b"\xff", b"[]", b"{}"] {
        let mut files = started();
        go(&mut files, &done(&["auth-middleware"]), &at("11:58", "main"));
        put(&mut files, ".checkpoint/state.json", torn);
        put(&mut files, ".checkpoint/state.json.corrupt-1", b"taken");
        let change = go(&mut files, &Event::Repaired, &at("12:00", "main"));
        assert!(!change.warnings.is_empty());
        assert_eq!(files.files[&path(".checkpoint/state.json.corrupt-2")], torn);
        let lines = last_events(&files, 2);
        let want = json!({"ts":"2026-02-20T12:00:00Z","event":"state_corrupted","restored_from":"recovery.json"});
        assert_eq!(lines[0], want);
        // The copy is older than the plan: it knows the decision, but not the second tick.
        assert_eq!(state(&files)["decisions"][0]["decision"], json!("keep it"));
        assert_eq!(state(&files)["progress"]["completedTasks"], json!(2));
        assert_eq!(state(&files)["phases"]["phase-1-setup"]["tasks"]["db-schema"]["completedBy"], json!("main"));
    }
}

#[test]
fn when_both_are_broken_the_plan_alone_is_left() {
    let mut files = started();
    put(&mut files, ".checkpoint/state.json", b"{");
    put(&mut files, ".checkpoint/recovery.json", b"{\"savedAt\":1}");
    let change = go(&mut files, &done(&["auth-middleware"]), &at("12:00", "main"));
    assert_eq!(change.summary, "auth-middleware done (2/3)");
    let all = events(&files);
    assert!(all.ends_with(&["full_recovery", "checkpoint_created", "task_completed"].map(str::to_owned)), "{all:?}");
    let line = &last_events(&files, 3)[0];
    assert_eq!(*line, json!({"ts":"2026-02-20T12:00:00Z","event":"full_recovery","source":"plan.md_reparse"}));
    assert_eq!(files.files[&path(".checkpoint/recovery.json.corrupt-1")], b"{\"savedAt\":1}");
    assert_eq!(state(&files)["phases"]["phase-1-setup"]["tasks"]["db-schema"], json!({"done": true}));
}

#[test]
fn a_lost_state_comes_back_from_its_copy() {
    let mut files = started();
    files.files.remove(&path(".checkpoint/state.json"));
    go(&mut files, &Event::Beat, &at("12:00", "main"));
    assert_eq!(last_events(&files, 1)[0]["event"], json!("state_missing"));
    assert_eq!(state(&files)["decisions"][0]["decision"], json!("keep it"));
}

#[test]
fn a_state_of_something_else_is_not_touched() {
    for foreign in ["{\"tabs\": 3}", "{\"version\": 3, \"planId\": \"x\", \"phases\": {}}"] {
        let files = with(&[("plan.md", PLAN), (".checkpoint/state.json", foreign)]);
        assert_eq!(refused(&files, &Event::Beat).kind, RefusalKind::Document);
    }
}

#[test]
fn a_torn_line_of_the_log_is_not_glued_to_the_next() {
    let mut files = started();
    files.files.get_mut(&path(".checkpoint/history.jsonl")).expect("a log").extend(b"{\"ts\":\"20");
    go(&mut files, &done(&["deploy"]), &at("12:00", "main"));
    let lines = history(&files);
    assert_eq!(lines[lines.len() - 3], NewValue::Null);
    assert_eq!(lines[lines.len() - 2]["event"], json!("task_completed"));
}

#[test]
fn tasks_may_come_go_and_move() {
    let mut files = started();
    let plan = "<!-- CHECKPOINT: other -->\n- [ ] New <!-- TASK: new -->\n- [x] Create <!-- TASK: db-schema -->\n<!-- DECISION: all  anew -->\n";
    put(&mut files, "plan.md", plan.as_bytes());
    go(&mut files, &Event::Repaired, &at("12:00", "main"));
    let state = state(&files);
    assert_eq!(
        state["phases"],
        json!({"other": {"status": "in_progress", "startedAt": "2026-02-20T12:00:00Z",
            "tasks": {"new": {"done": false},
                "db-schema": {"done": true, "completedAt": "2026-02-20T11:52:00Z", "completedBy": "main"}},
            "acceptance": {}}})
    );
    assert_eq!(state["decisions"][1]["decision"], json!("all anew"));
    assert_eq!(reading(&files, at("12:01", "main").now).findings, []);
}

#[test]
fn a_session_that_is_taken_up_says_from_which_file() {
    for (broken, from) in [(None, "state.json"), (Some(".checkpoint/state.json"), "recovery.json")] {
        let mut files = started();
        go(&mut files, &helper(&["auth-middleware"]), &at("11:58", "main"));
        broken.into_iter().for_each(|name| put(&mut files, name, b"{"));
        go(&mut files, &Event::Resumed { mode: None }, &at("12:45", "main"));
        let lines = last_events(&files, 2);
        assert_eq!((&lines[0]["event"], &lines[0]["lastKnownState"]), (&json!("session_crash"), &json!(from)));
        assert_eq!(
            lines[1],
            json!({"ts":"2026-02-20T12:45:00Z","event":"session_recovered","from":from,"tasksRestored":1})
        );
    }
}
