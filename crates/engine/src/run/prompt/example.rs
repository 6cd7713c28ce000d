//! Examples: contexts of every kind in which every name has a value. Templates of the user are tried on them.

use piton_dialect::pipeline::Scores;
use piton_model::Rework;
use serde_json::{Map, json};

use super::{
    BehindFacts, CriterionFacts, DependencyFacts, Excerpt, GateFacts, PromptContext, PromptKind, ResumeFacts,
    TaskFacts, TaskState,
};

/// One context with everything, and one with as little as there can be.
pub(super) fn contexts() -> [PromptContext; 2] {
    let least = least(PromptKind::Task, "task:quay/T060");
    [full(), least]
}

/// A worker that begins, of whose work nothing is known but its name.
pub(super) fn least(kind: PromptKind, unit: &str) -> PromptContext {
    let id = unit.rsplit(['/', ':']).next().unwrap_or(unit);
    PromptContext {
        kind,
        piton: "piton".to_owned(),
        unit: unit.to_owned(),
        id: id.to_owned(),
        step: None,
        worker: format!("{id}-s0"),
        directory: "/repository".to_owned(),
        branch: None,
        base: None,
        checkpoint: "/repository/checkpoint.json".to_owned(),
        preamble: None,
        whole: None,
        title: None,
        description: None,
        sources: Vec::new(),
        phase: None,
        tasks: Vec::new(),
        unnamed: 0,
        criteria: Vec::new(),
        outputs: Vec::new(),
        gates: Vec::new(),
        dependencies: Vec::new(),
        scores: Scores::default(),
        project: Map::new(),
        answers: Map::new(),
        brief: Map::new(),
        notes: Vec::new(),
        instructions: Vec::new(),
        rework: Vec::new(),
        resumed: None,
        is_fast: false,
        stages: vec!["S2.P1".to_owned()],
        epic: String::new(),
        fence: "3f9ac2d1".to_owned(),
    }
}

/// A worker of whose work everything is known.
fn full() -> PromptContext {
    let text = |text: &str| text.to_owned();
    let map = |value: serde_json::Value| value.as_object().cloned().unwrap_or_default();
    let task = |id: &str, state| TaskFacts { id: text(id), title: Some(text("a title")), description: None, state };
    PromptContext {
        step: Some(text("WS1")),
        branch: Some(text("feature/WS1")),
        base: Some(text("main")),
        preamble: Some(text("a preamble")),
        whole: Some(text("a build")),
        title: Some(text("a title")),
        description: Some(text("a description")),
        sources: vec![Excerpt { label: "A part", path: text("/repository/SPEC.md"), text: text("a text") }],
        phase: Some(text("phase 1")),
        tasks: vec![task("one", TaskState::Open), task("two", TaskState::Done), task("three", TaskState::Skipped)],
        unnamed: 2,
        criteria: vec![
            CriterionFacts { name: text("works"), text: Some(text("it works")), command: None },
            CriterionFacts { name: text("test"), text: None, command: Some(text("make test")) },
        ],
        outputs: vec![text("src/one.rs")],
        gates: vec![GateFacts { name: text("test"), command: Some(text("make test")), criteria: Some(text("green")) }],
        dependencies: vec![DependencyFacts {
            name: text("WS0"),
            title: Some(text("a title")),
            outputs: vec![text("src/zero.rs")],
            commit: Some(text("1234567")),
        }],
        scores: Scores { plan: Some(3.0), readiness: Some(8.0), no_go: Some(text("why")), issues: Some(text("what")) },
        project: map(json!({ "name": "quay" })),
        answers: map(json!({ "Who?": "the mason" })),
        brief: map(json!({ "tech": "stone" })),
        notes: vec![(text("note"), text("a note"))],
        instructions: vec![text("an instruction")],
        rework: reworks(),
        resumed: Some(ResumeFacts {
            alarms: vec![text("an alarm")],
            files: vec![text("src/one.rs")],
            left: vec![text("a last word")],
            block: Some(text("CHECKPOINT RESUME")),
            behind: Some(BehindFacts { base: text("main"), commits: vec![text("1f2e3d4 a fix")], count: 2 }),
        }),
        is_fast: true,
        stages: vec![text("S2.P1"), text("S2.P2")],
        epic: text("epics/one"),
        ..least(PromptKind::Workstream, "build:PRD-001")
    }
}

/// Every reason for a rework.
pub(super) fn reworks() -> Vec<Rework> {
    let list = |items: &[&str]| items.iter().map(|item| (*item).to_owned()).collect::<Vec<_>>();
    vec![
        Rework::GateFailed {
            gate: "test".to_owned(),
            command: "make test".to_owned(),
            exit: "exit code 2".to_owned(),
            tail: "test quay::holds ... FAILED\nmake: *** [test] Error 1".to_owned(),
        },
        Rework::Conflict { base: "main".to_owned(), files: list(&["src/quay.rs", "README.md"]) },
        Rework::Uncommitted { files: list(&["src/quay.rs"]) },
        Rework::OtherBranch {
            found: "mine".to_owned(),
            from: "mine".to_owned(),
            branch: "feature/WS1".to_owned(),
            files: list(&["src/quay.rs"]),
        },
        Rework::NoCommit { branch: "feature/WS1".to_owned() },
        Rework::Ignored { files: list(&["dist/quay.js"]) },
        Rework::NothingDone { missing: list(&["task one is not recorded"]), printed: "I am done.".to_owned() },
        Rework::Incomplete { missing: list(&["readiness (1 to 10)"]) },
        Rework::ReviewFailed { issues: "two tests are red".to_owned() },
        Rework::BadSettings { file: "piton.toml".to_owned(), why: "line 3: a value is missing".to_owned() },
        Rework::Unproved { claims: list(&["one is claimed done, not there: src/one.rs"]) },
    ]
}
