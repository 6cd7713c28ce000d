use super::*;

#[test]
fn a_stage_is_left_when_it_has_given_what_it_must() {
    let mut bench = Bench::started("0", &["T-1", "T-2"]);
    assert!(bench.refused(&stage("1")).hints[0].to_string().contains("PLAN --score"));
    bench.must(&verdict("PLAN", 1.0, None));
    assert_eq!(bench.look().1, ["pipeline-plan-score"]);
    assert_eq!(bench.refused(&stage("1")).message, "the plan's score is 1; 2 is needed");
    bench.must(&verdict("PLAN", 2.0, None));
    assert_eq!(bench.refused(&stage("2")).kind, RefusalKind::Rule);
    bench.refused(&step(StepTo::Done, &["T-1"]));
    bench.must(&stage("1"));
    assert_eq!(
        bench.refused(&stage("2")).message,
        "stage 1 is not complete: `readiness` (1 to 10) is missing, which stage 1 requires; \
         `verdict` (GO or NO-GO) is missing, which stage 1 requires"
    );
    bench.must(&verdict("NO-GO", 3.0, Some("too vague")));
    assert_eq!(bench.refused(&stage("2")).message, "the verdict is NO-GO; stage 2 needs GO: too vague");
    bench.must(&stage("1"));
    bench.shows(&json!({ "verdict": null, "reason": null, "awaits": ["readiness", "verdict"] }));
    bench.must(&verdict("GO", 5.0, None));
    bench.must(&stage("2"));
    assert_eq!(bench.must(&stage("2")).summary, "already at stage 2");
    assert_eq!(bench.refused(&stage("3")).message, "tasks remain: T-1, T-2");
    bench.must(&step(StepTo::Done, &["T-1", "T-2"]));
    assert_eq!(bench.must(&step(StepTo::Done, &["T-1"])).summary, "T-1 already done (2/2)");
    assert_eq!(bench.refused(&step(StepTo::Done, &["T-9"])).kind, RefusalKind::Missing);
    bench.must(&stage("3"));
    assert_eq!(bench.refused(&stage("2")).kind, RefusalKind::Rule);
    assert_eq!(bench.refused(&Event::Finished).kind, RefusalKind::Rule);
    assert_eq!(bench.refused(&stage("4")).kind, RefusalKind::Usage);
}

/// A lead that was killed between two stages left nothing but the checkpoint.
#[test]
fn the_result_of_stage_2_follows_from_the_checkpoint_of_stage_3() {
    let mut bench = Bench::started("2", &["T-1"]);
    let result = |bench: &Bench| crate::pipeline::stage_results(&place(), &bench.files, &moment(0)).remove(&2);
    bench.must(&step(StepTo::Done, &["T-1"]));
    assert_eq!(result(&bench), None, "the stage has not ended");
    bench.must(&stage("3"));
    assert_eq!(result(&bench).as_deref(), Some("Done"));
}

#[test]
fn a_story_is_reworked_twice() {
    let mut bench = Bench::started("2", &["T-1"]);
    bench.must(&step(StepTo::Done, &["T-1"]));
    for round in 0..2 {
        bench.must(&stage("3"));
        bench.must(&verdict("FAIL", 30.0, Some("no tests")));
        assert!(bench.refused(&Event::Finished).hints[0].to_string().contains("stage pipeline:PROJ-42 2"));
        bench.must(&stage("2"));
        bench.shows(&json!({ "verdict": null, "issues": null, "reworks": round + 1 }));
        assert_eq!(bench.json()["stageResults"]["stage3"]["issues"], "no tests");
        let fix = format!("FIX-{round}");
        bench.must(&step(StepTo::Begun, &[&fix, "T-1"]));
        bench.must(&step(StepTo::Done, &["T-1", &fix]));
        assert_eq!(bench.look(), (State::Running, vec![]));
    }
    bench.must(&stage("3"));
    bench.must(&verdict("FAIL", 30.0, Some("no tests")));
    assert!(bench.refused(&stage("2")).hints[0].to_string().contains("piton pause"));
}

/// The prompt of stage 2 offers this to a worker that has no open task.
#[test]
fn a_task_with_a_title_can_be_added_while_others_are_executed() {
    let mut bench = Bench::started("2", &["T-1"]);
    bench.must(&step(StepTo::Done, &["T-1"]));
    assert_eq!(bench.refused(&step(StepTo::Begun, &["T-2"])).kind, RefusalKind::Missing);
    let titled = |task: &str| {
        let Event::StepMoved(moved) = step(StepTo::Begun, &[task]) else { panic!("a move") };
        Event::StepMoved(StepMove { title: Some("Correct it".to_owned()), ..moved })
    };
    // What is done is not opened again by another name for it.
    assert_eq!(bench.refused(&titled("T-1")).kind, RefusalKind::Rule);
    bench.must(&titled("T-2"));
    bench.shows(&json!({ "tasksRemaining": ["T-2"] }));
    assert_eq!(bench.refused(&stage("3")).kind, RefusalKind::Rule);
}

#[test]
fn verdicts_belong_to_their_stage_and_carry_what_they_need() {
    let mut bench = Bench::started("1", &["T-1"]);
    for (event, kind) in [
        (verdict("PASS", 90.0, None), RefusalKind::Rule),
        (verdict("PLAN", 3.0, None), RefusalKind::Rule),
        (verdict("GO", 4.9, None), RefusalKind::Rule),
        (verdict("GO", 11.0, None), RefusalKind::Usage),
        (verdict("GO", f64::NAN, None), RefusalKind::Usage),
        (verdict("NO-GO", 3.0, None), RefusalKind::Usage),
        (verdict("perhaps", 3.0, None), RefusalKind::Usage),
        (Event::VerdictGiven(Verdict { word: "GO".into(), ..Verdict::default() }), RefusalKind::Usage),
        (
            Event::GateJudged(GateJudgement { passed: true, names: vec!["x".into()], step: None, evidence: None }),
            RefusalKind::Usage,
        ),
        (step(StepTo::Begun, &["T-2"]), RefusalKind::Rule),
    ] {
        assert_eq!(bench.refused(&event).kind, kind, "{event:?}");
    }
    let mut bench = Bench::started("2", &["T-1"]);
    bench.must(&step(StepTo::Done, &["T-1"]));
    bench.must(&stage("3"));
    assert_eq!(bench.refused(&verdict("FAIL", 9.0, None)).kind, RefusalKind::Usage);
    assert_eq!(bench.refused(&verdict("PASS", 101.0, None)).kind, RefusalKind::Usage);
    bench.must(&verdict("FAIL", 9.0, Some("slow")));
    bench.must(&verdict("CONCERNS", 70.0, None));
    bench.shows(&json!({ "verdict": "CONCERNS", "issues": null }));
}
