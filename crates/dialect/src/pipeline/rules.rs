//! The rules between the keys of a pipeline's state.

use std::collections::HashMap;

use piton_model::text::counted;
use piton_model::{Code, Finding, Place, RetryLimits};

use super::codes;
use super::state::{Fact, Standing, Stories, Story};
use crate::content::Offsets;
use crate::json::Value;
use crate::{Findings, Source, content, graph};

/// How many findings are kept with the stories they are about. The others are only counted.
const MOST_WITH_STORIES: usize = 200;

/// How many workers a pipeline has at most, unless it is told otherwise.
const MOST_WORKERS: usize = 3;

/// Checks the rules and notes, at each story, what concerns it.
pub(super) fn check<'a, 'j>(
    root: Value<'a, 'j>,
    stories: &mut Stories<'a, 'j>,
    limits: RetryLimits,
    source: &Source<'_>,
    findings: &mut Findings<'_>,
) {
    Rules { root, source, stories, limits, findings, offsets: Offsets::new(root), with_stories: 0 }.check();
}

struct Rules<'a, 'j, 's, 'f, 't> {
    root: Value<'a, 'j>,
    source: &'s Source<'t>,
    stories: &'s mut Stories<'a, 'j>,
    limits: RetryLimits,
    findings: &'s mut Findings<'f>,
    offsets: Offsets<'a, 'j>,
    with_stories: usize,
}

impl Rules<'_, '_, '_, '_, '_> {
    fn check(&mut self) {
        let is_complete = self.root.get("complete").and_then(Value::as_bool) == Some(true);
        for place in 0..self.stories.list.len() {
            self.queue(place);
            self.limits(place);
            self.dependencies(place, is_complete);
        }
        self.cycles();
        self.workers();
        self.counts();
        for place in stuck(&self.stories.list) {
            self.stories.list[place].is_blocked = true;
        }
        if is_complete {
            self.complete();
        } else {
            self.deadlock();
        }
        // Last, so that a long list of them crowds out nothing else.
        self.infra_issues();
    }

    fn queue(&mut self, place: usize) {
        let story = &self.stories.list[place];
        let stands = match story.standing {
            Standing::Done => "DONE".to_owned(),
            Standing::Stage(stage) => format!("at STAGE_{stage}"),
            Standing::Queued | Standing::Paused | Standing::Unknown | Standing::Absent => return,
        };
        if story.in_queue {
            let message = format!("{:?} is {stands}, but still in `priority_queue_ids`", story.id);
            let at = self.offsets.of("priority_queue_ids");
            self.about(place, at, &codes::PIPELINE_QUEUE, message);
        }
    }

    fn limits(&mut self, place: usize) {
        let limits = [
            (Fact::Quality, "quality_cycles", self.limits.reworks),
            (Fact::Validation, "validation_retries", self.limits.validations),
            (Fact::Crash, "crash_count", self.limits.respawns),
        ];
        for (fact, key, limit) in limits {
            let story = &self.stories.list[place];
            let Some(value) = story.fact(fact) else { continue };
            let over = value.as_int().filter(|count| *count > i64::from(limit));
            if let Some(count) = over.filter(|_| story.standing != Standing::Paused) {
                let message = format!("`{key}` of {:?} is {count}, more than {limit}", story.id);
                self.about(place, value.span().start, &codes::PIPELINE_LIMIT, message);
            }
        }
    }

    fn dependencies(&mut self, place: usize, is_complete: bool) {
        let story = &self.stories.list[place];
        let depends = start(story.fact(Fact::Depends), self.root);
        let unknown = std::mem::take(&mut self.stories.list[place].unknown_dependencies);
        for unknown in &unknown {
            let message = format!("{:?} depends on {unknown:?}, which is no story here", self.stories.list[place].id);
            self.about(place, depends, &codes::PIPELINE_UNKNOWN_DEPENDENCY, message);
        }
        self.stories.list[place].unknown_dependencies = unknown;
        let story = &self.stories.list[place];
        let is_open = |dependency: &&usize| self.stories.list[**dependency].standing != Standing::Done;
        let open = story.depends.iter().find(is_open);
        if let (Standing::Stage(stage), Some(open), false) = (story.standing, open, is_complete) {
            let needed = &self.stories.list[*open].id;
            let message = format!("{:?} is at STAGE_{stage}, but depends on {needed:?}, which is not DONE", story.id);
            let at = start(story.fact(Fact::State), self.root);
            self.about(place, at, &codes::PIPELINE_EARLY_START, message);
        }
    }

    fn cycles(&mut self) {
        let edges: Vec<_> = self.stories.list.iter().map(|story| story.depends.clone()).collect();
        for cycle in graph::cycles(&edges) {
            let named = graph::describe(&cycle, |story| &self.stories.list[story].id);
            // Every story of a circle shows its error, as long as there is room; the first one always does.
            let room = MOST_WITH_STORIES.saturating_sub(self.with_stories).max(1);
            for place in cycle.into_iter().take(room) {
                let depends = start(self.stories.list[place].fact(Fact::Depends), self.root);
                let message = format!("stories depend on each other: {named}");
                self.about(place, depends, &codes::PIPELINE_CYCLE, message);
            }
        }
    }

    fn workers(&mut self) {
        let list = &self.stories.list;
        let at_work = list.iter().filter(|story| matches!(story.standing, Standing::Stage(_))).count();
        if at_work > MOST_WORKERS {
            let message = format!("{at_work} stories are at a stage, more than {MOST_WORKERS}");
            let at = self.offsets.of("story_state");
            self.findings.at(at, &codes::PIPELINE_WORKERS, message);
        }
        let mut first_of: HashMap<String, usize> = HashMap::new();
        for place in 0..self.stories.list.len() {
            let story = &self.stories.list[place];
            let Some(value) = story.fact(Fact::Worker).filter(|_| !story.is_settled()) else { continue };
            let Some(worker) = content::as_text(value) else { continue };
            if let Some(first) = first_of.get(&worker) {
                let first = &self.stories.list[*first].id;
                let message = format!("the worker {worker:?} of {:?} is also that of {first:?}", story.id);
                self.about(place, value.span().start, &codes::PIPELINE_WORKER_TWICE, message);
            } else {
                first_of.insert(worker, place);
            }
        }
    }

    fn infra_issues(&mut self) {
        for issue in self.root.get("infra_issues").into_iter().flat_map(Value::items) {
            let Some(message) = content::as_sentence(issue) else { continue };
            let about = ["phase", "type"].iter().filter_map(|key| content::text(issue, key));
            let about: Vec<_> = about.collect();
            let about = if about.is_empty() { String::new() } else { format!(" ({})", about.join(", ")) };
            let message = format!("the lead recorded an issue{about}: {message}");
            self.findings.at(issue.span().start, &codes::PIPELINE_INFRA_ISSUE, message);
        }
    }

    fn counts(&mut self) {
        if self.root.get("story_state").is_none() {
            return;
        }
        let count =
            |wanted: &dyn Fn(&Story<'_, '_>) -> bool| self.stories.list.iter().filter(|story| wanted(story)).count();
        let at_work = count(&|story| matches!(story.standing, Standing::Stage(_)));
        let assigned =
            count(&|story| story.fact(Fact::Worker).is_some_and(|name| !name.is_null()) && !story.is_settled());
        let open = count(&|story| !story.is_settled());
        let queued = count(&|story| story.standing == Standing::Queued);
        let number = |key, allowed: [usize; 2]| {
            let value = self.root.get(key)?;
            let said = value.as_int()?;
            (!allowed.iter().any(|count| said == *count as i64)).then_some((value, said))
        };
        if let Some((value, said)) = number("active_workers", [at_work, assigned]) {
            let at_work = counted(at_work, "story is", "stories are");
            let message = format!("`active_workers` is {said}, but {at_work} at a stage");
            self.findings.at(value.span().start, &codes::PIPELINE_COUNT, message);
        }
        // Some leads count the queue alone, as the protocol's own example does.
        if let Some((value, said)) = number("stories_remaining", [open, queued]) {
            let open = counted(open, "story is", "stories are");
            let message = format!("`stories_remaining` is {said}, but {open} neither DONE nor PAUSED");
            self.findings.at(value.span().start, &codes::PIPELINE_COUNT, message);
        }
    }

    fn complete(&mut self) {
        let open = self.stories.list.iter().filter(|story| !story.is_settled()).count();
        if let (Some(complete), true) = (self.root.get("complete"), open > 0) {
            let open = counted(open, "story is", "stories are");
            let message = format!("`complete` is true, but {open} neither DONE nor PAUSED");
            self.findings.at(complete.span().start, &codes::PIPELINE_COMPLETE_EARLY, message);
        }
    }

    fn deadlock(&mut self) {
        let list = &self.stories.list;
        let is_blocked = |story: &Story<'_, '_>| {
            let open = story.depends.iter().any(|dependency| list[*dependency].standing != Standing::Done);
            open || !story.unknown_dependencies.is_empty()
        };
        let queued: Vec<_> = (0..list.len()).filter(|place| list[*place].standing == Standing::Queued).collect();
        let runs = list.iter().any(|story| matches!(story.standing, Standing::Stage(_) | Standing::Unknown));
        if runs || queued.is_empty() || !queued.iter().all(|place| is_blocked(&list[*place])) {
            return;
        }
        let waiting = counted(queued.len(), "queued story waits", "queued stories wait");
        let message = format!("nothing runs, and the {waiting} for others");
        let at = self.root.get("story_state").unwrap_or(self.root).span().start;
        self.findings.at(at, &codes::PIPELINE_DEADLOCK, message);
        for place in queued {
            self.stories.list[place].is_blocked = true;
        }
    }

    /// Adds a finding that concerns one story.
    fn about(&mut self, story: usize, at: usize, code: &'static Code, message: String) {
        if self.with_stories >= MOST_WITH_STORIES {
            return self.findings.at(at, code, message);
        }
        self.with_stories += 1;
        let place = Place { path: self.source.path.clone(), line: Some(self.findings.line(at)) };
        self.stories.list[story].findings.push(Finding { code, place, message });
    }
}

/// The queued stories that can never start: behind an unknown story, in a circle, or behind one of these. A story
/// that is not queued may still become DONE, so it frees whoever waits for it.
fn stuck(list: &[Story<'_, '_>]) -> Vec<usize> {
    let is_queued = |place: &usize| list[*place].standing == Standing::Queued;
    let mut open = vec![0usize; list.len()];
    let mut dependents = vec![Vec::new(); list.len()];
    for (place, story) in list.iter().enumerate() {
        // An unknown story never becomes DONE, so its place among the open ones is never given back.
        open[place] = story.unknown_dependencies.len();
        for dependency in story.depends.iter().copied().filter(is_queued) {
            open[place] += 1;
            dependents[dependency].push(place);
        }
    }
    let mut ready: Vec<_> = (0..list.len()).filter(|place| open[*place] == 0).collect();
    while let Some(place) = ready.pop() {
        for dependent in &dependents[place] {
            open[*dependent] -= 1;
            if open[*dependent] == 0 {
                ready.push(*dependent);
            }
        }
    }
    (0..list.len()).filter(is_queued).filter(|place| open[*place] > 0).collect()
}

fn start(value: Option<Value<'_, '_>>, root: Value<'_, '_>) -> usize {
    value.unwrap_or(root).span().start
}
