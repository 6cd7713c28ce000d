//! Prompts: what a person picks to have a unit resumed, or handed over.

use piton_engine::{Problem, find, preview};
use piton_model::{Audience, ResumeAction};
use rmcp::ErrorData;
use rmcp::model::{GetPromptResult, JsonObject, Prompt, PromptArgument, PromptMessage, Role};
use serde_json::Value;

use crate::answer::words;
use crate::bounds::shorten_text;
use crate::door::Door;
use crate::tools::BUDGET;

/// The name of the prompt that resumes.
const RESUME: &str = "resume";
/// The name of the prompt that hands over.
const HAND_OVER: &str = "hand_over";

/// The prompts.
pub fn list() -> Vec<Prompt> {
    let unit = |about: &str| vec![PromptArgument::new("unit").with_description(about).with_required(false)];
    let resume = Prompt::new(
        RESUME,
        Some("Continue a unit that was interrupted, where it stopped"),
        Some(unit("The unit, such as plan:260220-1149-feature. Default: PITON_UNIT")),
    );
    let hand_over = Prompt::new(
        HAND_OVER,
        Some("Leave a unit so that somebody else can continue it: record everything, instruct, pause"),
        Some(unit("The unit, such as task:migration/T060. Default: PITON_UNIT")),
    );
    vec![resume.with_title("Resume a unit"), hand_over.with_title("Hand a unit over")]
}

/// A prompt's text. Nothing is recorded: that is done by the tools the text asks for.
pub fn get(door: &Door, name: &str, arguments: Option<&JsonObject>) -> Result<GetPromptResult, ErrorData> {
    let unit = arguments.and_then(|arguments| arguments.get("unit")).and_then(Value::as_str);
    let unit = unit.filter(|unit| !unit.is_empty());
    let text = match name {
        RESUME => resume_text(door, unit),
        HAND_OVER => hand_over_text(door, unit),
        _ => return Err(ErrorData::invalid_params(format!("there is no prompt {name:?}"), None)),
    };
    let text = text.map_err(|problem| ErrorData::invalid_params(words(&problem), None))?;
    Ok(GetPromptResult::new(vec![PromptMessage::new_text(Role::User, text)]))
}

fn resume_text(door: &Door, unit: Option<&str>) -> Result<String, Problem> {
    let wanted = door.wanted(unit)?;
    let seen = preview(&door.open()?, &wanted, BUDGET, Audience::Tools, door.now())
        .map_err(|error| Problem::record(&wanted, &error))?;
    if seen.plan.action == ResumeAction::Refuse {
        return Err(Problem::not_resumed(&seen));
    }
    Ok(format!(
        "Continue {unit}.\n\n\
         1. Call the tool `resume` with {{\"unit\": \"{unit}\"}}. It begins a new attempt and returns the brief; below is \
         what it would say as things stand now. Pass the returned `attempt` to every later call.\n\
         2. Do the next action of the brief. What is listed as done is not done again.\n\
         3. Record each step with `step` the moment it is done, decisions with `decide`, what stops you with `block` or \
         `fail`. At the end call `finish`; if it is refused, do what it says is missing.\n\n{brief}",
        unit = seen.unit,
        brief = seen.brief
    ))
}

fn hand_over_text(door: &Door, unit: Option<&str>) -> Result<String, Problem> {
    let wanted = door.wanted(unit)?;
    let found = find(&door.open()?, &wanted, door.now()).map_err(|error| Problem::not_found(&wanted, &error))?;
    let position = found
        .unit
        .position()
        .map_or_else(String::new, |position| format!(" Its documents say: at {:?}.", shorten_text(&position, 200)));
    let progress = found.unit.progress;
    Ok(format!(
        "Hand {unit} over, so that somebody who knows nothing of this conversation can continue it. It is {done} of {total} \
         done.{position}\n\n\
         1. Look at {unit} with `status`, and record what is missing there: steps that are done or begun (`step`), gates \
         that you checked (`gate`), decisions with their reasons (`decide`), what blocks (`block`) or broke (`fail`). \
         Record only what is true now.\n\
         2. Write down what is in nobody's files yet with `note`: half-finished edits, dead ends, commands that matter.\n\
         3. Leave one instruction with `note` and purpose resume_instruction: the exact next action.\n\
         4. Call `pause` with the reason. Then do nothing more with it.",
        unit = found.name,
        done = progress.done,
        total = progress.total,
    ))
}
