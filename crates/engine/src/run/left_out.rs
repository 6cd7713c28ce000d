//! Work that was complete when its user decided against it: they left its step out, or took it out of the plan or of the
//! specification. It is not merged, and its branch stays.

use piton_dialect::{Findings, plan};
use piton_model::fleet::{FleetEvent, LaneAt, LaneState, MergeOf};
use piton_model::{Dialect, Event, StepState, StepTo};
use piton_supervisor::quoted;

use super::claim::plain;
use super::freed::is_by_person;
use super::lead::Lead;
use super::recover::is_beginning;
use super::withdrawn::last_about;
use crate::record;

impl Lead<'_> {
    /// Leaves work out of a merge that its user does not want any more; says whether there was any. Its branch stays.
    pub(super) fn leave_out(&mut self, of: MergeOf) -> Result<bool, String> {
        let is_its = |at: &LaneAt| match of {
            MergeOf::Lane(lane) => *at == lane,
            MergeOf::Phase(group, phase) => {
                let lane = &self.work.fleet.lanes[*at];
                (lane.group, lane.phase) == (group, phase) && lane.state == LaneState::Integrated
            }
        };
        let lanes = (0..self.work.fleet.lanes.len()).filter(is_its).collect::<Vec<_>>();
        let left: Vec<(LaneAt, &str)> = lanes.into_iter().filter_map(|at| Some((at, self.unwanted(at)?))).collect();
        if left.is_empty() {
            return Ok(false);
        }
        if let MergeOf::Phase(group, phase) = of {
            self.collect_anew(group, phase, &left.iter().map(|(at, _)| self.name(*at)).collect::<Vec<_>>())?;
        }
        for (at, why) in left {
            let step = self.work.lanes[at].step.clone().unwrap_or_default();
            let is_called_done = self.unit_of(at).is_ok_and(|unit| {
                unit.steps.iter().any(|known| known.id == step && matches!(known.state, StepState::Done { .. }))
            });
            if is_called_done {
                self.record_lane(at, &Event::StepMoved(plain(StepTo::Skipped, step)))?;
            }
            let name = self.name(at);
            self.tell_left_out(&name, why);
            self.queue.push_back(FleetEvent::LaneLeftOut { lane: at });
        }
        Ok(true)
    }

    /// Takes the work of steps off the branches of a group's phases that are in its plan or specification no more: an earlier
    /// lead had collected it there.
    pub(super) fn leave_out_removed(&mut self, group: usize) -> Result<(), String> {
        let (Some(unit), Some(repository)) = (self.work.groups[group].unit.clone(), self.repository.clone()) else {
            return Ok(());
        };
        let name = self.work.fleet.groups[group].name.clone();
        let Some(any) = self.work.fleet.lanes.iter().position(|lane| lane.group == group) else { return Ok(()) };
        let is_plan = self.work.groups[group].dialect == Dialect::Plan;
        let branches = self.memory.groups.get(&name).map(|known| known.branches.clone()).unwrap_or_default();
        for phase in 0..self.work.fleet.groups[group].phases.len() {
            let Some(branch) = branches.get(&self.work.fleet.groups[group].phase_key(phase)) else { continue };
            let is_on = |commit: &String| repository.is_reachable(commit, &format!("refs/heads/{branch}"));
            let removed = self.memory.lanes.iter().filter(|(lane, known)| {
                let Some(step) = lane.strip_prefix(&name).and_then(|step| step.strip_prefix(' ')) else { return false };
                let is_known = self.work.fleet.lanes.iter().any(|it| it.name == **lane);
                let collected = known.collected.as_ref().filter(|_| known.merged.is_none());
                let is_left = !is_known && collected.is_some_and(|commit| is_on(commit).unwrap_or(false));
                is_left && !(is_plan && self.is_taken_away_by_git(any, lane, step))
            });
            let removed: Vec<String> = removed.map(|(lane, _)| lane.clone()).collect();
            if removed.is_empty() {
                continue;
            }
            if let Some(why) = removed.iter().find_map(|lane| self.is_given_another_id(any, lane)) {
                return Err(why);
            }
            self.collect_anew(group, phase, &removed)?;
            for lane in removed {
                let step = lane[name.len()..].trim_start().to_owned();
                if self.work.groups[group].dialect == Dialect::Build {
                    let skip = Event::StepMoved(plain(StepTo::Skipped, step));
                    // A checkpoint that does not know the workstream has nothing to say about it.
                    let _ = record(self.workspace, &unit, &skip, &self.recorder("lead"));
                }
                self.tell_left_out(&lane, self.removed_from(group));
                // Should the user want it again, it begins anew.
                self.memory.lane(&lane).begin_anew();
            }
        }
        Ok(())
    }

    /// Why the collected work of a plan's task is neither merged nor left out: its box is ticked by another id, so that only the
    /// user knows what they mean. `any` is a lane of the plan, `lane` that of the task.
    fn is_given_another_id(&self, any: LaneAt, lane: &str) -> Option<String> {
        if self.work.lanes[any].dialect != Dialect::Plan {
            return None;
        }
        let (_, step) = lane.split_once(' ')?;
        let tree = self.memory.lanes.get(lane).and_then(|known| known.worktree.clone())?;
        let boxes = |path: &str, text: &str| {
            let parsed = plan::parse(text, &mut Findings::new(path.into(), text));
            let all = parsed
                .tasks
                .iter()
                .map(|mark| (mark.id(text).to_owned(), mark.text(text).to_owned(), mark.is_ticked()));
            all.collect::<Vec<_>>()
        };
        let read = |path: &str| self.workspace.read_text(path).ok().flatten().unwrap_or_default();
        self.texts_of(any).iter().find_map(|path| {
            let before = boxes(path, &read(&format!("{tree}/{path}")));
            let words = &before.iter().find(|(id, ..)| id == step)?.1;
            let is_it = |(id, text, is_ticked): &(String, String, bool)| {
                let is_new = before.iter().all(|(known, ..)| known != id);
                *is_ticked && is_new && text == words
            };
            let (new, ..) = boxes(path, &read(path)).into_iter().find(is_it)?;
            Some(format!(
                "the box {words:?} of {path} has the id {new} now, and its work is collected as {step}; give it the id {step} \
                 until its phase is merged, or untick it to do it again"
            ))
        })
    }

    /// Why the user does not want the work of a lane any more. A worker that writes the document by hand may call its step
    /// done since.
    pub(super) fn unwanted(&self, at: LaneAt) -> Option<&'static str> {
        let work = &self.work.lanes[at];
        let step = work.step.as_deref()?;
        let events = self.events_of(&work.unit);
        let life = events.iter().rposition(is_beginning).unwrap_or(0);
        let last = last_about(&events[life..], step);
        if last.is_some_and(|entry| entry.event == "step_skipped" && is_by_person(entry)) {
            return Some("it was left out by hand");
        }
        let is_removed = match work.dialect {
            Dialect::Plan => self.is_removed(work) && !self.is_taken_away_by_git(at, &self.name(at), step),
            Dialect::Build => !self.is_specified(&work.unit, step),
            Dialect::Pipeline | Dialect::Task | Dialect::Crew => false,
        };
        is_removed.then(|| self.removed_from(self.work.fleet.lanes[at].group))
    }

    fn removed_from(&self, group: usize) -> &'static str {
        match self.work.groups[group].dialect {
            Dialect::Plan => "its box was removed from the plan",
            _ => "it was taken out of the specification",
        }
    }

    /// Whether git has a plan's text without a task's box in its place: the user stashed or discarded a box that they had not
    /// committed, or has another branch checked out. `any` is a lane of the plan, `name` the lane of the task.
    fn is_taken_away_by_git(&self, any: LaneAt, name: &str, step: &str) -> bool {
        let Some(repository) = &self.repository else { return false };
        let known = self.memory.lanes.get(name);
        let times = known.map(super::memory::LaneMemory::all_times).unwrap_or_default();
        let began = times.into_values().filter_map(|(began, _)| began).min();
        let tree = known.and_then(|known| known.worktree.as_ref()).map(|tree| self.workspace.root().join(tree));
        let base = self.memory.run.base.clone().unwrap_or_default();
        let inside = |path: &String| repository.inside().join(path).display().to_string();
        let has_box = |path: &str, text: &[u8]| {
            let text = String::from_utf8_lossy(text);
            let parsed = plan::parse(&text, &mut Findings::new(path.into(), &text));
            parsed.tasks.iter().any(|mark| mark.id(&text) == step)
        };
        let is_stashed = |path: &String| {
            let since = began.map_or(0, |began| began.unix_seconds());
            let stashed = repository.stashed_since(&inside(path), since).ok().flatten();
            stashed.is_some_and(|text| has_box(path, &text))
                && repository.is_written_by_git(&inside(path)).unwrap_or(false)
        };
        let was_committed = |path: &String| {
            let before = tree.as_ref().and_then(|tree| repository.at_fork(tree, &base, &inside(path)).ok().flatten());
            before.is_some_and(|text| has_box(path, &text))
        };
        let is_gits = |path: &String| {
            let content = self.workspace.disk.read(path);
            began.zip(content.ok()).is_some_and(|(began, content)| self.is_gits(path, &content.bytes, began))
        };
        let texts = self.texts_of(any);
        texts.iter().any(is_stashed)
            || texts.iter().all(is_gits) && !texts.iter().any(was_committed)
            || self.unit_of(any).is_ok_and(|plan| self.is_elsewhere(&plan))
    }

    /// Begins the branch of a phase anew, so that its lanes are collected again without some others. The branch is the lead's
    /// own. Lanes that were brought up to date with the work of the others are put onto the base without it.
    fn collect_anew(&mut self, group: usize, phase: usize, without: &[String]) -> Result<(), String> {
        let Some(repository) = self.repository.clone() else { return Ok(()) };
        let base = self.memory.run.base.clone().unwrap_or_default();
        let branch = self.collecting_branch(group, phase)?;
        let branch_of = |name: &String| self.memory.lanes.get(name).and_then(|known| known.branch.clone());
        let unwanted = without.iter().filter_map(|name| repository.tip(&branch_of(name)?).ok().flatten());
        let unwanted: Vec<String> = unwanted.collect();
        for at in 0..self.work.fleet.lanes.len() {
            let lane = &self.work.fleet.lanes[at];
            let is_other = (lane.group, lane.phase) == (group, phase) && !without.contains(&lane.name);
            let (Some(own), Some(tree)) = (branch_of(&lane.name), self.worktree_of(at)) else { continue };
            let is_free = !self.live.contains_key(&at) && lane.state != LaneState::Done;
            for tip in unwanted.iter().filter(|_| is_other && is_free) {
                let is_on =
                    |branch: &str| repository.is_reachable(tip, &format!("refs/heads/{branch}")).unwrap_or(false);
                let tree = self.workspace.root().join(&tree);
                if is_on(&own) && !is_on(&base) && !repository.rebase(&tree, tip, &base, &own).unwrap_or(false) {
                    let (tree, onto, own) = (quoted(&tree.to_string_lossy()), quoted(&base), quoted(&own));
                    let way = format!("git -C {tree} rebase --onto {onto} {tip} {own}");
                    return Err(format!("{own} has work that is not wanted any more; take it out with: {way}"));
                }
            }
        }
        repository.set_branch(&branch, &base).map_err(|error| error.to_string())
    }

    fn tell_left_out(&mut self, name: &str, why: &str) {
        let branch = self.memory.lane(name).branch.take();
        let left = branch.map_or_else(String::new, |branch| format!("; its branch {branch} is left as it is"));
        self.tell(Some(name), "settled", &format!("{why}: it is not merged{left}"));
    }

    fn name(&self, at: LaneAt) -> String {
        self.work.fleet.lanes[at].name.clone()
    }
}
