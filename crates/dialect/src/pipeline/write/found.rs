//! Which files a story is read from: the checkpoint that counts, and the lead's state.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use piton_model::hint::verbs;
use piton_model::{Finding, Hint, Moment, Refusal, RetryLimits, Severity, Unit};

use super::super::checkpoint::read_remembering;
use super::super::layout::{self, File};
use super::super::state::is_our_state;
use super::super::tasks::{Plan, remember};
use super::super::{Checkpoint, Seen, codes, read, read_checkpoint};
use crate::json::Editor;
use crate::{Files, Place, Source};

/// A checkpoint, and where it lies.
pub(super) struct Found {
    pub path: String,
    pub bytes: Vec<u8>,
}

/// The lead's state.
pub(super) struct StateFile {
    pub path: String,
    pub before: Vec<u8>,
    pub editor: Editor,
}

impl StateFile {
    /// Opens the state; nothing when there is none that can be written.
    pub fn open(place: &Place, files: &dyn Files, warnings: &mut Vec<Hint>) -> Result<Option<StateFile>, Refusal> {
        let path = place.path(&format!("{}/state.json", layout::DIRECTORY));
        let Some(before) = files.read(&path)? else { return Ok(None) };
        match Editor::open(&path, &before) {
            Ok(editor) if editor.look(is_our_state) => Ok(Some(StateFile { path, before, editor })),
            // The state of another tool is left alone, and nothing is missing.
            Ok(_) => Ok(None),
            Err(_) => {
                let what = format!("the lead's state cannot be read and is not written: {path}; rebuild it");
                warnings.push(verbs::RUN.call().to(what));
                Ok(None)
            }
        }
    }

    pub fn is_changed(&self) -> bool {
        self.editor.clone().into_bytes() != self.before
    }
}

/// The checkpoint that counts: at home or, when a worker wrote a later one into its worktree, there.
pub(super) fn find(
    place: &Place,
    files: &dyn Files,
    story: &str,
    path: &str,
    moment: &Moment,
) -> Result<Option<Found>, Refusal> {
    let home = files.read(path)?.map(|bytes| Found { path: path.to_owned(), bytes });
    let parsed = |found: &Found, file| {
        let source = Source { path: found.path.as_str().into(), bytes: &found.bytes, modified: None };
        let mut checkpoint = read_checkpoint(&source, file, moment.now).ok()?;
        checkpoint.file_time = files.modified(&found.path);
        Some(checkpoint).filter(|checkpoint| checkpoint.story == story)
    };
    let worktrees = place.path(layout::WORKTREES);
    let mut best: Option<(Found, Checkpoint)> = None;
    for worktree in files.list(&worktrees) {
        let stray = format!("{worktrees}/{worktree}/{}", layout::path_of(story));
        // A stray that cannot be read is no reason not to write at home.
        let Some(bytes) = files.read(&stray).ok().flatten() else { continue };
        if home.is_some() && is_recorded(files, path, &bytes) {
            // A version that the journal has: git put it there.
            continue;
        }
        let found = Found { path: stray, bytes };
        let Some(checkpoint) = parsed(&found, File::Stray) else { continue };
        if best.as_ref().is_none_or(|(_, known)| checkpoint.is_later_than(known, moment.now)) {
            best = Some((found, checkpoint));
        }
    }
    let (stray, checkpoint) = match (best, &home) {
        (None, _) => return Ok(home),
        (Some((stray, _)), None) => return Ok(Some(stray)),
        (Some(best), Some(_)) => best,
    };
    let is_later_than =
        |home: &Found| parsed(home, File::Checkpoint).is_some_and(|own| checkpoint.is_later_than(&own, moment.now));
    Ok(if home.as_ref().is_some_and(is_later_than) { Some(stray) } else { home })
}

/// Whether the journal has this text as a version of the story's checkpoint.
fn is_recorded(files: &dyn Files, path: &str, bytes: &[u8]) -> bool {
    let mut is_known = false;
    files.recorded(path, &mut |version| {
        is_known = version == bytes;
        if is_known { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    is_known
}

/// Reads a checkpoint with what the journal knows of its plan.
pub(super) fn read_own(found: &Found, home: &str, files: &dyn Files, moment: &Moment) -> Option<Checkpoint> {
    let source = Source { path: home.into(), bytes: &found.bytes, modified: None };
    read_remembering(&source, File::Checkpoint, moment.now, &|| remember(files, home)).ok()
}

/// What a story's files say, once they are read.
pub(super) struct Look<'l> {
    pub story: &'l str,
    pub path: &'l str,
    pub state: Option<(&'l str, &'l [u8])>,
    pub limits: RetryLimits,
    pub moment: &'l Moment,
}

impl Look<'_> {
    /// The story as a unit, and everything odd about it.
    pub fn at(&self, checkpoint: Option<Checkpoint>) -> (Option<Unit>, Vec<Finding>) {
        let mut all = Vec::new();
        let id = checkpoint.as_ref().map_or_else(|| self.story.to_owned(), |checkpoint| checkpoint.story.clone());
        let state = self.state.map(|(path, bytes)| Source { path: path.into(), bytes, modified: None });
        let mut own = None;
        let checkpoints = checkpoint.into_iter().collect();
        read(state.as_ref(), checkpoints, self.limits, self.moment.now, &mut |seen| match seen {
            Seen::Story(unit, findings) => {
                all.extend(findings);
                if unit.id == id {
                    own = Some(*unit);
                }
            }
            Seen::Loose(findings) => all.extend(findings),
        });
        (own, all)
    }

    /// The same for bytes that are about to be written; they hold their own plan.
    pub fn at_bytes(&self, bytes: &[u8]) -> Vec<Finding> {
        let source = Source { path: self.path.into(), bytes, modified: None };
        match read_remembering(&source, File::Checkpoint, self.moment.now, &|| None::<Plan>) {
            Ok(checkpoint) => self.at(Some(checkpoint)).1,
            Err(findings) => findings.into_iter().chain(self.at(None).1).collect(),
        }
    }
}

/// How many findings of each error there are.
pub(super) type Broken = BTreeMap<&'static str, usize>;

pub(super) fn broken(findings: &[Finding]) -> Broken {
    let mut broken = BTreeMap::new();
    for finding in findings.iter().filter(|finding| finding.code.severity == Severity::Error) {
        *broken.entry(finding.code.name).or_default() += 1;
    }
    broken
}

/// That no other story can go on any more, when that was not so before.
pub(super) fn newly_stuck(before: &Broken, findings: &[Finding]) -> Option<String> {
    let code = &codes::PIPELINE_DEADLOCK;
    let stuck = findings.iter().find(|finding| finding.code.name == code.name)?;
    (!before.contains_key(code.name)).then(|| format!("{}; {}", stuck.message, code.help))
}

/// Refuses what breaks a rule that was not broken before. A plan that is not good enough is a result, not a mistake,
/// and a story may be paused even when others wait for it.
pub(super) fn refuse_worse(before: &Broken, findings: &[Finding]) -> Result<(), Refusal> {
    let after = broken(findings);
    let is_new = |name: &str| after.get(name).unwrap_or(&0) > before.get(name).unwrap_or(&0);
    let errors = findings.iter().filter(|finding| finding.code.severity == Severity::Error);
    let results = [codes::PIPELINE_PLAN_SCORE.name, codes::PIPELINE_DEADLOCK.name];
    let mut worse = errors.filter(|finding| !results.contains(&finding.code.name));
    match worse.find(|finding| is_new(finding.code.name)) {
        Some(finding) => Err(Refusal::rule(format!("this would break a rule: {}", finding.message))
            .hint(finding.code.hint())
            .hint(format!("the rule is {}", finding.code.name))),
        None => Ok(()),
    }
}
