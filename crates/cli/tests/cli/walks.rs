//! Walks through each dialect without a plan: every verb comes at every moment, and each hint that a refusal, a warning
//! or a brief prints is followed in a copy (`support/follow.rs`). The walks are the same each time.

use crate::support::Workspace;

/// Verbs that every dialect has.
const ANY: [&str; 17] = [
    "step U begin one",
    "step U done one",
    "step U done nine",
    "step U fail two --message broken",
    "step U skip two --message no",
    "block U --message stuck",
    "unblock U",
    "pause U",
    "fail U --message broken",
    "finish U",
    "reopen U",
    "resume U",
    "resume U --force",
    "restart U",
    "restart U --force",
    "repair U",
    "plan mark U",
];

/// Calls verbs in an order that depends on the seed alone. Some calls come hours later, when no agent seems to live.
fn walk(workspace: &Workspace, unit: &str, verbs: &[&str], seed: u64, steps: u32) {
    let verbs: Vec<&str> = ANY.iter().chain(verbs).copied().collect();
    let mut state = seed;
    let mut random = |below: usize| {
        // A linear congruential generator; its high bits are good enough here.
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).expect("31 bits fit") % below
    };
    let mut minutes = 0;
    for _ in 0..steps {
        minutes += if random(3) == 0 { 180 } else { 1 };
        let clock = format!("2026-02-{:02}T{:02}:{:02}:00Z", 1 + minutes / 1440, minutes / 60 % 24, minutes % 60);
        let verb = verbs[random(verbs.len())].replace('U', unit);
        let arguments: Vec<&str> = verb.split(' ').collect();
        workspace.call(&arguments).at(clock).run();
    }
}

#[test]
fn hints_of_a_story_work_wherever_it_stands() {
    let verbs = [
        "start U",
        "start U --stage 2",
        "start U --stage 2 --step one --step two",
        "start U --stage 3 --step one",
        "step U begin two --title Two --description More",
        "step U begin one --title One",
        "step U done two",
        "stage U 0",
        "stage U 1",
        "stage U 2",
        "stage U 3",
        "stage U 9",
        "verdict U PLAN --score 3",
        "verdict U PLAN --score 1",
        "verdict U GO --score 8",
        "verdict U GO --score 3",
        "verdict U NO-GO --score 3 --reason unclear",
        "verdict U PASS --score 90",
        "verdict U FAIL --score 40 --issues red",
        "gate U pass lint",
        "takeover U --as other",
    ];
    for seed in 1..=3 {
        walk(&Workspace::new(), "pipeline:PROJ-1", &verbs, seed, 45);
    }
}

#[test]
fn hints_of_a_build_work_wherever_it_stands() {
    let verbs = [
        "start U",
        "start U --title T --step one --step two --gate lint",
        "start U --spec spec.md",
        "start U --title T --spec gone.md",
        "step U done two",
        "step U begin two",
        "step U begin one two",
        "stage U 1",
        "stage U 2",
        "stage U 7",
        "gate U pass lint",
        "gate U pass lint --step one",
        "gate U fail lint --step one",
        "gate U pass other",
        "verdict U ship --p0 0 --p1 0",
        "verdict U ship --p0 2 --p1 0",
        "verdict U do_not_ship --p0 1 --p1 0",
        "verdict U ship_with_gates --p0 0 --p1 1",
        "verdict U overridden --reason because",
        "resume U --continue --force",
        "resume U --restart --force",
        "resume U --fixed --force",
        "resume U --fixed",
    ];
    for seed in 1..=3 {
        walk(&Workspace::new(), "build:PRD-1", &verbs, seed, 45);
    }
}

#[test]
fn hints_of_a_task_work_wherever_it_stands() {
    let verbs = [
        "start U",
        "start U --title T --total 2",
        "start U --title T --step one --step two --criterion good",
        "start U --feature f",
        "step U done two",
        "step U begin three",
        "gate U pass good",
        "gate U fail good",
        "gate U pass bad",
        "verdict U PASS",
        "takeover U --as other",
        "stage U 2",
        "resume U --restart",
        "unblock U --blocker nothing",
    ];
    for seed in 1..=3 {
        walk(&Workspace::new(), "task:quay/T1", &verbs, seed, 45);
    }
}

#[test]
fn hints_of_an_agent_work_wherever_it_stands() {
    let verbs = [
        "start U",
        "start U --feature tides --stage S2.P1",
        "start U --feature tides --step one --step two",
        "start U --title T",
        "stage U S2.P2",
        "stage U S9",
        "step U done 1",
        "step U done 7",
        "takeover U --as Secondary-C",
        "takeover U --as Secondary-A",
        "gate U pass x",
        "verdict U PASS",
        "resume U --restart",
        "inbox Secondary-A --read 1",
    ];
    for seed in 1..=3 {
        walk(&Workspace::new(), "crew:Secondary-A", &verbs, seed, 45);
    }
}

#[test]
fn hints_of_a_plan_work_wherever_it_stands() {
    let verbs = [
        "start U",
        "start U --title T",
        "step U done two",
        "gate U pass good",
        "gate U fail good",
        "gate U pass one",
        "step U done good",
        "stage U phase-1",
        "stage U phase-2",
        "stage U nowhere",
        "verdict U PASS",
        "takeover U --as other",
    ];
    let marked = "# P\n\n## Phase 1: A\n- [ ] One <!-- TASK: one -->\n- [ ] Two <!-- TASK: two -->\n\n## Phase 2: B\n- [ ] Three\n\n\
                  ## Acceptance Criteria\n- [ ] Good <!-- TASK: good -->\n";
    for (seed, text) in [(1, marked), (2, marked), (3, "# P\n\n- [ ] One\n- [ ] Two\n")] {
        let workspace = Workspace::new();
        workspace.write("plans/p/plan.md", text);
        walk(&workspace, "plan:p", &verbs, seed, 45);
    }
}
