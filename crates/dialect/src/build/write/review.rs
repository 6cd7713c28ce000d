//! The adversarial review before the first phase.

use piton_model::hint::verbs;
use piton_model::{Arg, BuildStatus, Moment, Refusal, Verdict};
use serde_json::json;

use super::super::checkpoint::{APPROVED_AT, Bucket};
use super::super::wire;
use super::draft::Draft;
use super::notes;

/// How many attempts a review has.
const LAST_ATTEMPT: i64 = 2;

/// Records a verdict.
pub(super) fn given(draft: &mut Draft, verdict: &Verdict, moment: &Moment) -> Result<String, Refusal> {
    let words = wire::VERDICT.canonical.join(", ");
    let Some(word) = wire::VERDICT.read(&verdict.word).word() else {
        return Err(
            Refusal::usage(format!("{:?} is no verdict of a review", verdict.word)).hint(format!("one of {words}"))
        );
    };
    if verdict.score.is_some() || verdict.issues.is_some() {
        return Err(Refusal::usage("a review counts its findings: --p0 N --p1 N, and --report FILE"));
    }
    draft.expect_object("adversarial_review")?;
    let attempt = attempt(draft, word)?;
    let count = |given: Option<u64>, key: &str| {
        let before = draft.editor.int(&["adversarial_review", key]).filter(|_| word == "overridden");
        let given =
            given.map(|count| i64::try_from(count).map_err(|_| Refusal::usage("no review has that many findings")));
        given.transpose().map(|given| given.or(before))
    };
    let (p0, p1) = (count(verdict.p0, "p0_count")?, count(verdict.p1, "p1_count")?.unwrap_or(0));
    let reason = verdict.reason.as_deref().map(str::trim).filter(|reason| !reason.is_empty());
    let p0 = match (word, p0) {
        ("ship", Some(p0)) if p0 > 0 => {
            return Err(Refusal::rule(format!("ship is not possible with {p0} findings that block")).hint(
                verbs::VERDICT
                    .on(&draft.name)
                    .word("do_not_ship")
                    .with("--p0", Arg::name(&p0.to_string(), "N"))
                    .with("--p1", Arg::name(&p1.to_string(), "N")),
            ));
        }
        ("do_not_ship", None) => return Err(Refusal::usage("say how many findings block: --p0 N")),
        ("overridden", _) if reason.is_none() => {
            return Err(Refusal::usage("an override needs its reason: --reason TEXT"));
        }
        (_, p0) => p0.unwrap_or(0),
    };
    write(draft, word, [("p0_count", p0), ("p1_count", p1), ("attempt", attempt)]);
    if let Some(report) = &verdict.report {
        draft.editor.set(&["adversarial_review", "findings_path"], report.as_str());
    }
    match reason {
        Some(reason) if word == "overridden" => {
            draft.editor.set(&["adversarial_review", "override_reason"], reason);
        }
        Some(reason) => notes::add(draft, "review", reason, moment)?,
        None => {}
    }
    if let Some(reviewer) = &verdict.reviewer {
        draft.editor.set(&["adversarial_review", "reviewer"], reviewer.as_str());
    }
    Ok(follow(draft, word, p0, attempt))
}

/// A new review is the next attempt; an override judges the last one.
fn attempt(draft: &Draft, word: &str) -> Result<i64, Refusal> {
    if draft.editor.string(&["adversarial_review", "verdict"]).is_none() {
        return Ok(1);
    }
    let before = draft.editor.int(&["adversarial_review", "attempt"]).unwrap_or(1).clamp(1, LAST_ATTEMPT);
    if word == "overridden" {
        return Ok(before);
    }
    if before >= LAST_ATTEMPT {
        return Err(ways_out(draft, "the second attempt of a review is the last"));
    }
    Ok(before + 1)
}

/// A refusal with the ways out of a review that blocks: revise while an attempt is left, override, or abort.
pub(super) fn ways_out(draft: &Draft, message: &str) -> Refusal {
    let name = &draft.name;
    let attempt = draft.editor.int(&["adversarial_review", "attempt"]).unwrap_or(1);
    let mut refusal = Refusal::rule(message);
    if attempt < LAST_ATTEMPT {
        refusal = refusal.hint(
            verbs::VERDICT
                .on(name)
                .word("ship")
                .with("--p0", Arg::Number(0))
                .with("--p1", Arg::Number(0))
                .to("revise it and review again"),
        );
    }
    refusal
        .hint(verbs::VERDICT.on(name).word("overridden").filled("--reason", "TEXT").to("override it"))
        .hint(verbs::RESTART.on(name).to("abort it and begin again from nothing, with a new review"))
}

fn write(draft: &mut Draft, word: &str, counts: [(&str, i64); 3]) {
    if draft.editor.get(&["adversarial_review"]).is_none_or(|review| review.is_null()) {
        draft.editor.set(&["adversarial_review"], json!({ "verdict": word }));
    }
    draft.editor.set(&["adversarial_review", "verdict"], word);
    for (key, count) in counts {
        draft.editor.set(&["adversarial_review", key], count);
    }
    for key in ["findings_path", "override_reason", "reviewer", APPROVED_AT, "approved_by"] {
        // An override is about the review whose report it is.
        if word != "overridden" || key == "override_reason" {
            draft.editor.remove(&["adversarial_review", key]);
        }
    }
}

/// What follows from a verdict.
fn follow(draft: &mut Draft, word: &str, p0: i64, attempt: i64) -> String {
    let asks = word == "ship_with_gates";
    let has_begun = !matches!(draft.trail().last(), Some(BuildStatus::Initialized) | None);
    if asks && has_begun && draft.ids(Bucket::InProgress).is_empty() {
        draft.set_status(BuildStatus::Paused);
        draft.editor.set(&["pause_reason"], "the review says ship_with_gates: a person decides");
    } else if asks && has_begun {
        draft.warnings.push("the review asks a person; workstreams are in progress".into());
    }
    let then = match word {
        "ship_with_gates" => ", a person decides",
        "do_not_ship" if p0 > 0 => ", blocked",
        _ => "",
    };
    format!("review {word} (attempt {attempt}){then}")
}
