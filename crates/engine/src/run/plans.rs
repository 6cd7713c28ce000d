//! A plan is its user's text: boxes that are ticked, added or removed during a run are respected.

use std::time::Duration;

use piton_dialect::{Findings, plan};
use piton_model::fleet::{FleetEvent, Lane, LaneAt, LaneState, Phase, PhaseGate, PhaseState};
use piton_model::hint::verbs;
use piton_model::{Dialect, Hint, Id, StepState, Unit, UnitRef};
use piton_supervisor::{Repository, quoted};

use super::lead::Lead;
use super::set_right::Judged;
use super::strays::box_without_id;
use super::work::{LaneWork, left_out, plan_lane, plan_phase, stage_of};
use crate::Found;
use crate::find::find_recorded;

/// What a plan's text says about a task.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum BoxState {
    Open,
    Ticked,
    Removed,
}

pub(super) fn box_state(plan: &Unit, step: Option<&str>) -> BoxState {
    match plan.steps.iter().find(|known| Some(known.id.as_str()) == step).map(|known| &known.state) {
        None => BoxState::Removed,
        Some(StepState::Done { .. } | StepState::Skipped) => BoxState::Ticked,
        Some(StepState::Pending | StepState::Running | StepState::Failed) => BoxState::Open,
    }
}

/// What is said about open boxes that have no id.
fn without_ids(name: &str, open: usize) -> Hint {
    let text = match open {
        1 => "1 open box has no id, so no worker does it".to_owned(),
        open => format!("{open} open boxes have no id, so no worker does them"),
    };
    verbs::PLAN_MARK.on(name).to(format!("{text}; give ids"))
}

/// How many boxes of a plan's text are open and have no id.
fn open_unmarked(path: &str, text: &str) -> usize {
    let parsed = plan::parse(text, &mut Findings::new(path.into(), text));
    parsed.unmarked.iter().filter(|found| found.is_open(text)).count()
}

/// Whether a plan that the base has is read while another branch is checked out.
pub(super) fn is_of_another_branch(repository: &Repository, base: &str, plan: &Unit) -> bool {
    let inside = |path: &str| repository.inside().join(path).display().to_string();
    let texts = plan.documents.iter().filter(|document| document.path.ends_with(".md"));
    let texts: Vec<String> = texts.map(|document| inside(&document.path)).collect();
    let is_tracked = repository.files_in(&format!("refs/heads/{base}"), &texts).is_ok_and(|found| !found.is_empty());
    let is_here = repository.head().is_ok_and(|head| head.branch() == Some(base));
    is_tracked && !is_here
}

/// How long nothing of a plan's text may change until a box that is missing there counts as removed.
const WRITING: Duration = Duration::from_millis(200);

impl Lead<'_> {
    /// Looks at every plan whose text has changed. What follows comes before everything else that is to be decided.
    pub(super) fn look_at_plans(&mut self) {
        // What a worker wrote about the steps of others is no word of the user.
        self.set_all_right();
        self.save_judged();
        for group in 0..self.work.groups.len() {
            let Some(unit) = self.work.groups[group].unit.clone() else { continue };
            if self.work.groups[group].dialect != Dialect::Plan {
                continue;
            }
            let known = self.plans.get(&group).map(Vec::as_slice);
            let stamp = |path: &str| self.workspace.disk.stamp(path).ok().flatten();
            let now: Vec<_> = known.unwrap_or_default().iter().map(|(path, _)| (path.clone(), stamp(path))).collect();
            if known.is_some_and(|known| known == now) {
                continue;
            }
            let Some(found) = self.written_plan(group, &unit) else { continue };
            if self.is_elsewhere(&found.unit) {
                continue;
            }
            // A text that was written since it was judged is read when it is judged.
            let is_as_judged = |judged: &Judged| judged.iter().all(|(path, known)| stamp(path) == *known);
            if !self.judged.get(&group).is_some_and(is_as_judged) {
                continue;
            }
            let paths = found.unit.documents.iter().map(|document| document.path.to_string());
            // One that was not known before it was read is read once more.
            let looked = |path: &String| now.iter().find(|(known, _)| known == path).and_then(|(_, stamp)| *stamp);
            let files = paths.filter(|path| path.ends_with(".md")).map(|path| (path.clone(), looked(&path))).collect();
            self.plans.insert(group, files);
            if let Some(why) = left_out(&found) {
                // A copied line, for instance: until it is corrected, the boxes say nothing for certain.
                let name = self.work.fleet.groups[group].name.clone();
                self.tell(Some(&name), "plan", &why.to_string());
                continue;
            }
            if !self.unmarked.contains_key(&group) {
                self.tell_uncommitted(group, &found.unit);
            }
            self.tell_unmarked(group, &found.unit);
            let news = self.follow_plan(group, &unit, &found.unit);
            news.into_iter().rev().for_each(|event| self.queue.push_front(event));
        }
    }

    /// A plan as it is when nobody is writing it; nothing while its text is gone. git and editors write a file in two steps,
    /// between which it lacks its end: a box or a criterion that is missing has to be missing for a while.
    pub(super) fn written_plan(&self, group: usize, unit: &UnitRef) -> Option<Found> {
        let lanes = self.work.fleet.lanes.iter().zip(&self.work.lanes);
        let open = lanes.filter(|(lane, _)| lane.group == group && lane.state != LaneState::Done);
        let steps: Vec<&String> = open.filter_map(|(_, work)| work.step.as_ref()).collect();
        let phases = self.work.fleet.groups[group].phases.iter();
        let gates: Vec<&String> = phases.flat_map(|phase| &phase.gates).map(|gate| &gate.name).collect();
        let lacks = |plan: &Unit| {
            steps.iter().any(|known| plan.steps.iter().all(|step| step.id != **known))
                || gates.iter().any(|known| plan.gates.iter().all(|gate| gate.name != **known))
        };
        let read = || find_recorded(self.workspace, unit, self.time()).ok();
        let mut found = read()?;
        while lacks(&found.unit) {
            std::thread::sleep(WRITING);
            let again = read()?;
            if (&again.unit.steps, &again.unit.gates) == (&found.unit.steps, &found.unit.gates) {
                break;
            }
            found = again;
        }
        let is_text = |path: &str| path.ends_with(".md") && matches!(self.workspace.disk.stamp(path), Ok(Some(_)));
        found.unit.documents.iter().any(|document| is_text(&document.path)).then_some(found)
    }

    /// Whether the plan that can be read is that of another branch than the one that this run merges into: its boxes say
    /// nothing about this run.
    pub(super) fn is_elsewhere(&self, plan: &Unit) -> bool {
        let (Some(repository), Some(base)) = (&self.repository, &self.memory.run.base) else { return false };
        is_of_another_branch(repository, base, plan)
    }

    /// Reports ids of boxes that the base does not have, when a run begins: its workers see boxes without ids.
    fn tell_uncommitted(&mut self, group: usize, plan: &Unit) {
        let Some(repository) = self.repository.clone() else { return };
        let texts = plan.documents.iter().filter(|document| document.path.ends_with(".md"));
        let is_behind = |path: &&str| {
            let inside = repository.inside().join(path).display().to_string();
            let committed = repository.committed(&inside).ok().flatten().map(|(text, _)| text);
            let own = self.workspace.read_text(path).ok().flatten();
            let ids = |text: &str| {
                let parsed = plan::parse(text, &mut Findings::new((*path).into(), text));
                parsed.tasks.iter().map(|mark| mark.id(text).to_owned()).collect::<Vec<_>>()
            };
            committed.zip(own).is_some_and(|(committed, own)| {
                let committed = String::from_utf8_lossy(&committed).into_owned();
                ids(&own).iter().any(|id| box_without_id(path, &committed, &own, id).is_some())
            })
        };
        let behind: Vec<&str> = texts.map(|document| &*document.path).filter(is_behind).collect();
        if behind.is_empty() {
            return;
        }
        let name = self.work.fleet.groups[group].name.clone();
        let paths = behind.iter().map(|path| quoted(path)).collect::<Vec<_>>().join(" ");
        let text = format!(
            "the ids of its boxes are not committed, so its workers do not see them; commit them: \
             git commit -m {} {paths}",
            quoted(&format!("ids of {name}"))
        );
        self.tell(Some(&name), "plan", &text);
    }

    /// Reports open boxes without an id, once for each number of them: no worker does them.
    fn tell_unmarked(&mut self, group: usize, plan: &Unit) {
        let open = self.count_unmarked(plan);
        if self.unmarked.insert(group, open).unwrap_or(0) == open || open == 0 {
            return;
        }
        let name = self.work.fleet.groups[group].name.clone();
        let text = without_ids(&name, open).to_string();
        self.tell(Some(&name), "plan", &text);
    }

    fn count_unmarked(&self, plan: &Unit) -> usize {
        let texts = plan.documents.iter().filter(|document| document.path.ends_with(".md"));
        let open = texts.filter_map(|document| {
            let content = self.workspace.disk.read(&document.path).ok()?;
            Some(open_unmarked(&document.path, &String::from_utf8_lossy(&content.bytes)))
        });
        open.sum()
    }

    /// Refuses to call a plan done that has open boxes which no worker could do.
    pub(super) fn refuse_unmarked(&self, plan: &Unit) -> Result<(), String> {
        match if plan.dialect == Dialect::Plan { self.count_unmarked(plan) } else { 0 } {
            0 => Ok(()),
            open => Err(without_ids(&format!("plan:{}", plan.id), open).to_string()),
        }
    }

    /// Brings the lanes of a plan into line with its text. What a worker is at stays with its worker.
    fn follow_plan(&mut self, group: usize, unit: &UnitRef, plan: &Unit) -> Vec<FleetEvent> {
        let mut news = Vec::new();
        self.tick_discarded();
        for at in 0..self.work.fleet.lanes.len() {
            if self.work.fleet.lanes[at].group != group {
                continue;
            }
            let own = box_state(plan, self.work.lanes[at].step.as_deref());
            let is_waiting = match self.work.fleet.lanes[at].state {
                LaneState::Queued | LaneState::Between => {
                    own == BoxState::Removed || own == BoxState::Ticked && !self.is_strangers_word(at)
                }
                // The box may have been ticked by its own worker, whose work is not merged yet.
                LaneState::Dead { .. } | LaneState::Reworking { .. } | LaneState::Parked { .. } => {
                    own == BoxState::Removed
                }
                LaneState::Working(_)
                | LaneState::Proving { .. }
                | LaneState::Closing(_)
                | LaneState::Integrated
                | LaneState::Done
                | LaneState::Paused { .. } => false,
            };
            if is_waiting {
                news.push(self.settled(at, own));
            }
            let is_closing = matches!(self.work.fleet.lanes[at].state, LaneState::Closing(_));
            if is_closing && own == BoxState::Open && (self.is_unticked(at) || self.is_untick_of_git(at)) {
                // Forget the stamp, so that the plan is read again after the merge.
                self.plans.remove(&group);
            }
            let is_reopened = own == BoxState::Open
                && match self.work.fleet.lanes[at].state {
                    LaneState::Done => true,
                    // Its worker may have left the box to the lead.
                    LaneState::Integrated => self.is_unticked(at),
                    _ => false,
                };
            // The stash may have been taken back since the text was read.
            let is_open = || {
                let step = self.work.lanes[at].step.as_deref();
                self.unit_of(at).is_ok_and(|unit| box_state(&unit, step) == BoxState::Open)
            };
            if is_reopened && !self.is_untick_of_git(at) && is_open() {
                self.tell_lane(at, "plan", "its box was unticked: it is done again");
                news.push(FleetEvent::LaneReopened { lane: at });
            }
        }
        news.extend(self.add_steps(group, unit, plan));
        self.follow_criteria(group, plan);
        news
    }

    /// Phases that no worker has begun are judged by what the plan lists now.
    fn follow_criteria(&mut self, group: usize, plan: &Unit) {
        let lanes: Vec<&Lane> = self.work.fleet.lanes.iter().filter(|lane| lane.group == group).collect();
        let had_worker = |lane: &&&Lane| {
            let is_settled = lane.state == LaneState::Done
                && self.memory.lanes.get(&lane.name).is_none_or(|known| known.origin.attempt == 0);
            lane.state != LaneState::Queued && !is_settled
        };
        let has_begun = |place: usize| lanes.iter().filter(|lane| lane.phase == place).any(|lane| had_worker(&lane));
        let phases = &self.work.fleet.groups[group].phases;
        // One that was renamed keeps its gates as long as the plan lists them.
        let is_named = |place: &usize| plan.steps.iter().any(|step| stage_of(&step.stage) == phases[*place].name);
        let is_open = |place: &usize| phases[*place].state == PhaseState::Open && !has_begun(*place);
        let open: Vec<usize> = (0..phases.len()).filter(is_open).filter(is_named).collect();
        let last = phases.len().saturating_sub(1);
        for place in open {
            let name = self.work.fleet.groups[group].phases[place].name.clone();
            let new = plan_phase(plan, &name, place == last, &|gate| self.has_command(gate));
            self.work.fleet.groups[group].phases[place].gates = new.gates;
        }
        // A phase at work is not judged yet: what the plan does not ask for any more is not asked for.
        let is_listed = |gate: &PhaseGate| plan.gates.iter().any(|known| known.name == gate.name);
        let at_work = self.work.fleet.groups[group].phases.iter_mut().filter(|phase| phase.state == PhaseState::Open);
        at_work.for_each(|phase| phase.gates.retain(is_listed));
    }

    /// Whether the user's newest stash has a file of the workspace.
    pub(super) fn is_in_stash(&self, path: &str) -> bool {
        let Some(repository) = &self.repository else { return false };
        let path = repository.inside().join(path).display().to_string();
        repository.stashed_since(&path, 0).ok().flatten().is_some()
    }

    /// Ticks the boxes again whose ticks git took back, when all of a plan is done: a plan with open boxes is not complete.
    pub(super) fn tick_again(&mut self, group: usize) -> Result<(), String> {
        for at in 0..self.work.fleet.lanes.len() {
            let (lane, work) = (&self.work.fleet.lanes[at], self.work.lanes[at].clone());
            let Some(step) = work.step.as_deref().filter(|_| work.dialect == Dialect::Plan) else { continue };
            let is_done = lane.group == group && lane.state == LaneState::Done;
            let is_open = || self.unit_of(at).is_ok_and(|unit| box_state(&unit, Some(step)) == BoxState::Open);
            if is_done && is_open() && self.is_untick_of_git(at) {
                self.finish_step(&work, step)?;
                self.tell_ticked_again(at, "its work is merged");
            }
        }
        Ok(())
    }

    /// Whether the user settled a lane whose worker is about to start: ticked or removed its box, did or skipped its step,
    /// finished its unit, or took it out of its list.
    pub(super) fn is_settled_by_hand(&mut self, at: LaneAt) -> bool {
        self.set_right(self.work.fleet.lanes[at].group);
        if self.work.lanes[at].dialect != Dialect::Plan {
            return self.is_done_by_person(at) || self.is_delisted(at);
        }
        let (group, unit) = (self.work.fleet.lanes[at].group, &self.work.lanes[at].unit);
        let Some(found) = self.written_plan(group, unit) else { return false };
        if self.is_elsewhere(&found.unit) {
            return false;
        }
        let own = box_state(&found.unit, self.work.lanes[at].step.as_deref());
        let name = &self.work.fleet.lanes[at].name;
        let known = self.memory.lanes.get(name);
        let has_begun = known.is_some_and(|memory| memory.origin.attempt > 0 || !memory.rework.is_empty());
        let is_settled =
            own == BoxState::Removed || own == BoxState::Ticked && !has_begun && !self.is_strangers_word(at);
        if is_settled {
            let event = self.settled(at, own);
            self.queue.push_front(event);
        }
        is_settled
    }

    /// Whether the user removed the box of a task.
    pub(super) fn is_removed(&self, work: &LaneWork) -> bool {
        let group = self.work.groups.iter().position(|group| group.unit.as_ref() == Some(&work.unit));
        let Some(group) = group.filter(|_| work.dialect == Dialect::Plan) else { return false };
        // A text in which an id is there twice says nothing about it for certain.
        let is_gone = |found: Found| {
            left_out(&found).is_none() && box_state(&found.unit, work.step.as_deref()) == BoxState::Removed
        };
        self.written_plan(group, &work.unit).is_some_and(is_gone)
    }

    fn settled(&mut self, at: LaneAt, own: BoxState) -> FleetEvent {
        let text = match own {
            BoxState::Removed => "its box was removed from the plan; no worker starts",
            BoxState::Ticked | BoxState::Open => "its box was ticked by hand; no worker starts",
        };
        let branch = self.memory.lane(&self.work.fleet.lanes[at].name.clone()).branch.take();
        let left = branch.map_or_else(String::new, |branch| format!("; its branch {branch} is left as it is"));
        self.tell_lane(at, "plan", &format!("{text}{left}"));
        FleetEvent::LaneSettled { lane: at }
    }

    /// Lanes for boxes that are new. The fleet has each of them at the same place as soon as it takes the event.
    fn add_steps(&mut self, group: usize, unit: &UnitRef, plan: &Unit) -> Option<FleetEvent> {
        let mut is_added = false;
        let own = self.work.lanes.iter().filter(|work| work.dialect == Dialect::Plan && work.unit == *unit);
        let known: Vec<String> = own.filter_map(|work| work.step.clone()).collect();
        for (place, step) in plan.steps.iter().enumerate() {
            let is_open = !matches!(step.state, StepState::Done { .. } | StepState::Skipped);
            if known.contains(&step.id) || !is_open || Id::parse(&step.id).is_err() {
                continue;
            }
            let phase = self.phase_for(group, plan, &stage_of(&step.stage));
            let (lane, work) = plan_lane(unit, step, group, phase, place);
            self.tell(Some(&lane.name), "plan", "its box was added to the plan");
            // Both at once: a lane has the same place in either list.
            self.work.lanes.push(work);
            self.work.fleet.add_lane(lane);
            is_added = true;
        }
        is_added.then_some(FleetEvent::LanesAdded)
    }

    /// The place of a phase of a plan. One that is new comes where the text has it, unless a later one has begun: then it
    /// comes after all that are there.
    fn phase_for(&mut self, group: usize, plan: &Unit, name: &str) -> usize {
        let phases = &self.work.fleet.groups[group].phases;
        let known = |name: &str| phases.iter().position(|phase| phase.name == name);
        if let Some(known) = known(name) {
            return known;
        }
        let stages: Vec<String> = plan.steps.iter().map(|step| stage_of(&step.stage)).collect();
        let behind = stages.iter().skip_while(|stage| *stage != name).find_map(|stage| known(stage));
        let has_begun = |place: usize| {
            let is_open = |phase: &Phase| phase.state == PhaseState::Open;
            let lanes = self.work.fleet.lanes.iter().filter(|lane| lane.group == group && lane.phase >= place);
            !phases[place..].iter().all(is_open) || !lanes.into_iter().all(|lane| lane.state == LaneState::Queued)
        };
        let place = behind.filter(|place| !has_begun(*place)).unwrap_or(phases.len());
        let new = plan_phase(plan, name, place == phases.len(), &|gate| self.has_command(gate));
        self.work.fleet.groups[group].phases.insert(place, new);
        for lane in self.work.fleet.lanes.iter_mut().filter(|lane| lane.group == group && lane.phase >= place) {
            lane.phase += 1;
        }
        place
    }
}
