//! Why git did not do something, and what the user can do about it.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::lock;

/// Why git did not do something. That there is no repository is none of these: [`crate::Repository::find`] answers that.
#[derive(Debug)]
pub enum GitError {
    /// git could not be started.
    NoGit {
        /// What the system says.
        error: io::Error,
    },
    /// git does not use the repository: its owner, its configuration, permissions, damage.
    Denied {
        /// The directory that was asked about.
        directory: PathBuf,
        /// git's own words.
        message: String,
    },
    /// A lock file is in the way.
    Locked {
        /// The lock file.
        lock: PathBuf,
        /// A process that may hold it; nothing when no git process uses it any more.
        holder: Option<u32>,
    },
    /// git did not end within its time, and was ended.
    TimedOut {
        /// What it was asked.
        command: String,
        /// Its time.
        limit: Duration,
    },
    /// git was ended by a signal.
    Killed {
        /// What it was asked.
        command: String,
        /// The signal.
        signal: i32,
    },
    /// git failed otherwise.
    Failed {
        /// What it was asked.
        command: String,
        /// Its words.
        message: String,
    },
    /// It cannot be done like that.
    Refused {
        /// Why, as a fragment.
        message: String,
        /// What the user can do: a command, or an instruction that ends with one.
        hint: Option<String>,
    },
}

impl GitError {
    /// What the user can do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            GitError::NoGit { .. } => Some("install git 2.38 or newer, so that `git --version` works".to_owned()),
            GitError::Denied { directory, message } => Some(denied_hint(directory, message)),
            GitError::Locked { lock, holder: None } => {
                Some(format!("no git process uses it any more; remove it: rm -- {}", quote(lock)))
            }
            GitError::Locked { holder: Some(pid), .. } => Some(format!("wait until process {pid} has ended")),
            GitError::TimedOut { .. } | GitError::Killed { .. } | GitError::Failed { .. } => None,
            GitError::Refused { hint, .. } => hint.clone(),
        }
    }
}

impl fmt::Display for GitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GitError::NoGit { error } => write!(f, "cannot run git: {error}"),
            GitError::Denied { directory, message } => {
                write!(f, "git does not use the repository of {}: {message}", directory.display())
            }
            GitError::Locked { lock, holder: None } => write!(f, "a stale lock is in the way: {}", lock.display()),
            GitError::Locked { lock, holder: Some(pid) } => {
                write!(f, "process {pid} holds a lock: {}", lock.display())
            }
            GitError::TimedOut { command, limit } => {
                write!(f, "git {command}: did not end within {} s", limit.as_secs())
            }
            GitError::Killed { command, signal } => write!(f, "git {command}: ended by signal {signal}"),
            GitError::Failed { command, message } => write!(f, "git {command}: {message}"),
            GitError::Refused { message, .. } => f.write_str(message),
        }
    }
}

impl std::error::Error for GitError {}

/// git prints the command that trusts a directory; anything else is repaired where git's words say.
fn denied_hint(directory: &Path, message: &str) -> String {
    let trust =
        message.lines().map(str::trim).find(|line| line.starts_with("git config --global --add safe.directory"));
    match trust {
        Some(command) => format!("if you trust that directory, run: {command}"),
        None => format!("repair what git names, until this succeeds: git -C {} status", quote(directory)),
    }
}

/// What a command that failed means.
pub(crate) fn failed(arguments: &[&str], said: &super::Said) -> GitError {
    let words = said.err.trim();
    if let Some(lock) = lock::named_in(words) {
        let holder = lock::holder_of(&lock);
        return GitError::Locked { lock, holder };
    }
    let message = match (words.is_empty(), said.code) {
        (false, _) => words.to_owned(),
        (true, Some(code)) => format!("exit status {code}"),
        (true, None) => "no exit status".to_owned(),
    };
    GitError::Failed { command: arguments.join(" "), message }
}

/// A path as a shell takes it.
pub(crate) fn quote(path: &Path) -> String {
    let text = path.to_string_lossy();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+,:@%=".contains(c);
    match !text.is_empty() && text.chars().all(is_plain) {
        true => text.into_owned(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}
