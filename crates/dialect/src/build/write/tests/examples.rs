use super::*;

#[test]
fn the_protocols_examples_come_out_of_their_operations() {
    let mut bench = Bench::plain();
    assert_eq!(
        bench.json(),
        json!({
            "prd": "PRD-009", "prd_title": "Cashier Workflows", "current_phase": 0, "status": "initialized",
            "completed_workstreams": [], "in_progress_workstreams": [],
            "pending_workstreams": ["WS1", "WS2", "WS3", "WS4", "WS5"], "artifacts": {}, "gates_passed": [],
            "gates_pending": ["schema-validation", "type-check", "lint", "test-pass"],
            "timestamp": "2025-12-11T10:00:00Z"
        })
    );
    bench.minutes = 5;
    bench.must(&begin(&["WS1"]));
    bench.shows(&json!({
        "status": "in_progress", "in_progress_workstreams": ["WS1"],
        "pending_workstreams": ["WS2", "WS3", "WS4", "WS5"], "timestamp": "2025-12-11T10:05:00Z"
    }));
    bench.minutes = 15;
    let files = ["supabase/migrations/xxx.sql", "services/domain/dtos.ts", "services/domain/schemas.ts"];
    let change = bench.must(&done("WS1", &files));
    assert_eq!(change.summary, "WS1 done (1/5)");
    bench.shows(&json!({
        "completed_workstreams": ["WS1"], "in_progress_workstreams": [], "artifacts": {"WS1": files},
        "timestamp": "2025-12-11T10:15:00Z"
    }));
    bench.minutes = 16;
    bench.must(&gate(true, "schema-validation", Some("WS1")));
    bench.shows(&json!({
        "current_phase": 1, "gates_passed": ["schema-validation (WS1)"],
        "gates_pending": ["type-check", "lint", "test-pass"], "status": "paused",
        "timestamp": "2025-12-11T10:16:00Z"
    }));
    bench.minutes = 20;
    bench.must(&begin(&["WS2", "WS3"]));
    bench.shows(&json!({
        "status": "in_progress", "in_progress_workstreams": ["WS2", "WS3"], "pending_workstreams": ["WS4", "WS5"],
        "timestamp": "2025-12-11T10:20:00Z"
    }));
    let mut broken = bench.clone();
    broken.minutes = 25;
    let message = "Property 'player_id' does not exist on type 'PlayerDTO'";
    let failure = Event::Failed {
        step: Some("WS3".into()),
        message: message.into(),
        file: Some("services/player/index.ts".into()),
        line: Some(45),
    };
    let refusal = broken.refused(&failure);
    assert!(refusal.hints[0].to_string().contains("piton step build:PRD-009 done WS2"), "{:?}", refusal.hints);
    broken.must(&done("WS2", &[]));
    broken.must(&failure);
    broken.shows(&json!({
        "status": "failed", "in_progress_workstreams": [], "pending_workstreams": ["WS3", "WS4", "WS5"],
        "error": {"workstream": "WS3", "message": message, "file": "services/player/index.ts", "line": 45},
        "timestamp": "2025-12-11T10:25:00Z"
    }));
    assert_eq!(broken.errors(), [""; 0]);
}

#[test]
fn the_complete_example_comes_out_of_its_operations() {
    let mut bench = Bench::plain();
    let streams = [
        ("WS1", &["migration.sql", "dtos.ts"][..], "schema-validation"),
        ("WS2", &["index.ts", "keys.ts"], "type-check"),
        ("WS3", &["route.ts"], "lint"),
        ("WS4", &["hooks/index.ts"], "type-check"),
        ("WS5", &["*.test.ts"], "test-pass"),
    ];
    for (id, files, name) in streams {
        bench.must(&begin(&[id]));
        bench.must(&done(id, files));
        bench.must(&gate(true, name, Some(id)));
    }
    bench.minutes = 60;
    bench.must(&Event::Finished);
    assert_eq!(
        bench.json(),
        json!({
            "prd": "PRD-009", "prd_title": "Cashier Workflows", "current_phase": 5, "status": "complete",
            "completed_workstreams": ["WS1", "WS2", "WS3", "WS4", "WS5"], "in_progress_workstreams": [],
            "pending_workstreams": [],
            "artifacts": {
                "WS1": ["migration.sql", "dtos.ts"], "WS2": ["index.ts", "keys.ts"], "WS3": ["route.ts"],
                "WS4": ["hooks/index.ts"], "WS5": ["*.test.ts"]
            },
            "gates_passed": [
                "schema-validation (WS1)", "type-check (WS2)", "lint (WS3)", "type-check (WS4)", "test-pass (WS5)"
            ],
            "gates_pending": [], "timestamp": "2025-12-11T11:00:00Z"
        })
    );
    assert_eq!(bench.unit().state, State::Done);
    assert_eq!(bench.must(&Event::Finished).summary, "already complete");
    assert!(bench.refused(&begin(&["WS1"])).hints[1].to_string().contains("legal"));
    assert!(
        bench
            .refused(&Event::Started(Start::default()))
            .hints
            .iter()
            .any(|hint| hint.to_string().contains("piton restart"))
    );
}
