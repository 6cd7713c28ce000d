//! What a worker is told: what its stage asks, how it records its steps, and when it goes on, the brief.

use piton_model::fleet::{How, Lane};
use piton_model::{Dialect, text};

use super::work::LaneWork;

/// What there is to say to a worker.
pub(super) struct Telling<'a> {
    pub lane: &'a Lane,
    pub work: &'a LaneWork,
    /// What every worker is told first.
    pub preamble: Option<&'a str>,
    /// The text for whoever goes on, when somebody was at it before.
    pub brief: Option<&'a str>,
    /// What is recorded as done and is not there, or not proved.
    pub told: Vec<String>,
    pub how: How,
    /// Where it works, for people.
    pub directory: &'a str,
    /// Whether the quality gate is to be short.
    pub is_fast: bool,
}

/// The whole prompt.
pub(super) fn prompt(telling: &Telling<'_>) -> String {
    let work = telling.work;
    let mut parts: Vec<String> = Vec::new();
    parts.extend(telling.preamble.map(str::to_owned));
    let title = work.title.as_deref().map_or_else(String::new, |title| format!(": {}", text::printable(title)));
    parts.push(format!("# {}{title}", telling.lane.name));
    parts.extend(work.text.as_deref().map(str::to_owned));
    parts.push(order(telling));
    parts.push(format!(
        "You work in {}. Commit what you make there; what is not committed is not merged.\n\
         The commands below know their workspace and attempt from the environment; never set PITON_ROOT or \
         PITON_ATTEMPT yourself. A refused command says what would be legal.\n\
         When something keeps you from going on, say so and end: piton block {} --message TEXT",
        telling.directory, work.unit_name
    ));
    if telling.how != How::Fresh {
        parts.push(
            "Somebody was at this before you. Go on where the work stopped; do not do again what is done.".to_owned(),
        );
    }
    if !telling.told.is_empty() {
        let lines: Vec<String> = telling.told.iter().map(|told| format!("- {}", text::printable(told))).collect();
        parts.push(format!("Recorded and not proved; see to this first, then record it again:\n{}", lines.join("\n")));
    }
    parts.extend(telling.brief.map(str::to_owned));
    parts.join("\n\n") + "\n"
}

fn order(telling: &Telling<'_>) -> String {
    let (unit, work) = (&telling.work.unit_name, telling.work);
    match work.dialect {
        Dialect::Pipeline => story_order(telling),
        Dialect::Build => {
            let step = work.step.as_deref().unwrap_or_default();
            let outputs = match work.outputs.is_empty() {
                true => String::new(),
                false => format!(" Make these files: {}.", work.outputs.join(", ")),
            };
            format!(
                "Execute the workstream {step} of this build, nothing else.{outputs}\n\
                 Its gates are run by the lead. When it is done: piton step {unit} done {step}"
            )
        }
        Dialect::Plan => {
            let step = work.step.as_deref().unwrap_or_default();
            format!(
                "Do the task {step} of this plan, nothing else. Leave the plan's text alone: its box is ticked by\n\
                 piton step {unit} done {step}"
            )
        }
        Dialect::Task => format!(
            "Do this task. Record each subtask when it is done: piton step {unit} done SUBTASK --output FILE\n\
             Record each acceptance criterion that is met: piton gate {unit} pass CRITERION\n\
             When all of it is done: piton finish {unit}"
        ),
        Dialect::Crew => format!(
            "Work on your feature through S2.P1, S2.P2 and S2.P3. Record each step: piton step {unit} done STEP\n\
             Give a sign of life at least every 15 minutes: piton beat {unit}\n\
             Read your messages: piton inbox {}\nWhen your feature is complete: piton finish {unit}",
            telling.work.id
        ),
    }
}

fn story_order(telling: &Telling<'_>) -> String {
    let unit = &telling.work.unit_name;
    match telling.lane.stage {
        0 => format!(
            "Stage 0: plan this story as 1 to 8 tasks, then end.\n\
             Record the tasks: piton step {unit} begin TASK-1 TASK-2 …\n\
             Score the plan from 0 to 4: piton verdict {unit} PLAN --score N"
        ),
        1 => format!(
            "Stage 1: judge whether this story is ready to be worked on, then end. Change no code.\n\
             Ready (5 to 10): piton verdict {unit} GO --score N\n\
             Not ready (1 to 4): piton verdict {unit} NO-GO --score N --reason TEXT"
        ),
        2 => format!(
            "Stage 2: do the tasks that remain, one after another, then end.\n\
             When a task is done and committed: piton step {unit} done TASK --file FILE"
        ),
        _ => {
            let depth = match telling.is_fast {
                true => "The story was very ready: a short review of the risky parts is enough.",
                false => "Review all of it: code, tests, what the story asks.",
            };
            format!(
                "Stage 3: judge the quality of what was made, then end. {depth}\n\
                 Good: piton verdict {unit} PASS --score N (0 to 100); with remarks CONCERNS, accepted as it is WAIVED\n\
                 Not good: piton verdict {unit} FAIL --score N --issues TEXT"
            )
        }
    }
}

/// What a silent worker is asked.
pub(super) fn question(name: &str) -> String {
    format!(
        "You have given no sign for a long time. If you are at work on {name}, say so: print something, commit, or\n\
         piton beat {name}\nElse you are taken for dead.\n"
    )
}
