//! What is written down before a branch is moved, so that the next lead can tell what a killed git left.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::{list, refused};
use crate::git::GitError;
use crate::home::{is_mark, new_mark};
use crate::process::{self, Marked};
use crate::tree::MARK;

/// The file in a git directory. It is there while a branch is moved, and afterwards only when git or the lead was killed.
const FILE: &str = "piton-advance";

/// How long a git of a killed lead is waited for. It goes on without its lead.
const PATIENCE: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(50);

/// A branch that is being moved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Intent {
    /// The branch, without `refs/heads/`.
    pub branch: String,
    /// Where it is.
    pub from: String,
    /// Where it will be.
    pub to: String,
    /// The mark of the git process that moves it.
    pub mark: String,
    /// Files that were not as in `from` already: they are the user's.
    pub dirty: Vec<String>,
}

/// An intent that is on disk.
#[derive(Debug)]
pub(super) struct Written {
    file: PathBuf,
    pub intent: Intent,
}

impl Intent {
    pub fn new(branch: &str, from: &str, to: &str, dirty: Vec<String>) -> Result<Intent, GitError> {
        let mark = new_mark().or_else(|error| refused(format!("cannot get random bytes: {error}")))?;
        Ok(Intent { branch: branch.to_owned(), from: from.to_owned(), to: to.to_owned(), mark, dirty })
    }

    /// The variable by which the processes of its git are found, with the marks that this process has itself.
    pub fn environment(&self) -> (&'static str, String) {
        match std::env::var(MARK) {
            Ok(outer) if !outer.is_empty() => (MARK, format!("{outer}:{}", self.mark)),
            _ => (MARK, self.mark.clone()),
        }
    }

    /// Makes it durable in the git directory of a work tree.
    pub fn write(self, tree: &Path) -> Result<Written, GitError> {
        let directory = list::git_directory(tree);
        let file = directory.join(FILE);
        let write = || -> io::Result<()> {
            let mut new = File::create(&file)?;
            new.write_all(self.to_text().as_bytes())?;
            new.sync_all()?;
            File::open(&directory)?.sync_all()
        };
        write().or_else(|error| refused(format!("cannot write {}: {error}", file.display())))?;
        Ok(Written { file, intent: self })
    }

    fn to_text(&self) -> String {
        let Intent { branch, from, to, mark, dirty } = self;
        let mut parts = vec![branch.as_str(), from, to, mark];
        parts.extend(dirty.iter().map(String::as_str));
        parts.join("\0") + "\0."
    }

    /// Nothing when the file is not whole: the branch was not touched yet then.
    fn parse(text: &str) -> Option<Intent> {
        let mut parts = text.strip_suffix("\0.")?.split('\0').map(str::to_owned);
        let (branch, from, to, mark) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        is_mark(&mark).then(|| Intent { branch, from, to, mark, dirty: parts.collect() })
    }

    /// A process of the git that moves the branch, if one lives.
    fn process(&self) -> Option<u32> {
        let is_ours = |pid: &u32| {
            process::marked(*pid, &self.mark) == Marked::Yes
                && process::stat(*pid).is_some_and(|stat| !stat.has_ended())
        };
        process::all().into_iter().find(is_ours)
    }
}

impl Written {
    /// What was left in the git directory of a work tree.
    pub fn find(tree: &Path) -> Result<Option<Written>, GitError> {
        let file = list::git_directory(tree).join(FILE);
        let text = match fs::read_to_string(&file) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return refused(format!("cannot read {}: {error}", file.display())),
        };
        match Intent::parse(&text) {
            Some(intent) => Ok(Some(Written { file, intent })),
            None => fs::remove_file(&file)
                .map(|()| None)
                .or_else(|error| refused(format!("cannot remove {}: {error}", file.display()))),
        }
    }

    /// Waits until no process of its git lives.
    pub fn wait(&self) -> Result<(), GitError> {
        let until = Instant::now() + PATIENCE;
        while let Some(pid) = self.intent.process() {
            if Instant::now() >= until {
                return Err(GitError::Locked { lock: self.file.clone(), holder: Some(pid) });
            }
            std::thread::sleep(PAUSE);
        }
        Ok(())
    }

    /// Forgets it: everything is as it should be.
    pub fn remove(self) -> Result<(), GitError> {
        match fs::remove_file(&self.file) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                refused(format!("cannot remove {}: {error}", self.file.display()))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_whole_file_is_read() {
        let intent = Intent {
            branch: "main".to_owned(),
            from: "11".to_owned(),
            to: "22".to_owned(),
            mark: "0123456789abcdef0123456789abcdef".to_owned(),
            dirty: vec!["a b.txt".to_owned(), "c\nd".to_owned()],
        };
        let text = intent.to_text();
        assert_eq!(Intent::parse(&text), Some(intent));
        for end in 0..text.len() {
            assert_eq!(Intent::parse(&text[..end]), None, "{end}");
        }
    }
}
