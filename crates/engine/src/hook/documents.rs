//! Documents that somebody wrote without asking: brought into line, looked at, and compared with what they were.

use piton_dialect::plan::{Alignment, alignment, may_be_marked};
use piton_dialect::{Detail, Source, build, crew, pipeline, plan, task};
use piton_model::hint::verbs;
use piton_model::text::{fit, printable};
use piton_model::{Dialect, Event, Id, RetryLimits, Severity, Time, Unit};
use piton_store::History;

use super::Hook;
use crate::Workspace;
use crate::record::{DiskFiles, HOLDER, HOLDER_SESSION, RecordError, Recorder, Session as Locked};
use crate::target::Target;
use crate::workspace::source;

/// How many findings about a document are told at once.
const MOST_FINDINGS: usize = 5;

/// Whose deed a change of a document is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Deed {
    /// The session's own.
    Own,
    /// Somebody's; nobody knows whose.
    Anybodys,
}

/// The unit that a file belongs to as a document; nothing when it is no document, or one of several units.
pub(super) fn unit_of(workspace: &Workspace, path: &str, now: Time) -> Option<Target> {
    let new = |dialect, base: &str, id: &str, document: &str| {
        let id = id.split('/').map(Id::parse).collect::<Result<Vec<_>, _>>().ok()?;
        Some(Target::new(workspace, dialect, base.to_owned(), id, Some(document.to_owned())))
    };
    let stem = path.rsplit('/').next()?.strip_suffix(".json").unwrap_or_default();
    let known = |dialect| read_document(workspace, dialect, path, now).map(|unit| unit.id);
    if let Some((base, file)) = crew::layout::recognise(path) {
        let is_own = file == crew::layout::File::Checkpoint;
        return is_own
            .then(|| known(Dialect::Crew).unwrap_or_else(|| stem.to_owned()))
            .and_then(|id| new(Dialect::Crew, base, &id, path));
    }
    if let Some((base, file)) = task::layout::recognise(path) {
        let is_own = file == task::layout::File::Checkpoint;
        return is_own
            .then(|| known(Dialect::Task).unwrap_or_else(|| stem.replacen('-', "/", 1)))
            .and_then(|id| new(Dialect::Task, base, &id, path));
    }
    if let Some((directory, _)) = plan::layout::recognise(path) {
        let (base, id) = plan::layout::id(directory);
        return new(Dialect::Plan, base, id, &format!("{directory}/plan.md"));
    }
    if let Some((base, pipeline::layout::File::Checkpoint)) = pipeline::layout::recognise(path) {
        let story = pipeline::layout::story_of(path.rsplit('/').next()?)?;
        return new(Dialect::Pipeline, base, story, path);
    }
    if let Some((base, build::layout::File::Checkpoint)) = build::layout::recognise(path) {
        return new(Dialect::Build, base, stem, path);
    }
    None
}

/// Reads a document that stands for a unit by itself.
fn read_document(workspace: &Workspace, dialect: Dialect, path: &str, now: Time) -> Option<Unit> {
    let content = workspace.read(path).ok()?;
    unit_in(dialect, &source(path, &content), now)
}

/// The unit that a document describes.
fn unit_in(dialect: Dialect, source: &Source<'_>, now: Time) -> Option<Unit> {
    match dialect {
        Dialect::Crew => crew::read_checkpoint(source, Detail::Full, now).unit,
        Dialect::Task => task::read_checkpoint(source, now).unit,
        Dialect::Build => build::read_checkpoint(source, now, &mut |_| build::FoundSpec::Nothing).unit,
        Dialect::Pipeline => {
            let checkpoint = pipeline::read_checkpoint(source, pipeline::layout::File::Checkpoint, now).ok()?;
            let mut story = None;
            pipeline::read(None, vec![checkpoint], RetryLimits::UNKNOWN, now, &mut |seen| match seen {
                pipeline::Seen::Story(unit, _) => story = Some(*unit),
                pipeline::Seen::Loose(_) => {}
            });
            story
        }
        Dialect::Plan => None,
    }
}

/// Whether the journal of a plan has only now heard of an edit, and the text that it left has marked boxes.
fn is_marked_news(locked: &Locked<'_>) -> bool {
    let plan = locked.contact.documents.get(&locked.target.key.document).and_then(|seen| seen.content.as_ref());
    !locked.contact.observed.is_empty() && plan.is_some_and(|plan| may_be_marked(&plan.bytes))
}

impl Hook<'_> {
    /// A document of a unit was written: the unit's state and history follow, and what is wrong with it is said.
    pub(super) fn document_written(&mut self, target: &Target, path: &str, deed: Deed) {
        let result = match target.dialect {
            Dialect::Plan => self.align(target, deed),
            Dialect::Pipeline | Dialect::Build | Dialect::Task | Dialect::Crew => self.observe(target, path),
        };
        self.tell_failure(result);
    }

    /// Brings a plan's state into line with its text, when it is not.
    pub(super) fn align(&mut self, target: &Target, deed: Deed) -> Result<(), RecordError> {
        // What the session itself has just written into a plan that is recorded is news nearly always: it is looked at
        // once, under the lock.
        let is_likely = deed == Deed::Own && self.workspace.disk.stamp(&target.key.journal())?.is_some();
        if !is_likely {
            let files = DiskFiles::new(&*self.workspace.disk, None);
            let found = alignment(&target.place, &files).map_err(RecordError::Refused)?;
            if !self.is_to_align(target, &found, deed) {
                return Ok(());
            }
        }
        let mut recorder = self.recorder();
        if deed == Deed::Anybodys {
            "plan.md".clone_into(&mut recorder.by);
        }
        let mut locked = Locked::open(self.workspace, target.clone(), &recorder)?;
        if !is_marked_news(&locked) {
            // Another hook may have done it since.
            let found = alignment(&target.place, &locked.files()).map_err(RecordError::Refused)?;
            if !self.is_to_align(target, &found, deed) {
                return Ok(());
            }
        }
        match deed {
            Deed::Own => self.hold(&mut locked, &recorder),
            Deed::Anybodys => locked.is_no_sign_of_life(),
        }
        // That a document was changed is why this is done; it need not be said.
        locked.warnings.clear();
        let recorded = locked.record(&Event::Repaired, &recorder)?;
        self.has_recorded(deed);
        recorded.warnings.into_iter().for_each(|warning| self.alarm(format!("{}: {warning}", target.name)));
        Ok(())
    }

    /// Whether a plan's state is to be brought into line. Boxes without ids are told to whoever wrote them.
    fn is_to_align(&mut self, target: &Target, found: &Alignment, deed: Deed) -> bool {
        match found {
            Alignment::NoPlan | Alignment::InLine => false,
            // Nobody asked for a checkpoint of a plan that somebody else wrote.
            Alignment::New => deed == Deed::Own,
            Alignment::Unmarked { boxes } => {
                if *boxes > 0 && deed == Deed::Own {
                    self.alarm(verbs::PLAN_MARK.on(&target.name).to(format!(
                        "none of the {boxes} checkboxes of {} has an id, so nothing of it is counted; give them ids",
                        target.name
                    )));
                }
                false
            }
            Alignment::Behind => true,
        }
    }

    /// Writes down what was done to a document in JSON, restores one that cannot be read, and says what is wrong.
    fn observe(&mut self, target: &Target, path: &str) -> Result<(), RecordError> {
        let now = self.now;
        let before = self.last_known(target, path);
        let recorder = self.recorder();
        let locked = Locked::open(self.workspace, target.clone(), &recorder)?;
        let restored = locked.warnings.iter().filter(|warning| warning.text.contains("could not be read"));
        restored.for_each(|warning| self.session().alarm(format!("{}: {warning}", target.name)));
        drop(locked);
        self.has_recorded(Deed::Own);
        let Ok(content) = self.workspace.read(path) else { return Ok(()) };
        let source = source(path, &content);
        let after = unit_in(target.dialect, &source, now);
        if let (Some(before), Some(after)) = (before, after)
            && after.progress.done < before.progress.done
        {
            self.alarm(format!(
                "{}: progress went backwards: {} steps were done before, now {}",
                target.name, before.progress.done, after.progress.done
            ));
        }
        let wrong = piton_dialect::check_file(&source, now);
        let wrong = wrong.iter().filter(|finding| finding.code.severity == Severity::Error);
        for finding in wrong.take(MOST_FINDINGS) {
            let message = fit(&printable(&finding.message), 200).into_owned();
            self.alarm(format!("{path}: {}: {message}", finding.code.name));
        }
        Ok(())
    }

    /// The unit as its journal knows it.
    fn last_known(&self, target: &Target, path: &str) -> Option<Unit> {
        let history = History::open(&*self.workspace.disk, &target.key).ok()??;
        let last = history.last().ok()??;
        let bytes = history.version(path, last.seq).ok()??;
        unit_in(target.dialect, &Source { path: path.into(), bytes: &bytes, modified: None }, self.now)
    }

    /// Says in the journal that this session has the unit, unless another one that may live has it.
    pub(super) fn hold(&self, locked: &mut Locked<'_>, recorder: &Recorder) {
        if !self.is_held_by_another(locked) {
            locked.carried.insert(HOLDER.to_owned(), recorder.by.as_str().into());
            locked.carried.insert(HOLDER_SESSION.to_owned(), recorder.session.clone().into());
        }
    }

    /// Whether another session that may live has the unit.
    pub(super) fn is_held_by_another(&self, locked: &Locked<'_>) -> bool {
        let carried = locked.unit.last().and_then(|entry| entry.carried.get(HOLDER_SESSION));
        let Some(holder) = carried.and_then(|holder| Id::parse(holder.as_str()?).ok()) else { return false };
        holder != self.payload.session
            && super::sessions::peek(&*self.workspace.disk, &holder).is_some_and(|other| other.may_live())
    }
}
