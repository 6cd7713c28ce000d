//! What a single file is, by its name and by what it holds, wherever it lies.

use piton_model::{Finding, RetryLimits, Time, seek};

use crate::json::Value;
use crate::{Findings, Source, build, crew, open_json, open_text, pipeline, plan, shape, task};

/// Checks one file by itself: what it is follows from its content, and nothing beside it is looked at.
pub fn check_file(source: &Source<'_>, now: Time) -> Vec<Finding> {
    let looks_like_json = || source.bytes.trim_ascii_start().starts_with(b"{");
    match source.file_name() {
        "STATUS" => crew::read_status_file(source).1,
        name if name.ends_with(".jsonl") => check_history(source, now),
        name if name.ends_with(".md") => check_markdown(source, now),
        name if name.ends_with(".json") || looks_like_json() => check_json(source, now),
        _ => foreign(source),
    }
}

fn foreign(source: &Source<'_>) -> Vec<Finding> {
    open_text(source).1.foreign("this is no document of any dialect")
}

fn check_history(source: &Source<'_>, now: Time) -> Vec<Finding> {
    let history = plan::read_history(source, now);
    if history.events == 0 && !source.bytes.is_empty() { foreign(source) } else { history.findings }
}

fn check_json(source: &Source<'_>, now: Time) -> Vec<Finding> {
    let (json, findings) = open_json(source);
    let Some(json) = json else { return findings.finish() };
    let root = json.root();
    let own = |fields, mut findings: Findings<'_>| {
        shape::check(root, fields, now, &mut findings);
        findings.finish()
    };
    match kind(root) {
        Some(Kind::PipelineCheckpoint) => {
            match pipeline::read_checkpoint(source, pipeline::layout::File::Checkpoint, now) {
                Ok(checkpoint) => checkpoint.findings,
                Err(findings) => findings,
            }
        }
        Some(Kind::PipelineState) => {
            let mut all = Vec::new();
            pipeline::read(Some(source), Vec::new(), RetryLimits::UNKNOWN, now, &mut |seen| match seen {
                pipeline::Seen::Story(_, findings) | pipeline::Seen::Loose(findings) => all.extend(findings),
            });
            all
        }
        Some(Kind::PlanState) => own(plan::wire::STATE, findings),
        Some(Kind::PlanRecovery) => own(plan::wire::RECOVERY, findings),
        Some(Kind::Build) => {
            let mut found = build::read_checkpoint(source, now, &mut |_| build::FoundSpec::Nothing).findings;
            // It was not looked for.
            found.retain(|finding| finding.code != &build::codes::BUILD_SPEC_MISSING);
            found
        }
        Some(Kind::Task) => task::read_checkpoint(source, now).findings,
        Some(Kind::Crew) => crew::read_checkpoint(source, crate::Detail::Full, now).findings,
        None => foreign(source),
    }
}

enum Kind {
    PipelineCheckpoint,
    PipelineState,
    PlanState,
    PlanRecovery,
    Build,
    Task,
    Crew,
}

/// The keys that only one dialect has are asked for first.
fn kind(root: Value<'_, '_>) -> Option<Kind> {
    match root {
        root if plan::is_recovery(root) => Some(Kind::PlanRecovery),
        root if plan::is_state(root) => Some(Kind::PlanState),
        root if pipeline::is_our_checkpoint(root) => Some(Kind::PipelineCheckpoint),
        root if build::is_ours(root) => Some(Kind::Build),
        root if crew::is_ours(root) => Some(Kind::Crew),
        root if task::is_ours(root) => Some(Kind::Task),
        root if pipeline::is_our_state(root) => Some(Kind::PipelineState),
        _ => None,
    }
}

fn check_markdown(source: &Source<'_>, now: Time) -> Vec<Finding> {
    let (text, findings) = open_text(source);
    let Some(text) = text else { return findings.finish() };
    let has = |what: &str| seek::word(what.as_bytes(), text.as_bytes()).is_some();
    if text.starts_with("---") && has("\nworkstreams:") {
        return build::read_spec(source).findings;
    }
    if source.file_name() == "EPIC_README.md" {
        return crew::read_epic(source).1;
    }
    if source.file_name().contains("_to_") && has("## Message ") {
        return crew::read_messages(source).1;
    }
    if has("**Agent ID:**") && has("**Status:**") {
        return crew::read_markdown(source, now).findings;
    }
    let is_plan = source.file_name() == "plan.md" || plan::layout::is_phase_file(source.file_name());
    if !is_plan && !["TASK:", "ACCEPT:", "CHECKPOINT:", "[ ]", "[x]"].iter().any(|mark| has(mark)) {
        return foreign(source);
    }
    let directory = source.path.rsplit_once('/').map_or("", |(directory, _)| directory).to_owned();
    let files = plan::PlanFiles { directory, plan: Some(source.clone()), ..plan::PlanFiles::default() };
    plan::read(&files, now).findings
}
