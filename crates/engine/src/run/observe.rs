//! What the lead sees: ends, output, documents.

use std::time::{Duration, SystemTime};

use piton_dialect::time::read as read_time;
use piton_model::fleet::{Approval, Closing, End, FleetEvent, LaneAt, LaneState, StageResult, Standing};
use piton_model::{Event, Time};
use piton_store::journal::Entry;
use piton_supervisor::{
    Denied, Exit, Kind, Limit, LimitScope, Outcome, Reading, Remedy, Stream, Wait, Worker, readable, tail,
};

use super::approvals::Question;
use super::candidacy::on_other_branch;
use super::claim::explain;
use super::lead::Lead;
use super::merging::Key;
use super::report::wall;
use super::standing::for_worker;
use super::{RunError, denials, failed};
use crate::record::TICKET;
use crate::why::claims_complete;

/// What a worker's end means.
pub(super) struct JudgedEnd {
    pub end: End,
    pub standing: Standing,
    /// Its last words, denied commands: what a reader needs beside the reason.
    pub words: Option<String>,
}

/// How long a worker is left alone that waits for a busy service by itself, beyond what it says.
const PASSING_LIMIT: Duration = Duration::from_secs(60);

/// How much of the end of what a worker printed is looked at for its last words.
const LAST_BYTES: usize = 64 << 10;

/// How often a reader that has more is asked again before others get their turn.
const MOST_READS: usize = 64;

impl Lead<'_> {
    /// A worker has ended, or its keeper has.
    pub(super) fn worker_ended(&mut self, at: LaneAt) -> Result<(), RunError> {
        let Some(live) = self.live.get(&at) else { return Ok(()) };
        let Some(end) = live.worker.end() else {
            self.watch.add(at as u64, &live.worker).map_err(failed)?;
            return Ok(());
        };
        let Some(live) = self.live.remove(&at) else { return Ok(()) };
        let JudgedEnd { end: judged, standing, words } = self.judge_end(at, &live.worker, &end);
        let stopped = live.stopped.clone();
        self.live.insert(at, live);
        self.let_go(at);
        if judged == End::RefusedResume {
            // Nobody took it up; the next one does.
            let memory = self.memory.lane(&self.work.fleet.lanes[at].name);
            memory.resumes = memory.resumes.saturating_sub(1);
        }
        if !matches!(standing, Standing::Complete(_)) {
            let text = match &judged {
                End::Limited { until, .. } => format!("its worker waits until {until}: {}", self.limit_of(at)),
                End::RefusedResume => "its session was refused".to_owned(),
                End::BegunAnew => "its worker ended; the unit was begun anew meanwhile".to_owned(),
                End::Unavailable { reason } => format!("its worker cannot work: {reason}"),
                End::Denied { what } => format!("its worker ended: {}; {what}", end.exit),
                End::Exited(_) | End::Idle | End::Killed(_) | End::KilledUnled(_) | End::Vanished | End::NotStarted => {
                    format!("its worker ended: {}", end.exit)
                }
            };
            self.tell_lane(at, "ended", &text);
            let text = stopped.map_or(text, |why| format!("{why} ({})", end.exit));
            if let Standing::Incomplete { missing } = &standing {
                // The next worker gets what the record of the stage lacks.
                let name = self.work.fleet.lanes[at].name.clone();
                self.memory.lane(&name).rework = vec![piton_model::Rework::Incomplete { missing: missing.clone() }];
            }
            if !matches!(standing, Standing::Halted { .. }) {
                // A worker that says what is in the way and goes has not died.
                let name = self.work.fleet.lanes[at].name.clone();
                let missing: Vec<&str> = match &standing {
                    Standing::Incomplete { missing } => missing.iter().map(|missing| for_worker(missing)).collect(),
                    _ => Vec::new(),
                };
                let lacks =
                    if missing.is_empty() { String::new() } else { format!("; not complete: {}", missing.join(", ")) };
                self.memory.lane(&name).deaths.push(text + &lacks);
            }
        }
        if matches!(standing, Standing::Complete(_)) && self.is_open_box(at) {
            self.tell_ticked_again(at, "its worker recorded it as done");
        }
        self.queue.push_back(FleetEvent::WorkerExited { lane: at, end: judged, standing, words });
        Ok(())
    }

    /// What an end means, and what the documents say after it.
    pub(super) fn judge_end(&mut self, at: LaneAt, worker: &Worker, end: &piton_supervisor::End) -> JudgedEnd {
        self.refresh_outputs(at);
        let kind = self.kind_of(at);
        let mut reading = Reading::new(kind, worker);
        // What cannot be read any more was read while it lived, or says nothing.
        let _ = reading.finish();
        let seen = reading.seen();
        let (name, stage) = (self.work.fleet.lanes[at].name.clone(), self.work.fleet.lanes[at].stage);
        // When a worker vanished is not known: what it recorded last was before that.
        let last = || read_time(&self.events_of(&self.work.lanes[at].unit).pop()?.at).time();
        let left = if end.exit == Exit::Vanished { last().unwrap_or(wall(end.at)) } else { wall(end.at) };
        let memory = self.memory.lane(&name);
        memory.leave_stage(stage, left);
        if let Some(session) = &seen.session {
            memory.session = Some(session.clone());
        }
        let home = worker.home().strip_prefix(self.workspace.root()).unwrap_or(worker.home()).display().to_string();
        memory.costs.add(&home, (memory.run, memory.origin.attempt), memory.session.clone().as_deref(), seen.spent);
        let outcome = kind.judge(&end.exit, seen, worker.launch());
        (memory.limits_in_a_row, memory.limit) = match &outcome {
            Outcome::Limited(limit) => {
                (memory.limits_in_a_row.saturating_add(1), Some(limit.cause().text().to_owned()))
            }
            _ => (0, None),
        };
        let judged = match (outcome, &end.exit) {
            (Outcome::Limited(limit), _) => self.limited(at, &limit),
            (Outcome::ResumeRefused { .. }, _) => End::RefusedResume,
            (Outcome::Unavailable { reason }, _) => {
                self.note_unavailable(&self.worker_of(at), &reason);
                End::Unavailable { reason }
            }
            (Outcome::Finished, _) => End::Exited(0),
            (Outcome::Failed { .. } | Outcome::Died { .. }, Exit::Signal(signal)) => End::Killed(*signal),
            (Outcome::Failed { .. } | Outcome::Died { .. }, Exit::Code(code)) => End::Exited((*code).max(1)),
            (Outcome::Failed { .. } | Outcome::Died { .. }, Exit::Vanished) => End::Vanished,
            (Outcome::Failed { .. } | Outcome::Died { .. }, Exit::NotStarted { .. }) => End::NotStarted,
        };
        let is_left_by_worker = !self.is_written_since(at, end.at);
        // What its user added to its list meanwhile is a part of what it was to do.
        self.look_at_lists();
        if let Err(message) = self.drop_criteria(at) {
            self.memory.issues.push((name.clone(), "record".to_owned(), message));
        }
        if self.work.lanes[at].step.is_none() && self.has_begun_anew(at) {
            self.put_back(at);
            self.forget_life(at);
            return JudgedEnd { end: End::BegunAnew, standing: Standing::Open, words: None };
        }
        self.note_tip(at);
        self.memory.lane(&name).ended = self.memory.lane(&name).tip.clone();
        self.restore_document(at);
        self.set_right(self.work.fleet.lanes[at].group);
        self.adopt_strays(at);
        self.reopen_partial(at);
        if is_left_by_worker {
            self.put_back(at);
        }
        self.take_back_to_own_stage(at);
        let standing = match self.standing(at, judged == End::Exited(0)) {
            // Nothing is left to be done for it. What its worker could not record is no failure.
            _ if self.unwanted(at).is_some() => Standing::Complete(StageResult::Done),
            Standing::Complete(StageResult::Executed) => {
                self.note_own_work(at);
                self.executed(at)
            }
            // A person finished what its worker was in the middle of.
            standing @ Standing::Complete(_)
                if self.work.lanes[at].step.is_none() && self.is_finished_by_person(at) =>
            {
                self.asks_about_branch(at).map_or(standing, |reason| Standing::Halted { reason })
            }
            // What was done before it was refused says nothing about the worker that was to correct it.
            Standing::Complete(_) if judged != End::Exited(0) && self.was_to_correct(at, worker) => Standing::Open,
            standing => standing,
        };
        if matches!(standing, Standing::Complete(StageResult::Passed { .. } | StageResult::Failed { .. })) {
            self.note_leftovers(at);
        }
        let is_open = matches!(standing, Standing::Open);
        let judged = match judged {
            End::Exited(0) if is_open && self.has_done_nothing(at) => End::Idle,
            judged => judged,
        };
        let judged = self.denied_or(at, judged, &standing, &seen.denied);
        let words = if matches!(standing, Standing::Complete(_)) { None } else { last_words(worker, kind) };
        JudgedEnd { end: judged, standing, words }
    }

    /// A task or build that its document calls complete while something of it is open is opened again for exactly that:
    /// criteria with a command are the lead's to judge, the rest is the next worker's.
    pub(super) fn reopen_partial(&mut self, at: LaneAt) {
        if !self.unit_of(at).is_ok_and(|unit| claims_complete(&unit)) {
            return;
        }
        if let Err(why) = self.record_lane(at, &Event::Reopened) {
            let name = self.work.fleet.lanes[at].name.clone();
            self.memory.issues.push((name, "record".to_owned(), why));
        }
    }

    /// Remembers that a story's branch has work of its own: later its user may merge, rebase or squash it by hand.
    fn note_own_work(&mut self, at: LaneAt) {
        let name = self.work.fleet.lanes[at].name.clone();
        let branch = self.memory.lane(&name).branch.clone();
        let target = self.target_branch(&self.work.fleet.lanes[at]);
        let (Some(repository), Some(branch), Some(target)) = (&self.repository, branch, target) else { return };
        let inside = |path: &String| repository.inside().join(path).display().to_string();
        let documents: Vec<String> = self.documents_of(at).iter().map(inside).collect();
        if repository.has_own_work(&branch, &target, &documents).unwrap_or(false) {
            let tip = repository.tip(&branch).ok().flatten();
            let tree = self.worktree_of(at).map(|tree| self.workspace.root().join(tree));
            let state = tree.and_then(|tree| repository.state(&tree, &format!("refs/heads/{target}")).ok());
            let memory = self.memory.lane(&name);
            let is_left = |path: &String| memory.leftovers.contains(path);
            let is_clean = state.is_some_and(|state| state.changed.iter().all(is_left));
            memory.clean = tip.clone().filter(|_| is_clean);
            memory.worked = tip;
        }
    }

    /// Whether a worker was started for something that was refused, and recorded nothing as done.
    fn was_to_correct(&self, at: LaneAt, worker: &Worker) -> bool {
        let known = self.memory.lanes.get(&self.work.fleet.lanes[at].name);
        let ticket = worker.launch().about.attempt.as_deref();
        let is_done = |entry: &Entry| {
            matches!(entry.event.as_str(), "step_done" | "finished")
                && entry.data.get(TICKET).and_then(serde_json::Value::as_str) == ticket
        };
        let is_staged = self.work.fleet.lanes[at].is_staged();
        !is_staged
            && known.is_some_and(|known| !known.rework.is_empty())
            && !self.events_of(&self.work.lanes[at].unit).iter().any(is_done)
    }

    /// Remembers new files that a reviewer left, such as logs: they are no work of the story. What a reviewer changed is.
    fn note_leftovers(&mut self, at: LaneAt) {
        let name = self.work.fleet.lanes[at].name.clone();
        let memory = self.memory.lane(&name).clone();
        let tree = self.worktree_of(at).map(|tree| self.workspace.root().join(tree));
        let (Some(repository), Some(branch), Some(tree)) = (&self.repository, memory.branch, tree) else { return };
        let is_judged = memory.clean.is_some() && repository.tip(&branch).ok().flatten() == memory.clean;
        let left = if is_judged { repository.untracked(&tree).unwrap_or_default() } else { Vec::new() };
        self.memory.lane(&name).leftovers = left;
    }

    /// What a story's tasks made has to be on its branch: the next stage judges nothing else.
    fn executed(&self, at: LaneAt) -> Standing {
        let memory = self.memory.lanes.get(&self.work.fleet.lanes[at].name);
        let branch = memory.and_then(|memory| memory.branch.clone());
        let misplaced = match (&self.repository, self.worktree_of(at), branch) {
            (Some(repository), Some(tree), Some(branch)) => {
                on_other_branch(repository, &self.workspace.root().join(tree), &branch)
            }
            _ => Ok(None),
        };
        match misplaced {
            Ok(Some(why)) => Standing::Misplaced(why),
            // What git cannot tell now, it tells when the story is merged.
            Ok(None) | Err(_) => Standing::Complete(StageResult::Executed),
        }
    }

    /// Whether nothing shows that a lane's last worker worked: no record, no commit, no changed file.
    fn has_done_nothing(&self, at: LaneAt) -> bool {
        let name = &self.work.fleet.lanes[at].name;
        let attempt = self.memory.lanes.get(name).map_or(0, |lane| lane.origin.attempt);
        let events = crate::log(self.workspace, &self.work.lanes[at].unit, self.time());
        let has_recorded = events.is_ok_and(|log| {
            log.log.events.iter().any(|entry| entry.attempt == attempt && entry.data.contains_key(TICKET))
        });
        let target = self.target_branch(&self.work.fleet.lanes[at]);
        let (Some(repository), Some(tree), Some(target)) = (&self.repository, self.worktree_of(at), target) else {
            return !has_recorded;
        };
        let state = repository.state(&self.workspace.root().join(tree), &format!("refs/heads/{target}"));
        !has_recorded && state.is_ok_and(|state| state.is_clean() && state.ahead == 0)
    }

    /// An end without what the worker was started for, when its client refused it something that it may have needed.
    fn denied_or(&mut self, at: LaneAt, judged: End, standing: &Standing, denied: &[Denied]) -> End {
        let is_settled = matches!(standing, Standing::Complete(_) | Standing::Halted { .. });
        let spec = self.worker_of(at);
        let is_real = |denied: &&Denied| !(spec.network && denied.remedy == Remedy::Network);
        let denied: Vec<Denied> = denied.iter().filter(is_real).cloned().collect();
        if denied.is_empty() || is_settled || !matches!(judged, End::Exited(_) | End::Idle) {
            return judged;
        }
        self.note_denials(&self.work.lanes[at].unit_name.clone(), &denied);
        // A refusal is the client's word. That a sandbox was in the way is read from what a command printed: another
        // worker may find another way.
        let is_sure = denied.iter().any(|denied| matches!(denied.remedy, Remedy::Allow(_) | Remedy::Unknown));
        let is_last = self.work.fleet.lanes[at].counts.crashes >= self.settings.limits.respawn;
        match is_sure || is_last {
            true => End::Denied { what: denials::reason(&denied) },
            false => judged,
        }
    }

    /// What follows from a limit: it is waited for, or a person looks.
    fn limited(&mut self, at: LaneAt, limit: &Limit) -> End {
        let until = match self.wait_for(at, limit) {
            Wait::GiveUp { reason } => return End::Unavailable { reason },
            Wait::Until { at: until, note } => {
                if let Some(note) = note {
                    self.tell_lane(at, "limit", &format!("waits until {}: {note}", Time::from_unix_seconds(until)));
                }
                Time::from_unix_seconds(until)
            }
        };
        End::Limited { until, account: limit.scope == LimitScope::Account }
    }

    /// Until when a worker that waits by itself is left alone.
    fn until(&self, limit: &Limit) -> Time {
        match limit.wait(self.time().unix_seconds(), 1) {
            Wait::Until { at, .. } => Time::from_unix_seconds(at),
            Wait::GiveUp { .. } => self.time().after(PASSING_LIMIT),
        }
    }

    /// Looks at the signs of every worker, which are one small file and one document each.
    pub(super) fn look(&mut self) -> Result<(), RunError> {
        let mut lanes: Vec<LaneAt> = self.live.keys().copied().collect();
        lanes.sort_unstable();
        for at in lanes {
            self.look_at_output(at);
            self.look_at_document(at);
        }
        for group in 0..self.work.fleet.groups.len() {
            if let Some(phase) = self.work.fleet.groups[group].asked()
                && (self.is_review_approved(group) || self.take_group_approval(group, phase))
            {
                self.approve_review(group);
                self.queue.push_back(FleetEvent::Approved { group });
            }
        }
        self.look_for_lane_approvals();
        self.look_for_freed();
        self.look_for_freed_groups();
        Ok(())
    }

    /// Whether a group waits for a person because of its review, and its document says that one approved.
    fn is_review_approved(&self, group: usize) -> bool {
        let is_asked = self.work.fleet.groups[group].begin == Approval::Asked;
        is_asked && self.work.groups[group].unit.is_some() && !self.waits_for_review(group)
    }

    fn waits_for_review(&self, group: usize) -> bool {
        let found = self.work.groups[group].unit.as_ref();
        let found = found.and_then(|unit| crate::find(self.workspace, unit, self.time()).ok());
        found.is_some_and(|found| piton_dialect::build::waits_for_person(&found.unit))
    }

    /// Writes a person's approval of a review into the build's document, where it is not yet.
    pub(super) fn approve_review(&mut self, group: usize) {
        let Some(unit) = self.work.groups[group].unit.clone().filter(|_| self.waits_for_review(group)) else { return };
        let approved = Event::Unblocked { which: None, answer: None };
        if let Err(error) = crate::record(self.workspace, &unit, &approved, &self.recorder("lead")) {
            let name = self.work.fleet.groups[group].name.clone();
            self.memory.issues.push((name, "record".to_owned(), explain(error)));
        }
    }

    /// Approvals of lanes that change their own gates name the commit that was looked at.
    fn look_for_lane_approvals(&mut self) {
        for at in 0..self.work.fleet.lanes.len() {
            let LaneState::Closing(Closing::Approving { .. }) = self.work.fleet.lanes[at].state else { continue };
            self.take_lane_approval(at);
        }
    }

    /// Takes a person's approval of a lane that changes its own gates: it is for the commit that was looked at.
    pub(super) fn take_lane_approval(&mut self, at: LaneAt) -> bool {
        let (name, unit) = (self.work.fleet.lanes[at].name.clone(), self.work.lanes[at].unit_name.clone());
        let Some(commit) = self.judged_commit(at) else { return false };
        if !self.take_approval(&unit, &Question::own_gates(&name, &commit, None)) {
            return false;
        }
        self.memory.lane(&name).approved = Some(commit);
        self.queue.push_back(FleetEvent::LaneApproved { lane: at });
        true
    }

    /// The commit of a lane's branch that was judged.
    pub(super) fn judged_commit(&self, at: LaneAt) -> Option<String> {
        self.merged.get(&Key::Lane(at)).and_then(|merged| merged.branch_commit.clone())
    }

    fn look_at_output(&mut self, at: LaneAt) {
        let Some(live) = self.live.get_mut(&at) else { return };
        let Ok(signs) = live.worker.signs() else { return };
        if signs == live.signs {
            return;
        }
        live.signs = signs;
        live.seen = SystemTime::now();
        for _ in 0..MOST_READS {
            if !matches!(live.reading.catch_up(), Ok(true)) {
                break;
            }
        }
        let seen = live.reading.seen();
        let (session, waiting) = (seen.session.clone(), seen.waiting.clone());
        let name = self.work.fleet.lanes[at].name.clone();
        if session.is_some() && self.memory.lane(&name).session != session {
            self.memory.lane(&name).session = session;
        }
        self.queue.push_back(FleetEvent::SignSeen { lane: at });
        if let Some(limit) = waiting {
            let (until, account) = (self.until(&limit), limit.scope == LimitScope::Account);
            self.memory.lane(&name).limit = Some(limit.cause().text().to_owned());
            self.queue.push_back(FleetEvent::LimitReported { lane: at, until, account });
        }
    }

    fn look_at_document(&mut self, at: LaneAt) {
        let known = self.live.get(&at).and_then(|live| live.document.clone());
        let path = known.as_ref().map_or_else(|| self.recorded_in(at), |(path, _)| path.clone());
        let stamp = self.workspace.disk.stamp(&path).ok().flatten();
        let patience = self.settings.limits.patience(self.work.fleet.lanes[at].stage);
        let Some(live) = self.live.get_mut(&at) else { return };
        live.document = Some((path, stamp));
        // A worker that ticked its box by hand, and stays, is through when it gives no more signs.
        let is_silent = live.seen.elapsed().is_ok_and(|silent| silent >= patience);
        let is_through = live.is_ticked && is_silent;
        if known.is_some_and(|(_, before)| before == stamp) && !is_through || self.end_of_earlier_life(at) {
            return;
        }
        let standing = self.standing(at, false);
        let is_complete = matches!(standing, Standing::Complete(_));
        // In a document that several share, only what concerns the lane itself is a sign of its worker. A step that
        // another worker or the user recorded as done stays with its worker, who is judged by its own end.
        let is_own = match self.work.lanes[at].step.clone() {
            None => true,
            Some(step) => is_complete && (is_through || self.is_own_word(at, &step)),
        };
        let Some(live) = self.live.get_mut(&at) else { return };
        live.is_ticked = is_complete && !is_own;
        if is_own {
            live.seen = SystemTime::now();
            self.queue.push_back(FleetEvent::DocumentChanged { lane: at, standing });
        }
    }
}

/// How many lines of a worker's output stand beside the reason why it failed, and how long each may be.
const WORDS: usize = 5;
const WORD_LENGTH: usize = 200;

/// The last lines that a worker printed.
fn last_words(worker: &Worker, kind: Kind) -> Option<String> {
    let read = |stream| tail(worker.home(), stream, worker.spool(), LAST_BYTES).unwrap_or_default();
    let printed = |stream| String::from_utf8_lossy(&read(stream)).into_owned();
    let (out, err) = (printed(Stream::Out), printed(Stream::Err));
    // JSON lines of a client are shown as the text in them.
    let out = out.lines().flat_map(|line| readable(Some(kind.word()), line));
    let lines: Vec<String> = out.chain(err.lines().map(str::to_owned)).collect();
    let lines: Vec<&str> = lines.iter().map(|line| line.trim()).filter(|line| !line.is_empty()).collect();
    let last = &lines[lines.len().saturating_sub(WORDS)..];
    let short = |line: &&str| line.chars().take(WORD_LENGTH).collect::<String>();
    let words = last.iter().map(short).collect::<Vec<_>>().join("\n");
    let words = piton_model::secret::mask(&words).into_owned();
    (!words.is_empty()).then(|| format!("its last lines:\n{words}"))
}
