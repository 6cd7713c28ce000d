//! The table: for each dialect, what its verbs need to be legal.

/// A unit of a dialect, the files that are there before it, and its verbs, each behind what prepares it.
pub struct Dialect {
    pub unit: &'static str,
    pub files: &'static [(&'static str, &'static str)],
    pub verbs: &'static [(&'static str, &'static str)],
}

pub const BUILD: Dialect = Dialect {
    unit: "build:PRD-009",
    files: &[],
    verbs: &[
        ("", "start"),
        ("start", "checkpoint session_end"),
        ("start; beat", "crash s-0"),
        ("start", "step begin WS1"),
        ("start; step begin WS1", "step done WS1"),
        ("start; step begin WS1", "step fail WS1"),
        ("start; step begin WS1", "step skip WS1"),
        ("start; step begin WS1", "stage 1"),
        ("start; step begin WS1; step done WS1", "gate pass lint"),
        ("start; step begin WS1; step done WS1", "gate fail lint"),
        ("start", "verdict ship"),
        ("start", "block"),
        ("start; block", "unblock"),
        ("start; step begin WS1; step done WS1", "pause"),
        ("start; step begin WS1", "fail WS1"),
        ("start", "note something"),
        ("start", "instruct look twice"),
        ("start", "decide blue"),
        ("start; beat", "beat"),
        (
            "start; step begin WS1; step done WS1; gate pass lint; step begin WS2; step done WS2; gate pass tests",
            "finish",
        ),
        ("start; step begin WS1; step done WS1; pause", "resume"),
        ("start; note x", "restart"),
        ("start; edit .claude/skills/build-pipeline/checkpoints/PRD-009.json \"initialized\" \"complete\"", "reopen"),
        ("start; note x", "repair"),
        ("start; note x; delete .claude/skills/build-pipeline/checkpoints/PRD-009.json", "repair"),
        ("start; note x; tear .claude/skills/build-pipeline/checkpoints/PRD-009.json", "repair"),
        ("start; note x; tear .claude/skills/build-pipeline/checkpoints/PRD-009.json", "beat"),
        ("start; note x; edit .claude/skills/build-pipeline/checkpoints/PRD-009.json Cashier Cook", "note y"),
        ("start; note x; note y", "rollback 1"),
    ],
};

const LEAD: &str = "{\"complete\": false, \"active_workers\": 1, \"stories_remaining\": 1, \
    \"last_check\": \"2026-02-14T14:00:00Z\", \"story_state\": {\"PROJ-42\": \"QUEUED\"}, \"worker_map\": {}}\n";

const TO_STAGE_2: &str = "start; verdict plan 4; stage 1; verdict GO 9; stage 2";
const TO_STAGE_3: &str = "start; verdict plan 4; stage 1; verdict GO 9; stage 2; step done T-1; step done T-2; stage 3";
const TO_PASS: &str = "start; verdict plan 4; stage 1; verdict GO 9; stage 2; step done T-1; step done T-2; stage 3; \
    verdict PASS 95";
const TO_DONE: &str = "start; verdict plan 4; stage 1; verdict GO 9; stage 2; step done T-1; step done T-2; stage 3; \
    verdict PASS 95; finish";

pub const PIPELINE: Dialect = Dialect {
    unit: "pipeline:PROJ-42",
    files: &[(".pipeline/state.json", LEAD)],
    verbs: &[
        ("", "start"),
        ("start", "checkpoint session_end"),
        ("start; beat", "crash s-0"),
        (TO_STAGE_2, "step begin T-1"),
        (TO_STAGE_2, "step done T-1"),
        (TO_STAGE_2, "step fail T-1"),
        (TO_STAGE_2, "step skip T-1"),
        ("start; verdict plan 4", "stage 1"),
        ("start", "verdict plan 4"),
        (TO_STAGE_3, "verdict PASS 95"),
        ("start", "block"),
        ("start; block", "unblock"),
        ("start", "pause"),
        (TO_STAGE_2, "fail"),
        ("start", "note something"),
        ("start", "instruct look twice"),
        ("start", "decide blue"),
        ("start; beat", "beat"),
        (TO_PASS, "finish"),
        ("start; pause", "resume"),
        ("start", "takeover w-2"),
        (TO_STAGE_2, "restart"),
        (TO_DONE, "reopen"),
        ("start; note x", "repair"),
        ("start; note x; delete .pipeline/checkpoint-PROJ-42.json", "repair"),
        ("start; note x; tear .pipeline/checkpoint-PROJ-42.json", "repair"),
        ("start; note x; tear .pipeline/checkpoint-PROJ-42.json", "beat"),
        ("start; note x", "rollback 1"),
    ],
};

const PLAN_TEXT: &str = "# Feature\n\n## Phase 1: Setup\n<!-- CHECKPOINT: phase-1-setup -->\n\n\
    - [ ] Create database schema <!-- TASK: db-schema -->\n- [ ] Setup auth middleware <!-- TASK: auth -->\n\
    - [ ] All migrations pass <!-- ACCEPT: migrations -->\n\n## Phase 2: Ship\n<!-- CHECKPOINT: phase-2-ship -->\n\n\
    - [ ] Deploy <!-- TASK: deploy -->\n- [ ] Party\n";

pub const PLAN: Dialect = Dialect {
    unit: "plan:p1",
    files: &[("plans/p1/plan.md", PLAN_TEXT)],
    verbs: &[
        ("", "start"),
        ("start", "checkpoint session_end"),
        ("start; beat", "crash s-0"),
        ("start", "step begin db-schema"),
        ("start; step begin db-schema", "step done db-schema"),
        ("start; step begin db-schema", "step fail db-schema"),
        ("start", "stage phase-2-ship"),
        ("start", "gate pass migrations"),
        ("start; gate pass migrations", "gate fail migrations"),
        ("start", "block"),
        ("start; block", "unblock"),
        ("start", "pause"),
        ("start", "fail db-schema"),
        ("start", "note something"),
        ("start", "instruct look twice"),
        ("start", "decide blue"),
        ("start; beat", "beat"),
        ("start; mark; step done db-schema auth; gate pass migrations; step done deploy party", "finish"),
        ("start; pause", "resume"),
        ("start; mark; step done db-schema auth; gate pass migrations; step done deploy party; finish", "reopen"),
        ("start", "repair"),
        ("start; edit plans/p1/plan.md [~] [x]", "repair"),
        ("start; tear plans/p1/.checkpoint/state.json", "repair"),
        ("start; beat; delete plans/p1/.checkpoint/state.json", "note x"),
        ("start; edit plans/p1/plan.md schema scheme", "note x"),
        ("start; backup before", "backup again"),
        ("start", "helper start db-schema"),
        ("start; helper start db-schema", "helper stop db-schema"),
        ("", "mark"),
        ("start", "mark"),
        ("start; note x", "rollback 2"),
    ],
};

const TASK_DONE: &str = "start; step done one; step done two; gate pass tidy; finish";

pub const TASK: Dialect = Dialect {
    unit: "task:docs/migration/T060",
    files: &[("docs/progress/STATUS.md", "# Status\n\nby hand\n"), ("docs/progress/outbox/migration.md", "# Outbox\n")],
    verbs: &[
        ("", "start"),
        ("start", "checkpoint session_end"),
        ("start; beat", "crash s-0"),
        ("start", "files src/a.rs src/b.rs"),
        ("start", "tool Bash exit-code-2"),
        ("start", "step begin one"),
        ("start; step begin one", "step done one"),
        ("start", "step fail one"),
        ("start", "step skip one"),
        ("start", "gate pass tidy"),
        ("start; gate pass tidy", "gate fail tidy"),
        ("start", "verdict good 90"),
        ("start", "block"),
        ("start; block", "unblock"),
        ("start", "pause"),
        ("start", "fail one"),
        ("start", "note something"),
        ("start", "instruct look twice"),
        ("start", "decide blue"),
        ("start; beat", "beat"),
        ("start; step done one; step done two; gate pass tidy", "finish"),
        ("start; step begin one", "resume"),
        ("start", "takeover other"),
        ("start; step done one", "restart"),
        (TASK_DONE, "reopen"),
        (TASK_DONE, "start"),
        ("start", "repair"),
        ("start; note x; delete docs/progress/checkpoints/migration-T060.json", "repair"),
        ("start; note x; tear docs/progress/checkpoints/migration-T060.json", "repair"),
        ("start; note x; tear docs/progress/checkpoints/migration-T060.json", "beat"),
        ("start; note x", "rollback 1"),
    ],
};

const EPIC: &str = "# Epic\n\n<!-- BEGIN SECONDARY-A PROGRESS -->\nSecondary-A: nothing yet\n\
    <!-- END SECONDARY-A PROGRESS -->\n\nby hand\n";
const STATUS: &str = "STAGE: S2.P1\nAGENT: nobody\nSTATUS: NOT_STARTED\nUPDATED: never\nBLOCKERS: none\nMOOD: good\n";

pub const CREW: Dialect = Dialect {
    unit: "crew:Secondary-A",
    // Agents of this crew lock what they share.
    files: &[("EPIC_README.md", EPIC), ("feature_01_x/STATUS", STATUS), (".epic_locks/.gitkeep", "")],
    verbs: &[
        ("", "start"),
        ("start", "checkpoint session_end"),
        ("start; beat", "crash s-0"),
        ("start", "files src/a.rs src/b.rs"),
        ("start", "tool Bash exit-code-2"),
        ("start", "step begin one"),
        ("start; step begin one", "step done one"),
        ("start", "step fail one"),
        ("start", "step skip one"),
        ("start; step done one; step done two", "stage S2.P2"),
        ("start", "block"),
        ("start; block", "unblock"),
        ("start", "pause"),
        ("start", "fail one"),
        ("start", "note something"),
        ("start", "instruct look twice"),
        ("start", "decide blue"),
        ("start; beat", "beat"),
        ("start; beat; beat; beat; beat; beat; beat", "beat"),
        ("start; step done one; step done two", "finish"),
        ("start; pause", "resume"),
        ("start", "takeover Secondary-C"),
        ("start; note x", "restart"),
        ("start; step done one; step done two; finish", "reopen"),
        ("start; beat", "repair"),
        ("start; beat; delete agent_checkpoints/secondary_a.json", "repair"),
        ("start; beat; tear agent_checkpoints/secondary_a.json", "repair"),
        ("start; beat; tear agent_checkpoints/secondary_a.json", "beat"),
        ("start; beat", "backup why"),
        ("start; note x", "rollback 1"),
    ],
};

pub const ALL: [&Dialect; 5] = [&PIPELINE, &PLAN, &BUILD, &TASK, &CREW];

#[test]
fn every_verb_of_the_table_is_legal_where_it_stands() {
    let mut refused = Vec::new();
    for dialect in ALL {
        for (prepare, verb) in dialect.verbs {
            let made = std::panic::catch_unwind(|| crate::scene::Scene::new(dialect, prepare, verb));
            if let Err(error) = made {
                refused.push(error.downcast_ref::<String>().cloned().unwrap_or_default());
            }
        }
    }
    assert!(refused.is_empty(), "{}", refused.join("\n"));
}
