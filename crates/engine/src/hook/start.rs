//! The start of a session, or of its context: what it is told, and what went wrong before.

use std::fs;
use std::io::Write as _;

use piton_dialect::hook::{CONTEXT_BUDGET, Source};
use piton_model::hint::verbs;
use piton_model::{Audience, Dialect, Event, Id, Lifecycle, Liveness, ResumeAction, Row};
use piton_store::journal::Hash;

use super::documents::{Deed, unit_of};
use super::sessions::{self, Bound, Session};
use super::{Hook, process};
use crate::record::{RecordError, Session as Locked};
use crate::resume::{Reader, ResumeRequest, Standing, resume, sketched, standing};
use crate::survey::only_plan;
use crate::target::Target;

/// How many units are listed when nobody knows which one is meant.
const MOST_LISTED: usize = 12;

/// What a brief may take of what the model is told; the rest is for alarms.
const BRIEF: usize = CONTEXT_BUDGET - 1_500;

/// The unit that a session is told about.
struct Chosen {
    target: Target,
    /// Whether a session went away that worked on it.
    has_crashed: bool,
    /// Whether the session works on it already.
    is_bound: bool,
}

impl Hook<'_> {
    pub(super) fn started(&mut self, source: Source) {
        self.export();
        let others = sessions::others(&*self.workspace.disk, &self.payload.session, self.now);
        let crashed = self.record_crashes(&others);
        let (chosen, rows) = match self.choose(source, &crashed) {
            Some(chosen) => (Some(chosen), Vec::new()),
            None => self.choose_only(&others),
        };
        if chosen.is_none() && rows.is_empty() && crashed.is_empty() {
            return;
        }
        if !self.open_desk() {
            return;
        }
        self.begin(source);
        let context = match chosen {
            Some(chosen) => self.brief(&chosen),
            None => {
                let brief = list(&rows);
                Some(Standing { substance: brief.clone(), brief })
            }
        };
        let Some(Standing { brief, substance }) = context else { return };
        let is_worker = self.is_worker();
        let session = self.session();
        let digest = Hash::of(substance.as_bytes()).to_string();
        // A resumed session has its context still, and a second copy of the same would only fill it.
        let is_told = source == Source::Resume && session.told.as_ref() == Some(&digest) && session.alarms.is_empty();
        // The prompt that a lead starts its worker with holds all of it. What is lost with a context is told again.
        let is_prompted = is_worker && matches!(source, Source::Startup | Source::Resume);
        let is_known = is_told || is_prompted;
        session.told = Some(digest);
        if !is_known {
            self.done.reply.context = Some(brief);
        }
    }

    /// Whether a lead started this session for a unit, with a prompt.
    pub(super) fn is_worker(&self) -> bool {
        self.around.unit.is_some() && self.around.attempt.is_some()
    }

    /// The session's file, as it is at a start.
    fn begin(&mut self, source: Source) {
        let process = self.around.process.and_then(process::mark);
        let session = self.session();
        session.process = process.or(session.process.take());
        session.ended = None;
        // A context that is made shorter is in the middle of a turn.
        if source != Source::Compact {
            session.is_open = false;
        }
    }

    /// Lets the commands of this session know it, and a session that one of them starts know that it is inside.
    fn export(&mut self) {
        let Some(path) = &self.around.exports else { return };
        let line = format!("export PITON_SESSION={}\n", self.payload.session);
        let written = fs::OpenOptions::new()
            .append(true)
            .create(true)
            .open(path)
            .and_then(|mut file| file.write_all(line.as_bytes()));
        if let Err(error) = written {
            self.done.troubles.push(format!("cannot write the exports of the session: {error}"));
        }
    }

    /// Writes down that sessions went away in the middle of their work; returns the units they worked on.
    fn record_crashes(&mut self, others: &[(Id, Session)]) -> Vec<Bound> {
        let own = self.known.clone().map(|session| (self.payload.session.clone(), session));
        // A process that goes on when a context is made shorter or thrown away is there, and is no crash.
        let has_crashed = |(_, session): &(Id, Session)| session.bound.is_some() && session.has_crashed();
        let crashed: Vec<(Id, Bound)> = (others.iter().cloned().chain(own).filter(has_crashed))
            .filter_map(|(id, session)| Some((id, session.bound?)))
            .collect();
        let mut units: Vec<Bound> = Vec::new();
        for (id, bound) in crashed {
            let result = self.record_crash(&id, &bound);
            if result.is_ok() && !units.iter().any(|known| known.is(&bound)) {
                units.push(bound);
            }
            self.tell_failure(result);
        }
        units
    }

    fn record_crash(&mut self, id: &Id, bound: &Bound) -> Result<(), RecordError> {
        // Of two sessions that start at once one writes it down.
        let mut desk = sessions::Desk::open(&*self.workspace.disk, id)?;
        if !desk.session.has_crashed() {
            return Ok(());
        }
        let mut recorder = self.recorder();
        recorder.attempt = None;
        let mut locked = Locked::open(self.workspace, bound.target(self.workspace), &recorder)?;
        locked.is_no_sign_of_life();
        locked.warnings.clear();
        locked.record(&Event::Crashed { session: id.to_string() }, &recorder)?;
        desk.session.is_open = false;
        desk.session.ended = Some("crash".to_owned());
        desk.save(self.now)?;
        Ok(())
    }

    /// The unit that this session is about: the one it was given, the one it works on, or the one whose session went
    /// away.
    fn choose(&mut self, source: Source, crashed: &[Bound]) -> Option<Chosen> {
        let workspace = self.workspace;
        let has_crashed = |bound: &Bound| crashed.iter().any(|known| known.is(bound));
        if self.around.unit.is_some() {
            let target = self.unit()?;
            let has_crashed = has_crashed(&Bound::of(&target));
            return Some(Chosen { target, has_crashed, is_bound: true });
        }
        let known = self.known.clone().or_else(|| sessions::recall(&*workspace.disk, &self.payload.session));
        let own = known.and_then(|session| session.bound);
        let bound = own.or_else(|| (source == Source::Clear).then(|| self.cleared()).flatten());
        if let Some(bound) = bound {
            return Some(Chosen { target: bound.target(workspace), has_crashed: has_crashed(&bound), is_bound: true });
        }
        match crashed {
            [only] => Some(Chosen { target: only.target(workspace), has_crashed: true, is_bound: true }),
            _ => None,
        }
    }

    /// What the session worked on whose context the user threw away: the last one of the same process.
    fn cleared(&self) -> Option<Bound> {
        let mark = self.around.process.and_then(process::mark)?;
        let same =
            |session: &Session| session.process.as_ref() == Some(&mark) && session.ended.as_deref() == Some("clear");
        let all = sessions::ended(&*self.workspace.disk, self.now);
        let last = all.into_iter().map(|(_, session)| session).filter(same).max_by_key(|session| session.seen_at)?;
        last.bound
    }

    /// The only unit that is open, when nobody else is at work on it; else what there is.
    fn choose_only(&mut self, others: &[(Id, Session)]) -> (Option<Chosen>, Vec<Row>) {
        let chosen = |target| Chosen { target, has_crashed: false, is_bound: false };
        // Most repositories have one plan and nothing else: what it says is read once, for the brief.
        let plan = only_plan(self.workspace).and_then(|directory| {
            let document = format!("{directory}/plan.md");
            unit_of(self.workspace, &document, self.now)
        });
        if let Some(target) = plan.filter(|target| !has_session(others, target)) {
            return (Some(chosen(target)), Vec::new());
        }
        let mut rows = crate::status(self.workspace, None, self.now).rows;
        rows.retain(|row| match row.state.lifecycle() {
            Lifecycle::Done | Lifecycle::Unknown => false,
            Lifecycle::Failed
            | Lifecycle::Blocked
            | Lifecycle::Running
            | Lifecycle::Waiting
            | Lifecycle::Paused
            | Lifecycle::Queued => true,
        });
        let [only] = &rows[..] else { return (None, rows) };
        let wanted = piton_model::UnitRef::parse(&only.unit()).ok();
        let target = wanted.and_then(|wanted| Target::find(self.workspace, &wanted, self.now).ok());
        match target {
            Some(target) if !(only.liveness == Liveness::Alive && has_session(others, &target)) => {
                (Some(chosen(target)), Vec::new())
            }
            _ => (None, rows),
        }
    }

    /// What the session is told about its unit; the host watches the unit's documents from now on.
    fn brief(&mut self, chosen: &Chosen) -> Option<Standing> {
        let target = &chosen.target;
        let bound = Bound::of(target);
        let reader = if self.is_worker() { Reader::Worker } else { Reader::Session };
        match chosen.is_bound {
            // Whoever leads a worker sees its end, and begins the next attempt.
            true if self.is_worker() => {}
            true => self.session().bound = Some(bound),
            false => self.session().shown = Some(bound),
        }
        if self.payload.can_watch {
            self.done.reply.watch = self.watched(target);
        }
        if target.dialect == Dialect::Plan {
            // Nearly always it is in line: then it is read once, and nothing is written.
            match sketched(self.workspace, target, reader, BRIEF, self.now) {
                Ok(Some(standing)) if !chosen.has_crashed => return standing,
                Ok(Some(_)) => {}
                Ok(None) => {
                    let result = self.align(target, Deed::Anybodys);
                    self.tell_failure(result);
                }
                Err(error) => self.tell_failure(Err(error)),
            }
        }
        if chosen.has_crashed {
            self.alarm(format!(
                "the last session that worked on {} went away without an end; what it began may be half done: look at it before going on",
                target.name
            ));
        }
        // A session that was started for an attempt would be shut out by a newer one.
        if chosen.has_crashed && self.around.attempt.is_none() {
            match self.resumed(target) {
                Ok(Some(brief)) => return Some(Standing { substance: brief.clone(), brief }),
                Ok(None) => {}
                Err(error) => self.tell_failure(Err(error)),
            }
        }
        match standing(self.workspace, target, reader, BRIEF, self.now) {
            Ok(standing) => standing,
            Err(error) => {
                self.tell_failure(Err(error));
                None
            }
        }
    }

    /// Takes up what a session left that went away: a new attempt begins.
    fn resumed(&mut self, target: &Target) -> Result<Option<String>, RecordError> {
        let wanted = crate::life::exact(target)?;
        // Whoever resumes for a session looks into its file, which says already what it works on.
        if let Some(desk) = &mut self.desk {
            desk.save(self.now)?;
        }
        let request =
            ResumeRequest { mode: None, force: true, budget: BRIEF, outputs_in: None, audience: Audience::Shell };
        let mut recorder = self.recorder();
        recorder.attempt = None;
        let resumption = resume(self.workspace, &wanted, &request, &recorder)?;
        if resumption.plan.action == ResumeAction::Refuse {
            return Ok(None);
        }
        self.has_recorded(Deed::Own);
        Ok(Some(resumption.brief))
    }

    /// The documents that somebody may change without a tool of the host.
    fn watched(&self, target: &Target) -> Vec<String> {
        let documents = crate::record::documents_of(self.workspace, target);
        let is_text = |path: &&String| !path.contains("/.checkpoint/");
        documents.iter().filter(is_text).map(|path| self.workspace.root().join(path).display().to_string()).collect()
    }
}

/// Whether a session that may live works on a unit.
fn has_session(others: &[(Id, Session)], target: &Target) -> bool {
    let unit = Bound::of(target);
    others.iter().any(|(_, session)| session.bound.as_ref().is_some_and(|bound| bound.is(&unit)) && session.may_live())
}

/// What there is to be resumed, for a session that nobody told what it is about.
fn list(rows: &[Row]) -> String {
    let mut text = "Work in this repository is recorded by piton. These units are open; nothing says which one this session is about:\n".to_owned();
    for row in rows.iter().take(MOST_LISTED) {
        let progress = match row.progress.total {
            0 => String::new(),
            total => format!(", {} of {total} done", row.progress.done),
        };
        text.push_str(&format!("- {}: {}{progress}, {}\n", row.unit(), row.state.lifecycle(), row.liveness));
    }
    if rows.len() > MOST_LISTED {
        let more = verbs::STATUS.call().to(format!("- … and {} more", rows.len() - MOST_LISTED));
        text.push_str(&format!("{more}\n"));
    }
    let resume = verbs::RESUME.call().fill("UNIT").to("To continue one of them, run");
    text.push_str(&format!("{resume}\n"));
    text
}
