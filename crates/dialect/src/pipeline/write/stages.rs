//! A story moves from stage to stage.

use piton_model::fleet::{LOWEST_PLAN, StageResult};
use piton_model::hint::verbs;
use piton_model::{Arg, Invocation, Moment, Refusal};

use super::super::judge::{Judgement, judge_stage};
use super::super::resume::next;
use super::draft::{Draft, clean};
use super::own_stage::{self, OWN_STAGE};
use super::tasks::mend;
use super::verdicts;

/// In whose name a lead records.
const LEAD: &str = "lead";

/// What a lead says of a story whose stages leave planning out since it began.
pub const NO_PLANNING: &str = "planning is left out";

/// What a lead says of a story whose stages leave validation out.
pub const NO_VALIDATION: &str = "validation is left out";

/// Enters a stage, when the one before has given what it must.
pub(super) fn entered(draft: &mut Draft, stage: &str, phase: Option<&str>, moment: &Moment) -> Result<String, Refusal> {
    let to = parse_stage(stage)?;
    // Only the settings, which a lead reads, leave stages out.
    let is_lead = is_lead(moment);
    let Some(from) = draft.stage else {
        return Err(draft.no_stage());
    };
    match (from, to) {
        _ if is_lead && phase == Some(OWN_STAGE) && to < from => return own_stage::taken_back(draft, to),
        // A NO-GO is answered by another validation.
        (1, 1) if verdicts::word(draft) == Some("NO-GO") => {}
        // What was said before the worker of a stage begins is not its word.
        (1, 1) | (3, 3) if is_lead && matches!(judged(draft), Judgement::Complete(_)) => draft.forget_results(to),
        (0, 0) if is_lead && is_refused_plan(&judged(draft)) => {
            draft.shelve()?;
            draft.await_results();
            draft.act("The plan is revised");
            draft.stand("STAGE_0")?;
            return Ok("stage 0 again".to_owned());
        }
        _ if to == from => {
            draft.act(&phase.map_or_else(|| format!("Stage {to} goes on"), str::to_owned));
            draft.stand(&format!("STAGE_{to}"))?;
            return Ok(format!("already at stage {to}"));
        }
        (0, 1) if is_lead && phase == Some(NO_PLANNING) => has_tasks(draft)?,
        (0, 1) => planned(draft)?,
        (0, 2) if is_lead && phase == Some(NO_VALIDATION) => planned(draft)?,
        // A plan that its validation refused is a plan all the same.
        (1, 2) if is_lead && phase == Some(NO_VALIDATION) => has_tasks(draft)?,
        (0 | 1, 2) if is_lead && phase == Some(NO_PLANNING) => {}
        (1, 2) => validated(draft)?,
        (2, 3) => executed(draft)?,
        (3, 2) => goes_back(draft)?,
        _ => {
            let next = next(draft, &draft.tasks()?, from, true);
            return Err(Refusal::rule(format!("from stage {from} a story does not go to stage {to}")).hint(next));
        }
    }
    draft.enter(to)?;
    if let Some(session) = &moment.session {
        draft.editor.set(&["agentId"], session.as_str());
    }
    draft.act(&match phase {
        Some(left_out @ (NO_PLANNING | NO_VALIDATION)) => format!("Stage {to} started; {left_out}"),
        Some(phase) => phase.to_owned(),
        None => format!("Stage {to} started"),
    });
    draft.stand(&format!("STAGE_{to}"))?;
    Ok(if to == from { format!("stage {to} again") } else { format!("stage {to}") })
}

/// Whether a plan is scored, and not well enough.
pub(in super::super) fn is_refused_plan(judgement: &Judgement) -> bool {
    matches!(judgement, Judgement::Complete(StageResult::Planned { score }) if *score < LOWEST_PLAN)
}

/// Whether a lead records something itself.
pub(super) fn is_lead(moment: &Moment) -> bool {
    moment.by == LEAD && moment.ticket.is_none()
}

/// How a story whose quality gate failed goes on: by a rework while one is granted.
pub(in super::super) fn back_to_work(draft: &Draft) -> Invocation {
    let name = &draft.name;
    match may_rework(draft) {
        true => verbs::STAGE.on(name).word("2"),
        false => verbs::PAUSE.on(name).with("--reason", Arg::Word("the quality gate failed too often")),
    }
}

/// Whether a story is granted another rework.
pub(in super::super) fn may_rework(draft: &Draft) -> bool {
    draft.editor.int(&["reworks"]).unwrap_or(0).max(0) < i64::from(draft.limits.reworks)
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

/// What the checkpoint says about its stage, with what every write fills in.
pub(in super::super) fn judged(draft: &Draft) -> Judgement {
    match draft.as_it_would_be() {
        Some(checkpoint) => judge_stage(&checkpoint),
        None => Judgement::Incomplete(vec!["the checkpoint".to_owned()]),
    }
}

fn has_tasks(draft: &Draft) -> Result<(), Refusal> {
    match draft.tasks()?.is_empty() {
        false => Ok(()),
        true => Err(Refusal::rule("the plan has no tasks").hint(
            verbs::STEP
                .on(&draft.name)
                .word("begin")
                .fill("TASK")
                .filled("--title", "TEXT")
                .filled("--description", "TEXT")
                .to("plan each"),
        )),
    }
}

fn planned(draft: &Draft) -> Result<(), Refusal> {
    let hint = verbs::VERDICT.on(&draft.name).word("PLAN").filled("--score", "N");
    has_tasks(draft)?;
    match judged(draft) {
        Judgement::Complete(StageResult::Planned { score }) if score < LOWEST_PLAN => {
            Err(Refusal::rule(format!("the plan's score is {score}; {LOWEST_PLAN} is needed"))
                .hint(format!("plan again: {hint}")))
        }
        Judgement::Complete(_) => Ok(()),
        Judgement::Incomplete(missing) => Err(incomplete(0, &missing).hint(hint)),
        Judgement::NoTasks => Err(draft.no_tasks(1)),
    }
}

fn validated(draft: &Draft) -> Result<(), Refusal> {
    let hint = verbs::VERDICT.on(&draft.name).word("GO").filled("--score", "N");
    match judged(draft) {
        Judgement::Complete(StageResult::Go { .. }) => Ok(()),
        Judgement::Complete(StageResult::NoGo { reason }) => {
            Err(Refusal::rule(format!("the verdict is NO-GO; stage 2 needs GO: {}", clean(&reason)))
                .hint(verbs::STAGE.on(&draft.name).word("1").to("validate it again")))
        }
        Judgement::Complete(_) => Err(Refusal::rule("the story is not validated yet").hint(hint)),
        Judgement::Incomplete(missing) => Err(incomplete(1, &missing).hint(hint)),
        Judgement::NoTasks => Err(draft.no_tasks(2)),
    }
}

fn executed(draft: &Draft) -> Result<(), Refusal> {
    let tasks = draft.tasks()?;
    match judged(draft) {
        Judgement::Complete(_) => Ok(()),
        Judgement::Incomplete(_) if !tasks.open.is_empty() => Err(draft.tasks_remain(&tasks)),
        Judgement::Incomplete(missing) => Err(incomplete(2, &missing).hint(mend(draft))),
        Judgement::NoTasks => Err(draft.no_tasks(3)),
    }
}

/// That a stage has not given what it must.
pub(super) fn incomplete(stage: u8, missing: &[String]) -> Refusal {
    Refusal::rule(format!("stage {stage} is not complete: {}", clean(&missing.join("; "))))
}

/// From stage 3 a story goes back to stage 2 after a FAIL, or when a task turns out to be open.
fn goes_back(draft: &mut Draft) -> Result<(), Refusal> {
    let name = draft.name.clone();
    if !draft.tasks()?.open.is_empty() {
        return Ok(());
    }
    // After a pause the last judgement is kept aside.
    let last = draft.editor.string(&["stageResults", "stage3", "verdict"]);
    let has_failed = match verdicts::word(draft) {
        Some(word) => word == "FAIL",
        None => last.as_deref() == Some("FAIL"),
    };
    if !has_failed {
        return Err(Refusal::rule("a story goes back to stage 2 after a FAIL alone")
            .hint(verbs::VERDICT.on(name).word("FAIL").filled("--score", "N").filled("--issues", "TEXT")));
    }
    let done = draft.editor.int(&["reworks"]).unwrap_or(0).max(0);
    let granted = i64::from(draft.limits.reworks);
    if done >= granted {
        let times = if granted == 1 { "rework" } else { "reworks" };
        return Err(Refusal::rule(format!("the story has used its {granted} {times}"))
            .hint(format!("leave it to a person: {}", back_to_work(draft)))
            .hint("or grant more: `reworks` in the [run] section of piton.toml"));
    }
    draft.editor.set(&["reworks"], done + 1);
    Ok(())
}
