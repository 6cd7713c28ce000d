//! What becomes of whole pipelines: units, their signs of life, and no panic whatever is changed.

use super::*;

const STATE: &str = r#"{
  "complete": false,
  "active_workers": 3,
  "stories_remaining": 3,
  "last_check": "2026-02-13T14:30:00Z",
  "story_state": { "API-427": "STAGE_2", "API-428": "STAGE_1" },
  "worker_map": { "API-427": "story-API-427-s2", "API-428": "story-API-428-s1" },
  "quality_cycles": { "API-427": 1, "API-428": 0 },
  "priority_queue_ids": ["API-429", "API-430", "API-431"],
  "story_results": { "API-427": { "stage0": "skip", "stage1": "skip", "stage2": "Done" } },
  "infra_issues": [],
  "worktree_map": { "API-427": ".worktrees/story-API-427" },
  "depends_on": { "API-429": ["API-427"], "API-430": [] },
  "stage_timestamps": { "API-428": { "stage_1_start": "2026-02-14T14:55:00Z" } },
  "git_stats": { "API-427": { "lines_added": 245, "lines_deleted": 12, "files_changed": 5 } },
  "readiness_scores": { "API-427": 8 },
  "pipeline_start_time": "2026-02-13T12:55:00Z",
  "story_briefs": { "API-427": { "approach": "cache the answers", "keyFiles": ["a.rs", "b.rs"] } }
}"#;

const CHECKPOINT: &str = r#"{
  "storyId": "API-427", "stage": 2, "agentId": "abc-123-def",
  "tasksCompleted": ["API-501"], "tasksRemaining": ["API-502", "API-503"],
  "lastAction": "API-501 reviewed", "timestamp": "2026-02-14T14:30:00Z"
}"#;

#[test]
fn stories_become_units() {
    let (stories, loose) = read_all(Some(STATE), &[(".pipeline/checkpoint-API-427.json", CHECKPOINT)]);
    assert_eq!(loose.iter().map(|finding| finding.code.name).collect::<Vec<_>>(), ["pipeline-count"]);
    let ids: Vec<_> = stories.iter().map(|(unit, _)| (unit.id.as_str(), unit.state.lifecycle())).collect();
    let queued = Lifecycle::Queued;
    assert_eq!(
        ids,
        [
            ("API-427", Lifecycle::Running),
            ("API-428", Lifecycle::Running),
            ("API-429", queued),
            ("API-430", queued),
            ("API-431", queued)
        ]
    );
    let unit = &stories[0].0;
    assert_eq!(unit.title.as_deref(), Some("cache the answers"));
    assert_eq!(unit.position().as_deref(), Some("stage 2 · API-502"));
    assert_eq!((unit.progress.done, unit.progress.total), (1, 3));
    assert_eq!((unit.agent.as_deref(), unit.session.as_deref()), (Some("story-API-427-s2"), Some("abc-123-def")));
    assert_eq!((&unit.claim, unit.status_text.as_str()), (&Claim::Worker, "STAGE_2"));
    assert_eq!(unit.gates[0].state, GateState::Passed { result: Some("GO, readiness 8".into()) });
    let notes: Vec<_> = unit.notes.iter().map(|note| format!("{}: {}", note.label, note.text)).collect();
    assert_eq!(
        notes,
        [
            "last action: API-501 reviewed",
            "stage result: stage0: skip",
            "stage result: stage1: skip",
            "stage result: stage2: Done",
            "readiness: 8",
            "quality cycles: 1",
            "worktree: .worktrees/story-API-427",
            "changes: 245 lines added, 12 deleted, 5 files",
            "key files: a.rs, b.rs",
        ]
    );
    let sources: Vec<_> = stories[1].0.signs.iter().map(|sign| (&sign.source, &sign.said)).collect();
    let started = Said::At(Time::from_unix_seconds(NOW - 300));
    let written = Said::At(Time::from_unix_seconds(NOW - 60));
    assert_eq!(sources, [(&SignSource::Field("stage_timestamps"), &started), (&SignSource::FileTime, &written)]);
    let started = stories[1].0.notes.iter().map(|note| format!("{}: {}", note.label, note.text)).collect::<Vec<_>>();
    assert_eq!(started, ["stage time: stage_1_start: 2026-02-14T14:55:00Z"]);
    assert_eq!(stories[2].0.blockers, ["waits for API-427"]);
}

/// The lead and all workers died long ago, and no worker had written a checkpoint: somebody must miss them.
#[test]
fn a_story_without_a_checkpoint_is_judged_by_its_stage_and_then_by_the_lead() {
    let (stage, lead, file) = ("`stage_timestamps`", "`last_check`", "the file's modification time");
    let checked = r#", "last_check": "2026-02-13T14:30:00Z""#;
    let work = r#""tasksCompleted": ["T1"], "tasksRemaining": ["T2"]"#;
    let (own, timeless) = (checkpoint(2, work), checkpoint(2, work).replace("2026-02-14T14:30:00Z", "later"));
    for (state, more, checkpoint, want) in [
        ("STAGE_2", String::new(), None, vec![file]),
        ("STAGE_2", checked.to_owned(), None, vec![lead, file]),
        ("STAGE_2", format!("{checked}, {}", started("2026-02-13T13:00:00Z")), None, vec![stage, file]),
        ("STAGE_2", format!("{checked}, {}", started("soon")), None, vec![stage, lead, file]),
        ("STAGE_2", format!("{checked}, {}", started("2027-02-13T13:00:00Z")), None, vec![stage, lead, file]),
        ("STAGE_2", checked.to_owned(), Some(&own), vec!["`timestamp`", file]),
        ("STAGE_2", checked.to_owned(), Some(&timeless), vec!["`timestamp`", file]),
        ("QUEUED", checked.to_owned(), None, vec![]),
        ("DONE", checked.to_owned(), None, vec![]),
    ] {
        let text = format!(r#"{{"complete": false, "story_state": {{"KITE-7": "{state}"}}{more}}}"#);
        let files: Vec<_> = checkpoint.iter().map(|text| (".pipeline/checkpoint-KITE-7.json", text.as_str())).collect();
        let (stories, _) = read_all(Some(&text), &files);
        let sources: Vec<_> = stories[0].0.signs.iter().map(|sign| sign.source.to_string()).collect();
        assert_eq!(sources, want, "{text} {checkpoint:?}");
    }
}

fn started(at: &str) -> String {
    format!(r#""stage_timestamps": {{"KITE-7": {{"stage_2_start": "{at}"}}}}"#)
}

#[test]
fn a_lost_state_leaves_the_workers_checkpoints() {
    let (stories, _) = read_all(None, &[(".pipeline/checkpoint-API-427.json", CHECKPOINT)]);
    let unit = &stories[0].0;
    assert_eq!((&unit.state, &unit.claim, unit.status_text.as_str()), (&State::Running, &Claim::Worker, ""));
    assert!(unit.resumable);
}

#[test]
fn a_hundred_thousand_stories_are_read() {
    let states: Vec<_> = (0..100_001).map(|n| format!("\"S{n}\": \"QUEUED\"")).collect();
    let depends: Vec<_> = (0..100_000).map(|n| format!("\"S{n}\": [\"S{}\"]", (n + 1) % 100_000)).collect();
    let text = format!(
        r#"{{"complete": false, "story_state": {{{}}}, "depends_on": {{{}}}}}"#,
        states.join(","),
        depends.join(",")
    );
    let (stories, loose) = read_all(Some(&text), &[]);
    assert_eq!(stories.len(), 100_000);
    let names: Vec<_> = loose.iter().map(|finding| finding.code.name).collect();
    assert_eq!(names, ["pipeline-too-many", "pipeline-deadlock"]);
    assert_eq!(stories[0].1[0].code.name, "pipeline-cycle");
}

proptest! {
    #[test]
    fn no_mutation_panics(at in any::<prop::sample::Index>(), length in 0usize..30, with in "[\\[\\]{}:,\"0-9a-zA-Z _]{0,12}", in_state in any::<bool>()) {
        let mutate = |text: &str| {
            let at = at.index(text.len());
            let end = (at + length).min(text.len());
            format!("{}{with}{}", &text[..at], &text[end..])
        };
        let (state, checkpoint) = match in_state {
            true => (mutate(STATE), CHECKPOINT.to_owned()),
            false => (STATE.to_owned(), mutate(CHECKPOINT)),
        };
        read_all(Some(&state), &[(".pipeline/checkpoint-API-427.json", &checkpoint)]);
    }
}
