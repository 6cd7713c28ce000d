use std::time::Duration;

use piton_model::{Dialect, Patience, judge};

use super::*;
use crate::crew::read_checkpoint;
use crate::files::memory::MemoryFiles;
use crate::{Detail, Source, time};

fn at(text: &str) -> Time {
    time::read(text).time().expect("a time")
}

fn unit(agent: &str, status: &str, last: &str) -> Unit {
    let text =
        format!(r#"{{"agent_id": {agent:?}, "stage": "S2.P2", "status": {status:?}, "last_checkpoint": {last:?}}}"#);
    let source = Source { path: "x.json".into(), bytes: text.as_bytes(), modified: None };
    read_checkpoint(&source, Detail::Full, at("2026-01-15T20:00:00Z")).unit.expect("an agent")
}

fn judged(unit: &Unit, now: Time) -> Judgement {
    judge(&unit.claim, &unit.signs, Patience::of(Dialect::Crew), now)
}

fn watched(files: &mut MemoryFiles, units: &[Unit], now: &str) -> Watch {
    let now = at(now);
    let judgements: Vec<_> = units.iter().map(|unit| judged(unit, now)).collect();
    let crew: Vec<_> = units.iter().zip(&judgements).collect();
    let watch = watch(files, "", "Agent-Primary", &crew, now).expect("it is watched");
    files.apply(&watch.change);
    watch
}

#[test]
fn a_silent_agent_is_warned_once_and_then_taken_for_crashed() {
    let mut files = MemoryFiles::default();
    let epic = "<!-- BEGIN SECONDARY-A PROGRESS -->\nSecondary-A: IN_PROGRESS\n<!-- END SECONDARY-A PROGRESS -->\n";
    files.files.insert("EPIC_README.md".into(), epic.into());
    let units = [
        unit("Secondary-A", "IN_PROGRESS", "2026-01-15T14:30:00Z"),
        unit("Secondary-B", "COMPLETE", "2026-01-15T10:00:00Z"),
    ];
    assert_eq!(watched(&mut files, &units, "2026-01-15T14:59:59Z").notices, []);
    let watch = watched(&mut files, &units, "2026-01-15T15:00:00Z");
    assert_eq!(
        (watch.notices.len(), watch.notices[0].is_stale, watch.change.summary.as_str()),
        (1, false, "1 late, 0 stale")
    );
    let path = "agent_comms/primary_to_secondary_a.md";
    // The agent updates its checkpoint itself; a watcher never does.
    assert_eq!(watch.change.effects.iter().map(piton_model::Effect::path).collect::<Vec<_>>(), [path]);
    assert!(files.text(path).ends_with(
        "## Message 1 (2026-01-15 15:00) ⏳ UNREAD\n**Subject:** CHECKPOINT WARNING - No Update in 30 Minutes\n**Action:** Please update your checkpoint and confirm you're still working\n**Details:** Your last checkpoint was at 14:30 (30 minutes ago)\n         Expected checkpoint every 15 minutes\n         Are you still actively working?\n**Next:** Reply \"Still working\" and update checkpoint ASAP\n**Acknowledge:** Reply immediately\n"
    ));
    assert_eq!(watched(&mut files, &units, "2026-01-15T15:29:00Z").change.effects, []);
    let watch = watched(&mut files, &units, "2026-01-15T15:30:00Z");
    assert_eq!(watch.notices[0].message, "Secondary-A hasn't updated checkpoint in 60 minutes");
    assert_eq!(
        watch.notices[0].commands.iter().map(ToString::to_string).collect::<Vec<_>>(),
        [
            "piton resume crew:Secondary-A",
            "piton takeover crew:Secondary-A --as Secondary-C",
            "piton restart crew:Secondary-A --force"
        ]
    );
    assert_eq!(files.text("EPIC_README.md"), epic.replace("IN_PROGRESS", "STALE (likely crashed)"));
    assert_eq!(watched(&mut files, &units, "2026-01-15T15:31:00Z").change.effects, []);
    // It speaks and falls silent again: that is another warning.
    let again = [unit("Secondary-A", "IN_PROGRESS", "2026-01-15T16:00:00Z")];
    assert_eq!(watched(&mut files, &again, "2026-01-15T16:40:00Z").change.effects.len(), 1);
    assert!(files.text(path).contains("## Message 2 (2026-01-15 16:40)"));
    let odd = [unit("x; rm -rf /", "IN_PROGRESS", "2026-01-15T14:30:00Z")];
    assert!(watched(&mut files, &odd, "2026-01-15T16:00:00Z").notices[0].commands.is_empty());
}

#[test]
fn a_sync_point_needs_everybody_complete_ready_and_fresh() {
    let now = at("2026-01-15T15:00:00Z");
    let missing = |units: &[Unit]| {
        let judgements: Vec<_> = units.iter().map(|unit| judged(unit, now)).collect();
        let agent = |(unit, judgement)| AtSync { unit, judgement, is_led: false };
        let crew: Vec<_> = units.iter().zip(&judgements).map(agent).collect();
        let missing = sync_ready(&crew, Duration::from_secs(3600), now);
        missing.into_iter().map(|(agent, _)| agent).collect::<Vec<_>>()
    };
    let done = |agent: &str| unit(agent, "COMPLETE", "2026-01-15T14:30:00Z");
    let mut unready = done("Secondary-D");
    unready.notes.push(piton_model::Note { label: "ready for sync", text: "false".into() });
    assert_eq!(missing(&[done("Secondary-A"), unit("Agent-Primary", "IN_PROGRESS", "x")]), [""; 0]);
    assert_eq!(
        missing(&[
            done("Secondary-A"),
            unit("Secondary-B", "WAITING", "2026-01-15T14:30:00Z"),
            unit("Secondary-C", "COMPLETE", "2026-01-15T14:00:00Z"),
            unready,
        ]),
        ["Secondary-B", "Secondary-C", "Secondary-D"]
    );
    assert_eq!(missing(&[unit("Agent-Primary", "IN_PROGRESS", "x")]), ["the crew"]);
    let old = unit("Secondary-C", "COMPLETE", "2026-01-15T14:00:00Z");
    let led = AtSync { unit: &old, judgement: &judged(&old, now), is_led: true };
    assert!(sync_ready(&[led], Duration::from_secs(3600), now).is_empty(), "its worker has left");
}
