//! What a coding agent's host tells while it works, and what is recorded of it without anybody remembering to.
//!
//! A hook never harms its host: whatever fails here becomes a line in a log.

mod documents;
mod ends;
mod helpers;
mod process;
mod sessions;
mod start;
mod trace;

use std::path::PathBuf;
use std::time::Duration;

use piton_dialect::hook::{Payload, Reply, Told, reaches_model};
use piton_model::hint::verbs;
use piton_model::{Dialect, Event, Hint, Ticket, Time, UnitRef};
use piton_store::disk::DiskError;

use self::documents::{Deed, unit_of};
use self::sessions::{Bound, Desk, Session};
use crate::Workspace;
use crate::record::{RecordError, Recorder, Session as Locked};
use crate::target::Target;

pub(crate) use self::sessions::{bind_known, is_at_work as is_session_at_work};
pub use self::trace::{fired, hook_fired, hook_log};

/// How long a hook waits for a unit that somebody else writes.
const WAIT: Duration = Duration::from_secs(3);

/// How often a session's deeds are recorded as a sign of life, in seconds.
const BEAT_EVERY: i64 = 120;

/// What surrounds a hook: the environment that its host gave it.
#[derive(Debug, Clone, Default)]
pub struct Surroundings {
    /// The unit that whoever started the session gave it.
    pub unit: Option<String>,
    /// The attempt that the session belongs to.
    pub attempt: Option<Ticket>,
    /// The session inside of which the host itself was started.
    pub outer: Option<String>,
    /// The host's process.
    pub process: Option<u32>,
    /// A file whose exports the commands of the session are given.
    pub exports: Option<PathBuf>,
}

/// What came of a hook.
#[derive(Debug, Default)]
pub struct HookDone {
    /// What the host is answered.
    pub reply: Reply,
    /// What went wrong, for the log.
    pub troubles: Vec<String>,
}

/// Does what there is to do about an event.
pub fn hook(workspace: &Workspace, event: &str, payload: &Payload, around: &Surroundings, now: Time) -> HookDone {
    // A session that was started inside of another one is that one's tool: its work is recorded there.
    if around.outer.as_deref().is_some_and(|outer| outer != payload.session.as_str()) {
        return HookDone::default();
    }
    let known = sessions::peek(&*workspace.disk, &payload.session);
    let mut hook = Hook { workspace, event, payload, around, now, known, desk: None, done: HookDone::default() };
    hook.happen();
    hook.deliver();
    if let Some(Err(error)) = hook.desk.as_mut().map(|desk| desk.save(now)) {
        hook.done.troubles.push(error.to_string());
    }
    hook.done
}

/// A hook at work.
struct Hook<'h> {
    workspace: &'h Workspace,
    event: &'h str,
    payload: &'h Payload,
    around: &'h Surroundings,
    now: Time,
    /// What was known of the session, if it has not ended.
    known: Option<Session>,
    /// The session's file, once it is needed.
    desk: Option<Desk<'h>>,
    done: HookDone,
}

impl Hook<'_> {
    fn happen(&mut self) {
        // A start is heard in any case; all else only by a session that is known or that touches a document.
        let may_matter = self.known.is_some() || self.around.unit.is_some();
        match &self.payload.told {
            Told::Nothing => {}
            Told::SessionStarted(source) => self.started(*source),
            Told::FileWritten { path, is_new } => {
                let may_matter = may_matter && !self.known.as_ref().is_some_and(|known| self.has_nothing_to_do(known));
                self.file_written(path, *is_new, may_matter)
            }
            Told::FileChanged { path } => self.file_changed(path),
            _ if !may_matter => {}
            _ if !self.open_desk() => {}
            Told::Prompted { is_notification } => self.prompted(*is_notification),
            Told::HelperWanted { kind, prompt } => self.helper_wanted(kind, prompt),
            Told::HelperReturned => self.beat(),
            Told::HelperStarted(helper) => self.helper_started(helper),
            Told::HelperStopped { helper, message } => self.helper_stopped(helper, message),
            Told::ToolFailed { tool, message } => self.tool_failed(tool, message),
            Told::Compacting => self.checkpoint("pre_compact", None),
            Told::Compacted { summary } => self.checkpoint("post_compact", summary.as_deref()),
            Told::TurnEnded { message, goes_on, .. } => self.turn_ended(message.as_deref(), *goes_on),
            Told::SessionEnded { reason } => self.session_ended(reason),
        }
    }

    /// Locks the session's file; whether that is done.
    fn open_desk(&mut self) -> bool {
        if self.desk.is_some() {
            return true;
        }
        match Desk::open(&*self.workspace.disk, &self.payload.session) {
            Ok(mut desk) => {
                let session = &mut desk.session;
                session.is_worker = self.is_worker();
                if session.process.is_none() {
                    session.process = self.around.process.and_then(process::mark);
                }
                self.desk = Some(desk);
                true
            }
            Err(error) => {
                self.fail(&error);
                false
            }
        }
    }

    /// What is known of the session. Without a file it is nothing, and is forgotten.
    fn session(&mut self) -> &mut Session {
        self.open_desk();
        &mut self.desk.get_or_insert_with(Desk::nowhere).session
    }

    /// The unit that the session works on: the one it was given, else the one it last touched.
    fn unit(&mut self) -> Option<Target> {
        if let Some(name) = &self.around.unit {
            let found = UnitRef::parse(name).map_err(|error| error.to_string()).and_then(|wanted| {
                Target::find(self.workspace, &wanted, self.now).map_err(|error| RecordError::from(error).to_string())
            });
            return match found {
                Ok(target) => Some(target),
                Err(error) => {
                    self.done.troubles.push(format!("PITON_UNIT={name}: {error}"));
                    None
                }
            };
        }
        let workspace = self.workspace;
        self.session().bound.as_ref().map(|bound| bound.target(workspace))
    }

    /// The session works on this unit from now on.
    fn bind(&mut self, target: &Target) {
        if self.around.unit.is_none() {
            let bound = Bound::of(target);
            self.session().bound = Some(bound);
        }
    }

    fn recorder(&self) -> Recorder {
        let by = match &self.payload.helper {
            Some(helper) => format!("subagent:{}", helper.kind),
            None => "main".to_owned(),
        };
        Recorder {
            now: self.now,
            by,
            attempt: self.around.attempt,
            own: None,
            session: Some(self.payload.session.to_string()),
            wait: WAIT,
            holder: format!("`piton hook {}`, process {}, since {}", self.event, std::process::id(), self.now),
        }
    }

    /// Records an event of the session's unit, unless another session has it.
    fn record(&mut self, target: &Target, event: &Event) {
        let recorder = self.recorder();
        let result = (|| {
            let mut locked = Locked::open(self.workspace, target.clone(), &recorder)?;
            // A unit that was never recorded begins with its first deed, not with a sign of life.
            if self.is_held_by_another(&locked) {
                return Ok(None);
            }
            locked.fence_writer(&recorder, event.name())?;
            locked.warnings.clear();
            self.hold(&mut locked, &recorder);
            locked.record(event, &recorder).map(Some)
        })();
        match result {
            Ok(recorded) => {
                self.has_recorded(Deed::Own);
                let warnings = recorded.into_iter().flat_map(|recorded| recorded.warnings);
                for warning in warnings {
                    self.alarm(format!("{}: {warning}", target.name));
                }
            }
            Err(error) => self.tell_failure(Err(error)),
        }
    }

    /// A recorded deed is a sign of life.
    fn has_recorded(&mut self, deed: Deed) {
        if deed == Deed::Own {
            let now = self.now.unix_seconds();
            self.session().alive_at = now;
        }
    }

    /// Gives a sign of life for the session's unit, when the last one is old.
    fn beat(&mut self) {
        let now = self.now.unix_seconds();
        let is_due = now.saturating_sub(self.session().alive_at) >= BEAT_EVERY;
        if !is_due {
            return;
        }
        // One that is refused is not asked for again at once.
        self.session().alive_at = now;
        if let Some(target) = self.unit() {
            self.record(&target, &Event::Beat);
        }
    }

    /// Whether a file that is no document can concern a session: most edits of most sessions do not, and are left alone
    /// without a lock.
    fn has_nothing_to_do(&self, known: &Session) -> bool {
        let is_quiet = known.is_open && known.alarms.is_empty() && self.around.unit.is_none();
        let lists_files = |bound: &Bound| matches!(bound.dialect, Dialect::Task | Dialect::Crew);
        let is_fresh = self.now.unix_seconds().saturating_sub(known.alive_at) < BEAT_EVERY;
        is_quiet && known.bound.as_ref().is_none_or(|bound| is_fresh && !lists_files(bound))
    }

    /// A tool of the session wrote a file.
    fn file_written(&mut self, path: &str, is_new: bool, may_matter: bool) {
        let Some(path) = self.workspace.relative(path.as_ref()) else {
            if may_matter {
                self.beat();
            }
            return;
        };
        if let Some(mut target) = unit_of(self.workspace, &path, self.now) {
            if self.open_desk() {
                // The host tells of a tool that is done.
                target.saved = Some(path.clone());
                self.session().is_open = true;
                self.document_written(&target, &path, Deed::Own);
                self.bind(&target);
            }
            return;
        }
        if !may_matter || !self.open_desk() {
            return;
        }
        self.session().is_open = true;
        match self.unit() {
            Some(target) if matches!(target.dialect, Dialect::Task | Dialect::Crew) => {
                self.touch(&target, path, is_new)
            }
            _ => self.beat(),
        }
    }

    /// A file goes into the list of those that the unit's worker made or changed, once.
    fn touch(&mut self, target: &Target, path: String, is_new: bool) {
        let own = target.place.document.as_deref().unwrap_or_default();
        let known =
            crate::find::read_one(self.workspace, target, self.now).is_some_and(|unit| unit.files.contains(&path));
        let is_ours = path == own || path.starts_with(".piton/") || path.starts_with(".git/");
        if known || is_ours {
            return self.beat();
        }
        let (created, modified) = if is_new { (vec![path], Vec::new()) } else { (Vec::new(), vec![path]) };
        self.record(target, &Event::FilesTouched { created, modified });
    }

    /// A watched file changed, by whomever.
    fn file_changed(&mut self, path: &str) {
        let Some(path) = self.workspace.relative(path.as_ref()) else { return };
        let Some(target) = unit_of(self.workspace, &path, self.now) else { return };
        if !self.open_desk() {
            return;
        }
        self.document_written(&target, &path, Deed::Anybodys);
        // In the middle of a turn it was a command of the session, as far as anybody can tell.
        let session = self.session();
        if session.is_open
            && session.bound.is_none()
            && session.shown.as_ref().is_some_and(|shown| shown.is(&Bound::of(&target)))
        {
            self.bind(&target);
        }
    }

    fn tool_failed(&mut self, tool: &str, message: &str) {
        self.session().is_open = true;
        match self.unit() {
            Some(target) if matches!(target.dialect, Dialect::Task | Dialect::Crew) => {
                let message = one_line(message, 300);
                self.record(&target, &Event::ToolFailed { tool: one_line(tool, 80), message });
            }
            _ => self.beat(),
        }
    }

    /// Remembers something that the model has to be told.
    fn alarm(&mut self, alarm: impl Into<Hint>) {
        self.session().alarm(alarm.into().to_string());
    }

    /// Tells the model what waits for it, where this event lets it hear.
    fn deliver(&mut self) {
        let is_again = matches!(self.payload.told, Told::TurnEnded { is_again: true, .. });
        // What a helper hears, or what is said to it, is not the session's own ear.
        let is_heard = reaches_model(self.event) && self.payload.helper.is_none() && !is_again;
        let Some(desk) = self.desk.as_mut().filter(|_| is_heard) else { return };
        if desk.session.alarms.is_empty() {
            return;
        }
        let lines: Vec<String> = std::mem::take(&mut desk.session.alarms)
            .into_iter()
            .map(|alarm| format!("piton: {}", one_line(&alarm, 600)))
            .collect();
        let told = lines.join("\n");
        self.done.reply.context = Some(match self.done.reply.context.take() {
            Some(context) => format!("{told}\n\n{context}"),
            None => told,
        });
    }

    fn tell_failure(&mut self, result: Result<(), RecordError>) {
        if let Err(error) = result {
            if matches!(error, RecordError::Failed { .. }) && self.event == "SessionStart" {
                let doctor =
                    verbs::DOCTOR.call().to("piton could not record this session; see .piton/hook.log, or run");
                self.done.reply.message = Some(doctor.to_string());
            }
            self.done.troubles.push(error.to_string());
        }
    }

    fn fail(&mut self, error: &DiskError) {
        self.tell_failure(Err(RecordError::Failed { message: error.to_string() }));
    }
}

/// A text of others as one short line, without what a terminal would obey and without credentials.
fn one_line(text: &str, most: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = piton_model::secret::mask(&line).into_owned();
    piton_model::text::printable(&line).chars().take(most).collect()
}
