//! The keys of a pipeline's state and of a story's checkpoint.

use crate::schema::DocumentShape;
use crate::shape::{COUNT, Field, Shape, optional, required};
use crate::words::{Words, nothing_else};

/// What a story's state may be.
pub static STORY_STATE: Words = Words {
    canonical: &["QUEUED", "STAGE_0", "STAGE_1", "STAGE_2", "STAGE_3", "DONE", "PAUSED"],
    synonyms: &[
        ("pending", "QUEUED"),
        ("stage0", "STAGE_0"),
        ("stage1", "STAGE_1"),
        ("stage2", "STAGE_2"),
        ("stage3", "STAGE_3"),
        ("complete", "DONE"),
        ("completed", "DONE"),
    ],
    is_understood: nothing_else,
};

/// What a verdict may be: the first two at stage 1, the others at stage 3.
pub static VERDICT: Words = Words {
    canonical: &["GO", "NO-GO", "PASS", "CONCERNS", "WAIVED", "FAIL"],
    synonyms: &[("nogo", "NO-GO"), ("passed", "PASS"), ("failed", "FAIL")],
    is_understood: nothing_else,
};

/// Where tasks are kept.
pub static STORAGE: Words = Words { canonical: &["file", "linear"], synonyms: &[], is_understood: nothing_else };

static INFRA_ISSUE: &[Field] = &[
    optional("phase", Shape::Any, "when it happened"),
    optional("type", Shape::Text, "what kind of issue"),
    optional("message", Shape::Text, "what happened"),
];

static GIT_STATS: &[Field] = &[
    optional("lines_added", COUNT, "lines added"),
    optional("lines_deleted", COUNT, "lines deleted"),
    optional("files_changed", COUNT, "files changed"),
];

static PROJECT_BRIEF: &[Field] = &[
    optional("name", Shape::Text, "the project's name"),
    optional("tech", Shape::Any, "what it is built with"),
    optional("type", Shape::Any, "what kind of project it is"),
    optional("key_rules", Shape::Any, "rules that every worker must know"),
];

static STORY_BRIEF: &[Field] = &[
    optional("tech", Shape::Any, "what the story is built with"),
    optional("keyFiles", Shape::Any, "the files it is about"),
    optional("approach", Shape::Any, "how it is to be done"),
    optional("complexity", Shape::Any, "how hard it is"),
];

/// `.pipeline/state.json`
pub static STATE: &[Field] = &[
    required("complete", Shape::Flag, "false while the pipeline runs, true when it has ended"),
    optional("active_workers", COUNT, "how many workers there are now"),
    optional("stories_remaining", COUNT, "stories that are neither DONE nor PAUSED"),
    optional("last_check", Shape::Time, "when this state was last updated"),
    optional("story_state", Shape::Map(&Shape::Word(&STORY_STATE)), "where each story stands"),
    optional("worker_map", Shape::Map(&Shape::OrNull(&Shape::Text)), "the worker of each story"),
    optional(
        "quality_cycles",
        Shape::Map(&COUNT),
        "reworks of each story after a failed quality gate; 2 unless the settings grant others",
    ),
    optional(
        "validation_retries",
        Shape::Map(&COUNT),
        "validations of each story after a NO-GO; 1 unless the settings grant others",
    ),
    optional("crash_count", Shape::Map(&COUNT), "respawns of each story's worker; 1 unless the settings grant others"),
    optional("priority_queue_ids", Shape::List(&Shape::Id), "remaining stories, the most urgent first"),
    optional("story_results", Shape::Map(&Shape::Map(&Shape::Any)), "what each stage of each story resulted in"),
    optional("infra_issues", Shape::List(&Shape::Object(INFRA_ISSUE)), "issues of the infrastructure"),
    optional("worktree_map", Shape::Map(&Shape::OrNull(&Shape::Path)), "the git worktree of each story"),
    optional("depends_on", Shape::Map(&Shape::List(&Shape::Text)), "the stories that must be DONE before each story"),
    optional("status_cache", Shape::Map(&Shape::Any), "ids of status names in the tracker"),
    optional(
        "stage_timestamps",
        Shape::Map(&Shape::Map(&Shape::Time)),
        "when each stage of each story began and ended",
    ),
    optional("git_stats", Shape::Map(&Shape::Object(GIT_STATS)), "how much code each story changed"),
    optional("pipeline_start_time", Shape::Time, "when the pipeline was started"),
    optional(
        "readiness_scores",
        Shape::Map(&Shape::Number { min: 1.0, max: 10.0 }),
        "readiness of each story from stage 1",
    ),
    optional("team_name", Shape::Text, "the name of the team of workers"),
    optional("business_answers", Shape::Map(&Shape::Any), "answers to the questions asked at the start"),
    optional("storage_mode", Shape::Word(&STORAGE), "where tasks are kept"),
    optional("skill_repo_path", Shape::Text, "where the workers' instructions are"),
    optional("project_brief", Shape::Object(PROJECT_BRIEF), "the project in short"),
    optional("story_briefs", Shape::Map(&Shape::Object(STORY_BRIEF)), "each story in short"),
    optional(
        "pause_reasons",
        Shape::Map(&Shape::Text),
        "why each story was paused that has no checkpoint to say so; written by Piton",
    ),
];

/// `.pipeline/checkpoint-{story}.json`
pub static CHECKPOINT: &[Field] = &[
    required("storyId", Shape::Id, "the story"),
    required("stage", Shape::Count { min: 0, max: 3 }, "the stage: 0 plans, 1 validates, 2 executes, 3 judges quality"),
    required("agentId", Shape::Text, "the worker's own id, by which it can be resumed"),
    required("tasksCompleted", Shape::List(&Shape::Text), "tasks that are finished"),
    required("tasksRemaining", Shape::List(&Shape::Text), "tasks that are still to be done"),
    required("lastAction", Shape::Text, "what was done last"),
    required("timestamp", Shape::Time, "when this checkpoint was written"),
    optional("planScore", Shape::Number { min: 0.0, max: 4.0 }, "stage 0: quality of the plan; below 2 is an error"),
    optional("readiness", Shape::Number { min: 1.0, max: 10.0 }, "stage 1: readiness of the story; GO needs 5"),
    optional("verdict", Shape::Word(&VERDICT), "stage 1: GO or NO-GO; stage 3: PASS, CONCERNS, WAIVED or FAIL"),
    optional("reason", Shape::OrNull(&Shape::Text), "stage 1: why it is NO-GO"),
    optional("qualityScore", Shape::Number { min: 0.0, max: 100.0 }, "stage 3: quality of the story"),
    optional("issues", Shape::OrNull(&Shape::Text), "stage 3: what is wrong when it is FAIL"),
    optional("awaits", Shape::List(&Shape::Text), "keys that the stage gives at its end; written by Piton"),
    optional(
        "plannedTasks",
        Shape::List(&Shape::Any),
        "the tasks that stage 0 planned, each with id, title and description; written by Piton",
    ),
    optional("tasksSkipped", Shape::List(&Shape::Text), "tasks that are left out; written by Piton"),
    optional("stageResults", Shape::Any, "what the stages before resulted in; written by Piton"),
    optional("pausedFrom", Shape::Text, "the state in which it was paused; written by Piton"),
    optional("pauseReason", Shape::Text, "why it was paused; written by Piton"),
    optional("finished", Shape::Time, "when it was finished; written by Piton"),
];

/// The documents of this dialect.
pub static DOCUMENTS: &[DocumentShape] = &[
    DocumentShape { name: "state", about: "The lead's state of a pipeline: .pipeline/state.json", fields: STATE },
    DocumentShape {
        name: "checkpoint",
        about: "A story's checkpoint: .pipeline/checkpoint-{story}.json",
        fields: CHECKPOINT,
    },
];
