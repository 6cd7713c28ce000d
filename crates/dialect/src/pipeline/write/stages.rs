//! A story moves from stage to stage.

use piton_model::{Moment, Refusal};

use super::draft::Draft;
use super::verdicts;

/// How often a story goes back to stage 2 after a FAIL.
const MOST_REWORKS: i64 = 2;

/// Enters a stage, when the one before has given what it must.
pub(super) fn entered(draft: &mut Draft, stage: &str, phase: Option<&str>, moment: &Moment) -> Result<String, Refusal> {
    let to = parse_stage(stage)?;
    let Some(from) = draft.stage else {
        return Err(Refusal::document(format!("the checkpoint is at no stage from 0 to 3: {}", draft.path)));
    };
    if to == from {
        draft.act(&phase.map_or_else(|| format!("Stage {to} goes on"), str::to_owned));
        return Ok(format!("already at stage {to}"));
    }
    match (from, to) {
        (0, 1) => planned(draft)?,
        (1, 2) => validated(draft)?,
        (2, 3) => executed(draft)?,
        (3, 2) => failed(draft)?,
        _ => {
            let next =
                if from == 3 { "finish, or stage 2 after a FAIL".to_owned() } else { format!("stage {}", from + 1) };
            return Err(Refusal::rule(format!("from stage {from} a story does not go to stage {to}"))
                .hint(format!("what comes next is {next}")));
        }
    }
    draft.enter(to)?;
    if let Some(session) = &moment.session {
        draft.editor.set(&["agentId"], session.as_str());
    }
    draft.act(&phase.map_or_else(|| format!("Stage {to} started"), str::to_owned));
    draft.stand(&format!("STAGE_{to}"))?;
    Ok(format!("stage {to}"))
}

/// A stage as it was typed: `2`, `stage 2`, `STAGE_2`.
pub(super) fn parse_stage(typed: &str) -> Result<u8, Refusal> {
    let lower = typed.trim().to_ascii_lowercase();
    let digits = lower.strip_prefix("stage").unwrap_or(&lower).trim_start_matches([' ', '_', '-']);
    let stage = digits.parse::<u8>().ok().filter(|stage| *stage <= 3);
    stage.ok_or_else(|| {
        Refusal::usage(format!("{typed:?} is no stage of a story"))
            .hint("0 plans, 1 validates, 2 executes, 3 judges quality")
    })
}

fn planned(draft: &Draft) -> Result<(), Refusal> {
    let name = &draft.name;
    let score = draft.editor.get(&["planScore"]).and_then(|score| score.as_f64());
    let hint = format!("piton verdict {name} PLAN --score N");
    match score {
        None => Err(Refusal::rule("the plan has no score yet").hint(hint)),
        Some(score) if score < 2.0 => {
            Err(Refusal::rule(format!("the plan's score is {score}; 2 is needed")).hint(format!("plan again: {hint}")))
        }
        Some(_) if draft.list(&["tasksRemaining"])?.is_empty() => {
            Err(Refusal::rule("the plan has no tasks").hint(format!("piton step {name} begin TASK …")))
        }
        Some(_) => Ok(()),
    }
}

fn validated(draft: &Draft) -> Result<(), Refusal> {
    let hint = format!("piton verdict {} GO --score N", draft.name);
    match verdicts::word(draft) {
        Some("GO") => Ok(()),
        Some(word) => Err(Refusal::rule(format!("the verdict is {word}; stage 2 needs GO")).hint(hint)),
        None => Err(Refusal::rule("the story is not validated yet").hint(hint)),
    }
}

fn executed(draft: &Draft) -> Result<(), Refusal> {
    let left = draft.list(&["tasksRemaining"])?;
    if left.is_empty() {
        return Ok(());
    }
    Err(Refusal::rule(format!("tasks remain: {}", left.join(", ")))
        .hint(format!("piton step {} done {}", draft.name, left[0])))
}

fn failed(draft: &mut Draft) -> Result<(), Refusal> {
    let name = draft.name.clone();
    if verdicts::word(draft) != Some("FAIL") {
        return Err(Refusal::rule("a story goes back to stage 2 after a FAIL alone")
            .hint(format!("piton verdict {name} FAIL --score N --issues TEXT")));
    }
    let done = draft.editor.int(&["reworks"]).unwrap_or(0).max(0);
    if done >= MOST_REWORKS || draft.counted("quality_cycles") > MOST_REWORKS {
        return Err(Refusal::rule(format!("the {MOST_REWORKS} reworks of a story are used"))
            .hint(format!("piton pause {name} --message TEXT")));
    }
    draft.editor.set(&["reworks"], done + 1);
    Ok(())
}
