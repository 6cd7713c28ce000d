//! The tools. Each is an entry of a table: its name and words, what it does to the world, its schemas, and the function
//! that translates a call.

mod crews;
mod messages;
mod reading;
mod recording;
mod recovering;
mod resuming;

pub use reading::{log_page, page_steps, run_of};
pub use resuming::BUDGET;

use std::sync::LazyLock;

use piton_engine::{Problem, ProblemKind};
use rmcp::model::{CallToolResult, JsonObject, Tool, ToolAnnotations};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::answer::{Answer, result};
use crate::bounds::check_arguments;
use crate::door::Door;

/// A tool.
struct Entry {
    name: &'static str,
    title: &'static str,
    /// What it does and when to use it.
    about: &'static str,
    /// Arguments as they may look.
    example: &'static str,
    effect: Effect,
    input: fn() -> JsonObject,
    output: fn() -> JsonObject,
    run: fn(&Door, JsonObject) -> Result<Answer, Problem>,
}

/// What a tool does to the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Effect {
    /// Nothing.
    Reads,
    /// It adds to what is there.
    Adds,
    /// It may take a unit away from whoever works on it, or put other content in the place of what is there.
    Takes,
}

/// Who offers tools, in the order in which they are listed.
const OFFERED: [&[Entry]; 6] =
    [&reading::TOOLS, &resuming::TOOLS, &recording::TOOLS, &recovering::TOOLS, &messages::TOOLS, &crews::TOOLS];

/// The tools as clients see them. They never change, so their schemas are made once.
static LISTED: LazyLock<Vec<Tool>> = LazyLock::new(|| entries().map(listed).collect());

fn entries() -> impl Iterator<Item = &'static Entry> {
    OFFERED.iter().flat_map(|entries| entries.iter())
}

/// All tools.
pub fn list() -> Vec<Tool> {
    LISTED.clone()
}

/// One of them.
pub fn get(name: &str) -> Option<&'static Tool> {
    LISTED.iter().find(|tool| tool.name == name)
}

fn listed(entry: &Entry) -> Tool {
    let reads = entry.effect == Effect::Reads;
    let annotations = ToolAnnotations::with_title(entry.title)
        .read_only(reads)
        .destructive(entry.effect == Effect::Takes)
        .idempotent(reads)
        .open_world(false);
    let about = format!("{}\nExample: {}", entry.about, entry.example);
    Tool::new(entry.name, about, (entry.input)())
        .with_title(entry.title)
        .with_raw_output_schema((entry.output)().into())
        .with_annotations(annotations)
}

/// Calls a tool. Nothing when there is none of that name.
pub fn call(door: &Door, name: &str, arguments: JsonObject) -> Option<CallToolResult> {
    let entry = entries().find(|entry| entry.name == name)?;
    let answer = check_names(entry, &arguments)
        .and_then(|()| check_arguments(&arguments))
        .and_then(|()| (entry.run)(door, arguments))
        .map_err(|problem| with_example(entry, problem));
    Some(result(answer))
}

/// Refuses an argument that the tool does not know: a model that believes it did something has to be told.
fn check_names(entry: &Entry, arguments: &JsonObject) -> Result<(), Problem> {
    let known = get(entry.name).and_then(|tool| tool.input_schema.get("properties")).and_then(Value::as_object);
    let Some(known) = known else { return Ok(()) };
    let Some(stranger) = arguments.keys().find(|name| !known.contains_key(*name)) else { return Ok(()) };
    let names: Vec<_> = known.keys().map(String::as_str).collect();
    let message = format!("{} has no argument {stranger:?}", entry.name);
    Err(Problem::new(ProblemKind::Usage, message).hint(format!("it takes: {}", names.join(", "))))
}

/// Whoever called in a wrong way and is not told a right one is shown one.
fn with_example(entry: &Entry, problem: Problem) -> Problem {
    let is_told = problem.hints.iter().any(|hint| !hint.commands.is_empty());
    match problem.kind {
        ProblemKind::Usage if !is_told => {
            problem.hint(format!("call {} with arguments such as {}", entry.name, entry.example))
        }
        // Nobody is left alone with a refusal.
        _ if problem.hints.is_empty() => problem.hint("see where things stand with the tool `status`"),
        ProblemKind::Usage | ProblemKind::Failed | ProblemKind::Refused | ProblemKind::Missing | ProblemKind::Busy => {
            problem
        }
    }
}

/// The arguments as the tool takes them.
fn read<I: DeserializeOwned>(arguments: JsonObject) -> Result<I, Problem> {
    serde_json::from_value(Value::Object(arguments))
        .map_err(|error| Problem::new(ProblemKind::Usage, format!("the arguments do not fit: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_plain() {
        let names: Vec<_> = entries().map(|entry| entry.name).collect();
        for (place, name) in names.iter().enumerate() {
            assert!(name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'), "{name}");
            assert!(!names[..place].contains(name), "{name} is there twice");
        }
    }

    #[test]
    fn every_example_fits_its_schema_and_every_argument_is_explained() {
        for entry in entries() {
            let example: JsonObject = serde_json::from_str(entry.example).expect("an object");
            assert_eq!(check_names(entry, &example), Ok(()), "{}", entry.name);
            let schema = (entry.input)();
            assert_eq!(schema["type"], "object", "{}", entry.name);
            assert_eq!(schema["additionalProperties"], false, "{}", entry.name);
            for (argument, schema) in schema["properties"].as_object().expect("properties") {
                assert!(schema["description"].is_string(), "{}.{argument} is not explained: {schema}", entry.name);
            }
            for required in schema.get("required").and_then(Value::as_array).into_iter().flatten() {
                let name = required.as_str().expect("a name");
                assert!(example.contains_key(name), "the example of {} lacks {name}", entry.name);
            }
        }
    }

    /// A hint for an agent without a shell is a call that the tool understands.
    #[test]
    fn every_verb_of_a_hint_fits_the_schema_of_its_tool() {
        use piton_model::hint::{Place, Taken, VERBS};
        for verb in VERBS {
            let Some(name) = verb.tool else { continue };
            let entry = entries().find(|entry| entry.name == name).unwrap_or_else(|| panic!("there is no tool {name}"));
            let schema = Value::Object((entry.input)());
            let takes = |argument: &str, wanted: &str| {
                let found = schema["properties"][argument].to_string().replace("integer", "number");
                assert!(found != "null" && found.contains(wanted), "{name}.{argument} takes no {wanted}: {found}");
            };
            for place in verb.places {
                match place {
                    Place::One(argument) => takes(argument, ""),
                    Place::Rest(argument) => takes(argument, "\"array\""),
                    Place::UnitOrPath => {
                        ["unit", "path"].into_iter().for_each(|argument| takes(argument, "\"string\""))
                    }
                }
            }
            for (_, taken) in verb.options {
                match taken {
                    Taken::Value(argument) => takes(argument, "\"string\""),
                    Taken::Number(argument) => takes(argument, "\"number\""),
                    Taken::List(argument) => takes(argument, "\"array\""),
                    Taken::Flag(argument) => takes(argument, "\"boolean\""),
                    Taken::Choice(argument, word) => takes(argument, &format!("{word:?}")),
                    Taken::Always | Taken::Never => {}
                }
            }
        }
    }

    #[test]
    fn no_tool_runs_a_command() {
        for entry in entries() {
            let schema = Value::Object((entry.input)()).to_string();
            for word in ["\"evidence\"", "\"command\"", "\"run\"", "\"approve\""] {
                assert!(!schema.contains(word), "{} takes {word}", entry.name);
            }
        }
    }
}
