use piton_model::{Claim, Progress, State};

use super::*;

const NOW: i64 = 1_771_590_000; // 2026-02-20T12:20:00Z

const PLAN: &str = "# Billing\n\n<!-- CHECKPOINT: setup -->\n- [x] Schema <!-- TASK: db-schema -->\n- [ ] Auth <!-- TASK: auth -->\n\
    - [x] Migrations pass <!-- ACCEPT: migrations -->\n<!-- DECISION: one database -->\n<!-- CHECKPOINT: ship -->\n- [ ] Deploy <!-- TASK: deploy -->\n";

fn source<'a>(name: &str, text: &'a str) -> Source<'a> {
    Source {
        path: format!("plans/p1/{name}").into(),
        bytes: text.as_bytes(),
        modified: Some(Time::from_unix_seconds(NOW - 60)),
    }
}

fn state(plan: &str, change: impl Fn(&str) -> String) -> String {
    let checksum = checksum(plan.as_bytes());
    change(&format!(
        r#"{{"version":2,"planId":"p1","planPath":"/r/plans/p1/plan.md","lastCheckpoint":"2026-02-20T11:52:00Z","checksum":"{checksum}",
        "progress":{{"totalTasks":3,"completedTasks":1,"percentage":33.3}},
        "phases":{{"setup":{{"status":"in_progress","tasks":{{"db-schema":{{"done":true,"completedAt":"2026-02-20T11:52:00Z","completedBy":"main"}},
        "auth":{{"done":false}}}},"acceptance":{{"migrations":{{"met":true}}}}}},"ship":{{"status":"pending","tasks":{{"deploy":{{"done":false}}}},"acceptance":{{}}}}}},
        "currentPhase":"setup","currentTask":"auth","blockers":[],"decisions":[{{"time":"2026-02-20T11:50:00Z","decision":"one database","reason":"simple"}}],
        "sessionNotes":"half way","agents":{{}}}}"#
    ))
}

fn run(files: &PlanFiles<'_>) -> (Unit, Vec<&'static str>) {
    let reading = read(files, Time::from_unix_seconds(NOW));
    (reading.unit.expect("a unit"), reading.findings.iter().map(|finding| finding.code.name).collect())
}

fn files<'a>(plan: Option<&'a str>, state: Option<&'a str>) -> PlanFiles<'a> {
    PlanFiles {
        directory: "plans/p1".into(),
        plan: plan.map(|text| source("plan.md", text)),
        state: state.map(|text| source(".checkpoint/state.json", text)),
        ..PlanFiles::default()
    }
}

#[test]
fn the_state_adds_who_and_when_to_what_the_plan_says() {
    let state = state(PLAN, str::to_owned);
    let (unit, codes) = run(&files(Some(PLAN), Some(&state)));
    assert_eq!(codes, [""; 0]);
    assert_eq!((unit.id.as_str(), unit.title.as_deref()), ("p1", Some("Billing")));
    assert_eq!((unit.progress, &unit.state), (Progress { done: 1, total: 3 }, &State::Running));
    assert_eq!((unit.stage.as_deref(), unit.current.as_deref()), (Some("setup"), Some("auth")));
    let by_main = StepState::Done { by: Some("main".into()), at: Some("2026-02-20T11:52:00Z".into()), outputs: vec![] };
    assert_eq!(unit.steps[0].state, by_main);
    assert_eq!(unit.gates[0].state, GateState::Passed { result: None });
    assert_eq!(
        unit.decisions,
        [Decision {
            time: Some("2026-02-20T11:50:00Z".into()),
            text: "one database".into(),
            reason: Some("simple".into())
        }]
    );
    assert!(unit.notes.iter().any(|note| note.text == "half way"));
}

#[test]
fn the_plan_wins_over_a_state_that_says_more_is_done() {
    let ahead = state("another plan", |state| {
        state
            .replace("\"completedTasks\":1", "\"completedTasks\":2")
            .replace("33.3", "66.7")
            .replace("\"auth\":{\"done\":false}", "\"auth\":{\"done\":true}")
    });
    let (unit, codes) = run(&files(Some(PLAN), Some(&ahead)));
    assert_eq!(codes, ["plan-checksum", "plan-backwards"]);
    assert_eq!(unit.progress, Progress { done: 1, total: 3 });
    assert_eq!(unit.steps[1].state, StepState::Pending);
}

#[test]
fn odd_states_are_named() {
    for (change, want) in [
        (("\"version\":2", "\"version\":1"), &["out-of-range"][..]),
        (("\"planId\":\"p1\"", "\"planId\":\"p2\""), &["plan-other-id"]),
        (("/r/plans/p1/plan.md", "/elsewhere/plan.md"), &["plan-other-path"]),
        (("\"totalTasks\":3", "\"totalTasks\":4"), &["plan-state-numbers", "plan-state-numbers"]),
        (("33.3", "34"), &["plan-state-numbers"]),
        (("\"deploy\":{", "\"gone\":{"), &["plan-state-unknown"]),
        (("\"currentTask\":\"auth\"", "\"currentTask\":\"gone\""), &["plan-state-differs"]),
        (("11:52:00Z\",\"checksum", "23:52:00Z\",\"checksum"), &["time-future"]),
        (("\"agents\":{}", "\"agents\":[]"), &["wrong-type"]),
        (("\"sessionNotes\":\"half way\",", ""), &["missing-key"]),
        (("\"status\":\"pending\"", "\"status\":\"PENDING\""), &["word-folded"]),
    ] {
        let (from, to) = change;
        let changed = state(PLAN, |state| {
            assert!(state.contains(from), "{from}");
            state.replacen(from, to, 1)
        });
        assert_eq!(run(&files(Some(PLAN), Some(&changed))).1, want, "{change:?}");
    }
}

#[test]
fn what_the_state_derives_is_held_to_the_plan() {
    let ticked = PLAN.replace("- [x] Migrations", "- [ ] Migrations");
    for (plan, change, want) in [
        (PLAN, ("\"currentTask\":\"auth\"", "\"currentTask\":\"deploy\""), &["plan-state-differs"][..]),
        (PLAN, ("\"currentPhase\":\"setup\"", "\"currentPhase\":null"), &["plan-state-differs"]),
        (PLAN, ("\"status\":\"pending\"", "\"status\":\"completed\""), &["plan-state-differs"]),
        (PLAN, ("\"blockers\":[]", "\"blockers\":[\"no key\"]"), &["plan-state-differs"]),
        (&ticked, ("", ""), &["plan-backwards"]),
    ] {
        let (from, to) = change;
        let changed = state(plan, |state| state.replacen(from, to, 1));
        let (unit, codes) = run(&files(Some(plan), Some(&changed)));
        assert_eq!((codes.as_slice(), &unit.state), (want, &State::Running), "{change:?}");
    }
}

#[test]
fn the_position_is_the_first_phase_that_is_not_completed() {
    for (plan, stage, current) in [
        (
            "<!-- CHECKPOINT: a -->\n- [x] x <!-- TASK: x -->\n- [ ] y <!-- ACCEPT: y -->\n<!-- CHECKPOINT: b -->\n- [ ] z <!-- TASK: z -->\n",
            "a",
            "y",
        ),
        ("<!-- CHECKPOINT: a -->\n- [ ] y <!-- ACCEPT: y -->\n- [ ] x <!-- TASK: x -->\n", "a", "x"),
        ("<!-- CHECKPOINT: a -->\n<!-- CHECKPOINT: b -->\n- [ ] z <!-- TASK: z -->\n", "b", "z"),
    ] {
        let (unit, _) = run(&files(Some(plan), None));
        assert_eq!((unit.stage.as_deref(), unit.current.as_deref()), (Some(stage), Some(current)), "{plan}");
    }
}

#[test]
fn without_a_plan_the_last_known_state_is_shown() {
    let known = state(PLAN, str::to_owned);
    let (unit, codes) = run(&files(None, Some(&known)));
    assert_eq!((unit.progress, codes), (Progress { done: 1, total: 3 }, vec!["plan-missing"]));
    assert_eq!((unit.current.as_deref(), unit.resumable), (Some("auth"), false));
}

#[test]
fn a_torn_state_is_replaced_by_its_backup() {
    let good = state(PLAN, str::to_owned);
    let recovery = format!(r#"{{"savedAt":"2026-02-20T12:00:00Z","reason":"pre_subagent_spawn","state":{good}}}"#);
    let mut both = files(Some(PLAN), Some(&good[..40]));
    both.recovery = Some(source(".checkpoint/recovery.json", &recovery));
    let (unit, codes) = run(&both);
    assert_eq!(codes, ["not-json"]);
    assert!(matches!(&unit.steps[0].state, StepState::Done { by: Some(by), .. } if by == "main"));
    both.recovery = Some(source(".checkpoint/recovery.json", ""));
    assert_eq!(run(&both).1, ["not-json", "not-json"]);
    both.recovery = Some(source(".checkpoint/recovery.json", "{}"));
    assert_eq!(run(&both).1, ["not-json", "plan-recovery"]);
}

#[test]
fn a_foreign_state_is_left_alone() {
    let (unit, codes) = run(&files(Some(PLAN), Some(r#"{"backlog":{"completed":["A"]}}"#)));
    assert_eq!((unit.progress, codes), (Progress { done: 1, total: 3 }, vec!["foreign"]));
}

#[test]
fn plans_say_where_they_stand() {
    for (plan, want, code) in [
        ("# x\n", State::Unknown, Some("plan-empty")),
        // Only recording by id needs markers.
        ("- [ ] a\n- [x] b\n", State::Running, Some("plan-no-markers")),
        ("- [x] a\n- [x] b\n", State::Done, Some("plan-no-markers")),
        ("- [ ] a\n", State::Queued, Some("plan-no-markers")),
        ("- [ ] a <!-- TASK: a -->\n", State::Queued, None),
        ("- [x] a <!-- TASK: a -->\n- [ ] b <!-- TASK: b -->\n", State::Running, None),
        ("- [x] a <!-- TASK: a -->\n- [ ] b <!-- ACCEPT: b -->\n", State::Running, None),
        ("- [x] a <!-- TASK: a -->\n", State::Done, None),
        // A box without an id is open all the same.
        ("- [x] a <!-- TASK: a -->\n- [ ] b\n", State::Running, Some("plan-unmarked-box")),
        ("- [x] a <!-- TASK: a -->\n- [x] b\n", State::Done, Some("plan-unmarked-box")),
        ("- [ ] a <!-- TASK: a -->\n<!-- BLOCKER: key -->\n", State::Blocked, None),
        (
            "<!-- CHECKPOINT: e -->\n<!-- CHECKPOINT: f -->\n- [x] a <!-- TASK: a -->\n",
            State::Done,
            Some("plan-empty-phase"),
        ),
    ] {
        let (unit, codes) = run(&files(Some(plan), None));
        assert_eq!((unit.state, codes), (want, code.into_iter().collect()), "{plan}");
    }
}

#[test]
fn phase_files_go_on_after_the_plan() {
    let mut parts = files(Some("- [x] a <!-- TASK: a -->\n- [ ] b <!-- TASK: b -->\n"), None);
    parts.phases = vec![source(
        "phase-01-x.md",
        "<!-- CHECKPOINT: one -->\n- [x] b again <!-- TASK: b -->\n- [ ] c <!-- TASK: c -->\n",
    )];
    let (unit, codes) = run(&parts);
    assert_eq!(codes, ["plan-duplicate-id"]);
    assert_eq!(unit.progress, Progress { done: 2, total: 3 });
    assert_eq!(unit.current.as_deref(), Some("c"));
}

#[test]
fn agents_with_open_tasks_are_expected_to_work() {
    let busy = state(PLAN, |state| {
        state.replace("\"agents\":{}", r#""agents":{"a1":{"type":"fullstack","assignedTasks":["auth"],"completedTasks":[],"lastActive":"2026-02-20T12:05:00Z"}}"#)
    });
    let (unit, codes) = run(&files(Some(PLAN), Some(&busy)));
    assert_eq!((unit.claim, unit.agent.as_deref(), codes), (Claim::Worker, Some("subagent:fullstack"), vec![]));
    let finished = busy.replace("\"completedTasks\":[],\"last", "\"completedTasks\":[\"auth\"],\"last");
    assert!(matches!(run(&files(Some(PLAN), Some(&finished))).0.claim, Claim::Nobody { .. }));
}

#[test]
fn histories_keep_what_they_cannot_read() {
    let mut with = files(Some(PLAN), None);
    for (text, want) in [
        ("{\"ts\":\"2026-02-20T11:49:00Z\",\"event\":\"checkpoint_created\"}\n", &[][..]),
        (
            "{\"ts\":\"2026-02-20T11:49:00Z\",\"event\":\"x\"}\n\nnot json\n{\"a\":1}\n",
            &["plan-history-line", "plan-history-line"],
        ),
        ("{\"ts\":\"2026-02-20T11:49:00Z\",\"event\":\"x\"}\n{\"ts\":\"2026-0", &["plan-history-torn"]),
        ("{\"ts\":\"2026-02-20T11:49:00Z\",\"event\":\"x\"}", &["plan-history-torn"]),
        ("{\"ts\":\"yesterday\",\"event\":\"x\"}\r\n", &["time-words"]),
    ] {
        with.history = Some(source(".checkpoint/history.jsonl", text));
        assert_eq!(run(&with).1, want, "{text}");
    }
}

#[test]
fn the_deprecated_memory_is_noted_and_not_read() {
    let mut with = files(Some(PLAN), None);
    with.legacy = Some(source(".memory/progress.json", "{\"completed\": 99"));
    let (unit, codes) = run(&with);
    assert_eq!((unit.progress, codes), (Progress { done: 1, total: 3 }, vec!["plan-legacy"]));
}

/// Known digests of SHA-256: 16 hex digits of each, over the bytes as they are.
#[test]
fn a_checksum_has_its_prefix_and_sixteen_digits() {
    assert_eq!(checksum(b"abc"), "sha256:ba7816bf8f01cfea");
    assert_eq!(checksum(b""), "sha256:e3b0c44298fc1c14");
    assert_ne!(checksum(b"- [ ] a\n"), checksum(b"- [ ] a\r\n"));
}
