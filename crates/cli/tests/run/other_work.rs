//! A list gives a unit that was begun other work: the agent's next feature, another task of the same id, another title.

use crate::sync_points::FINISHES;
use crate::whose_word::{is_on_main, said, set_hook, workers, yard};

fn crew(feature: &str) -> String {
    format!("[[agents]]\nagent = \"Secondary-A\"\nfeature = \"{feature}\"\ntext = \"Do.\"\nepic = \"epics/e\"\n")
}

/// Leaves a file that is named after its feature.
fn by_feature() -> String {
    format!("feature=$(grep -o 'feature_[a-z]*' \"$PITON_CHECKPOINT\" | head -n 1); keep \"$feature\"\n{FINISHES}")
}

#[test]
fn an_agent_that_is_done_begins_with_the_next_feature_of_its_list() {
    let yard = yard(&by_feature(), "", &[("crew.toml", &crew("feature_one"))]);
    yard.run(&["run", "crew.toml", "--yes"]);
    yard.workspace.write("crew.toml", crew("feature_two"));
    yard.commit("the next one");
    let plan = yard.run(&["run", "crew.toml", "--explain"]);
    assert!(!said(&plan).contains("is done"), "{}", said(&plan));
    let ended = yard.run(&["run", "crew.toml", "--yes"]);
    assert!(said(&ended).contains("its list has other work for it: it begins with feature_two"), "{}", said(&ended));
    assert!(is_on_main(&yard, "feature_one.txt") && is_on_main(&yard, "feature_two.txt"), "{}", said(&ended));
    let before = workers(&yard);
    yard.run(&["run", "crew.toml", "--yes"]);
    assert_eq!(workers(&yard), before, "it is done once");
}

#[test]
fn an_unfinished_feature_is_given_up_for_another_by_a_retry_alone() {
    let dies = "keep half; exit 1";
    let yard = yard(dies, "", &[("crew.toml", &crew("feature_one"))]);
    assert_eq!(yard.piton(&["run", "crew.toml", "--yes"]).code, Some(4));
    let before = workers(&yard);
    yard.workspace.write("crew.toml", crew("feature_two"));
    yard.commit("another one");
    set_hook(&yard, &by_feature());
    let asked = yard.piton(&["run", "crew.toml", "--yes"]);
    let question = "list feature_one again, or give it up and begin with feature_two: piton run crew.toml --retry";
    assert!(asked.code == Some(4) && said(&asked).contains(question), "{}", said(&asked));
    assert_eq!(workers(&yard), before);
    let ended = yard.run(&["run", "crew.toml", "--retry"]);
    assert!(said(&ended).contains("feature_one is given up"), "{}", said(&ended));
    assert!(is_on_main(&yard, "feature_two.txt") && !is_on_main(&yard, "half.txt"), "{}", said(&ended));
    let kept = std::fs::read_dir(yard.workspace.path("epics/e/agent_checkpoints")).expect("it is there");
    let is_archive = |name: String| name.starts_with("secondary_a_aborted_");
    assert!(kept.flatten().any(|entry| is_archive(entry.file_name().to_string_lossy().into_owned())));
}

#[test]
fn a_task_of_another_title_with_other_subtasks_is_another_task() {
    let task = |title: &str, steps: &str| {
        format!("[[tasks]]\nagent = \"copy\"\nid = \"T1\"\ntitle = \"{title}\"\nsubtasks = [{steps}]\n")
    };
    let yard = yard("", "", &[("tasks.toml", &task("Saddles", "\"one\", \"two\""))]);
    yard.run(&["run", "tasks.toml", "--yes"]);
    yard.workspace.write("tasks.toml", task("Bells", "\"three\""));
    yard.commit("another one");
    let hook = r#"keep three; "$PITON" step "$PITON_UNIT" done three; "$PITON" finish "$PITON_UNIT"; exit 0"#;
    set_hook(&yard, hook);
    let ended = yard.run(&["run", "tasks.toml", "--yes"]);
    assert!(is_on_main(&yard, "three.txt"), "{}", said(&ended));
    // The same subtasks by another title: the user says whether that is other work.
    yard.workspace.write("tasks.toml", task("Chimes", "\"three\""));
    yard.commit("another title");
    let before = workers(&yard);
    let told = yard.run(&["run", "tasks.toml", "--yes"]);
    let hint = "it is done as \"Bells\", and its list has \"Chimes\"; if that is other work, begin it: piton start task:copy/T1";
    assert!(said(&told).contains(hint) && workers(&yard) == before, "{}", said(&told));
    yard.run(&["start", "task:copy/T1"]);
    let again = yard.run(&["run", "tasks.toml", "--yes"]);
    assert!(workers(&yard).len() > before.len() && !said(&again).contains("begin it:"), "{}", said(&again));
}

#[test]
fn a_story_that_is_done_by_another_title_is_named() {
    let story = |title: &str| format!("[[stories]]\nid = \"S-1\"\ntitle = \"{title}\"\nstages = [2, 3]\n");
    let yard = yard("", "", &[("stories.toml", &story("A till"))]);
    yard.run(&["run", "stories.toml", "--yes"]);
    yard.workspace.write("stories.toml", story("Receipts"));
    yard.commit("another title");
    let before = workers(&yard);
    let told = yard.run(&["run", "stories.toml", "--yes"]);
    let hint = "it is done as \"A till\", and its list has \"Receipts\"; if that is other work, begin it: piton start pipeline:S-1";
    assert!(said(&told).contains(hint) && workers(&yard) == before, "{}", said(&told));
    yard.run(&["start", "pipeline:S-1"]);
    set_hook(&yard, "if [ \"$PITON_STAGE\" = 2 ]; then keep receipts; fi");
    let again = yard.run(&["run", "stories.toml", "--yes"]);
    assert!(workers(&yard).len() > before.len() && !said(&again).contains("begin it:"), "{}", said(&again));
}

/// A checkpoint that an agent wrote by hand, as its protocol says.
fn by_hand(status: &str) -> String {
    let time = "2026-03-10T10:00:00Z";
    let can_resume = status != "COMPLETE";
    serde_json::json!({
        "agent_id": "Secondary-A", "agent_type": "secondary", "session_id": "abc", "feature": "feature_one",
        "stage": "S2.P2", "phase": "Specification", "last_checkpoint": time, "next_checkpoint_expected": time,
        "status": status, "can_resume": can_resume, "blockers": [], "files_modified": [], "recovery_instructions": "",
        "current_step": "Write", "completed_steps": ["S2.P1 complete"], "next_steps": [],
        "coordination_state": { "last_inbox_check": time, "unread_messages": 0, "last_epic_readme_update": time,
            "last_status_update": time },
    })
    .to_string()
}

const CHECKPOINT: &str = "epics/e/agent_checkpoints/secondary_a.json";

#[test]
fn an_agent_that_finished_without_piton_begins_with_the_next_feature_of_its_list() {
    let files = [("crew.toml", crew("feature_two")), (CHECKPOINT, by_hand("COMPLETE"))];
    let yard = yard(&by_feature(), "", &files.each_ref().map(|(path, text)| (*path, text.as_str())));
    let plan = yard.run(&["run", "crew.toml", "--explain"]);
    assert!(!said(&plan).contains("is done"), "{}", said(&plan));
    let ended = yard.run(&["run", "crew.toml", "--yes"]);
    assert!(is_on_main(&yard, "feature_two.txt"), "{}", said(&ended));
    assert_eq!(workers(&yard).len(), 1, "{}", said(&ended));
}

#[test]
fn an_agent_that_did_not_finish_without_piton_is_asked_about() {
    let files = [("crew.toml", crew("feature_two")), (CHECKPOINT, by_hand("IN_PROGRESS"))];
    let yard = yard(&by_feature(), "", &files.each_ref().map(|(path, text)| (*path, text.as_str())));
    let asked = yard.piton(&["run", "crew.toml", "--yes"]);
    let question = "it is not finished with feature_one, and its list has feature_two";
    assert!(asked.code == Some(4) && said(&asked).contains(question), "{}", said(&asked));
    assert!(workers(&yard).is_empty(), "{}", said(&asked));
    let ended = yard.run(&["run", "crew.toml", "--retry"]);
    assert!(is_on_main(&yard, "feature_two.txt"), "{}", said(&ended));
}

#[test]
fn an_agent_that_took_a_feature_over_begins_with_its_next_one() {
    let yard = yard("exit 1", "", &[("crew.toml", &crew("feature_one"))]);
    assert_eq!(yard.piton(&["run", "crew.toml", "--yes"]).code, Some(4));
    yard.run(&["takeover", "crew:Secondary-A", "--as", "Secondary-C"]);
    let heir = |feature: &str| crew(feature).replace("Secondary-A", "Secondary-C");
    yard.workspace.write("crew.toml", heir("feature_one"));
    yard.commit("another agent");
    // It calls the feature otherwise, and that is no other work.
    let renames = "sed -i 's/\"feature\": \"feature_one\"/\"feature\": \"One\"/' \"$PITON_CHECKPOINT\"";
    set_hook(&yard, &format!("{}\n", by_feature().replace("\n", &format!("\n{renames}\n"))));
    yard.run(&["run", "crew.toml", "--yes", "--retry"]);
    let before = workers(&yard).len();
    yard.run(&["run", "crew.toml", "--yes"]);
    assert_eq!(workers(&yard).len(), before, "it is done once");
    yard.workspace.write("crew.toml", heir("feature_two"));
    yard.commit("the next one");
    set_hook(&yard, &by_feature());
    let ended = yard.run(&["run", "crew.toml", "--yes"]);
    assert!(is_on_main(&yard, "feature_two.txt"), "{}", said(&ended));
}
