use piton_model::{
    Claim, Finding, GateState, Lifecycle, RetryLimits, Role, Said, Source as SignSource, State, Time, Unit,
};
use proptest::prelude::*;

use super::layout::File;
use super::*;
use crate::Source;

mod units;

/// 2026-02-14T15:00:00Z
const NOW: i64 = 1_771_081_200;

fn source<'a>(path: &str, text: &'a str) -> Source<'a> {
    Source { path: path.into(), bytes: text.as_bytes(), modified: Some(Time::from_unix_seconds(NOW - 60)) }
}

/// Reads a state and checkpoints, each with its path.
fn read_all(state: Option<&str>, checkpoints: &[(&str, &str)]) -> (Vec<(Unit, Vec<Finding>)>, Vec<Finding>) {
    let now = Time::from_unix_seconds(NOW);
    let mut loose = Vec::new();
    let mut read_checkpoints = Vec::new();
    for (path, text) in checkpoints {
        let file = if path.starts_with(".worktrees") { File::Stray } else { File::Checkpoint };
        match read_checkpoint(&source(path, text), file, now) {
            Ok(checkpoint) => read_checkpoints.push(checkpoint),
            Err(findings) => loose.extend(findings),
        }
    }
    let mut stories = Vec::new();
    let state = state.map(|text| source(".pipeline/state.json", text));
    read(state.as_ref(), read_checkpoints, RetryLimits::default(), now, &mut |seen| match seen {
        Seen::Story(unit, findings) => stories.push((*unit, findings)),
        Seen::Loose(findings) => loose.extend(findings),
    });
    (stories, loose)
}

fn codes_of(state: Option<&str>, checkpoints: &[(&str, &str)]) -> Vec<&'static str> {
    let (stories, loose) = read_all(state, checkpoints);
    let all = loose.into_iter().chain(stories.into_iter().flat_map(|(_, findings)| findings));
    let mut names: Vec<_> = all.map(|finding| finding.code.name).collect();
    names.sort_unstable();
    names
}

/// A checkpoint of KITE-7 with these keys in place of, or beside, the usual ones.
fn checkpoint(stage: u8, more: &str) -> String {
    format!(
        r#"{{"storyId": "KITE-7", "stage": {stage}, "agentId": "a-1", "lastAction": "flew",
        "timestamp": "2026-02-14T14:30:00Z", {more}}}"#
    )
}

const EMPTY: &str = r#""tasksCompleted": [], "tasksRemaining": []"#;

#[test]
fn each_stage_has_its_rules() {
    let nine: Vec<_> = (0..9).map(|n| format!("\"T{n}\"")).collect();
    let nine = format!(r#""planScore": 3, "tasksCompleted": [], "tasksRemaining": [{}]"#, nine.join(","));
    for (stage, more, want) in [
        (0, r#""planScore": 3, "tasksCompleted": [], "tasksRemaining": ["T1"]"#, vec![]),
        (0, r#""tasksCompleted": [], "tasksRemaining": ["T1"]"#, vec!["pipeline-stage-field"]),
        (0, r#""planScore": 1, "tasksCompleted": [], "tasksRemaining": ["T1"]"#, vec!["pipeline-plan-score"]),
        (0, &format!(r#""planScore": 2, {EMPTY}"#), vec!["pipeline-no-tasks"]),
        (0, &nine, vec!["pipeline-task-count"]),
        (0, r#""planScore": 2, "tasksCompleted": ["T1"], "tasksRemaining": ["T2"]"#, vec!["pipeline-task-lists"]),
        (
            0,
            r#""planScore": 2, "verdict": "GO", "tasksCompleted": [], "tasksRemaining": ["T2"]"#,
            vec!["pipeline-verdict-left"],
        ),
        (1, &format!(r#""readiness": 7, "verdict": "GO", {EMPTY}"#), vec![]),
        (1, &format!(r#""readiness": 4, "verdict": "GO", {EMPTY}"#), vec!["pipeline-readiness"]),
        (1, &format!(r#""readiness": 4, "verdict": "NO-GO", "reason": "no tests", {EMPTY}"#), vec![]),
        (1, &format!(r#""readiness": 4, "verdict": "NO-GO", {EMPTY}"#), vec!["pipeline-stage-field"]),
        (1, EMPTY, vec!["pipeline-stage-field", "pipeline-stage-field"]),
        (1, &format!(r#""readiness": 7, "verdict": "PASS", {EMPTY}"#), vec!["pipeline-verdict-stage"]),
        (
            1,
            r#""readiness": 7, "verdict": "GO", "tasksCompleted": [], "tasksRemaining": ["T1"]"#,
            vec!["pipeline-task-lists"],
        ),
        (2, r#""tasksCompleted": ["T1"], "tasksRemaining": ["T2"]"#, vec![]),
        (2, r#""tasksCompleted": ["T1"], "tasksRemaining": ["T1"]"#, vec!["pipeline-task-twice"]),
        (2, r#""verdict": "PASS", "tasksCompleted": ["T1"], "tasksRemaining": []"#, vec!["pipeline-verdict-left"]),
        (2, EMPTY, vec!["pipeline-no-tasks"]),
        (3, &format!(r#""verdict": "PASS", "qualityScore": 92, {EMPTY}"#), vec!["pipeline-no-tasks"]),
        (3, r#""verdict": "PASS", "qualityScore": 92, "tasksCompleted": ["T1"], "tasksRemaining": []"#, vec![]),
        (
            3,
            r#""verdict": "pass", "qualityScore": 92, "tasksCompleted": ["T1"], "tasksRemaining": []"#,
            vec!["word-folded"],
        ),
        (
            3,
            r#""verdict": "FINE", "qualityScore": 92, "tasksCompleted": ["T1"], "tasksRemaining": []"#,
            vec!["word-unknown"],
        ),
        (
            3,
            r#""verdict": "GO", "qualityScore": 92, "tasksCompleted": ["T1"], "tasksRemaining": []"#,
            vec!["pipeline-verdict-stage"],
        ),
        (
            3,
            r#""verdict": "FAIL", "qualityScore": 12, "tasksCompleted": ["T1"], "tasksRemaining": []"#,
            vec!["pipeline-stage-field"],
        ),
        (
            3,
            r#""verdict": "PASS", "qualityScore": 92, "tasksCompleted": ["T1"], "tasksRemaining": ["T2"]"#,
            vec!["pipeline-tasks-left"],
        ),
        (3, r#""tasksCompleted": ["T1"], "tasksRemaining": []"#, vec!["pipeline-stage-field", "pipeline-stage-field"]),
        (4, EMPTY, vec!["out-of-range"]),
    ] {
        let text = checkpoint(stage, more);
        let mut got = codes_of(None, &[(".pipeline/checkpoint-KITE-7.json", &text)]);
        got.retain(|name| *name != "pipeline-no-state");
        assert_eq!(got, want, "stage {stage}: {more}");
    }
}

#[test]
fn the_state_has_its_rules() {
    for (keys, want) in [
        (r#""story_state": {"A": "STAGE_2", "B": "DONE"}, "active_workers": 1, "stories_remaining": 1"#, vec![]),
        (r#""story_state": {"A": "STAGE_2"}, "active_workers": 2"#, vec!["pipeline-count"]),
        (r#""story_state": {"A": "STAGE_2"}, "stories_remaining": 4"#, vec!["pipeline-count"]),
        (r#""story_state": {"A": "FLYING"}"#, vec!["word-unknown"]),
        (r#""story_state": {"A": "done"}"#, vec!["word-folded"]),
        (r#""story_state": {"A": "STAGE_2"}, "quality_cycles": {"A": 2}"#, vec![]),
        (r#""story_state": {"A": "STAGE_2"}, "quality_cycles": {"A": 3}"#, vec!["pipeline-limit"]),
        (r#""story_state": {"A": "PAUSED"}, "quality_cycles": {"A": 3}"#, vec![]),
        (r#""story_state": {"A": "STAGE_2"}, "validation_retries": {"A": 2}"#, vec!["pipeline-limit"]),
        (r#""story_state": {"A": "STAGE_2"}, "crash_count": {"A": 2}"#, vec!["pipeline-limit"]),
        (r#""story_state": {"A": "DONE"}, "priority_queue_ids": ["A"]"#, vec!["pipeline-queue"]),
        (r#""story_state": {"A": "STAGE_1"}, "priority_queue_ids": ["B", "B"]"#, vec!["pipeline-queue"]),
        (r#""story_state": {"A": "STAGE_1"}, "priority_queue_ids": ["A"]"#, vec!["pipeline-queue"]),
        (r#""story_state": {"A": "QUEUED"}, "priority_queue_ids": ["A"]"#, vec![]),
        (r#""story_state": {"A": "STAGE_1", "B": "STAGE_1", "C": "STAGE_1"}"#, vec![]),
        (
            r#""story_state": {"A": "STAGE_1", "B": "STAGE_1", "C": "STAGE_1", "D": "STAGE_0"}"#,
            vec!["pipeline-workers"],
        ),
        (
            r#""story_state": {"A": "STAGE_1", "B": "STAGE_1"}, "worker_map": {"A": "w", "B": "w"}"#,
            vec!["pipeline-worker-twice"],
        ),
        (r#""story_state": {"A": "DONE", "B": "STAGE_1"}, "worker_map": {"A": "w", "B": "w"}"#, vec![]),
        (r#""story_state": {"A": "STAGE_1", "B": "QUEUED"}, "worker_map": {"A": null, "B": null}"#, vec![]),
        (
            r#""story_state": {"A": "DONE"}, "infra_issues": [{"message": "x"}, "y"]"#,
            vec!["pipeline-infra-issue", "pipeline-infra-issue", "wrong-type"],
        ),
        (r#""story_state": {"A": "STAGE_1", "B": "QUEUED"}, "depends_on": {"B": ["A"]}"#, vec![]),
        (r#""story_state": {"A": "STAGE_1"}, "depends_on": {"B": ["Z"]}"#, vec!["pipeline-unknown-dependency"]),
        (r#""story_state": {"A": "STAGE_1"}, "depends_on": {"B": ["C"], "C": ["B"]}"#, vec!["pipeline-cycle"; 2]),
        (
            r#""story_state": {"A": "STAGE_1"}, "depends_on": {"A": ["A"]}"#,
            vec!["pipeline-cycle", "pipeline-early-start"],
        ),
        (
            r#""story_state": {"A": "STAGE_1", "B": "STAGE_0"}, "depends_on": {"B": ["A"]}"#,
            vec!["pipeline-early-start"],
        ),
        (r#""story_state": {"A": "PAUSED", "B": "QUEUED"}, "depends_on": {"B": ["A"]}"#, vec!["pipeline-deadlock"]),
        (r#""story_state": {"A": "PAUSED", "B": "QUEUED", "C": "QUEUED"}, "depends_on": {"B": ["A"]}"#, vec![]),
        (r#""story_state": {"A": "STAGE_2"}, "worktree_map": {"A": "../../tmp"}"#, vec!["path-outside"]),
        (r#""story_state": {"A": "STAGE_2"}, "worktree_map": {"A": null}"#, vec![]),
        (r#""story_state": {"../A": "STAGE_2"}"#, vec!["bad-id"]),
        (r#""story_state": {"A": "STAGE_2"}, "last_check": "2027-02-14T14:30:00Z"}"#, vec!["not-json"]),
    ] {
        let text = format!("{{\"complete\": false, {keys}}}");
        assert_eq!(codes_of(Some(&text), &[]), want, "{keys}");
    }
    let early = r#"{"complete": true, "story_state": {"A": "STAGE_2", "B": "DONE"}}"#;
    assert_eq!(codes_of(Some(early), &[]), ["pipeline-complete-early"]);
    let done = r#"{"complete": true, "story_state": {"A": "PAUSED", "B": "DONE"}}"#;
    assert_eq!(codes_of(Some(done), &[]), [""; 0]);
}

#[test]
fn a_cycle_is_named_by_every_story_in_it() {
    let text =
        r#"{"complete": false, "story_state": {"X": "STAGE_0"}, "depends_on": {"A": ["B"], "B": ["C"], "C": ["A"]}}"#;
    let (stories, loose) = read_all(Some(text), &[]);
    let told: Vec<_> = stories
        .iter()
        .flat_map(|(unit, findings)| findings.iter().map(|finding| (unit.id.as_str(), finding.message.as_str())))
        .collect();
    let message = "stories depend on each other: A → B → C → A";
    assert_eq!(told, [("A", message), ("B", message), ("C", message)]);
    assert!(loose.is_empty());
}

#[test]
fn a_story_that_can_never_start_is_blocked_while_others_run() {
    let (queued, blocked) = (Lifecycle::Queued, Lifecycle::Blocked);
    for (state_of_a, depends, want) in [
        ("STAGE_1", r#""B": ["A"]"#, [queued, queued]),
        ("STAGE_1", r#""B": ["Z"]"#, [blocked, queued]),
        ("STAGE_1", r#""B": ["C"], "C": ["B"]"#, [blocked, blocked]),
        ("STAGE_1", r#""B": ["B"], "C": ["B"]"#, [blocked, blocked]),
        ("STAGE_1", r#""B": ["Z"], "C": ["B", "A"]"#, [blocked, blocked]),
        ("STAGE_1", r#""A": ["B"], "B": ["A"], "C": ["B"]"#, [queued, queued]),
        ("DONE", r#""B": ["A"], "C": ["A"]"#, [queued, queued]),
        ("PAUSED", r#""B": ["A"]"#, [queued, queued]),
        ("PAUSED", r#""B": ["A"], "C": ["A"]"#, [blocked, blocked]),
    ] {
        let text = format!(
            r#"{{"complete": false, "story_state": {{"A": "{state_of_a}", "B": "QUEUED", "C": "QUEUED"}},
            "depends_on": {{{depends}}}}}"#
        );
        let (stories, _) = read_all(Some(&text), &[]);
        let got: Vec<_> = stories[1..].iter().map(|(unit, _)| unit.state.lifecycle()).collect();
        assert_eq!(got, want, "{text}");
    }
}

#[test]
fn what_is_odd_about_a_storys_state_is_said_of_the_story() {
    let text = r#"{"complete": false, "story_state": {"A": "STAGE_1", "B.1": "FLYING", "C": 7, "D": "done"}}"#;
    let (stories, loose) = read_all(Some(text), &[]);
    let told: Vec<_> = stories
        .iter()
        .flat_map(|(unit, findings)| findings.iter().map(|finding| (unit.id.as_str(), finding.code.name)))
        .collect();
    assert_eq!(told, [("B.1", "word-unknown"), ("C", "wrong-type"), ("D", "word-folded")]);
    assert!(loose.is_empty());
}

#[test]
fn issues_of_the_infrastructure_are_told() {
    let text = r#"{"complete": false, "story_state": {}, "infra_issues": [
        {"phase": 3, "type": "hook", "message": "no git"}, {"type": "disk"}]}"#;
    let (_, loose) = read_all(Some(text), &[]);
    let told: Vec<_> = loose.iter().map(|finding| finding.message.as_str()).collect();
    assert_eq!(
        told,
        ["the lead recorded an issue (3, hook): no git", r#"the lead recorded an issue (disk): {"type": "disk"}"#]
    );
}

/// A status is quoted from the file that comes first, or it is not quoted.
#[test]
fn the_first_document_holds_the_words_of_the_status() {
    let work = checkpoint(2, r#""tasksCompleted": ["T1"], "tasksRemaining": ["T2"]"#);
    let own = (".pipeline/checkpoint-KITE-7.json", work.as_str());
    let (state, name) = (".pipeline/state.json", own.0);
    for (text, files, status, documents) in [
        (Some(r#""story_state": {"KITE-7": "STAGE_2"}"#), vec![own], "STAGE_2", vec![state, name]),
        (Some(r#""story_state": {"KITE-7": "STAGE_2"}"#), vec![], "STAGE_2", vec![state]),
        (Some(r#""priority_queue_ids": ["KITE-7"]"#), vec![], "", vec![state]),
        (Some(r#""priority_queue_ids": ["KITE-7"]"#), vec![own], "", vec![name, state]),
        (None, vec![own], "", vec![name]),
    ] {
        let text = text.map(|keys| format!("{{\"complete\": false, {keys}}}"));
        let (stories, _) = read_all(text.as_deref(), &files);
        let unit = &stories[0].0;
        let paths: Vec<_> = unit.documents.iter().map(|document| &*document.path).collect();
        assert_eq!((unit.status_text.as_str(), paths), (status, documents), "{text:?}");
        let roles: Vec<_> = unit.documents.iter().map(|document| document.role).collect();
        assert_eq!(roles, [Role::Main, Role::Companion][..roles.len()], "{text:?}");
    }
}

#[test]
fn a_checkpoint_is_compared_with_the_state() {
    let gate = r#""verdict": "PASS", "qualityScore": 92, "tasksCompleted": ["T1"], "tasksRemaining": []"#;
    let left = r#""verdict": "PASS", "qualityScore": 92, "tasksCompleted": ["T1"], "tasksRemaining": ["T2"]"#;
    let failed =
        r#""verdict": "FAIL", "issues": "x", "qualityScore": 9, "tasksCompleted": ["T1"], "tasksRemaining": []"#;
    let work = r#""tasksCompleted": ["T1"], "tasksRemaining": ["T2"]"#;
    let worked = r#""tasksCompleted": ["T1"], "tasksRemaining": []"#;
    let (running, paused, blocked) = (Lifecycle::Running, Lifecycle::Paused, Lifecycle::Blocked);
    let mismatch = "pipeline-stage-mismatch";
    for (state, stage, more, want, lifecycle, resumable) in [
        ("STAGE_2", 2, work, vec![], running, true),
        ("STAGE_3", 2, worked, vec![], running, true),
        ("STAGE_3", 2, work, vec!["pipeline-tasks-left"], running, true),
        ("STAGE_1", 2, work, vec![mismatch], paused, false),
        ("STAGE_2", 3, gate, vec![mismatch], paused, false),
        ("STAGE_2", 3, failed, vec![], running, true),
        ("STAGE_2", 4, work, vec!["out-of-range", mismatch], paused, false),
        ("QUEUED", 2, work, vec![mismatch], paused, false),
        ("PAUSED", 2, work, vec![], paused, true),
        ("PAUSED", 4, work, vec!["out-of-range", mismatch], paused, false),
        ("DONE", 3, gate, vec![], Lifecycle::Done, false),
        ("DONE", 2, work, vec![mismatch], blocked, false),
        ("DONE", 4, worked, vec!["out-of-range", mismatch], blocked, false),
        ("DONE", 3, failed, vec!["pipeline-done-failed"], blocked, false),
        ("DONE", 3, left, vec!["pipeline-tasks-left"], blocked, false),
    ] {
        let state_text = format!(r#"{{"complete": false, "story_state": {{"KITE-7": "{state}"}}}}"#);
        let text = checkpoint(stage, more);
        let files = [(".pipeline/checkpoint-KITE-7.json", text.as_str())];
        assert_eq!(codes_of(Some(&state_text), &files), want, "{state} with stage {stage}: {more}");
        let (stories, _) = read_all(Some(&state_text), &files);
        let unit = &stories[0].0;
        assert_eq!((unit.state.lifecycle(), unit.resumable), (lifecycle, resumable), "{state} with {stage}: {more}");
    }
}

#[test]
fn a_stage_that_does_not_exist_is_never_continued() {
    let good = checkpoint(2, r#""tasksCompleted": ["T1"], "tasksRemaining": ["T2"]"#);
    let state = r#"{"complete": false, "story_state": {"KITE-7": "STAGE_2"}}"#;
    let reason = Some("its checkpoint is at no stage from 0 to 3".to_owned());
    for stage in ["4", "-1", "2.5", "\"3\"", "null", "[]"] {
        let text = good.replace("\"stage\": 2", &format!("\"stage\": {stage}"));
        for state in [Some(state), None] {
            let (stories, _) = read_all(state, &[(".pipeline/checkpoint-KITE-7.json", &text)]);
            let (unit, findings) = &stories[0];
            assert_eq!((&unit.state, unit.resumable), (&State::Paused { reason: reason.clone() }, false), "{stage}");
            assert!(findings.iter().any(|finding| finding.message.starts_with("`stage` is")), "{stage}");
        }
    }
}

#[test]
fn what_is_called_done_names_what_is_missing() {
    let checkpoint = |stage, verdict: &str, more: &str| {
        checkpoint(stage, &format!(r#""verdict": "{verdict}", "qualityScore": 9, "tasksCompleted": ["T1"], {more}"#))
    };
    let done = r#"{"complete": false, "story_state": {"KITE-7": "DONE"}}"#;
    let empty = r#""tasksRemaining": []"#;
    let left = r#""tasksRemaining": ["T2", "T3"]"#;
    let remain = ["the task T2 remains", "the task T3 remains"];
    for (state, text, want) in [
        (Some(done), checkpoint(3, "PASS", empty), vec![]),
        (Some(done), checkpoint(3, "FAIL", empty), vec!["the quality gate failed"]),
        (Some(done), checkpoint(1, "GO", empty), vec!["its checkpoint is at stage 1, before the quality gate"]),
        (Some(done), checkpoint(3, "PASS", left), remain.to_vec()),
        (None, checkpoint(3, "WAIVED", empty), vec![]),
        (None, checkpoint(3, "PASS", left), remain.to_vec()),
    ] {
        let (stories, _) = read_all(state, &[(".pipeline/checkpoint-KITE-7.json", &text)]);
        let unit = &stories[0].0;
        let lifecycle = if want.is_empty() { Lifecycle::Done } else { Lifecycle::Blocked };
        assert_eq!((unit.state.lifecycle(), unit.resumable), (lifecycle, false), "{text}");
        assert_eq!(unit.blockers, want, "{text}");
    }
}

#[test]
fn names_strays_and_lost_states_are_reported() {
    let text = checkpoint(2, r#""tasksCompleted": ["T1"], "tasksRemaining": ["T2"]"#);
    let older = text.replace("14:30:00", "13:30:00");
    let state = r#"{"complete": false, "story_state": {"KITE-7": "STAGE_2"}}"#;
    let home = ".pipeline/checkpoint-KITE-7.json";
    let stray = ".worktrees/story-KITE-7/.pipeline/checkpoint-KITE-7.json";
    for (state, files, want) in [
        (Some(state), vec![(".pipeline/checkpoint-KITE-8.json", &text)], vec!["pipeline-file-name"]),
        (Some(state), vec![(stray, &text)], vec!["pipeline-stray"]),
        (Some(state), vec![(home, &older), (stray, &text)], vec!["pipeline-stray", "two-documents"]),
        (Some(r#"{"complete": false, "story_state": {}}"#), vec![(home, &text)], vec!["pipeline-not-in-state"]),
        (None, vec![(home, &text)], vec!["pipeline-no-state"]),
        (Some("{\"complete\": fal"), vec![(home, &text)], vec!["not-json", "pipeline-no-state"]),
        (Some(r#"{"phase": 1, "status": "running"}"#), vec![], vec!["foreign"]),
    ] {
        let files: Vec<_> = files.into_iter().map(|(path, text)| (path, text.as_str())).collect();
        assert_eq!(codes_of(state, &files), want, "{state:?} {files:?}");
    }
    let (stories, _) = read_all(Some(state), &[(home, &older), (stray, &text)]);
    let paths: Vec<_> = stories[0].0.documents.iter().map(|document| &*document.path).collect();
    assert_eq!(paths, [".pipeline/state.json", stray, home]);
    let two = stories[0].1.iter().find(|finding| finding.code.name == "two-documents").expect("a finding");
    assert_eq!(two.message, format!("KITE-7 also has a checkpoint in {stray}, which is newer"));
}

#[test]
fn files_of_other_tools_yield_nothing() {
    for text in [
        r#"{"current_phase": "00_input", "phase_history": [], "human_intervention_required": false}"#,
        r#"{"project": "x", "currentMilestone": "m2", "milestones": {"m1": {"status": "completed"}}}"#,
        r#"{"phase": 2, "step": "build", "status": "running", "project_complete": false}"#,
        r#"{"complete": false}"#,
        r#"{"complete": "no", "story_state": []}"#,
        r#"{"complete": true, "active_workers": "three"}"#,
        "{}",
    ] {
        let (stories, loose) = read_all(Some(text), &[]);
        assert_eq!(stories.len(), 0, "{text}");
        assert_eq!(loose.iter().map(|finding| finding.code.name).collect::<Vec<_>>(), ["foreign"], "{text}");
    }
    let odd = r#"{"story_state": {"A": "STAGE_1"}}"#;
    assert_eq!(codes_of(Some(odd), &[]), ["missing-key"]);
}
