//! Files that steer a run: its settings, its lists and its specifications. What counts is their user's word: what they edit,
//! commit, pull or discard. What git puts in a file's place (another branch, a stash) says nothing, and the file counts as its
//! user last had it.

pub(super) mod kept;

use std::collections::BTreeMap;
use std::path::{Component, Path};
use std::time::Duration;

use piton_store::Behind;
use piton_store::disk::DiskError;
use piton_supervisor::{GitError, Head, Repository};

use super::RunError;
use super::lead::Lead;
use super::runs::Wanted;
use super::settings::SETTINGS;
use super::work::BOARDS;
use crate::Workspace;

/// How often, and how far apart, the branch is looked at that git is about to check out.
const LOOKS_AT_HEAD: u32 = 5;
const LOOK_AT_HEAD: Duration = Duration::from_millis(20);

/// A file that steers a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Source {
    /// As its user last had it; nothing where it was not there.
    pub text: Option<Vec<u8>>,
    /// As the base had it then.
    pub on_base: Option<Vec<u8>>,
    /// As it was when the lead began.
    pub began: Option<Vec<u8>>,
}

/// What is in the place of a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// What its user had there before.
    Same,
    /// What they changed it to.
    Changed(Option<Vec<u8>>),
    /// Something that git put there.
    PutByGit,
}

/// What git knows of a file and of the work tree that has it.
pub(super) trait History {
    /// Whether the base is checked out.
    fn is_base_here(&self) -> Result<bool, GitError>;
    /// The file as the commit that is checked out has it.
    fn on_head(&self) -> Result<Option<Vec<u8>>, GitError>;
    /// Whether nothing was written to the file since git wrote it or looked at it.
    fn is_written_by_git(&self) -> Result<bool, GitError>;
    /// Whether a stash has the file with this content.
    fn is_stashed(&self, content: &[u8]) -> Result<bool, GitError>;
}

/// Judges what is in the place of a file now, with the file as the base has it now.
pub(super) fn judge(
    known: &Source,
    now: Option<&[u8]>,
    on_base: Option<&[u8]>,
    history: &dyn History,
) -> Result<Found, GitError> {
    let (text, before) = (known.text.as_deref(), known.on_base.as_deref());
    if !history.is_base_here()? {
        let on_head = history.on_head()?;
        let on_head = on_head.as_deref();
        return Ok(match on_base.or(before) {
            // While another branch is checked out, the base says what its user wants.
            Some(_) if on_base != before => Found::Changed(on_base.map(<[u8]>::to_vec)),
            // It was taken for the user's while git was about to check the other branch out.
            Some(_) if text == on_head && text != on_base => Found::Changed(on_base.map(<[u8]>::to_vec)),
            _ if now == text => Found::Same,
            Some(_) => Found::PutByGit,
            None if now == on_head => Found::PutByGit,
            None => Found::Changed(now.map(<[u8]>::to_vec)),
        });
    }
    let is_as_before = now == on_base && now == before;
    let is_stashed = || text.map_or(Ok(false), |text| history.is_stashed(text));
    Ok(match now {
        _ if now == text => Found::Same,
        // An edit that was made and discarded while this lead is at work.
        _ if now == known.began.as_deref() => Found::Changed(now.map(<[u8]>::to_vec)),
        // Who discards an edit takes it back, in an editor or with git. What is in the stash is wanted again.
        Some(_) if is_as_before && history.is_written_by_git()? && is_stashed()? => Found::PutByGit,
        None if is_as_before && is_stashed()? => Found::PutByGit,
        _ => Found::Changed(now.map(<[u8]>::to_vec)),
    })
}

/// A file of a repository.
pub(super) struct InRepository<'r> {
    pub repository: &'r Repository,
    pub base: &'r str,
    /// Relative to the repository's root.
    pub path: String,
    /// When the run's last lead began, in seconds since 1970.
    pub since: i64,
}

impl InRepository<'_> {
    pub fn on_base(&self) -> Result<Option<Vec<u8>>, GitError> {
        self.repository.text_of(self.base, &self.path)
    }

    /// Waits while git may be checking out another branch: it writes the files first, and says last which branch it is.
    fn settle(&self, now: Option<&[u8]>) -> Result<(), GitError> {
        for _ in 0..LOOKS_AT_HEAD {
            let is_between = self.is_written_by_git()? && self.on_head()?.as_deref() != now && self.is_base_here()?;
            if !is_between {
                break;
            }
            std::thread::sleep(LOOK_AT_HEAD);
        }
        Ok(())
    }

    /// Judges what is in the place of the file, and takes the user's word for it from there on.
    fn follow(&self, known: &mut Source, now: Option<&[u8]>) -> Result<(), GitError> {
        if known.text.as_deref() != now {
            self.settle(now)?;
        }
        let on_base = self.on_base()?;
        match judge(known, now, on_base.as_deref(), self)? {
            Found::Same | Found::PutByGit => known.on_base = on_base,
            Found::Changed(text) => (known.text, known.on_base) = (text, on_base),
        }
        Ok(())
    }
}

impl History for InRepository<'_> {
    fn is_base_here(&self) -> Result<bool, GitError> {
        Ok(self.repository.head()?.branch() == Some(self.base))
    }

    fn on_head(&self) -> Result<Option<Vec<u8>>, GitError> {
        self.repository.text_at("HEAD", &self.path)
    }

    fn is_written_by_git(&self) -> Result<bool, GitError> {
        self.repository.is_written_by_git(&self.path)
    }

    fn is_stashed(&self, content: &[u8]) -> Result<bool, GitError> {
        Ok(self.repository.stash_with(&self.path, content, self.since)?.is_some())
    }
}

/// Whether a path that was typed or is named in a document is one of the workspace.
fn is_inside(path: &str) -> bool {
    Path::new(path).components().all(|part| matches!(part, Component::Normal(_)))
}

/// Whether a file is a list of units that a person names for a run.
pub(super) fn is_list(path: &str) -> bool {
    let is_own = path == SETTINGS || BOARDS.contains(&path);
    !is_own && [".toml", ".json"].iter().any(|end| path.ends_with(end))
}

/// The files that steer a run, relative to the workspace. `specifications` are those of its builds.
pub(super) fn paths_of(wanted: &[Wanted], specifications: impl Iterator<Item = String>) -> Vec<String> {
    let own = [SETTINGS].into_iter().chain(BOARDS).map(str::to_owned);
    let named = wanted.iter().filter_map(Wanted::list).map(str::to_owned);
    own.chain(named).chain(specifications).filter(|path| is_inside(path)).collect()
}

impl Lead<'_> {
    /// Takes every file that steers this run as it is now: this lead was started with it. Durably: the user may move or
    /// remove it before all is done, and git may put another one in its place.
    pub(super) fn note_sources(&mut self) -> Result<(), RunError> {
        let specifications = self.work.groups.iter().filter_map(|group| group.spec.clone());
        for path in paths_of(&self.run.wanted, specifications) {
            let on_base = self.history_of(&path).and_then(|history| history.on_base().ok().flatten());
            let text = read(self.workspace, &path);
            let source = Source { began: text.clone(), text, on_base };
            self.sources.borrow_mut().files.insert(path, source);
        }
        Ok(self.keep_sources(&self.sources.borrow().files)?)
    }

    /// Keeps the files that steer this run, and lists that are not there any more.
    fn keep_sources(&self, sources: &BTreeMap<String, Source>) -> Result<(), DiskError> {
        let (disk, directory) = (&*self.workspace.disk, self.run.directory());
        let is_there = |path: &String| sources.get(path).is_some_and(|source| source.text.is_some());
        let mut all = kept::load(disk, &directory);
        all.retain(|path, _| is_list(path) && !is_there(path));
        all.extend(sources.iter().filter(|(path, _)| is_there(path)).map(|(path, it)| (path.clone(), it.clone())));
        kept::save(disk, &directory, &all)
    }

    /// The workspace with each file that steers this run as its user has it, for readers.
    pub(super) fn as_user_has_it(&self) -> Workspace {
        let mut sources = self.sources.borrow_mut();
        let ground = self.ground();
        let is_same_ground = ground.is_some() && sources.ground == ground;
        let (mut behind, mut is_changed) = (Vec::new(), false);
        for (path, known) in &mut sources.files {
            let now = read(self.workspace, path);
            let before = known.clone();
            match self.history_of(path) {
                // Without a repository every change is the user's.
                None => known.text.clone_from(&now),
                // What git cannot tell changes nothing.
                Some(_) if ground.is_none() || is_same_ground && known.text == now => {}
                Some(history) => drop(history.follow(known, now.as_deref())),
            }
            is_changed |= *known != before;
            if known.text != now {
                behind.push(Behind { path: path.clone(), bytes: known.text.clone(), written: 0 });
            }
        }
        sources.ground = ground;
        if is_changed {
            // Not kept, it is judged once more by the next lead.
            let _ = self.keep_sources(&sources.files);
        }
        self.workspace.with(behind)
    }

    /// The branch that is checked out, and where the base is; nothing where git cannot tell, and where the base is gone.
    fn ground(&self) -> Option<Ground> {
        let (repository, base) = (self.repository.as_ref()?, self.memory.run.base.as_ref()?);
        match repository.head().ok()? {
            Head::Branch { name, commit } if name == *base => Some((Some(name), commit)),
            head => Some((head.branch().map(str::to_owned), repository.tip(base).ok()??)),
        }
    }

    fn history_of(&self, path: &str) -> Option<InRepository<'_>> {
        let (repository, base) = (self.repository.as_ref()?, self.memory.run.base.as_ref()?);
        let path = repository.inside().join(path).display().to_string();
        Some(InRepository { repository, base, path, since: self.run.lead_since.unix_seconds() })
    }
}

fn read(workspace: &Workspace, path: &str) -> Option<Vec<u8>> {
    workspace.disk.read(path).ok().map(|content| content.bytes)
}

/// The files that steer a run.
#[derive(Debug, Default)]
pub(super) struct Sources {
    /// Each by its path.
    files: BTreeMap<String, Source>,
    /// Where they were last looked at.
    ground: Option<Ground>,
}

/// The branch that is checked out, and the commit of the base.
type Ground = (Option<String>, String);

#[cfg(test)]
mod tests;
