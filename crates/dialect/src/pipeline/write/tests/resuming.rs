use super::*;

#[test]
fn the_resume_block_is_the_protocol_s() {
    let mut bench = Bench::started("2", &["PROJ-101", "PROJ-102", "PROJ-103"]);
    bench.must(&step(StepTo::Done, &["PROJ-101"]));
    let plan = bench.plan();
    assert_eq!(
        plan.block.as_deref(),
        Some(
            "CHECKPOINT RESUME — DO NOT re-execute completed work.\nTasks already completed: PROJ-101\n\
             Tasks remaining: PROJ-102, PROJ-103\nLast action: Task PROJ-101 completed\n\
             Continue from remaining tasks only."
        )
    );
    assert_eq!((plan.action, &*plan.position), (ResumeAction::Continue, "stage 2"));
    assert_eq!(plan.next, "go on with PROJ-102; when it is done: piton step pipeline:PROJ-42 done PROJ-102");
    assert!(plan.reasons.contains(&"ask session abc-123-def first".into()), "{:?}", plan.reasons);
    let text = String::from_utf8(bench.files.files[PATH].clone()).expect("text").replace("abc-123-def", "");
    bench.files.files.insert(PATH.into(), text.into_bytes());
    let plan = bench.plan();
    assert_eq!(plan.action, ResumeAction::Respawn);
    assert!(
        plan.reasons.iter().any(|reason| reason.to_string().contains("story-PROJ-42-s2-retry")),
        "{:?}",
        plan.reasons
    );
}

#[test]
fn a_resume_compares_the_checkpoint_with_the_state() {
    let mut bench = Bench::started("1", &["T-1"]);
    bench.must(&verdict("GO", 8.0, None));
    for (standing, want) in [
        ("STAGE_1", ResumeAction::Continue),
        ("STAGE_2", ResumeAction::Respawn),
        ("STAGE_3", ResumeAction::Refuse),
        ("STAGE_0", ResumeAction::Refuse),
        ("QUEUED", ResumeAction::Refuse),
        ("DONE", ResumeAction::Refuse),
        ("PAUSED", ResumeAction::Refuse),
        ("asleep", ResumeAction::Refuse),
    ] {
        let mut bench = bench.clone();
        bench.lead(standing);
        let plan = bench.plan();
        assert_eq!(plan.action, want, "{standing}: {:?}", plan.reasons);
        assert_eq!(plan.block.is_some(), want == ResumeAction::Continue, "{standing}");
        assert_eq!(bench.tell(&resumed()).is_ok(), want != ResumeAction::Refuse, "{standing}");
        if standing == "PAUSED" {
            bench.must(&Event::Unblocked { which: None, answer: None });
            assert_eq!(bench.standing(), "STAGE_1");
        }
        if standing == "STAGE_2" {
            bench.shows(&json!({ "stage": 2, "tasksRemaining": ["T-1"], "verdict": null }));
        }
    }
    bench.lead("STAGE_1");
    bench.must(&Event::Paused { reason: None });
    let plan = bench.plan();
    assert_eq!(plan.action, ResumeAction::Continue);
    assert_eq!(plan.reasons[0], "it was paused at STAGE_1");
    let fresh = Bench::led("STAGE_2").plan();
    assert_eq!((fresh.action, fresh.block), (ResumeAction::Respawn, None));
}

#[test]
fn a_restart_keeps_the_old_checkpoint() {
    let mut bench = Bench::started("2", &["T-1"]);
    let old = bench.files.files[PATH].clone();
    bench.must(&Event::Restarted { force: false });
    assert_eq!(bench.files.files[&format!(".pipeline/archive/checkpoint-PROJ-42-{NOW}.json")], old);
    bench.shows(&json!({ "stage": 0, "tasksRemaining": [], "agentId": "fresh-1" }));
    bench.must(&Event::Restarted { force: false });
    bench.must(&Event::TakenOver { agent: "worker-2".into() });
    assert_eq!(bench.json()["agentId"], "worker-2");
}
