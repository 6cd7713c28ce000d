//! Tools for whoever leads a crew.

use piton_engine::{Problem, json, notify, sync};
use piton_model::Audience;
use piton_model::text::counted;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json as value;

use super::{Effect, Entry, read};
use crate::answer::Answer;
use crate::door::{Door, Writer};
use crate::schema;

pub(super) const TOOLS: [Entry; 2] = [
    Entry {
        name: "sync",
        title: "Look at a sync point",
        about: "Says of each crew whether it is ready for its sync point, and who is missing and why. Use it before you \
                begin what all agents of a crew have to be ready for.",
        example: r#"{"epic": "epics/e7"}"#,
        effect: Effect::Reads,
        input: schema::input::<SyncInput>,
        output: schema::sync,
        run: |door, arguments| look(door, &read(arguments)?),
    },
    Entry {
        name: "warn_silent",
        title: "Warn silent agents",
        about: "Warns agents of crews that have not been heard of for long in their inboxes, once for each silence, and \
                marks those that are taken for crashed in the epic. Returns what can be done about each: to go on with \
                its work use `takeover`, or `resume` as the same agent.",
        example: "{}",
        effect: Effect::Adds,
        input: schema::input::<WarnInput>,
        output: schema::notified,
        run: |door, arguments| warn(door, &read(arguments)?),
    },
];

#[derive(Debug, Deserialize, JsonSchema)]
struct SyncInput {
    /// The directory of the crew's epic. Default: every crew
    epic: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct WarnInput {
    #[serde(flatten)]
    writer: Writer,
}

fn look(door: &Door, input: &SyncInput) -> Result<Answer, Problem> {
    let now = door.now();
    let points = sync(&door.open()?, input.epic.as_deref(), now).map_err(|refusal| Problem::refused(&refusal))?;
    let lines = points.iter().map(|point| {
        let crew = if point.crew.is_empty() { "." } else { &point.crew };
        match point.missing.len() {
            0 => format!("{crew}: ready for sync"),
            missing => format!("{crew}: not ready for sync, {missing} missing"),
        }
    });
    let text = lines.collect::<Vec<_>>().join("\n");
    Ok(Answer { document: json::sync(&points, now), text })
}

fn warn(door: &Door, input: &WarnInput) -> Result<Answer, Problem> {
    let recorder = door.recorder(&input.writer, None, "warn_silent")?;
    let all = notify(&door.open()?, &recorder).map_err(|error| Problem::record("the crew", &error))?;
    let silent: usize = all.iter().map(|notified| notified.notices.len()).sum();
    let warnings = all.iter().filter_map(|notified| notified.recorded.as_ref()).flat_map(|each| &each.warnings);
    let warnings: Vec<_> = warnings.map(|warning| warning.render(Audience::Tools)).collect();
    let text = format!("{} silent", counted(silent, "agent is", "agents are"));
    let notified = json::notified(&all, Audience::Tools);
    Ok(Answer { document: value!({ "notified": notified, "warnings": warnings }), text })
}
