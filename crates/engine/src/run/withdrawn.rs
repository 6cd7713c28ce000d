//! What a person takes back while the lead closes it: a verdict, a criterion, a step, the whole unit. Gates may take long,
//! so it is asked again right before the target moves.

use piton_model::fleet::{FleetEvent, LaneAt, LaneState, MergeOf, MergeResult, StageResult, Standing};
use piton_model::{Dialect, Event, Rework, State, Verdict};
use piton_store::journal::Entry;
use serde_json::Value;

use super::freed::{LEAD, is_by_person};
use super::lead::Lead;
use super::plans::{BoxState, box_state};

/// What is said about work that a person wants to be done again.
const AGAIN: &str = "a person took its end back: it is not merged, and is done again";

/// The last event about a step.
pub(super) fn last_about<'e>(events: &'e [Entry], step: &str) -> Option<&'e Entry> {
    let names = |entry: &Entry| {
        let steps = entry.data.get("steps").and_then(Value::as_array);
        steps.is_some_and(|steps| steps.iter().any(|name| name.as_str() == Some(step)))
    };
    events.iter().rfind(|entry| entry.event.starts_with("step_") && names(entry))
}

impl Lead<'_> {
    /// What became of a merge whose work is not complete any more, because a person said so since.
    pub(super) fn withdrawn(&mut self, of: MergeOf) -> Option<MergeResult> {
        match of {
            MergeOf::Lane(at) => self.lane_withdrawn(at),
            MergeOf::Phase(group, phase) => self.phase_withdrawn(group, phase),
        }
    }

    fn lane_withdrawn(&mut self, at: LaneAt) -> Option<MergeResult> {
        let result = self.taken_back_by_person(at)?;
        match &result {
            MergeResult::BegunAnew => self.forget_life(at),
            MergeResult::Withdrawn { standing: Standing::Incomplete { missing } } => {
                // The next worker gets what is missing.
                let name = self.work.fleet.lanes[at].name.clone();
                self.memory.lane(&name).rework = vec![Rework::Incomplete { missing: missing.clone() }];
                self.tell_lane(at, "withdrawn", AGAIN);
            }
            MergeResult::Withdrawn { standing: Standing::Open } => self.tell_lane(at, "withdrawn", AGAIN),
            _ => {}
        }
        Some(result)
    }

    /// Lanes of a phase that a person took back are reopened; all of the phase waits for them.
    fn phase_withdrawn(&mut self, group: usize, phase: usize) -> Option<MergeResult> {
        let lanes = self.work.fleet.lanes.iter().enumerate();
        let lanes =
            lanes.filter(|(_, lane)| (lane.group, lane.phase) == (group, phase) && lane.state == LaneState::Integrated);
        let mut reopened = Vec::new();
        for at in lanes.map(|(at, _)| at).collect::<Vec<_>>() {
            match self.taken_back_by_person(at) {
                Some(MergeResult::Withdrawn { standing: Standing::Halted { reason } }) => {
                    return Some(MergeResult::Blocked { reason });
                }
                Some(MergeResult::Withdrawn { .. }) => reopened.push(at),
                Some(result) => return Some(result),
                None => {}
            }
        }
        for at in &reopened {
            self.tell_lane(*at, "withdrawn", AGAIN);
            self.queue.push_back(FleetEvent::LaneReopened { lane: *at });
        }
        (!reopened.is_empty()).then_some(MergeResult::Withdrawn { standing: Standing::Open })
    }

    fn taken_back_by_person(&mut self, at: LaneAt) -> Option<MergeResult> {
        // What cannot be read now says nothing.
        let unit = self.unit_of(at).ok()?;
        match self.work.lanes[at].step.clone() {
            Some(_) if self.has_begun_anew(at) => {
                let reason = self.command(&["--retry"]).to("its unit was restarted meanwhile; begin it anew");
                Some(MergeResult::Blocked { reason: reason.to_string() })
            }
            Some(step) => {
                let standing = match unit.state {
                    State::Failed { error } => Standing::Halted { reason: error },
                    _ => Standing::Open,
                };
                self.is_step_taken_back(at, &step).then_some(MergeResult::Withdrawn { standing })
            }
            None if self.has_begun_anew(at) => Some(MergeResult::BegunAnew),
            None => self.whole_standing_now(at).map(|standing| MergeResult::Withdrawn { standing }),
        }
    }

    /// What a unit that is one lane says now, when that is not that it is complete.
    fn whole_standing_now(&mut self, at: LaneAt) -> Option<Standing> {
        if let Some(stage) = self.taken_back_to(at) {
            self.work.fleet.lanes[at].stage = stage;
        }
        match self.standing(at, true) {
            Standing::Complete(result) if self.work.fleet.lanes[at].ends_with(&result) => {
                self.is_reopened_since(at).then_some(Standing::Open)
            }
            // Which files are there, the merge finds out.
            Standing::Unproved { .. } => None,
            standing => Some(standing),
        }
    }

    /// Whether a person took the end of a unit back in the very moment of its merge.
    pub(super) fn is_taken_back_too_late(&mut self, at: LaneAt) -> bool {
        let last = self.events_of(&self.work.lanes[at].unit).pop();
        last.is_some_and(|last| is_by_person(&last)) && self.whole_standing_now(at).is_some()
    }

    /// Why such a unit is not recorded as done.
    pub(super) fn taken_back_too_late() -> String {
        "a person took its end back when it was merged already; a retry works on it again".to_owned()
    }

    /// Whether a person began a unit anew since its lane was claimed.
    pub(super) fn has_begun_anew(&self, at: LaneAt) -> bool {
        let known = self.memory.lanes.get(&self.work.fleet.lanes[at].name).map_or(0, |known| known.origin.began);
        known > 0 && self.origin_of(&self.work.lanes[at].unit).began > known
    }

    /// Whether a person opened a unit again while this lead had it, and not to free it.
    fn is_reopened_since(&self, at: LaneAt) -> bool {
        let events = self.events_of(&self.work.lanes[at].unit);
        let begins = |entry: &&Entry| {
            matches!(entry.event.as_str(), "started" | "restarted" | "resumed" | "reopened" | "finished")
        };
        let before = self.begun_with.get(&at).copied().unwrap_or(0);
        let is_new = |entry: &&Entry| entry.seq > before && self.freed.get(&at) != Some(&entry.seq);
        let last = events.iter().rfind(begins).filter(is_new);
        last.is_some_and(|entry| entry.event == "reopened" && is_by_person(entry))
    }

    /// Whether a person began a step again that was complete, called it failed, or unticked its box.
    fn is_step_taken_back(&self, at: LaneAt, step: &str) -> bool {
        let events = self.events_of(&self.work.lanes[at].unit);
        let takes_back =
            |entry: &&Entry| is_by_person(entry) && matches!(entry.event.as_str(), "step_begun" | "step_failed");
        last_about(&events, step).filter(takes_back).is_some() || self.is_unticked(at)
    }

    /// Whether the box of a task is open that was recorded as done, and not by git.
    pub(super) fn is_unticked(&self, at: LaneAt) -> bool {
        let work = &self.work.lanes[at];
        let Some(step) = work.step.as_deref().filter(|_| work.dialect == Dialect::Plan) else { return false };
        let is_open = || {
            let plan = self.unit_of(at);
            plan.is_ok_and(|plan| box_state(&plan, Some(step)) == BoxState::Open && !self.is_elsewhere(&plan))
        };
        let events = self.events_of(&work.unit);
        let was_done = last_about(&events, step).is_some_and(|entry| entry.event == "step_done");
        was_done && is_open() && !self.is_untick_of_git(at) && is_open()
    }

    /// Whether a worker of another lane called the step of a lane done: that is neither its worker's word nor a person's.
    pub(super) fn is_strangers_word(&self, at: LaneAt) -> bool {
        let Some(step) = self.work.lanes[at].step.as_deref() else { return false };
        let events = self.events_of(&self.work.lanes[at].unit);
        let life = events.iter().rposition(super::recover::is_beginning).unwrap_or(0);
        last_about(&events[life..], step)
            .is_some_and(|entry| entry.event == "step_done" && entry.data.contains_key(crate::record::TICKET))
    }

    /// What a story stands at that a person or its judge refused, when no worker began since: it is worked on again. Another
    /// judge would only judge the same.
    pub(super) fn refused_again(&mut self, at: LaneAt) -> Option<Standing> {
        let is_judged = self.work.fleet.lanes[at].stage == 3 && self.work.fleet.lanes[at].is_staged();
        let events = self.events_of(&self.work.lanes[at].unit);
        let judged = events.iter().rposition(|entry| entry.event == "verdict_given")?;
        let begins =
            |entry: &Entry| !is_by_person(entry) && matches!(entry.event.as_str(), "resumed" | "stage_entered");
        // What a gate or a merge refused is judged by them again.
        if !is_judged
            || self.settings.limits.rework == 0
            || events[judged].by == LEAD
            || events[judged..].iter().any(begins)
        {
            return None;
        }
        // Who corrected it by hand since wants that to be judged.
        let known = self.memory.lanes.get(&self.work.fleet.lanes[at].name)?;
        let tip = self.repository.as_ref().zip(known.branch.as_ref()).and_then(|(it, branch)| it.tip(branch).ok()?);
        let before = known.seen.as_ref().or(known.ended.as_ref());
        if tip.is_some() && before.is_some() && tip.as_ref() != before {
            return None;
        }
        let last = &events[judged];
        let text = |key: &str| last.data.get(key).and_then(Value::as_str).map(str::to_owned);
        let word = text("verdict").filter(|word| word == "FAIL")?;
        let issues = text("issues").unwrap_or_default();
        let (score, reviewer) = (last.data.get("score").and_then(Value::as_f64), Some(last.by.clone()));
        // With its pause the verdict was taken away.
        let verdict = Verdict { word, score, issues: Some(issues.clone()), reviewer, ..Verdict::default() };
        self.record_lane(at, &Event::VerdictGiven(verdict)).ok()?;
        Some(Standing::Complete(StageResult::Failed { issues }))
    }

    /// Forgets the life of a unit that a person began anew: what was done before stays on its branch.
    pub(super) fn forget_life(&mut self, at: LaneAt) {
        let name = self.work.fleet.lanes[at].name.clone();
        let left = self.memory.lane(&name).branch.clone();
        let left = left.map_or_else(String::new, |branch| format!("; its branch {branch} is left as it is"));
        self.memory.lane(&name).begin_anew();
        let written = self.document_stage(at).unwrap_or(0);
        let lane = &mut self.work.fleet.lanes[at];
        let first = lane.stages.iter().copied().filter(|stage| *stage >= written).min();
        (lane.stage, lane.readiness) = (first.unwrap_or(lane.stage), None);
        self.tell_lane(at, "withdrawn", &format!("a person began it anew: what was done before is not merged{left}"));
    }
}
