use piton_model::Event;

use super::*;

/// A tool that records an event.
const fn entry(
    name: &'static str,
    title: &'static str,
    about: &'static str,
    example: &'static str,
    input: fn() -> rmcp::model::JsonObject,
    run: fn(&Door, rmcp::model::JsonObject) -> Result<Answer, Problem>,
) -> Entry {
    Entry { name, title, about, example, effect: Effect::Adds, input, output: schema::recorded, run }
}

pub(in crate::tools) const TOOLS: [Entry; 14] = [
    entry(
        "start",
        "Start a unit",
        "Starts a unit: makes its document, or begins a new attempt of one that is there. Returns the attempt; pass it \
         as `attempt` from then on. To go on with work that was interrupted use `resume` instead. What it needs depends \
         on the dialect. build: title, and spec or steps (and gates). task: title, and steps or total (and criteria). \
         crew: feature and stage, such as S2.P1. pipeline: stage, such as 0. plan: its plan.md has to be there, and its \
         checkboxes need ids: `mark_plan`.",
        r#"{"unit": "build:PRD-009", "title": "Cashier workflows", "steps": ["WS1", "WS2"], "gates": ["lint"]}"#,
        schema::input::<StartInput>,
        |door, arguments| run(door, read::<StartInput>(arguments)?, "start"),
    ),
    entry(
        "step",
        "Move steps",
        "Records that steps were begun, done, failed or skipped. Call it the moment it happens, not at the end: what is \
         recorded survives a crash, and whoever resumes does not do it again.",
        r#"{"unit": "task:migration/T060", "deed": "done", "steps": ["post-01"], "outputs": ["docs/post-01.md"], "next": "post-02"}"#,
        schema::input::<StepInput>,
        |door, arguments| run(door, read::<StepInput>(arguments)?, "step"),
    ),
    entry(
        "stage",
        "Enter a stage",
        "Records that the unit entered the next stage or phase of its dialect: a number, or a name as `status` shows it. \
         Refused with reasons when it may not. Not for `task`.",
        r#"{"unit": "pipeline:PROJ-42", "stage": "2"}"#,
        schema::input::<StageInput>,
        |door, arguments| run(door, read::<StageInput>(arguments)?, "stage"),
    ),
    entry(
        "gate",
        "Judge gates",
        "Records that gates or acceptance criteria pass or fail. It runs nothing: check them first, then record what \
         you saw.",
        r#"{"unit": "build:PRD-009", "verdict": "pass", "names": ["schema-validation"], "step": "WS1"}"#,
        schema::input::<GateInput>,
        |door, arguments| run(door, read::<GateInput>(arguments)?, "gate"),
    ),
    entry(
        "verdict",
        "Give a verdict",
        "Records a verdict or a score of a review, in the words of the unit's dialect.",
        r#"{"unit": "pipeline:PROJ-42", "word": "GO", "score": 8}"#,
        schema::input::<VerdictInput>,
        |door, arguments| run(door, read::<VerdictInput>(arguments)?, "verdict"),
    ),
    entry(
        "block",
        "Block a unit",
        "Records what keeps a unit from going on, when you cannot remove it yourself.",
        r#"{"unit": "task:migration/T060", "message": "the source is missing", "kind": "dependency_missing"}"#,
        schema::input::<BlockInput>,
        |door, arguments| run(door, read::<BlockInput>(arguments)?, "block"),
    ),
    entry(
        "unblock",
        "Unblock a unit",
        "Records that a blocker is gone. A message is an answer: the next worker gets it as an instruction.",
        r#"{"unit": "task:migration/T060"}"#,
        schema::input::<UnblockInput>,
        |door, arguments| unblocked(door, read::<UnblockInput>(arguments)?),
    ),
    entry(
        "pause",
        "Pause a unit",
        "Stops a unit on purpose, so that a person or another agent continues it. Leave a resume instruction with \
         `note` first.",
        r#"{"unit": "pipeline:PROJ-42", "reason": "waiting for the release"}"#,
        schema::input::<PauseInput>,
        |door, arguments| run(door, read::<PauseInput>(arguments)?, "pause"),
    ),
    entry(
        "fail",
        "Record a failure",
        "Records what broke, and where. Use it when you give up on something, so that whoever resumes knows.",
        r#"{"unit": "build:PRD-009", "step": "WS3", "message": "a type is missing", "file": "services/player.ts", "line": 45}"#,
        schema::input::<FailInput>,
        |door, arguments| run(door, read::<FailInput>(arguments)?, "fail"),
    ),
    entry(
        "note",
        "Take a note",
        "Writes something down with the unit; with purpose resume_instruction, what whoever resumes is to do.",
        r#"{"unit": "task:migration/T060", "text": "continue with post-20", "purpose": "resume_instruction"}"#,
        schema::input::<NoteInput>,
        |door, arguments| run(door, read::<NoteInput>(arguments)?, "note"),
    ),
    entry(
        "decide",
        "Record a decision",
        "Records a decision and its reason, so that it is not made again in another way after a crash.",
        r#"{"unit": "plan:260220-1149-feature", "text": "use SQLite", "reason": "one file, no server"}"#,
        schema::input::<DecideInput>,
        |door, arguments| run(door, read::<DecideInput>(arguments)?, "decide"),
    ),
    entry(
        "beat",
        "Give a sign of life",
        "Gives a sign of life. Every other record is one too, so this is for long stretches without any.",
        r#"{"unit": "crew:Secondary-A"}"#,
        schema::input::<PlainInput>,
        |door, arguments| plain(door, &read(arguments)?, "beat", &Event::Beat),
    ),
    entry(
        "finish",
        "Finish a unit",
        "Completes a unit. Refused, with what is missing, while a step, gate or criterion is open.",
        r#"{"unit": "task:migration/T060"}"#,
        schema::input::<PlainInput>,
        |door, arguments| plain(door, &read(arguments)?, "finish", &Event::Finished),
    ),
    entry(
        "mark_plan",
        "Give ids to a plan's tasks",
        "Gives an id to every checkbox of a plan that has none, and changes nothing else in the text. Use it once before \
         you work through a plan, so that a task keeps its id when its words change.",
        r#"{"unit": "plan:260220-1149-feature"}"#,
        schema::input::<PlainInput>,
        |door, arguments| plain(door, &read(arguments)?, "mark_plan", &Event::Marked),
    ),
];
