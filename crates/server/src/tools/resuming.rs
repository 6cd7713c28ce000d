//! The tool that continues a unit.

use piton_engine::{Problem, ResumeRequest, json, resume};
use piton_model::text::printable;
use piton_model::{Audience, ResumeAction, ResumeMode};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Effect, Entry, read};
use crate::answer::Answer;
use crate::door::{Door, Writer};
use crate::schema;

/// The most characters of a brief.
pub const BUDGET: usize = 10_000;

pub(super) const TOOLS: [Entry; 1] = [Entry {
    name: "resume",
    title: "Resume a unit",
    about: "Continues a unit: checks its documents, begins a new attempt, and returns the brief: the exact next action, \
            what is done and not to be done again, what remains. Use it before working on anything that was begun. Pass \
            the returned `attempt` to every later call; writers of older attempts are refused. A unit whose agent gives \
            signs of life is not taken, unless `force` is set; `status` with resumable lists what could be resumed.",
    example: r#"{"unit": "crew:Secondary-A"}"#,
    effect: Effect::Takes,
    input: schema::input::<ResumeInput>,
    output: schema::resumption,
    run: |door, arguments| run(door, &read(arguments)?),
}];

#[derive(Debug, Deserialize, JsonSchema)]
struct ResumeInput {
    /// The unit: dialect:id. Default: PITON_UNIT
    unit: Option<String>,
    /// How a build is continued. In progress: continue or restart what was interrupted. Failed: fixed, once what failed is
    /// fixed
    mode: Option<ModeWord>,
    /// Even if an agent seems to be alive. Ask a person first
    force: Option<bool>,
    #[serde(flatten)]
    writer: Writer,
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum ModeWord {
    Continue,
    Restart,
    Fixed,
}

fn run(door: &Door, input: &ResumeInput) -> Result<Answer, Problem> {
    let named = input.unit.as_deref();
    let wanted = door.wanted(named)?;
    let recorder = door.recorder(&input.writer, named, "resume")?;
    let mode = input.mode.map(|word| match word {
        ModeWord::Continue => ResumeMode::Continue,
        ModeWord::Restart => ResumeMode::Restart,
        ModeWord::Fixed => ResumeMode::Fixed,
    });
    let request = ResumeRequest {
        mode,
        force: input.force.unwrap_or(false),
        budget: BUDGET,
        outputs_in: None,
        audience: Audience::Tools,
    };
    let resumption =
        resume(&door.open()?, &wanted, &request, &recorder).map_err(|error| Problem::record(&wanted, &error))?;
    if resumption.plan.action == ResumeAction::Refuse {
        return Err(Problem::not_resumed(&resumption));
    }
    let mut document = json::resumption(&resumption, Audience::Tools);
    document["warnings"] = resumption.warnings.iter().map(|warning| warning.render(Audience::Tools)).collect();
    let next = resumption.plan.next.render(Audience::Tools);
    let next = printable(&next);
    let text = format!("{} is resumed, attempt {}. Next: {next}", resumption.unit, resumption.attempt);
    Ok(Answer { document, text })
}
