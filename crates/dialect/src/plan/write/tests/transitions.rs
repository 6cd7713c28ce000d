//! What is legal where, and what is said when it is not.

use super::*;

#[test]
fn what_cannot_be_is_refused_with_what_can() {
    let mut files = with(&[("plan.md", PLAN)]);
    go(&mut files, &start(), &at("11:49", "main"));
    go(&mut files, &done(&["db-schema"]), &at("11:50", "main"));
    let verdict = Event::VerdictGiven(piton_model::Verdict { word: "GO".to_owned(), ..Default::default() });
    let titled = Event::Started(Start { title: Some("x".to_owned()), ..Start::default() });
    for (event, kind, hint) in [
        (done(&["db-shema", "deploy"]), RefusalKind::Missing, "did you mean: db-schema"),
        (done(&["migrations"]), RefusalKind::Missing, "piton gate plan:260220-1149-feature pass migrations"),
        (gate(true, "deploy"), RefusalKind::Missing, "piton step plan:260220-1149-feature done deploy"),
        (gate(true, "nothing-like-it"), RefusalKind::Missing, "piton status"),
        (done(&[]), RefusalKind::Usage, ""),
        (step(StepTo::Skipped, &["deploy"]), RefusalKind::Rule, "done deploy"),
        (step(StepTo::Begun, &["db-schema"]), RefusalKind::Rule, "untick"),
        (step(StepTo::Failed, &["db-schema"]), RefusalKind::Rule, "untick"),
        (Event::Finished, RefusalKind::Rule, "open tasks: auth-middleware, deploy"),
        (Event::Restarted { force: false }, RefusalKind::Rule, "legal from here"),
        (Event::TakenOver { agent: "x".to_owned() }, RefusalKind::Rule, "legal from here"),
        (Event::Reopened, RefusalKind::Rule, "step"),
        (verdict, RefusalKind::Rule, "piton gate"),
        (titled, RefusalKind::Usage, "piton start plan:260220-1149-feature"),
        (Event::StageEntered { stage: "nowhere".to_owned(), phase: None }, RefusalKind::Missing, "phase-1-setup"),
        (Event::Unblocked { which: None, answer: None }, RefusalKind::Rule, ""),
        (Event::Decided { text: " ".to_owned(), reason: None }, RefusalKind::Usage, ""),
        (helper(&["gone"]), RefusalKind::Missing, ""),
    ] {
        let refusal = refused(&files, &event);
        assert_eq!(refusal.kind, kind, "{event:?}: {refusal:?}");
        assert!(
            refusal.hints.iter().any(|each| each.to_string().contains(hint)) || hint.is_empty(),
            "{event:?}: {refusal:?}"
        );
    }
}

#[test]
fn a_plan_without_ids_says_how_to_get_some() {
    let files = with(&[("plan.md", "- [ ] a\n- [ ] b\n")]);
    for event in [start(), done(&["a"]), Event::Finished, Event::Resumed { mode: None }] {
        let refusal = refused(&files, &event);
        assert_eq!(refusal.hints, [format!("give them ids: piton plan mark plan:{ID}")], "{event:?}");
    }
    assert_eq!(refused(&with(&[]), &start()).kind, RefusalKind::Missing);
}

#[test]
fn what_is_done_twice_is_said_and_not_refused() {
    let mut files = with(&[("plan.md", PLAN)]);
    go(&mut files, &start(), &at("11:49", "main"));
    let both = done(&["db-schema", "auth-middleware"]);
    assert_eq!(go(&mut files, &both, &at("11:50", "main")).summary, "db-schema, auth-middleware done (2/3)");
    let lines = history(&files).len();
    let again = go(&mut files, &both, &at("11:55", "team:x"));
    assert_eq!(again.summary, "db-schema, auth-middleware already done (2/3)");
    assert_eq!(history(&files).len(), lines);
    let task = &state(&files)["phases"]["phase-1-setup"]["tasks"]["db-schema"];
    assert_eq!(*task, json!({"done": true, "completedAt": "2026-02-20T11:50:00Z", "completedBy": "main"}));
    assert_eq!(go(&mut files, &start(), &at("11:56", "main")).summary, "started (2/3)");
}

#[test]
fn a_plan_is_begun_blocked_paused_and_finished() {
    let mut files = with(&[("plan.md", PLAN)]);
    let now = at("12:00", "main");
    let lifecycle = |files: &MemoryFiles| reading(files, now.now).unit.expect("a unit").state.lifecycle();
    let block = |message: &str| Event::Blocked { message: message.to_owned(), kind: None };
    let unblock = |which: Option<&str>| Event::Unblocked { which: which.map(str::to_owned), answer: None };
    for (event, want, summary) in [
        (start(), Lifecycle::Queued, "started (0/3)"),
        (step(StepTo::Begun, &["db-schema"]), Lifecycle::Running, "db-schema begun (0/3)"),
        (step(StepTo::Failed, &["db-schema"]), Lifecycle::Running, "db-schema failed (0/3)"),
        (block("no key"), Lifecycle::Blocked, "blocked: no key"),
        (block("no  key"), Lifecycle::Blocked, "blocked: no key"),
        (block("no disk"), Lifecycle::Blocked, "blocked: no disk"),
        (unblock(Some("disk")), Lifecycle::Blocked, "unblocked: no disk (1 left)"),
        (unblock(None), Lifecycle::Running, "unblocked"),
        (Event::Paused { reason: None }, Lifecycle::Paused, "paused"),
        (Event::Resumed { mode: None }, Lifecycle::Queued, "resumed at db-schema (0/3)"),
        (Event::StageEntered { stage: "2".to_owned(), phase: None }, Lifecycle::Queued, "in phase-2-ship (0/1)"),
        (
            done(&["db-schema", "auth-middleware", "deploy"]),
            Lifecycle::Running,
            "db-schema, auth-middleware, deploy done (3/3)",
        ),
        (gate(true, "migrations"), Lifecycle::Done, "migrations met (1/1)"),
        (Event::Finished, Lifecycle::Done, "finished (3/3)"),
        (Event::Finished, Lifecycle::Done, "already finished (3/3)"),
        (Event::Reopened, Lifecycle::Done, "reopened (3/3)"),
        (gate(false, "migrations"), Lifecycle::Running, "migrations not met (0/1)"),
    ] {
        let change = go(&mut files, &event, &now);
        assert_eq!((lifecycle(&files), change.summary.as_str()), (want, summary), "{event:?}");
        let found = reading(&files, now.now).findings;
        assert_eq!(found, [], "{event:?}");
    }
    assert_eq!(refused(&files, &Event::Finished).hints[1], format!("piton gate plan:{ID} pass migrations"));
    assert!(events(&files).contains(&"plan_completed".to_owned()));
}

#[test]
fn a_blocker_in_the_plan_goes_with_its_marker() {
    let plan = format!("{PLAN}\n  <!-- BLOCKER: no answer -->\r\nText <!-- BLOCKER: no key --> stays.\n");
    let mut files = with(&[("plan.md", &plan)]);
    go(&mut files, &start(), &at("11:49", "main"));
    assert_eq!(state(&files)["blockers"], json!(["no answer", "no key"]));
    // Other tasks may be done meanwhile.
    go(&mut files, &done(&["db-schema"]), &at("11:50", "main"));
    let ticked = PLAN.replacen("[ ]", "[x]", 1);
    let text = |files: &MemoryFiles| String::from_utf8(files.files[&path("plan.md")].clone()).expect("text");
    let unblock = |which: Option<&str>| Event::Unblocked { which: which.map(str::to_owned), answer: None };
    assert_eq!(go(&mut files, &unblock(Some("key")), &at("11:51", "main")).summary, "unblocked");
    assert_eq!(text(&files), format!("{ticked}\n  <!-- BLOCKER: no answer -->\r\nText  stays.\n"));
    go(&mut files, &unblock(None), &at("11:52", "main"));
    assert_eq!(text(&files), format!("{ticked}\nText  stays.\n"));
    assert_eq!(state(&files)["blockers"], json!([]));
    assert_eq!(refused(&files, &unblock(None)).message, "nothing blocks the plan");
    assert_eq!(refused(&files, &unblock(Some("key"))).message, "no such blocker is recorded");
}

#[test]
fn a_blocker_that_a_person_removes_is_forgotten() {
    let plan = format!("{PLAN}<!-- BLOCKER: no answer -->\n");
    let mut files = with(&[("plan.md", &plan)]);
    go(&mut files, &start(), &at("11:49", "main"));
    files.files.insert(path("plan.md"), PLAN.as_bytes().to_vec());
    go(&mut files, &Event::Beat, &at("11:51", "main"));
    assert_eq!(state(&files)["blockers"], json!([]));
}

#[test]
fn a_plan_that_is_done_has_no_position() {
    let mut files = with(&[("plan.md", PLAN)]);
    go(&mut files, &start(), &at("11:49", "main"));
    assert_eq!(state(&files)["sessionNotes"], json!(null));
    assert_eq!(
        (&state(&files)["currentPhase"], &state(&files)["currentTask"]),
        (&json!("phase-1-setup"), &json!("db-schema"))
    );
    go(&mut files, &done(&["db-schema", "auth-middleware", "deploy"]), &at("11:50", "main"));
    go(&mut files, &gate(true, "migrations"), &at("11:51", "main"));
    let state = state(&files);
    assert_eq!((&state["currentPhase"], &state["currentTask"]), (&json!(null), &json!(null)));
    assert_eq!(state["progress"], json!({"totalTasks": 3, "completedTasks": 3, "percentage": 100}));
    let statuses: Vec<_> =
        state["phases"].as_object().expect("phases").values().map(|phase| &phase["status"]).collect();
    assert_eq!(statuses, ["completed", "completed"]);
}

/// Before a subagent starts, before compaction and at the end of a session the whole state is copied.
#[test]
fn significant_events_keep_a_copy_of_the_whole_state() {
    let checkpointed =
        |reason: &str| Event::Checkpointed { reason: reason.to_owned(), note: Some("half way".to_owned()) };
    for (event, reason, logged) in [
        (helper(&["db-schema"]), "pre_subagent_spawn", "subagent_started"),
        (checkpointed("pre_compact"), "pre_compact", "session_checkpoint"),
        (checkpointed("session_end"), "session_end", "session_checkpoint"),
    ] {
        let mut files = with(&[("plan.md", PLAN)]);
        go(&mut files, &start(), &at("11:49", "main"));
        go(&mut files, &event, &at("12:25", "main"));
        let copy: NewValue = serde_json::from_str(files.text(&path(".checkpoint/recovery.json"))).expect("JSON");
        assert_eq!((&copy["savedAt"], &copy["reason"]), (&json!("2026-02-20T12:25:00Z"), &json!(reason)));
        assert_eq!(copy["state"], state(&files), "{reason}");
        assert_eq!(events(&files).last().map(String::as_str), Some(logged));
        let notes = if logged == "session_checkpoint" { json!("half way") } else { json!(null) };
        assert_eq!(state(&files)["sessionNotes"], notes, "{reason}");
    }
}

#[test]
fn who_completed_a_task_is_written_as_the_protocol_has_it() {
    let mut files = with(&[("plan.md", PLAN)]);
    go(&mut files, &start(), &at("11:49", "main"));
    for (task, by) in [("db-schema", "main"), ("auth-middleware", "subagent:fullstack"), ("deploy", "team:billing")] {
        go(&mut files, &done(&[task]), &at("11:52", by));
        assert_eq!(history(&files).iter().rfind(|line| line["taskId"] == task).expect("a line")["by"], by);
    }
    let phases = state(&files)["phases"].clone();
    let by = |phase: &str, task: &str| phases[phase]["tasks"][task]["completedBy"].clone();
    let (first, second) = ("phase-1-setup", "phase-2-ship");
    let all = [by(first, "db-schema"), by(first, "auth-middleware"), by(second, "deploy")];
    assert_eq!(all, ["main", "subagent:fullstack", "team:billing"]);
}
