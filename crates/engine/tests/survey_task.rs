//! Tasks of a whole directory: archives, conflicts, the managed block.

mod directory;

use directory::Directory;
use piton_engine::{Target, check, find, status};
use piton_model::{Lifecycle, Role, UnitRef};

fn task(agent: &str, id: &str, status: &str, file: &str) -> String {
    let (done, percent, completed, resumable) = match status {
        "complete" => (1, 100, "\"2026-03-02T10:00:00Z\"", false),
        _ => (0, 0, "null", true),
    };
    format!(
        r#"{{"checkpoint_id":"{agent}-{id}-1","agent":"{agent}","task_id":"{id}","status":"{status}","progress_percent":{percent},
        "started_at":"2026-03-02T09:00:00Z","updated_at":"2026-03-02T10:00:00Z","completed_at":{completed},
        "subtasks":{{"total":1,"completed":{done}}},"files_modified":["{file}"],"errors":[{{"message":"rain"}}],"resumable":{resumable}}}"#
    )
}

#[test]
fn a_current_checkpoint_counts_and_its_archives_are_listed() {
    let directory = Directory::new("task-archives");
    let at = |name: &str| format!("docs/progress/checkpoints/{name}");
    directory.write(&at("mason-W1.json"), &task("mason", "W1", "in_progress", "a"));
    directory.write(&at("mason-W1-complete.json"), &task("mason", "W1", "complete", "a"));
    directory.write(&at("mason-W2-complete.json"), &task("mason", "W2", "complete", "b"));
    directory.write(&at("mason-W2-complete-10.json"), &task("mason", "W2", "complete", "b"));
    directory.write(&at("mason-W2-complete-2.json"), &task("mason", "W2", "complete", "b"));
    let workspace = directory.workspace();

    let report = status(&workspace, None, directory.now());
    let rows: Vec<_> = report.rows.iter().map(|row| (row.full_name.as_str(), row.state.lifecycle())).collect();
    assert_eq!(rows, [("docs/mason/W1", Lifecycle::Running), ("docs/mason/W2", Lifecycle::Done)]);

    let documents = |name: &str| {
        let unit = UnitRef::parse(name).expect("a reference");
        let found = find(&workspace, &unit, directory.now()).expect("a task");
        assert_eq!(found.findings, []);
        let last = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
        found.unit.documents.iter().map(|document| (last(&document.path), document.role)).collect::<Vec<_>>()
    };
    let list =
        |names: &[(&str, Role)]| names.iter().map(|(name, role)| ((*name).to_owned(), *role)).collect::<Vec<_>>();
    let current = [("mason-W1.json", Role::Main), ("mason-W1-complete.json", Role::Archive)];
    assert_eq!(documents("task:mason/W1"), list(&current));
    let archived = ["mason-W2-complete-10.json", "mason-W2-complete-2.json", "mason-W2-complete.json"];
    assert_eq!(documents("W2"), list(&archived.map(|name| (name, Role::Archive))));
}

#[test]
fn unfinished_tasks_on_one_file_are_told_at_both() {
    let directory = Directory::new("task-conflict");
    for (agent, status) in [("mason", "in_progress"), ("roofer", "blocked"), ("joiner", "complete")] {
        directory.write(&format!("progress/checkpoints/{agent}-W1.json"), &task(agent, "W1", status, "wall.md"));
    }
    directory.write("progress/STATUS.md", "# Status\n<!-- piton:begin active-checkpoints -->\n");
    directory.write("other/progress/STATUS.md", "<!-- piton:begin active-checkpoints -->\n");
    let checked = check(&directory.workspace(), &Target::Workspace, directory.now()).expect("a check");
    let told: Vec<_> = checked.findings.iter().map(|each| (each.code.name, &*each.place.path)).collect();
    assert_eq!(
        told,
        [
            ("task-status-block", "progress/STATUS.md"),
            ("task-file-conflict", "progress/checkpoints/mason-W1.json"),
            ("task-file-conflict", "progress/checkpoints/roofer-W1.json"),
        ]
    );
}

#[test]
fn a_superseded_archive_does_not_fail_a_check() {
    let directory = Directory::new("task-superseded");
    let at = |name: &str| format!("progress/checkpoints/{name}.json");
    let good = task("mason", "W1", "complete", "a");
    let bad = good.replace("\"updated_at\"", "\"touched_at\"").replace("-W1-1", "-W9-1");
    let leaky = good.replace("rain", "token ghp_abcdefghijklmnopqrstuvwxyz0123456789");
    let of = |text: &str, id: &str| text.replace("W1", id);
    // A current checkpoint counts, whatever its archives say.
    directory.write(&at("mason-W1"), &task("mason", "W1", "in_progress", "a"));
    directory.write(&at("mason-W1-complete"), &bad);
    directory.write(&at("mason-W1-complete-2"), &good[..100]);
    directory.write(&at("mason-W1-complete-3"), &leaky);
    // Of archives alone the last one counts.
    directory.write(&at("mason-W2-complete"), &of(&bad, "W2"));
    directory.write(&at("mason-W2-complete-2"), &of(&good, "W2"));
    // The only document of a task keeps its findings.
    directory.write(&at("mason-W3-complete"), &of(&bad, "W3"));
    let checked = check(&directory.workspace(), &Target::Workspace, directory.now()).expect("a check");
    let told: Vec<_> = checked.findings.iter().map(|each| (each.code.name, &*each.place.path)).collect();
    assert_eq!(
        told,
        [
            ("task-archive-superseded", &*at("mason-W1-complete-2")),
            ("secret", &*at("mason-W1-complete-3")),
            ("task-archive-superseded", &*at("mason-W1-complete")),
            ("task-archive-superseded", &*at("mason-W2-complete")),
            ("missing-key", &*at("mason-W3-complete")),
            ("task-checkpoint-id", &*at("mason-W3-complete")),
        ]
    );
}

#[test]
fn a_torn_checkpoint_is_not_hidden_by_its_archive() {
    let directory = Directory::new("task-torn-current");
    let text = task("stone-mason", "W1", "complete", "a");
    directory.write("progress/checkpoints/stone-mason-W1.json", &text[..100]);
    directory.write("progress/checkpoints/stone-mason-W1-complete.json", &text);
    let unit = UnitRef::parse("stone-mason/W1").expect("a reference");
    let found = find(&directory.workspace(), &unit, directory.now()).expect("a task");
    assert_eq!(found.unit.status_text, "unreadable");
    assert_eq!(found.findings.iter().map(|each| each.code.name).collect::<Vec<_>>(), ["not-json"]);
    let roles: Vec<_> = found.unit.documents.iter().map(|document| document.role).collect();
    assert_eq!(roles, [Role::Main, Role::Archive]);
}

#[test]
fn torn_and_foreign_files_belong_to_no_task() {
    let directory = Directory::new("task-torn");
    directory.write("progress/checkpoints/mason-W1.json", "{\"agent\": \"mas");
    directory.write("progress/checkpoints/epoch-9-complete.json", "{\"loss\": 0.1}");
    let checked = check(&directory.workspace(), &Target::Workspace, directory.now()).expect("a check");
    let codes: Vec<_> = checked.findings.iter().map(|each| each.code.name).collect();
    assert_eq!(codes, ["foreign", "not-json"]);
}
