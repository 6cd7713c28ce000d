//! The sync point of a crew's run asks what `piton sync` asks: every agent of the epic, and whoever took over for one.

use crate::whose_word::{is_on_main, said, set_hook, workers, yard};
use crate::yard::Yard;

/// Does every stage of its feature, and finishes.
pub const FINISHES: &str = r#"keep "$step"
for stage in S2.P1 S2.P2 S2.P3; do
  "$PITON" stage "$PITON_UNIT" $stage || true
  for part in 1 2 3 4 5 6 7 8 9; do "$PITON" step "$PITON_UNIT" done $part || true; done
done
"$PITON" finish "$PITON_UNIT"; exit 0
"#;

fn crew(agents: &[&str]) -> String {
    let agent = |id: &&str| {
        let feature = id.to_lowercase().replace('-', "_");
        format!("[[agents]]\nagent = \"{id}\"\nfeature = \"{feature}\"\ntext = \"Do.\"\nepic = \"epics/e\"\n")
    };
    agents.iter().map(agent).collect()
}

fn begin(yard: &Yard, agent: &str) {
    let unit = format!("crew:epics/e/{agent}");
    yard.run(&["start", &unit, "--feature", "by_hand", "--stage", "S2.P1", "--type", "secondary"]);
}

#[test]
fn an_agent_that_took_over_stands_for_the_other_at_the_sync_point() {
    let dies = format!("if [ \"$step\" = Secondary-A ]; then exit 1; fi\n{FINISHES}");
    let yard = yard(&dies, "", &[("crew.toml", &crew(&["Secondary-A", "Secondary-B"]))]);
    assert_eq!(yard.piton(&["run", "crew.toml", "--yes"]).code, Some(4));
    set_hook(&yard, FINISHES);
    yard.run(&["takeover", "crew:Secondary-A", "--as", "Secondary-C"]);
    yard.run(&["run", "crew:Secondary-C"]);
    let before = workers(&yard);
    let ended = yard.run(&["run", "crew.toml", "--yes", "--retry"]);
    assert!(said(&ended).contains("gate sync point passed"), "{}", said(&ended));
    assert_eq!(workers(&yard), before, "{}", said(&ended));
    assert!(is_on_main(&yard, "Secondary-C.txt"), "{}", said(&ended));
}

#[test]
fn agents_of_the_epic_that_are_not_listed_are_missing_at_the_sync_point() {
    let yard = yard(FINISHES, "", &[("crew.toml", &crew(&["Secondary-B"]))]);
    begin(&yard, "Secondary-A");
    let missing = "missing at the sync point: crew:epics/e/Secondary-A: its status is \"IN_PROGRESS\", not COMPLETE";
    for options in [&["run", "crew.toml", "--yes"][..], &["run", "crew.toml", "--yes", "--retry"]] {
        let ended = yard.piton(options);
        assert_eq!(ended.code, Some(4), "{}", said(&ended));
        assert!(said(&ended).contains(missing), "{}", said(&ended));
        assert!(!said(&ended).contains("sync point passed"), "{}", said(&ended));
    }
    assert_eq!(yard.piton(&["sync", "epics/e"]).code, Some(7));
    let path = "epics/e/agent_checkpoints/secondary_a.json";
    let mut checkpoint = yard.read_json(path);
    (checkpoint["status"], checkpoint["next_steps"]) = ("COMPLETE".into(), serde_json::json!([]));
    yard.workspace.write(path, checkpoint.to_string());
    yard.run(&["sync", "epics/e"]);
    yard.run(&["run", "crew.toml", "--yes", "--retry"]);
    assert_eq!(workers(&yard), ["Secondary-B"]);
}

#[test]
fn an_agent_that_its_status_file_calls_unready_is_missing_at_the_sync_point() {
    let status = "STAGE: S2.P3\nSTATUS: IN_PROGRESS\nREADY_FOR_SYNC: false\nBLOCKERS: none\n";
    // Writes its checkpoint by hand, and forgets the STATUS file.
    let hook = r#"keep it; now=$(date -u +%FT%TZ)
cat > "$PITON_CHECKPOINT" <<END
{ "agent_id": "Secondary-B", "agent_type": "secondary", "session_id": "abc", "feature": "secondary_b", "stage": "S2.P3",
  "phase": "Complete", "last_checkpoint": "$now", "next_checkpoint_expected": "$now", "status": "COMPLETE",
  "can_resume": false, "blockers": [], "files_modified": [], "recovery_instructions": "none", "current_step": "done",
  "completed_steps": ["S2.P3 complete"], "next_steps": [] }
END
exit 0"#;
    let path = "epics/e/secondary_b/STATUS";
    let yard = yard(hook, "", &[("crew.toml", &crew(&["Secondary-B"])), (path, status)]);
    let ended = yard.piton(&["run", "crew.toml", "--yes"]);
    let missing = "crew:epics/e/Secondary-B: its STATUS file does not say that it is ready for sync";
    assert_eq!((ended.code, said(&ended).contains(missing)), (Some(4), true), "{}", said(&ended));
    yard.workspace.write(path, status.replace("false", "true"));
    yard.run(&["run", "crew.toml", "--yes", "--retry"]);
    assert_eq!(workers(&yard).len(), 1);
}

#[test]
fn an_agent_that_is_named_alone_is_done_without_the_others() {
    let yard = yard(FINISHES, "", &[]);
    begin(&yard, "Secondary-A");
    begin(&yard, "Secondary-B");
    let ended = yard.run(&["run", "crew:Secondary-B", "--yes", "--retry"]);
    assert!(!said(&ended).contains("sync point"), "{}", said(&ended));
}

#[test]
fn agent_whose_work_its_gate_refused_is_missing_at_the_sync_point() {
    let list = crew(&["Secondary-A"]);
    let yard = yard(FINISHES, "[gates]\ntest = \"test -e never.txt\"\n", &[("crew.toml", &list)]);
    let ended = yard.piton(&["run", "crew.toml", "--yes"]);
    assert_eq!(ended.code, Some(4), "{}", said(&ended));
    let sync = yard.piton(&["sync", "epics/e"]);
    assert_eq!(sync.code, Some(7), "{}", said(&sync));
    assert!(said(&sync).contains("its run has not merged its work yet"), "{}", said(&sync));
    yard.workspace.write("never.txt", "");
    yard.commit("what the gate asks for");
    yard.run(&["run", "crew.toml", "--yes", "--retry"]);
    yard.run(&["sync", "epics/e"]);
}
