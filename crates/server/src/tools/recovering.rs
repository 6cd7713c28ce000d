//! Tools that bring work back: another agent, an older version, a new beginning.

use piton_engine::{Force, Problem, ProblemKind, Version, json, repair, rollback, show, take_over};
use piton_model::Event;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json as value;

use super::recording::{PlainInput, happen, plain};
use super::{Effect, Entry, read};
use crate::answer::Answer;
use crate::bounds::{Page, characters};
use crate::door::{Door, Writer};
use crate::schema;

/// The most characters of a document in one answer.
const MOST: usize = 12_000;

pub(super) const TOOLS: [Entry; 6] = [
    Entry {
        name: "takeover",
        title: "Take a unit over",
        about: "Gives a unit to another agent, with everything that is recorded. Use it when an agent of a crew is gone \
                and you or somebody else continues its work; to continue as the same agent, use `resume`. In a crew the \
                new agent has a unit of its own from then on, crew:AGENT: work on that one; the old checkpoint is \
                archived. An agent that gives signs of life keeps its unit.",
        example: r#"{"unit": "crew:Secondary-A", "agent": "Secondary-C"}"#,
        effect: Effect::Takes,
        input: schema::input::<TakeoverInput>,
        output: schema::recorded,
        run: |door, arguments| take(door, &read(arguments)?),
    },
    Entry {
        name: "restart",
        title: "Begin a unit again",
        about: "Begins a unit again from nothing; what was recorded is archived. Use it only when what is there is of no \
                use: to continue use `resume`, to correct a mistake use `rollback`.",
        example: r#"{"unit": "crew:Secondary-A"}"#,
        effect: Effect::Takes,
        input: schema::input::<RestartInput>,
        output: schema::recorded,
        run: |door, arguments| again(door, &read(arguments)?),
    },
    Entry {
        name: "reopen",
        title: "Open a unit again",
        about: "Opens a unit that is done, or claims to be, for what is still missing. Begins a new attempt.",
        example: r#"{"unit": "task:migration/T060"}"#,
        effect: Effect::Adds,
        input: schema::input::<PlainInput>,
        output: schema::recorded,
        run: |door, arguments| plain(door, &read(arguments)?, "reopen", &Event::Reopened),
    },
    Entry {
        name: "repair",
        title: "Repair documents",
        about: "Brings a unit's documents back into order: one that is gone or cannot be read comes back from its newest \
                readable version. Use it when `check` or another tool says that a document is broken; do not write it \
                anew by hand.",
        example: r#"{"unit": "plan:260220-1149-feature"}"#,
        effect: Effect::Takes,
        input: schema::input::<PlainInput>,
        output: schema::recorded,
        run: |door, arguments| mend(door, &read(arguments)?),
    },
    Entry {
        name: "show",
        title: "Show a version",
        about: "Shows a document of a unit as it was after an event, or as it is. Use it to see what a plan or checkpoint \
                said before something went wrong; `log` has the numbers.",
        example: r#"{"unit": "build:PRD-009", "version": 12}"#,
        effect: Effect::Reads,
        input: schema::input::<ShowInput>,
        output: schema::version,
        run: |door, arguments| show_version(door, &read(arguments)?),
    },
    Entry {
        name: "rollback",
        title: "Go back to a version",
        about: "Makes an old version of a unit's documents the newest one. What is there now stays a version of its own, \
                so this can be undone in the same way. Look at the version with `show` first.",
        example: r#"{"unit": "build:PRD-009", "version": 12}"#,
        effect: Effect::Takes,
        input: schema::input::<RollbackInput>,
        output: schema::recorded,
        run: |door, arguments| go_back(door, &read(arguments)?),
    },
];

#[derive(Debug, Deserialize, JsonSchema)]
struct TakeoverInput {
    /// The unit: dialect:id. Default: PITON_UNIT
    unit: Option<String>,
    /// The agent that takes it over
    agent: String,
    /// Even if the old agent seems to be alive. Ask a person first
    force: Option<bool>,
    #[serde(flatten)]
    writer: Writer,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct RestartInput {
    /// The unit: dialect:id. Default: PITON_UNIT
    unit: Option<String>,
    /// Even if much work is recorded, or an agent seems to be alive. Ask a person first
    force: Option<bool>,
    #[serde(flatten)]
    writer: Writer,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct ShowInput {
    /// The unit: dialect:id. Default: PITON_UNIT
    unit: Option<String>,
    /// The number of the event, as `log` shows it in seq. Default: the newest
    version: Option<u64>,
    /// The path of another document of the unit than its main one
    file: Option<String>,
    /// Skip that many characters
    offset: Option<usize>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct RollbackInput {
    /// The unit: dialect:id. Default: PITON_UNIT
    unit: Option<String>,
    /// The number of the event, as `log` shows it in seq
    version: u64,
    #[serde(flatten)]
    writer: Writer,
}

fn take(door: &Door, input: &TakeoverInput) -> Result<Answer, Problem> {
    let named = input.unit.as_deref();
    let wanted = door.wanted(named)?;
    let recorder = door.recorder(&input.writer, named, "takeover")?;
    let force = if input.force == Some(true) { Force::Yes } else { Force::No };
    let recorded = take_over(&door.open()?, &wanted, &input.agent, force, &recorder)
        .map_err(|error| Problem::record(&wanted, &error))?;
    Ok(Answer::recorded(&recorded))
}

fn again(door: &Door, input: &RestartInput) -> Result<Answer, Problem> {
    let event = Event::Restarted { force: input.force.unwrap_or(false) };
    happen(door, input.unit.as_deref(), &input.writer, "restart", &event)
}

fn mend(door: &Door, input: &PlainInput) -> Result<Answer, Problem> {
    let named = input.unit.as_deref();
    let wanted = door.wanted(named)?;
    let recorder = door.recorder(&input.writer, named, "repair")?;
    let recorded = repair(&door.open()?, &wanted, &recorder).map_err(|error| Problem::record(&wanted, &error))?;
    Ok(Answer::recorded(&recorded))
}

fn go_back(door: &Door, input: &RollbackInput) -> Result<Answer, Problem> {
    let named = input.unit.as_deref();
    let wanted = door.wanted(named)?;
    let recorder = door.recorder(&input.writer, named, "rollback")?;
    let recorded =
        rollback(&door.open()?, &wanted, input.version, &recorder).map_err(|error| Problem::record(&wanted, &error))?;
    Ok(Answer::recorded(&recorded))
}

fn show_version(door: &Door, input: &ShowInput) -> Result<Answer, Problem> {
    let wanted = door.wanted(input.unit.as_deref())?;
    let found =
        show(&door.open()?, &wanted, input.version, door.now()).map_err(|error| Problem::record(&wanted, &error))?;
    let paths: Vec<_> = found.documents.iter().map(|(path, _)| path.clone()).collect();
    let only = one_document(found, input.file.as_deref())?;
    let mut document = json::version(&only);
    let text = document["documents"][0]["text"].as_str().unwrap_or_default().to_owned();
    let page = Page { offset: input.offset.unwrap_or(0), of: text.chars().count() };
    let part = characters(&text, page.offset, MOST);
    document["page"] = page.shown(part.chars().count());
    document["documents"][0]["text"] = part.into();
    document["paths"] = value!(paths);
    let words = format!("{}@{}: {}", only.unit, only.seq, paths.join(", "));
    Ok(Answer { document, text: words })
}

/// A version with one of its documents only.
fn one_document(mut version: Version, wanted: Option<&str>) -> Result<Version, Problem> {
    let place = match wanted {
        Some(wanted) => version.documents.iter().position(|(path, _)| path == wanted),
        None => (!version.documents.is_empty()).then_some(0),
    };
    let Some(place) = place else {
        let problem =
            Problem::new(ProblemKind::Missing, format!("{}@{} has no such document", version.unit, version.seq));
        return Err(version
            .documents
            .iter()
            .fold(problem, |problem, (path, _)| problem.hint(format!("there is {path}"))));
    };
    version.documents = vec![version.documents.swap_remove(place)];
    Ok(version)
}
