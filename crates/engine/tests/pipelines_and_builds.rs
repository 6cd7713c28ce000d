//! Pipelines and builds as they lie in a workspace.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, UNIX_EPOCH};

use piton_engine::{Target, Workspace, check, find, status};
use piton_model::{Role, Time, UnitRef};

/// 2026-02-14T15:00:00Z
const NOW: i64 = 1_771_081_200;

/// A directory of its own for each test, removed with the value.
struct Place(PathBuf);

impl Place {
    fn new(name: &str, files: &[(&str, &str)]) -> Place {
        let root = std::env::temp_dir().join(format!("piton-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&root);
        for (path, text) in files {
            let path = root.join(path);
            fs::create_dir_all(path.parent().expect("a file has a directory")).expect("a directory");
            fs::write(&path, text).expect("a file");
            // Files of one age: of two that differ by a second, the newer one counts.
            let written = UNIX_EPOCH + Duration::from_secs(NOW.unsigned_abs());
            let file = fs::File::options().write(true).open(&path).expect("a file");
            file.set_modified(written).expect("a time");
        }
        Place(root)
    }

    fn open(&self) -> Workspace {
        Workspace::open(Some(&self.0), &self.0).expect("a workspace")
    }

    fn codes(&self) -> Vec<String> {
        let checked = check(&self.open(), &Target::Workspace, Time::from_unix_seconds(NOW)).expect("checked");
        let place = |finding: &piton_model::Finding| format!("{} {}", finding.place.path, finding.code.name);
        checked.findings.iter().map(place).collect()
    }

    fn names(&self) -> Vec<String> {
        let report = status(&self.open(), None, Time::from_unix_seconds(NOW));
        let mut names: Vec<_> = report.rows.iter().map(|row| format!("{}:{}", row.dialect, row.full_name)).collect();
        names.sort();
        names
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

const CHECKPOINT: &str = r#"{"storyId": "KITE-7", "stage": 2, "agentId": "a-1", "tasksCompleted": ["T1"],
    "tasksRemaining": ["T2"], "lastAction": "flew", "timestamp": "2026-02-14T14:30:00Z"}"#;

#[test]
fn checkpoints_in_worktrees_are_found() {
    let stray = ".worktrees/story-KITE-7/.pipeline/checkpoint-KITE-7.json";
    let place = Place::new("strays", &[(stray, CHECKPOINT)]);
    assert_eq!(place.names(), ["pipeline:KITE-7"]);
    assert_eq!(place.codes(), [format!("{stray} pipeline-stray")]);

    let state = r#"{"complete": false, "story_state": {"KITE-7": "STAGE_2"}}"#;
    let foreign = r#"{"phase": 1, "status": "running", "project_complete": false}"#;
    let place = Place::new(
        "pipelines",
        &[
            ("web/.pipeline/state.json", state),
            ("web/.pipeline/checkpoint-KITE-7.json", CHECKPOINT),
            ("web/.worktrees/x/.pipeline/checkpoint-KITE-7.json", CHECKPOINT),
            ("other/.pipeline/state.json", foreign),
        ],
    );
    assert_eq!(place.names(), ["pipeline:web/KITE-7"]);
    assert_eq!(
        place.codes(),
        [
            "other/.pipeline/state.json foreign",
            "web/.worktrees/x/.pipeline/checkpoint-KITE-7.json pipeline-stray",
            "web/.worktrees/x/.pipeline/checkpoint-KITE-7.json two-documents",
        ]
    );
}

fn build(prd: &str, more: &str) -> String {
    format!(
        r#"{{"prd": "{prd}", "prd_title": "Kites", "current_phase": 0, "status": "initialized",
        "completed_workstreams": [], "in_progress_workstreams": [], "pending_workstreams": ["WS1"], "artifacts": {{}},
        "gates_passed": [], "gates_pending": ["lint"], "timestamp": "2026-02-14T14:30:00Z"{more}}}"#
    )
}

#[test]
fn a_specification_is_found_by_path_name_or_front_matter() {
    let spec = |prd: &str| {
        format!(
            "---\nprd: {prd}\nworkstreams: {{WS1: {{name: Frame}}}}\nexecution_phases: [{{parallel: [WS1]}}]\ngates: {{lint: {{command: make}}}}\n---\n"
        )
    };
    let at = |prd: &str| format!(".claude/skills/build-pipeline/checkpoints/{prd}.json");
    let cases = [
        ("PRD-101", r#", "exec_spec": "docs/frame.md""#, Some("docs/frame.md")),
        ("PRD-102", "", Some("docs/EXECUTION-SPEC-PRD-102.md")),
        ("PRD-103", "", Some("docs/EXEC-9-sails.md")),
        ("PRD-10", "", None),
        ("PRD-104", r#", "exec_spec": "../outside.md""#, None),
    ];
    let mut files = vec![
        ("docs/frame.md".to_owned(), spec("PRD-101")),
        ("docs/EXECUTION-SPEC-PRD-102-v0.1.md".to_owned(), spec("PRD-102")),
        ("docs/EXECUTION-SPEC-PRD-102.md".to_owned(), spec("PRD-102")),
        ("docs/EXEC-9-sails.md".to_owned(), spec("PRD-103")),
    ];
    files.extend(cases.iter().map(|(prd, more, _)| (at(prd), build(prd, more))));
    let files: Vec<_> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let place = Place::new("specs", &files);
    for (prd, _, want) in cases {
        let wanted = UnitRef::parse(&format!("build:{prd}")).expect("a reference");
        let found = find(&place.open(), &wanted, Time::from_unix_seconds(NOW)).expect("a unit");
        let companion = found.unit.documents.iter().find(|document| document.role == Role::Companion);
        assert_eq!(companion.map(|document| &*document.path), want, "{prd}");
        assert_eq!(found.unit.steps[0].title.as_deref(), want.map(|_| "Frame"), "{prd}");
    }
    assert_eq!(
        place.codes(),
        [
            format!("{} build-prd-pattern", at("PRD-10")),
            format!("{} path-outside", at("PRD-104")),
            format!("{} build-spec-missing", at("PRD-104")),
        ]
    );
}
