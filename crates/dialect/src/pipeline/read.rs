use piton_model::{Document, Finding, Place, RetryLimits, Role, Time, Unit};

use super::state::{Standing, Stories};
use super::unit::{Pipeline, fits, unit};
use super::{Checkpoint, codes, is_our_state, rules, wire};
use crate::json::Value;
use crate::{Source, codes as any, content, open_json, shape};

/// What the files of a pipeline say, as they say it.
#[derive(Debug)]
pub enum Seen {
    /// A story, and everything odd about it.
    Story(Box<Unit>, Vec<Finding>),
    /// Findings that concern no single story.
    Loose(Vec<Finding>),
}

/// Reads a pipeline: its state, when there is one, with the checkpoints of its stories. A story is handed over for
/// every id that the state or a checkpoint names.
///
/// `limits` are the retries that the workspace's settings grant.
pub fn read(
    state: Option<&Source<'_>>,
    checkpoints: Vec<Checkpoint>,
    limits: RetryLimits,
    now: Time,
    see: &mut dyn FnMut(Seen),
) {
    let Some(source) = state else { return without_state(checkpoints, now, see) };
    let (json, mut findings) = open_json(source);
    let Some(json) = json else {
        see(Seen::Loose(findings.finish()));
        return without_state(checkpoints, now, see);
    };
    let root = json.root();
    if !is_our_state(root) {
        let message = "this is the state of another tool: it has no `complete` with stories, workers or a queue";
        see(Seen::Loose(findings.foreign(message)));
        return without_state(checkpoints, now, see);
    }
    shape::check(root, wire::STATE, now, &mut findings);
    let mut stories = Stories::collect(root, &mut findings);
    rules::check(root, &mut stories, limits, source, &mut findings);
    see(Seen::Loose(attribute(&mut stories, findings.finish())));
    let pipeline = Pipeline {
        state: Some(source.document(Role::Main)),
        lead: content::sign(root, "last_check").into_iter().chain(source.file_time()).collect(),
        is_complete: root.get("complete").and_then(Value::as_bool) == Some(true),
        now,
    };
    hand_over(&pipeline, stories, checkpoints, see);
}

fn without_state(mut checkpoints: Vec<Checkpoint>, now: Time, see: &mut dyn FnMut(Seen)) {
    if let Some(first) = checkpoints.iter_mut().find(|checkpoint| !checkpoint.is_stray) {
        let place = Place { path: first.document.path.clone(), line: None };
        let message = "there is no state.json of this pipeline that can be read".to_owned();
        first.findings.push(Finding { code: &codes::PIPELINE_NO_STATE, place, message });
    }
    let pipeline = Pipeline { state: None, lead: Vec::new(), is_complete: false, now };
    hand_over(&pipeline, Stories::default(), checkpoints, see);
}

fn hand_over(
    pipeline: &Pipeline,
    mut stories: Stories<'_, '_>,
    checkpoints: Vec<Checkpoint>,
    see: &mut dyn FnMut(Seen),
) {
    let mut of_story: Vec<Vec<Checkpoint>> = Vec::new();
    of_story.resize_with(stories.list.len(), Vec::new);
    for checkpoint in checkpoints {
        match stories.named_by_checkpoint(&checkpoint.story) {
            Some(place) => {
                of_story.resize_with(stories.list.len(), Vec::new);
                of_story[place].push(checkpoint);
            }
            None => see(Seen::Loose(checkpoint.findings)),
        }
    }
    for (place, mut own) in of_story.into_iter().enumerate() {
        own.sort_by_key(|checkpoint| checkpoint.is_stray);
        let first =
            (1..own.len()).fold(0, |best, at| if own[at].is_later_than(&own[best], pipeline.now) { at } else { best });
        if !own.is_empty() {
            let counts = own.remove(first);
            own.insert(0, counts);
        }
        let mut own = own.into_iter();
        let mut counts = own.next();
        let mut findings = std::mem::take(&mut stories.list[place].findings);
        if let Some(checkpoint) = &mut counts {
            compare(pipeline, stories.list[place].standing, checkpoint);
        }
        let Some(mut unit) = unit(pipeline, &stories, place, counts.as_ref()) else { continue };
        let newer = counts.as_ref().map(|checkpoint| checkpoint.document.path.clone()).unwrap_or_default();
        for older in own {
            findings.extend(older.findings);
            findings.push(Finding {
                code: &any::TWO_DOCUMENTS,
                place: Place { path: older.document.path.clone(), line: None },
                message: format!("{} also has a checkpoint in {newer}, which is newer", older.story),
            });
            unit.documents.push(Document { role: Role::Superseded, ..older.document });
        }
        findings.extend(counts.into_iter().flat_map(|checkpoint| checkpoint.findings));
        see(Seen::Story(Box::new(unit), findings));
    }
}

/// Gives the findings about the word of one story's state to that story, and returns the others. The table's check
/// knows no stories, but begins each message with the path of the value.
fn attribute(stories: &mut Stories<'_, '_>, findings: Vec<Finding>) -> Vec<Finding> {
    let mut loose = Vec::new();
    for finding in findings {
        let path = finding.message.strip_prefix("`story_state.").and_then(|rest| rest.split_once("` "));
        match path.and_then(|(id, _)| stories.get(id)) {
            Some(place) => stories.list[place].findings.push(finding),
            None => loose.push(finding),
        }
    }
    loose
}

/// Compares a checkpoint with where the state says that its story stands.
fn compare(pipeline: &Pipeline, standing: Standing, checkpoint: &mut Checkpoint) {
    if pipeline.state.is_none() {
        return;
    }
    let says = match standing {
        Standing::Stage(stage) => format!("STAGE_{stage}"),
        Standing::Queued => "QUEUED".to_owned(),
        Standing::Done => "DONE".to_owned(),
        Standing::Paused => "PAUSED".to_owned(),
        Standing::Unknown => "something else".to_owned(),
        Standing::Absent => {
            let message = format!("the pipeline's state does not know the story {:?}", checkpoint.story);
            return checkpoint.about_stage(&codes::PIPELINE_NOT_IN_STATE, message);
        }
    };
    if !fits(standing, checkpoint) {
        let written = checkpoint.stage.map_or_else(|| "no stage from 0 to 3".to_owned(), |stage| stage.to_string());
        let message = format!("`stage` is {written}, but the pipeline's state says {says}");
        checkpoint.about_stage(&codes::PIPELINE_STAGE_MISMATCH, message);
    } else if standing == Standing::Done && checkpoint.verdict == Some("FAIL") {
        let message = "the pipeline's state says DONE, but `verdict` is FAIL".to_owned();
        checkpoint.about_stage(&codes::PIPELINE_DONE_FAILED, message);
    } else if standing == Standing::Stage(3) && checkpoint.stage == Some(2) && !checkpoint.tasks.open.is_empty() {
        let left = piton_model::text::counted(checkpoint.tasks.open.len(), "task remains", "tasks remain");
        let message = format!("the pipeline's state says STAGE_3, but {left} at stage 2");
        checkpoint.about_stage(&codes::PIPELINE_TASKS_LEFT, message);
    }
}
