//! `schema`: valid JSON Schemas that take what the protocols prescribe and refuse what breaks them.

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::support::Workspace;
use crate::support::fixtures::{agent, build, pipeline, plan_state, story, task};
use crate::support::harbour::but;

const WRITTEN: &str = "2026-02-20T11:55:00Z";

fn schema(arguments: &[&str]) -> Value {
    let mut call = vec!["schema"];
    call.extend(arguments);
    let run = Workspace::new().run(&call).exits(0);
    assert_eq!(run.stderr, "");
    run.json()
}

#[test]
fn schemas_are_valid_drafts() {
    for dialect in ["pipeline", "plan", "build", "task", "crew"] {
        let run = Workspace::new().run(&["schema", dialect]).exits(0);
        assert_snapshot!(format!("schema_{dialect}"), run.transcript());
        let schema = run.json();
        assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
        jsonschema::draft202012::meta::validate(&schema).unwrap_or_else(|error| panic!("{dialect}: {error}"));
    }
}

#[test]
fn canonical_documents_are_valid_and_broken_ones_are_not() {
    let state = pipeline(json!({ "HARB-1": "STAGE_2" }), json!({ "HARB-1": [] }));
    let plan = plan_state("260218-0900-lighthouse", "sha256:0123456789abcdef");
    let recovery = json!({ "savedAt": WRITTEN, "reason": "phase_complete", "state": plan });
    let event = json!({ "ts": WRITTEN, "event": "task_completed", "task": "fit" });
    let crew = agent("Secondary-A", "tide_gauges", "WAITING", WRITTEN, WRITTEN);
    let task = task("quay", "T060", "List all quays", WRITTEN);
    let build = build("PRD-002", "Dredge the basin", "in_progress");
    let specification = json!({
        "prd": "PRD-002",
        "workstreams": { "WS1": { "name": "Dig", "depends_on": [], "outputs": ["depth.csv"], "gate": "depth" } },
        "execution_phases": [{ "name": "All of it", "parallel": ["WS1"], "gates": ["depth"] }],
        "gates": { "depth": { "command": "make sound", "success_criteria": "exit code 0" } },
    });
    let finished = json!({ "stage": 3, "verdict": "PASS", "qualityScore": 91 });
    for (names, document, breaks) in [
        (&["pipeline", "state"][..], state, json!({ "complete": "no" })),
        (&["pipeline", "checkpoint"], story("HARB-1", WRITTEN), json!({ "stage": 4 })),
        (&["pipeline", "checkpoint"], but(story("HARB-1", WRITTEN), finished), json!({ "verdict": "FINE" })),
        (&["plan", "state"], plan, json!({ "version": 1 })),
        (&["plan", "recovery"], recovery, json!({ "state": {} })),
        (&["plan", "history"], event, json!({ "event": 7 })),
        (&["build", "specification"], specification, json!({ "prd": "../PRD-002" })),
        (&["build", "checkpoint"], build, json!({ "completed_workstreams": "WS1" })),
        (&["task"], task.clone(), json!({ "progress_percent": 101 })),
        (&["task", "checkpoint"], task, json!({ "heartbeat": {} })),
        (&["crew"], crew.clone(), json!({ "status": "waiting for the tide" })),
        (&["crew", "checkpoint"], crew, json!({ "blockers": null })),
    ] {
        let schema = schema(names);
        let validator = jsonschema::draft202012::new(&schema).expect("a schema");
        if let Err(error) = validator.validate(&document) {
            panic!("{names:?}: {error} in {document:#}");
        }
        let mut with_more = document.clone();
        with_more["added_by_somebody"] = json!({ "any": ["thing"] });
        assert!(validator.is_valid(&with_more), "{names:?} refuses keys that it does not know");
        assert!(!validator.is_valid(&but(document.clone(), breaks.clone())), "{names:?} takes {breaks}");
        for key in schema["required"].as_array().expect("required keys") {
            let mut without = document.clone();
            without.as_object_mut().expect("an object").shift_remove(key.as_str().expect("a key"));
            assert!(!validator.is_valid(&without), "{names:?} does not miss {key}");
        }
    }
}

#[test]
fn a_dialects_schema_takes_any_of_its_documents() {
    let validator = jsonschema::draft202012::new(&schema(&["pipeline"])).expect("a schema");
    assert!(validator.is_valid(&pipeline(json!({ "HARB-1": "STAGE_2" }), json!({}))));
    assert!(validator.is_valid(&story("HARB-1", WRITTEN)));
    assert!(!validator.is_valid(&json!({ "phase": 1, "project": "another tool's" })));
}
