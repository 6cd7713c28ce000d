//! What the stages result in: the plan's score, GO or NO-GO, and the quality gate.

use piton_model::hint::verbs;
use piton_model::{Arg, Invocation, Refusal, Verdict};
use serde_json::Value as NewValue;

use super::super::resume::next;
use super::super::wire;
use super::draft::Draft;

/// Records a verdict or a plan's score, at the stage that gives it.
pub(super) fn given(draft: &mut Draft, verdict: &Verdict) -> Result<String, Refusal> {
    if verdict.p0.is_some() || verdict.p1.is_some() || verdict.report.is_some() {
        return Err(Refusal::usage("a verdict of a story has --score, --reason and --issues"));
    }
    let summary = if is_plan(&verdict.word) {
        at_stage(draft, 0, "a plan's score")?;
        plan(draft, verdict)?
    } else {
        match wire::VERDICT.read(&verdict.word).word() {
            Some(word @ ("GO" | "NO-GO")) => {
                at_stage(draft, 1, word)?;
                validation(draft, word, verdict)?
            }
            Some(word) => {
                at_stage(draft, 3, word)?;
                quality(draft, word, verdict)?
            }
            None => {
                return Err(Refusal::usage(format!("{:?} is no verdict of a story", verdict.word))
                    .hint(format!("PLAN, {}", wire::VERDICT.canonical.join(", "))));
            }
        }
    };
    draft.editor.remove(&["awaits"]);
    if let Some(reviewer) = &verdict.reviewer {
        draft.editor.set(&["judgedBy"], reviewer.as_str());
    }
    Ok(summary)
}

/// The word of the verdict that the checkpoint has.
pub(in super::super) fn word(draft: &Draft) -> Option<&'static str> {
    wire::VERDICT.read(&draft.editor.string(&["verdict"])?).word()
}

/// The command for the verdict that a stage waits for.
pub(in super::super) fn wanted(name: &str, stage: Option<u8>) -> Invocation {
    let verdict = match stage {
        Some(0) => Arg::Word("PLAN"),
        Some(1) => Arg::Word("GO"),
        Some(3) => Arg::Word("PASS"),
        _ => Arg::Fill("WORD"),
    };
    verbs::VERDICT.on(name).arg(verdict).filled("--score", "N")
}

/// The stage that gives a verdict; nothing for a word that is none.
pub(super) fn stage_of_word(word: &str) -> Option<u8> {
    match wire::VERDICT.read(word).word() {
        _ if is_plan(word) => Some(0),
        Some("GO" | "NO-GO") => Some(1),
        known => known.map(|_| 3),
    }
}

fn is_plan(word: &str) -> bool {
    ["plan", "planscore", "plan_score", "plan-score"].iter().any(|known| word.eq_ignore_ascii_case(known))
}

fn at_stage(draft: &Draft, stage: u8, what: &str) -> Result<(), Refusal> {
    if draft.stage == Some(stage) {
        return Ok(());
    }
    let Some(here) = draft.stage else { return Err(draft.no_stage()) };
    Err(Refusal::rule(format!("{what} is given at stage {stage}; the story is at stage {here}")).hint(next(
        draft,
        &draft.tasks()?,
        here,
        true,
    )))
}

fn plan(draft: &mut Draft, verdict: &Verdict) -> Result<String, Refusal> {
    let score = score(verdict, "the plan's score", 0.0, 4.0)?;
    if score < 2.0 {
        draft.warnings.push(format!("a plan's score of {score} is not enough; 2 is needed to go on").into());
    }
    if draft.tasks()?.is_empty() {
        return Err(Refusal::rule("no task is planned yet; a story has 1 to 8").hint(
            verbs::STEP
                .on(&draft.name)
                .word("begin")
                .fill("TASK")
                .filled("--title", "TEXT")
                .filled("--description", "TEXT")
                .to("plan each"),
        ));
    }
    draft.editor.set(&["planScore"], number(score));
    draft.act(&format!("Tasks created, plan score: {score}"));
    Ok(format!("plan score {score}"))
}

fn validation(draft: &mut Draft, word: &'static str, verdict: &Verdict) -> Result<String, Refusal> {
    let readiness = score(verdict, "readiness", 1.0, 10.0)?;
    let reason = filled(verdict.reason.as_deref());
    match (word, reason) {
        ("GO", _) if readiness < 5.0 => {
            return Err(Refusal::rule(format!("GO needs a readiness of 5, not {readiness}")).hint(
                verbs::VERDICT
                    .on(&draft.name)
                    .word("NO-GO")
                    .with("--score", Arg::name(&readiness.to_string(), "N"))
                    .filled("--reason", "TEXT"),
            ));
        }
        ("NO-GO", None) => return Err(Refusal::usage("NO-GO needs its reason: --reason TEXT")),
        ("NO-GO", Some(reason)) => {
            draft.editor.set(&["reason"], reason);
            let given = draft.editor.int(&["noGos"]).unwrap_or(0).max(0) + 1;
            draft.editor.set(&["noGos"], given);
            let granted = i64::from(draft.limits.validations);
            if given > granted {
                let retries = if granted == 1 { "validation retry" } else { "validation retries" };
                let pause = verbs::PAUSE.on(&draft.name).with("--reason", Arg::Word("every validation was NO-GO"));
                draft.warnings.push(pause.to(format!("the {granted} {retries} of the story are used; pause it")));
            }
        }
        _ => {
            draft.editor.remove(&["reason"]);
        }
    }
    draft.editor.set(&["readiness"], number(readiness)).set(&["verdict"], word);
    draft.act(&format!("Validation completed, verdict: {word}"));
    Ok(format!("{word}, readiness {readiness}"))
}

fn quality(draft: &mut Draft, word: &'static str, verdict: &Verdict) -> Result<String, Refusal> {
    let quality = score(verdict, "the quality", 0.0, 100.0)?;
    match (word, filled(verdict.issues.as_deref())) {
        ("FAIL", None) => return Err(Refusal::usage("FAIL needs its issues: --issues TEXT")),
        ("FAIL", Some(issues)) => {
            draft.editor.set(&["issues"], issues);
        }
        _ => {
            draft.editor.remove(&["issues"]);
        }
    }
    draft.editor.set(&["verdict"], word).set(&["qualityScore"], number(quality));
    draft.act(&format!("Quality gate completed, verdict: {word}"));
    Ok(format!("{word}, quality {quality}"))
}

fn filled(text: Option<&str>) -> Option<&str> {
    text.map(str::trim).filter(|text| !text.is_empty())
}

fn score(verdict: &Verdict, what: &str, min: f64, max: f64) -> Result<f64, Refusal> {
    let Some(score) = verdict.score else {
        return Err(Refusal::usage(format!("say {what}, from {min} to {max}: --score N")));
    };
    if !(min..=max).contains(&score) {
        return Err(Refusal::usage(format!("{what} is {score}, not from {min} to {max}")));
    }
    Ok(score)
}

/// A whole score is written without a point.
pub(in super::super) fn number(score: f64) -> NewValue {
    if score.fract() == 0.0 { NewValue::from(score as i64) } else { NewValue::from(score) }
}
