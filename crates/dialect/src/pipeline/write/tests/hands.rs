//! Checkpoints that workers write by hand, as the protocol's document tells them: nothing of ours is in them.

use piton_model::fleet::{StageResult, Standing};

use super::*;
use crate::pipeline::{standing, story_tasks};

/// Writes the checkpoint as a worker does that never calls Piton: whole, and with the protocol's keys alone.
fn write(bench: &mut Bench, stage: u8, completed: &[&str], remaining: &[&str], more: Value) {
    let mut checkpoint = json!({
        "storyId": "PROJ-42", "stage": stage, "agentId": "by-hand", "tasksCompleted": completed,
        "tasksRemaining": remaining, "lastAction": "wrote", "timestamp": "2026-02-14T14:30:00Z",
    });
    for (key, value) in more.as_object().expect("an object") {
        checkpoint[key] = value.clone();
    }
    bench.files.files.insert(PATH.into(), format!("{checkpoint:#}\n").into_bytes());
}

fn left(bench: &Bench, stage: u8) -> Standing {
    standing(&place(), &bench.files, stage, &moment(bench.minutes))
}

fn missing(bench: &Bench, stage: u8) -> Vec<String> {
    match left(bench, stage) {
        Standing::Incomplete { missing } => missing,
        other => panic!("{other:?}"),
    }
}

/// The whole road of a lead whose workers follow the document to the letter.
#[test]
fn planned_tasks_survive_stages_that_are_written_by_hand() {
    let mut bench = Bench::started("0", &[]);
    write(&mut bench, 0, &[], &["T-1", "T-2"], json!({ "planScore": 3 }));
    assert_eq!(left(&bench, 0), Standing::Complete(StageResult::Planned { score: 3.0 }));
    bench.must(&stage("1"));
    // Both lists are empty, as the document has it, and no key of ours is left.
    write(&mut bench, 1, &[], &[], json!({ "readiness": 8, "verdict": "GO" }));
    assert_eq!(left(&bench, 1), Standing::Complete(StageResult::Go { readiness: 8.0 }));
    let ids = |bench: &Bench| -> Vec<String> {
        let tasks = story_tasks(&place(), &bench.files, &moment(0));
        tasks.into_iter().map(|task| task.task.id).collect()
    };
    assert_eq!(ids(&bench), ["T-1", "T-2"]);
    assert_eq!(bench.plan().remaining.iter().collect::<Vec<_>>(), ["T-1", "T-2"]);
    bench.must(&stage("2"));
    bench.shows(&json!({ "tasksCompleted": [], "tasksRemaining": ["T-1", "T-2"] }));
    assert_eq!(missing(&bench, 2), ["the task T-1 is not done", "the task T-2 is not done"]);
    // A worker that forgets a task has not done it.
    write(&mut bench, 2, &["T-1"], &[], json!({}));
    assert_eq!(missing(&bench, 2), ["the task T-2 is not done"]);
    assert_eq!(bench.refused(&stage("3")).message, "tasks remain: T-2");
    write(&mut bench, 2, &["T-1", "T-2"], &[], json!({}));
    assert_eq!(left(&bench, 2), Standing::Complete(StageResult::Executed));
    bench.must(&stage("3"));
    write(&mut bench, 3, &["T-1"], &[], json!({ "verdict": "PASS", "qualityScore": 90 }));
    assert_eq!(missing(&bench, 3), ["`tasksCompleted` lacks what was planned, at stage 3: T-2"]);
    write(&mut bench, 3, &["T-1", "T-2"], &[], json!({ "verdict": "PASS", "qualityScore": 90 }));
    assert!(matches!(left(&bench, 3), Standing::Complete(StageResult::Passed { .. })));
    bench.must(&Event::Finished);
}

/// A review that forgets a task is given again, at its stage: what stage 2 completed stays completed.
#[test]
fn a_review_that_forgets_a_task_stays_at_its_stage() {
    for listed in [&["T-1"][..], &[]] {
        let mut bench = Bench::led("STAGE_2");
        write(&mut bench, 2, &[], &["T-1", "T-2"], json!({}));
        bench.must(&step(StepTo::Done, &["T-1"]));
        bench.must(&step(StepTo::Done, &["T-2"]));
        bench.must(&stage("3"));
        write(&mut bench, 3, listed, &[], json!({ "verdict": "PASS", "qualityScore": 90 }));
        assert!(missing(&bench, 3)[0].starts_with("`tasksCompleted` lacks what was planned, at stage 3: "));
        let plan = bench.plan();
        assert_eq!((plan.action, &*plan.position), (ResumeAction::Continue, "stage 3"));
        assert_eq!(plan.remaining.iter().count(), 0);
        bench.must(&resumed());
        assert_eq!((bench.standing(), &bench.json()["stage"]), (json!("STAGE_3"), &json!(3)));
        // The verdict about all of it is still to be given.
        assert!(missing(&bench, 3)[0].starts_with("`verdict`"), "{:?}", missing(&bench, 3));
        write(&mut bench, 3, &["T-1", "T-2"], &[], json!({ "verdict": "PASS", "qualityScore": 90 }));
        assert!(matches!(left(&bench, 3), Standing::Complete(StageResult::Passed { .. })));
        bench.must(&Event::Finished);
    }
}

#[test]
fn titles_and_descriptions_are_kept_for_later_workers() {
    let plan = |id: &str, title: &str, description: &str| {
        let (title, description) = (Some(title.to_owned()), Some(description.to_owned()));
        Event::StepMoved(StepMove { title, description, ..StepMove::new(StepTo::Begun, vec![id.to_owned()]) })
    };
    let mut bench = Bench::started("0", &[]);
    bench.must(&plan("T-1", "Door", "Hang it.\nThen oil it."));
    bench.must(&step(StepTo::Begun, &["T-2"]));
    bench.must(&plan("T-2", "Lock", "Fit it."));
    let want = json!([
        { "id": "T-1", "title": "Door", "description": "Hang it.\nThen oil it." },
        { "id": "T-2", "title": "Lock", "description": "Fit it." },
    ]);
    bench.shows(&json!({ "plannedTasks": want, "tasksRemaining": ["T-1", "T-2"] }));
    bench.must(&verdict("PLAN", 4.0, None));
    bench.must(&stage("1"));
    write(&mut bench, 1, &[], &[], json!({ "readiness": 8, "verdict": "GO" }));
    bench.must(&stage("2"));
    bench.shows(&json!({ "plannedTasks": want }));
    let tasks = story_tasks(&place(), &bench.files, &moment(0));
    assert_eq!(tasks[0].task.description.as_deref(), Some("Hang it.\nThen oil it."));
    assert_eq!(missing(&bench, 2)[1], "the task T-2 (Lock) is not done");
    let both = Event::StepMoved(StepMove {
        title: Some("x".into()),
        ..StepMove::new(StepTo::Begun, vec!["T-1".into(), "T-2".into()])
    });
    assert_eq!(bench.refused(&both).kind, RefusalKind::Usage);
}

#[test]
fn tasks_that_a_worker_adds_count_and_skipped_ones_stay_skipped() {
    let mut bench = Bench::started("2", &["T-1", "T-2"]);
    bench.must(&step(StepTo::Skipped, &["T-2"]));
    write(&mut bench, 2, &["T-1"], &["T-9"], json!({}));
    assert_eq!(missing(&bench, 2), ["the task T-9 is not done"]);
    bench.must(&Event::Beat);
    write(&mut bench, 2, &["T-1"], &[], json!({}));
    assert_eq!(missing(&bench, 2), ["the task T-9 is not done"]);
    bench.must(&step(StepTo::Done, &["T-9"]));
    bench.must(&stage("3"));
}

/// Nothing is known of a story that another lead began, so its checkpoint's lists are all its tasks.
#[test]
fn a_story_of_another_lead_has_the_tasks_that_its_checkpoint_lists() {
    let mut bench = Bench::led("STAGE_3");
    write(&mut bench, 2, &["T-1"], &["T-2"], json!({}));
    assert_eq!(missing(&bench, 2), ["the task T-2 is not done"]);
    // Its state is ahead of its work: stage 2 goes on.
    let plan = bench.plan();
    assert_eq!((plan.action, &*plan.position), (ResumeAction::Continue, "stage 2"));
    bench.must(&resumed());
    assert_eq!((bench.standing(), &bench.json()["stage"]), (json!("STAGE_2"), &json!(2)));
    let mut bench = Bench::led("STAGE_3");
    write(&mut bench, 3, &["T-1"], &["T-2"], json!({ "verdict": "PASS", "qualityScore": 90 }));
    assert_eq!(missing(&bench, 3), ["`tasksRemaining` has 1 task at stage 3"]);
    bench.refused(&Event::Finished);
    bench.must(&resumed());
    bench.shows(&json!({ "stage": 2, "tasksCompleted": ["T-1"], "tasksRemaining": ["T-2"] }));
    assert_eq!(bench.standing(), "STAGE_2");
}

/// A story without tasks gets no further, by any road, and a person has a way on.
#[test]
fn a_story_that_never_had_a_task_stops() {
    for (standing, stage_at, more) in [
        ("STAGE_1", 1, json!({ "readiness": 8, "verdict": "GO" })),
        ("STAGE_2", 1, json!({ "readiness": 8, "verdict": "GO" })),
        ("STAGE_2", 2, json!({})),
        ("STAGE_3", 2, json!({})),
        ("STAGE_3", 3, json!({ "verdict": "PASS", "qualityScore": 90 })),
    ] {
        let mut bench = Bench::led(standing);
        write(&mut bench, stage_at, &[], &[], more);
        let Standing::Halted { reason } = left(&bench, stage_at) else { panic!("{standing} {stage_at}") };
        assert!(reason.starts_with("no task of pipeline:PROJ-42 is planned"), "{reason}");
        assert!(reason.ends_with("plan it again from stage 0: piton restart pipeline:PROJ-42"), "{reason}");
        for next in ["2", "3"] {
            let refused = bench.tell(&stage(next));
            assert!(refused.is_err() || bench.json()["stage"] == json!(stage_at), "{standing} {stage_at} {next}");
        }
        bench.refused(&Event::Finished);
        if standing != "STAGE_1" {
            assert_eq!(bench.plan().action, ResumeAction::Refuse, "{standing} {stage_at}");
            bench.refused(&resumed());
        }
        let mut late = bench.clone();
        if stage_at < 3 {
            late.must(&step(StepTo::Begun, &["T-1"]));
            assert_eq!(story_tasks(&place(), &late.files, &moment(0)).len(), 1);
        }
        bench.must(&Event::Restarted { force: true });
        bench.shows(&json!({ "stage": 0 }));
    }
}

#[test]
fn a_restarted_story_forgets_its_tasks() {
    let mut bench = Bench::started("0", &["T-1"]);
    bench.must(&Event::Restarted { force: true });
    write(&mut bench, 0, &[], &["N-1"], json!({ "planScore": 2 }));
    bench.must(&stage("1"));
    write(&mut bench, 1, &[], &[], json!({ "readiness": 8, "verdict": "GO" }));
    bench.must(&stage("2"));
    bench.shows(&json!({ "tasksRemaining": ["N-1"] }));
}

/// A story whose stages leave planning out has one task, itself.
#[test]
fn a_story_without_a_planning_stage_is_its_own_task() {
    let tasks = vec![piton_model::PlannedTask {
        id: "PROJ-42".into(),
        title: Some("A light".into()),
        description: Some("Wire the lamp.".into()),
    }];
    for stage_at in ["1", "2"] {
        let start = Start { stage: Some(stage_at.into()), tasks: tasks.clone(), ..Start::default() };
        let mut bench = Bench::default();
        bench.must(&Event::Started(start));
        assert_eq!(story_tasks(&place(), &bench.files, &moment(0))[0].task, tasks[0], "stage {stage_at}");
        if stage_at == "1" {
            bench.must(&verdict("GO", 8.0, None));
            bench.must(&stage("2"));
        }
        bench.refused(&stage("3"));
        bench.must(&step(StepTo::Done, &["PROJ-42"]));
        bench.must(&stage("3"));
    }
}

/// Every row of the Worker Write Protocol: what a stage must give, and what happens when one of it is missing.
#[test]
fn each_row_of_the_write_protocol_is_required() {
    let rows = [
        (0, vec![], vec!["T-1"], json!({ "planScore": 3 })),
        (1, vec![], vec![], json!({ "readiness": 7, "verdict": "GO" })),
        (1, vec![], vec![], json!({ "readiness": 3, "verdict": "NO-GO", "reason": "vague" })),
        (2, vec!["T-1"], vec![], json!({})),
        (3, vec!["T-1"], vec![], json!({ "verdict": "PASS", "qualityScore": 90 })),
        (3, vec!["T-1"], vec![], json!({ "verdict": "CONCERNS", "qualityScore": 0 })),
        (3, vec!["T-1"], vec![], json!({ "verdict": "WAIVED", "qualityScore": 100 })),
        (3, vec!["T-1"], vec![], json!({ "verdict": "FAIL", "qualityScore": 20, "issues": "slow" })),
    ];
    for (stage, completed, remaining, more) in rows {
        let mut bench = Bench::started("0", &["T-1"]);
        bench.files.observe(PATH);
        write(&mut bench, stage, &completed, &remaining, more.clone());
        assert!(matches!(left(&bench, stage), Standing::Complete(_)), "{more}");
        assert_eq!(bench.look_remembering().1, [""; 0], "{more}");
        let whole = bench.json();
        let own = more.as_object().expect("an object").keys().map(String::as_str);
        let general = ["storyId", "stage", "agentId", "timestamp", "lastAction", "tasksCompleted", "tasksRemaining"];
        for key in own.chain(general) {
            let mut without = whole.clone();
            without.as_object_mut().expect("an object").remove(key);
            bench.files.files.insert(PATH.into(), without.to_string().into_bytes());
            assert!(!matches!(left(&bench, stage), Standing::Complete(_)), "stage {stage} without {key}");
            assert!(!bench.look_remembering().1.is_empty(), "check says nothing: stage {stage} without {key}");
        }
    }
}

#[test]
fn values_out_of_range_leave_a_stage_incomplete() {
    for (stage, more, want) in [
        (0, json!({ "planScore": 9 }), "`planScore` is 9; not between 0 and 4"),
        (0, json!({ "planScore": -1 }), "`planScore` is -1; not between 0 and 4"),
        (0, json!({ "planScore": "3" }), "`planScore` is"),
        (1, json!({ "verdict": "GO", "readiness": 11 }), "`readiness` is 11; not between 1 and 10"),
        (1, json!({ "verdict": "GO", "readiness": 3 }), "`verdict` is GO, but `readiness` is 3, below 5"),
        (1, json!({ "verdict": "GO", "readiness": 4.9 }), "`verdict` is GO, but `readiness` is 4.9, below 5"),
        (1, json!({ "verdict": "GO" }), "`readiness` (1 to 10) is missing, which stage 1 requires"),
        (1, json!({ "verdict": "NO-GO", "readiness": 3 }), "`reason` is missing, which NO-GO requires"),
        (1, json!({ "verdict": "PASS", "readiness": 7 }), "`verdict` is PASS, which stage 1 does not give"),
        (1, json!({ "verdict": "perhaps", "readiness": 7 }), "`verdict` is \"perhaps\", not one of"),
        (3, json!({ "verdict": "PASS" }), "`qualityScore` (0 to 100) is missing, which stage 3 requires"),
        (3, json!({ "verdict": "PASS", "qualityScore": 101 }), "`qualityScore` is 101; not between 0 and 100"),
        (3, json!({ "verdict": "FAIL", "qualityScore": 3 }), "`issues` is missing, which FAIL requires"),
        (3, json!({ "verdict": "GO", "qualityScore": 90 }), "`verdict` is GO, which stage 3 does not give"),
    ] {
        let mut bench = Bench::started("0", &["T-1"]);
        let (completed, remaining): (&[&str], &[&str]) = match stage {
            0 => (&[], &["T-1"]),
            1 => (&[], &[]),
            _ => (&["T-1"], &[]),
        };
        write(&mut bench, stage, completed, remaining, more.clone());
        let missing = missing(&bench, stage);
        assert!(missing.len() == 1 && missing[0].starts_with(want), "{more}: {missing:?}");
        // The verbs say the same.
        let next = if stage == 3 { Event::Finished } else { super::stage(&(stage + 1).to_string()) };
        let refused = bench.refused(&next);
        assert!(refused.message.contains(want), "{more}: {refused}");
    }
    // A bad plan is a result, and the lead pauses for it.
    let mut bench = Bench::started("0", &["T-1"]);
    write(&mut bench, 0, &[], &["T-1"], json!({ "planScore": 1 }));
    assert_eq!(left(&bench, 0), Standing::Complete(StageResult::Planned { score: 1.0 }));
}

#[test]
fn a_person_s_word_in_the_state_halts_the_story() {
    for (word, want) in [
        ("WAITING", "the lead's state says \"WAITING\"; go on with: piton unblock pipeline:PROJ-42"),
        ("PAUSED", "the story is PAUSED"),
    ] {
        let mut bench = Bench::led(word);
        write(&mut bench, 2, &["T-1"], &[], json!({}));
        assert_eq!(left(&bench, 2), Standing::Halted { reason: want.to_owned() });
        bench.must(&Event::Unblocked { which: None, answer: None });
        assert_eq!(bench.standing(), "STAGE_2");
        assert_eq!(left(&bench, 2), Standing::Complete(StageResult::Executed));
    }
}

#[test]
fn a_worker_that_moves_on_by_itself_leaves_nothing_behind() {
    let go = json!({ "readiness": 8, "verdict": "GO" });
    let pass = json!({ "verdict": "PASS", "qualityScore": 90 });
    let failed = json!({ "stageResults": { "stage3": { "verdict": "FAIL", "score": 20, "issues": "slow" } } });
    let slow = StageResult::Failed { issues: "slow".to_owned() };
    for (started, written, completed, remaining, more, want) in [
        (0, 1, vec![], vec![], go, Some(Standing::Complete(StageResult::Moved { to: 1 }))),
        (1, 2, vec!["T-1"], vec![], json!({}), Some(Standing::Complete(StageResult::Moved { to: 2 }))),
        (1, 3, vec!["T-1"], vec![], pass.clone(), Some(Standing::Complete(StageResult::Moved { to: 3 }))),
        (1, 3, vec![], vec![], pass.clone(), None),
        (2, 3, vec![], vec!["T-1"], pass, None),
        // Nothing failed, so there is no reason to go back.
        (3, 2, vec!["T-1"], vec![], json!({}), None),
        (3, 2, vec![], vec!["T-1"], json!({}), Some(Standing::Complete(StageResult::Moved { to: 2 }))),
        // The same verdict as one that a lead takes the story back for.
        (3, 2, vec!["T-1"], vec!["T-2"], failed, Some(Standing::Complete(slow))),
        (2, 1, vec![], vec![], json!({}), None),
    ] {
        let mut bench = Bench::started("0", &["T-1"]);
        bench.files.observe(PATH);
        write(&mut bench, written, &completed, &remaining, more);
        let got = left(&bench, started);
        match want {
            Some(want) => assert_eq!(got, want, "{started} to {written}"),
            None => assert!(matches!(got, Standing::Incomplete { .. }), "{started} to {written}: {got:?}"),
        }
    }
}
