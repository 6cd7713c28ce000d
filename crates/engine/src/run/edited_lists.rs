//! Stories, tasks and agents whose list the user edits while a lead is at work. A worker that starts works on what the list says
//! then, and waits for what the list says then.

use std::os::unix::fs::MetadataExt as _;

use piton_model::Dialect;
use piton_model::fleet::{Cycle, FleetEvent, LaneAt, LaneState, find_cycle};

use super::lead::Lead;
use super::other_work::is_other_work;
use super::settings::Settings;
use super::work::{LaneWork, ListedUnit, Lists};

/// How a file looked: its node, its size, and when it was written.
pub(super) type Look = Option<(u64, u64, i64, i64)>;

/// How the reason begins for which a lane is held that cannot follow its list.
const HELD: &str = "its list has ";

/// What of a lane's list changed.
struct Edit {
    work: LaneWork,
    /// In words, for the user.
    changed: Vec<&'static str>,
}

impl Lead<'_> {
    /// Takes over what the user changed in the lists since they were last looked at.
    pub(super) fn look_at_lists(&mut self) {
        let root = self.workspace.root();
        let look = |path: &String| -> Look {
            let file = std::fs::metadata(root.join(path)).ok()?;
            Some((file.ino(), file.size(), file.mtime(), file.mtime_nsec()))
        };
        let looks: Vec<Look> = Lists::paths(&self.run.wanted).iter().map(look).collect();
        if self.looked_at_lists.as_ref() == Some(&looks) {
            return;
        }
        self.looked_at_lists = Some(looks);
        let user = self.as_user_has_it();
        // A file that is being edited and cannot be understood is looked at again when it was written.
        let Some(lists) = Lists::read(&user, &self.run.wanted) else {
            if let Some(why) = Lists::problem(&user, &self.run.wanted) {
                self.tell(None, "listed", &format!("{why}; the run keeps to the list as it was"));
            }
            return;
        };
        if let Ok(settings) = Settings::load(&user)
            && settings.is_there
        {
            self.settings.briefs = settings.briefs;
        }
        let mut is_news = false;
        for at in 0..self.work.fleet.lanes.len() {
            let is_over = matches!(self.work.fleet.lanes[at].state, LaneState::Done | LaneState::Integrated);
            let Some(listed) = lists.unit(&self.work.lanes[at].unit).filter(|_| !is_over) else { continue };
            let has_begun = self.has_begun(at);
            let edit = self.edit_of(at, &listed, has_begun);
            let mut changed = edit.changed;
            self.work.lanes[at] = edit.work;
            if !has_begun && self.follow_order(at, &listed) {
                changed.push("dependencies");
            }
            if !changed.is_empty() {
                self.tell_edit(at, &changed);
                is_news = true;
            }
        }
        if is_news {
            // A story is begun by what its state says that it waits for.
            self.is_state_due = true;
            self.write_due_state();
            self.queue.push_front(FleetEvent::LanesAdded);
        }
    }

    /// A lane as its list describes it by now. A unit that has begun keeps how it began.
    fn edit_of(&self, at: LaneAt, listed: &ListedUnit, has_begun: bool) -> Edit {
        let old = &self.work.lanes[at];
        let mut work = LaneWork { text: listed.text.clone(), ..old.clone() };
        work.title = listed.title.clone().or(work.title);
        match (&listed.story, has_begun) {
            (_, false) => work.start = listed.start.clone(),
            (None, true) if work.dialect == Dialect::Task => {
                work.start.steps.clone_from(&listed.start.steps);
                work.start.criteria.clone_from(&listed.start.criteria);
                work.start.total = listed.start.total;
            }
            (_, true) => {}
        }
        if work.dialect == Dialect::Task {
            work.start.title.clone_from(&work.title);
        }
        work.start.replaces = old.start.replaces;
        if let Some(story) = &listed.story {
            work.brief.clone_from(&story.brief);
            // A worker that the settings of this lead do not have is the next lead's.
            if story.worker.as_ref().is_none_or(|name| self.settings.workers.has(name)) {
                work.worker.clone_from(&story.worker);
            }
        }
        if has_begun && self.is_listed_as_other_work(&work, at, listed) {
            return Edit { work: old.clone(), changed: Vec::new() };
        }
        let parts = [
            (old.title != work.title, "title"),
            (old.text != work.text, "text"),
            (old.brief != work.brief, "brief"),
            (old.worker != work.worker, "worker"),
            (old.start.steps != work.start.steps, "subtasks"),
            (old.start.criteria != work.start.criteria, "criteria"),
        ];
        let changed = parts.into_iter().filter(|(is_changed, _)| *is_changed).map(|(_, word)| word).collect();
        Edit { work, changed }
    }

    /// Whether the list describes other work by the name of a unit that has begun: the next lead judges that.
    fn is_listed_as_other_work(&self, work: &LaneWork, at: LaneAt, listed: &ListedUnit) -> bool {
        let now = LaneWork { start: listed.start.clone(), ..work.clone() };
        let unit = self.unit_of(at);
        unit.is_ok_and(|unit| is_other_work(&now, &unit, &self.events_of(&now.unit)))
    }

    /// Lets a lane that has not begun wait for what its list names, in the stages that its list names. Whether something is
    /// different.
    fn follow_order(&mut self, at: LaneAt, listed: &ListedUnit) -> bool {
        let is_held =
            matches!(&self.work.fleet.lanes[at].state, LaneState::Paused { reason } if reason.starts_with(HELD));
        if !is_held && !matches!(self.work.fleet.lanes[at].state, LaneState::Queued) {
            return false;
        }
        // What this run was given by name waits for what it was given.
        let before = self.lists.as_ref().and_then(|lists| lists.unit(&self.work.lanes[at].unit));
        if !is_held
            && before.is_some_and(|before| before.depends_on == listed.depends_on)
            && !self.followed.contains(&at)
        {
            return false;
        }
        self.followed.insert(at);
        let fleet = &mut self.work.fleet;
        if let Some(story) = &listed.story {
            let lane = &mut fleet.lanes[at];
            lane.priority = story.priority;
            lane.stages.clone_from(&story.stages);
            lane.stage = story.stages.first().copied().unwrap_or(0);
        }
        let found: Vec<Option<LaneAt>> = listed.depends_on.iter().map(|name| self.lane_called(at, name)).collect();
        let lost: Vec<&str> = listed
            .depends_on
            .iter()
            .zip(&found)
            .filter(|(_, at)| at.is_none())
            .map(|(name, _)| name.as_str())
            .collect();
        if !lost.is_empty() {
            let why = format!("{HELD}it wait for {}, which this run does not have", lost.join(", "));
            self.hold_for_list(at, &why);
            return false;
        }
        let found: Vec<LaneAt> = found.into_iter().flatten().collect();
        if is_held {
            self.work.fleet.lanes[at].state = LaneState::Queued;
        }
        if self.work.fleet.lanes[at].depends_on == found {
            return is_held;
        }
        let before = std::mem::replace(&mut self.work.fleet.lanes[at].depends_on, found);
        let edges: Vec<Vec<LaneAt>> = self.work.fleet.lanes.iter().map(|lane| lane.depends_on.clone()).collect();
        if let Some(Cycle(cycle)) = find_cycle(&edges) {
            let names: Vec<&str> = cycle.iter().map(|at| self.work.fleet.lanes[*at].name.as_str()).collect();
            let why = format!("{HELD}units wait for each other: {}", names.join(", "));
            self.work.fleet.lanes[at].depends_on = before;
            self.hold_for_list(at, &why);
            return false;
        }
        true
    }

    /// The lane that a list means by a name where another lane waits for it.
    fn lane_called(&self, at: LaneAt, name: &str) -> Option<LaneAt> {
        let (group, own) = (self.work.fleet.lanes[at].group, &self.work.lanes[at]);
        let is_meant = |other: &LaneAt| {
            let work = &self.work.lanes[*other];
            let is_last = work.step.is_none() && work.unit.parts.last().is_some_and(|last| last.as_str() == name);
            self.work.fleet.lanes[*other].group == group && (is_last || work.is_called(name))
        };
        // Two agents may have tasks of one id: its own agent's is meant.
        let found = (0..self.work.lanes.len()).filter(is_meant);
        found.max_by_key(|other| (self.work.lanes[*other].is_beside(own), std::cmp::Reverse(*other)))
    }

    /// Holds a lane that its list has wait for something that cannot be: the next lead reads the list from its beginning.
    fn hold_for_list(&mut self, at: LaneAt, why: &str) {
        let reason = self.command(&["--retry"]).to(format!("{why}; when this run has ended")).to_string();
        self.tell_lane(at, "paused", &reason);
        self.work.fleet.lanes[at].state = LaneState::Paused { reason };
        self.is_state_due = true;
    }

    fn tell_edit(&mut self, at: LaneAt, changed: &[&str]) {
        let is_one = matches!(changed, [one] if !one.ends_with(['s', 'a']));
        let what = format!("its list has {} {} by now", if is_one { "another" } else { "other" }, changed.join(", "));
        let is_at_work = matches!(self.work.fleet.lanes[at].state, LaneState::Working(_));
        let then = match (is_at_work, is_one) {
            (true, true) => "; the worker at work was told the earlier one, the next is told this",
            (true, false) => "; the worker at work was told the earlier ones, the next is told these",
            (false, true) => ", and it counts from here on",
            (false, false) => ", and they count from here on",
        };
        self.tell_lane(at, "listed", &format!("{what}{then}"));
    }
}
