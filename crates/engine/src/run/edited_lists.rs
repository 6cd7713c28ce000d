//! Stories, tasks and agents whose list the user edits while a lead is at work. A worker that starts works on what the list says
//! then. Which units wait for which is followed in [`super::edited_order`].

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::MetadataExt as _;

use piton_model::fleet::{FleetEvent, LaneAt, LaneState};
use piton_model::hint::verbs;
use piton_model::{Dialect, UnitRef};

use super::lead::Lead;
use super::other_work::is_other_work;
use super::settings::Settings;
use super::work::{LaneWork, ListedUnit, Lists};

/// How a file looked: its node, its size, and when it was written.
pub(super) type Look = Option<(u64, u64, i64, i64)>;

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
        self.note_added(&lists);
        let mut edits: BTreeMap<LaneAt, Vec<&str>> = BTreeMap::new();
        let (mut waiting, mut is_back) = (Vec::new(), false);
        for at in 0..self.work.fleet.lanes.len() {
            if self.delisted.contains(&at) && lists.names(&self.work.lanes[at].unit) {
                self.relist(at);
                is_back = true;
            }
            let is_over = matches!(self.work.fleet.lanes[at].state, LaneState::Done | LaneState::Integrated);
            let Some(listed) = lists.unit(&self.work.lanes[at].unit).filter(|_| !is_over) else { continue };
            let has_begun = self.has_begun(at);
            let edit = self.edit_of(at, &listed, has_begun);
            if has_begun && !edit.changed.is_empty() {
                let name = &self.work.fleet.lanes[at].name;
                self.memory.lane(name).follow_list(edit.work.title.as_ref(), &edit.work.start);
            }
            edits.insert(at, edit.changed);
            self.work.lanes[at] = edit.work;
            if !has_begun {
                waiting.push((at, listed));
            }
        }
        for (at, changed) in self.follow_order(&waiting) {
            edits.entry(at).or_default().extend(changed);
        }
        edits.retain(|_, changed| !changed.is_empty());
        for (at, changed) in &edits {
            self.tell_edit(*at, changed);
        }
        if !edits.is_empty() || is_back {
            // A story is begun by what its state says that it waits for.
            self.is_state_due = true;
            self.write_due_state();
            self.queue.push_front(FleetEvent::LanesAdded);
        }
    }

    /// Tells which units the lists got since this lead began: another run does them. A run of units that were named has no list.
    fn note_added(&mut self, lists: &Lists) {
        let has_list = self.run.wanted.is_empty() || self.run.wanted.iter().any(|wanted| wanted.list().is_some());
        let Some(before) = self.lists.as_ref().filter(|_| has_list) else { return };
        let is_named = !self.run.wanted.is_empty();
        let known: BTreeSet<String> = before.units(is_named).iter().map(UnitRef::to_string).collect();
        let has_lane = |unit: &String| self.work.lanes.iter().any(|work| work.unit_name == *unit);
        let units = lists.units(is_named).into_iter().map(|unit| unit.to_string());
        let added: Vec<String> = units.filter(|unit| !known.contains(unit) && !has_lane(unit)).collect();
        let new: Vec<&str> = added.iter().filter(|unit| !self.added.contains(unit)).map(String::as_str).collect();
        let text = format!("new in its list: {}; this run does not have it, the next one does it", new.join(", "));
        if !new.is_empty() {
            self.tell(None, "listed", &text);
        }
        self.added = added;
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
        let known = self.memory.lanes.get(&self.work.fleet.lanes[at].name);
        work.start.steps.retain(|step| known.is_none_or(|known| !known.listed.done_before.contains(step)));
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

    fn tell_edit(&mut self, at: LaneAt, changed: &[&str]) {
        let is_asked = changed.contains(&"subtasks") || changed.contains(&"criteria");
        let changed = format!("changed in its list: {}", changed.join(", "));
        let lane = &self.work.fleet.lanes[at];
        let is_last = lane.stages.last().is_none_or(|last| *last == lane.stage);
        let open_again = |when: &str| {
            let reopen = verbs::REOPEN.on(&self.work.lanes[at].unit_name);
            reopen.to(format!("{changed}; {when}; when it is done, open it again")).to_string()
        };
        let told = match lane.state {
            LaneState::Working(_) if is_last && !is_asked => {
                open_again("its last worker is at work, and does not read that")
            }
            LaneState::Working(_) => {
                format!("{changed}; it counts from the next worker on; the running worker keeps what it has")
            }
            LaneState::Closing(_) if !is_asked => open_again("its work is complete, and no worker reads that"),
            _ => format!("{changed}; it counts from now on"),
        };
        self.tell_lane(at, "listed", &told);
    }
}
