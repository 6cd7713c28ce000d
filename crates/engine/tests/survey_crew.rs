//! An epic as a whole: checkpoints with the messages, STATUS files, sections and copies beside them.

mod directory;

use directory::Directory;
use piton_engine::{Found, Target, check, find, status};
use piton_model::{Lifecycle, Role, UnitRef};

fn checkpoint(agent: &str, feature: &str, status: &str) -> String {
    format!(
        r#"{{"agent_id":"{agent}","agent_type":"secondary","session_id":"s","feature":"{feature}","stage":"S2.P2","phase":"p",
        "last_checkpoint":"2026-03-02T10:00:00Z","next_checkpoint_expected":"2026-03-02T10:15:00Z","status":"{status}",
        "can_resume":true,"blockers":[],"files_modified":[],"recovery_instructions":"go on","current_step":"c",
        "completed_steps":[],"next_steps":["n"],"coordination_state":{{}}}}"#
    )
}

fn found(directory: &Directory, name: &str) -> Found {
    let unit = UnitRef::parse(name).expect("a reference");
    find(&directory.workspace(), &unit, directory.now()).expect("a unit")
}

fn notes(found: &Found) -> Vec<(&str, &str)> {
    let told = ["unread messages", "ready for sync", "epic progress"];
    let notes = found.unit.notes.iter().map(|note| (note.label, note.text.as_str()));
    notes.filter(|(label, _)| told.contains(label)).collect()
}

#[test]
fn a_unit_knows_what_lies_beside_its_checkpoint() {
    let directory = Directory::new("crew-companions");
    directory
        .write("e/agent_checkpoints/secondary_a.json", &checkpoint("Secondary-A", "feature_02_ledger", "IN_PROGRESS"));
    directory
        .write("e/agent_checkpoints/secondary_b.json", &checkpoint("Secondary-B", "feature_03_till", "IN_PROGRESS"));
    directory.write(
        "e/agent_comms/primary_to_secondary_a.md",
        "## Message 1 (2026-03-02 09:00) ⏳ UNREAD\n**Subject:** hurry\n",
    );
    directory.write(
        "e/feature_02_ledger/STATUS",
        "STAGE: S2.P3\nSTATUS: COMPLETE\nAGENT: Secondary-A\nREADY_FOR_SYNC: true\n",
    );
    directory.write(
        "e/EPIC_README.md",
        "<!-- BEGIN SECONDARY-A PROGRESS -->\nhalf way\n<!-- END SECONDARY-A PROGRESS -->\n<!-- END X PROGRESS -->\n",
    );
    let a = found(&directory, "crew:secondary_a");
    assert_eq!(notes(&a), [("ready for sync", "true"), ("epic progress", "half way"), ("unread messages", "1: hurry")]);
    let codes: Vec<_> = a.findings.iter().map(|each| (each.code.name, each.place.line)).collect();
    let disagrees = |line| ("crew-status-disagrees", Some(line));
    assert_eq!(codes, [disagrees(1), disagrees(2), disagrees(4)]);
    let roles: Vec<_> = a.unit.documents.iter().map(|document| document.role).collect();
    assert_eq!(roles, [Role::Main, Role::Companion, Role::Companion, Role::Companion]);
    let b = found(&directory, "crew:Secondary-B");
    assert_eq!((notes(&b).len(), b.findings.len(), b.unit.documents.len()), (0, 0, 1));
    let all = check(&directory.workspace(), &Target::Workspace, directory.now()).expect("a check");
    assert!(all.findings.iter().any(|each| each.code.name == "crew-section-stray-end"));
}

#[test]
fn copies_are_listed_and_never_monitored() {
    let directory = Directory::new("crew-copies");
    let text = checkpoint("Secondary-A", "feature_02_ledger", "IN_PROGRESS");
    let at = |name: &str| format!("agent_checkpoints/{name}.json");
    for name in ["secondary_a", "secondary_a_crashed_1770000000", "secondary_b_aborted_1770000000"] {
        directory.write(&at(name), &text);
    }
    for name in ["secondary_a_20260302_090000", "secondary_a_20260302_091500", "secondary_a_b_20260302_100000"] {
        directory.write(&at(&format!("backups/{name}")), &text);
    }
    directory.write(&at("backups/secondary_a_20260302_091500-2"), "{\"agent_id\": \"Sec");
    assert_eq!(status(&directory.workspace(), None, directory.now()).rows.len(), 1);
    let documents = found(&directory, "Secondary-A").unit.documents;
    let listed: Vec<_> = documents.iter().map(|document| (&*document.path, document.role)).collect();
    assert_eq!(
        listed,
        [
            ("agent_checkpoints/secondary_a.json", Role::Main),
            ("agent_checkpoints/secondary_a_crashed_1770000000.json", Role::Archive),
            ("agent_checkpoints/backups/secondary_a_20260302_091500.json", Role::Backup),
        ]
    );
}

#[test]
fn a_torn_checkpoint_keeps_its_copies_and_messages() {
    let directory = Directory::new("crew-torn");
    let text = checkpoint("Secondary-A", "feature_02_ledger", "IN_PROGRESS");
    directory.write("e/agent_checkpoints/secondary_a.json", &text[..120]);
    directory.write("e/agent_checkpoints/secondary_a_crashed_1770000000.json", &text);
    directory.write("e/agent_checkpoints/backups/secondary_a_20260302_090000.json", &text);
    directory.write("e/agent_checkpoints/backups/secondary_a_20260302_091500.json", &text[..120]);
    directory.write("e/agent_checkpoints/foreign.json", "{}");
    let message = "## Message 1 (2026-03-02 09:00) ⏳ UNREAD\n**Subject:** hurry\n";
    directory.write("e/agent_comms/primary_to_secondary_a.md", message);
    let torn = found(&directory, "crew:secondary_a");
    assert_eq!((torn.unit.status_text.as_str(), torn.unit.resumable), ("unreadable", false));
    assert_eq!(notes(&torn), [("unread messages", "1: hurry")]);
    let listed: Vec<_> = torn.unit.documents.iter().map(|each| (&*each.path, each.role)).collect();
    assert_eq!(
        listed,
        [
            ("e/agent_checkpoints/secondary_a.json", Role::Main),
            ("e/agent_comms/primary_to_secondary_a.md", Role::Companion),
            ("e/agent_checkpoints/secondary_a_crashed_1770000000.json", Role::Archive),
            ("e/agent_checkpoints/backups/secondary_a_20260302_090000.json", Role::Backup),
        ]
    );
    assert_eq!(status(&directory.workspace(), None, directory.now()).rows.len(), 1);
}

#[test]
fn messages_to_an_agent_without_a_unit_are_told() {
    let directory = Directory::new("crew-untold");
    let text = checkpoint("Secondary-A", "feature_02_ledger", "IN_PROGRESS");
    directory.write("e/agent_checkpoints/secondary_a.json", &text);
    let message = |n: u32, mark: &str| format!("## Message {n} (2026-03-02 09:00) {mark}\n**Subject:** s\n");
    let two = message(1, "⏳ UNREAD") + &message(2, "✅ READ") + &message(3, "⏳ UNREAD");
    directory.write("e/agent_comms/secondary_a_to_primary.md", &two);
    directory.write("e/agent_comms/secondary_a_to_secondary_b.md", &message(1, "✅ READ"));
    directory.write("e/agent_comms/primary_to_secondary_a.md", &message(1, "⏳ UNREAD"));
    let checked = check(&directory.workspace(), &Target::Workspace, directory.now()).expect("a check");
    let told: Vec<_> =
        checked.findings.iter().map(|each| (each.code.name, &*each.place.path, each.message.as_str())).collect();
    let path = "e/agent_comms/secondary_a_to_primary.md";
    assert_eq!(told, [("crew-unread-messages", path, "primary has 2 unread messages")]);
}

#[test]
fn a_feature_without_a_checkpoint_is_told_only_in_a_crew() {
    let directory = Directory::new("crew-status-only");
    let text = "STAGE: S2.P1\nAGENT: Secondary-C\nSTATUS: IN_PROGRESS\nUPDATED: 2026-03-02T10:00:00Z\n";
    directory.write("e/feature_04_shelf/STATUS", text);
    directory.write("e/feature_05_lamp/STATUS", "VERSION: 3\n");
    directory.write(
        "e/agent_comms/primary_to_secondary_c.md",
        "## Message 1 (2026-03-02 09:00) ⏳ UNREAD\n**Subject:** hello\n",
    );
    directory.write("elsewhere/service/STATUS", text);
    let report = status(&directory.workspace(), None, directory.now());
    let rows: Vec<_> = report.rows.iter().map(|row| (row.full_name.as_str(), row.state.lifecycle())).collect();
    assert_eq!(rows, [("e/feature_04_shelf", Lifecycle::Running)]);
    let shelf = found(&directory, "feature_04_shelf");
    assert_eq!(notes(&shelf), [("unread messages", "1: hello")]);
    assert_eq!(shelf.findings.iter().map(|each| each.code.name).collect::<Vec<_>>(), ["crew-no-checkpoint"]);
}

#[test]
fn a_checkpoint_in_prose_is_a_unit() {
    let directory = Directory::new("crew-prose");
    let text = "**Agent ID:** Secondary-D\n**Feature:** Feature 06 (attic)\n**Stage:** S2.P1\n**Status:** COMPLETE\n";
    directory.write("e/agent_comms/agent_checkpoints/d_checkpoint.md", text);
    directory.write("e/feature_06_attic/STATUS", "STAGE: S2.P1\nSTATUS: COMPLETE\n");
    let inbox = "**From:** Secondary-D\n**To:** Secondary Agent D\n**Status:** ⏳ UNREAD\n**Subject:** echo\n";
    directory.write("e/agent_comms/inboxes/from_secondary_d/echo.md", inbox);
    let d = found(&directory, "Secondary-D");
    assert_eq!(notes(&d), [("unread messages", "1: echo")]);
    let codes: Vec<_> = d.findings.iter().map(|each| each.code.name).collect();
    assert_eq!(codes, ["crew-markdown-checkpoint", "crew-message-heading"]);
    assert_eq!(status(&directory.workspace(), None, directory.now()).rows.len(), 1);
}
