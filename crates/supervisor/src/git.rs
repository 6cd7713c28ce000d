//! Runs git, so that neither the environment nor the repository changes what it does.

use std::ffi::OsString;
use std::fmt;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Nothing of somebody else's choice is started, nothing is tidied up in passing, and what is said to be kept is on disk.
const SETTINGS: [&str; 7] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.quotePath=false",
    "core.fsync=committed,reference",
    "core.fsyncMethod=batch",
    "gc.auto=0",
    "maintenance.auto=false",
];

/// Variables that would send git to another repository or index, or let it understand its arguments differently.
const FOREIGN: [&str; 16] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_COMMON_DIR",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_NAMESPACE",
    "GIT_PREFIX",
    "GIT_CEILING_DIRECTORIES",
    "GIT_CONFIG_PARAMETERS",
    "GIT_CONFIG_COUNT",
    "GIT_EXTERNAL_DIFF",
    "GIT_LITERAL_PATHSPECS",
    "GIT_GLOB_PATHSPECS",
    "GIT_NOGLOB_PATHSPECS",
    "GIT_ICASE_PATHSPECS",
];

/// How often and how long another git is waited for.
const TRIES: u32 = 20;
const PAUSE: Duration = Duration::from_millis(100);

/// Why git did not do something.
#[derive(Debug)]
pub enum GitError {
    /// git could not be started.
    NoGit {
        /// The system's word.
        error: io::Error,
    },
    /// git refused.
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
    },
}

impl fmt::Display for GitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GitError::NoGit { error } => write!(f, "cannot run git: {error}"),
            GitError::Failed { command, message } => write!(f, "git {command}: {message}"),
            GitError::Refused { message } => f.write_str(message),
        }
    }
}

impl std::error::Error for GitError {}

/// What git printed, and its exit code.
#[derive(Debug)]
pub(crate) struct Said {
    pub code: Option<i32>,
    pub out: Vec<u8>,
    pub err: String,
}

impl Said {
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.out).trim_end_matches('\n').to_owned()
    }
}

/// A git command in a directory.
#[derive(Debug)]
pub(crate) struct Git {
    directory: PathBuf,
    environment: Vec<(&'static str, OsString)>,
}

/// Who makes commits when the user has no name, and who makes those that the user never sees.
const OURSELVES: [(&str, &str); 4] = [
    ("GIT_AUTHOR_NAME", "piton"),
    ("GIT_AUTHOR_EMAIL", "piton@localhost"),
    ("GIT_COMMITTER_NAME", "piton"),
    ("GIT_COMMITTER_EMAIL", "piton@localhost"),
];

impl Git {
    pub fn at(directory: &Path) -> Git {
        Git { directory: directory.to_owned(), environment: Vec::new() }
    }

    /// The same with an index of its own, so that the user's is not touched.
    pub fn with_index(mut self, index: &Path) -> Git {
        self.environment.push(("GIT_INDEX_FILE", index.into()));
        self
    }

    /// The same in our own name.
    pub fn in_our_name(mut self) -> Git {
        self.environment.extend(OURSELVES.map(|(name, value)| (name, value.into())));
        self
    }

    /// The same at another time, in seconds since 1970.
    pub fn at_time(mut self, at: i64) -> Git {
        let date = format!("@{at} +0000");
        self.environment.extend(["GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"].map(|name| (name, date.clone().into())));
        self
    }

    /// Runs a command that has to succeed; returns what it printed, without the last line's end.
    pub fn run(&self, arguments: &[&str]) -> Result<String, GitError> {
        let said = self.ask(arguments)?;
        match said.code {
            Some(0) => Ok(said.text()),
            _ => Err(failed(arguments, &said)),
        }
    }

    /// The same, with bytes as they are: for lists that are separated by NUL.
    pub fn bytes(&self, arguments: &[&str]) -> Result<Vec<u8>, GitError> {
        let said = self.ask(arguments)?;
        match said.code {
            Some(0) => Ok(said.out),
            _ => Err(failed(arguments, &said)),
        }
    }

    /// Runs a command whose exit code is an answer. Waits for another git that holds a lock.
    pub fn ask(&self, arguments: &[&str]) -> Result<Said, GitError> {
        let mut tries = 0;
        loop {
            let said = self.once(arguments, b"")?;
            tries += 1;
            let is_locked = said.code != Some(0) && is_lock_held(&said.err);
            if !is_locked || tries >= TRIES {
                return Ok(said);
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// Runs a command that reads: so little that it fits into a pipe, or neither would go on.
    fn once(&self, arguments: &[&str], input: &[u8]) -> Result<Said, GitError> {
        let mut command = Command::new("git");
        command.arg("-C").arg(&self.directory);
        for setting in SETTINGS {
            command.args(["-c", setting]);
        }
        for name in FOREIGN {
            command.env_remove(name);
        }
        command.args(arguments).env("LC_ALL", "C").env("GIT_OPTIONAL_LOCKS", "0").env("GIT_TERMINAL_PROMPT", "0");
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        let no_git = |error| GitError::NoGit { error };
        let stdin = if input.is_empty() { Stdio::null() } else { Stdio::piped() };
        let mut child = command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().map_err(no_git)?;
        if let Some(mut pipe) = child.stdin.take() {
            // Whoever does not read it says why in another way.
            let _ = pipe.write_all(input);
        }
        let output = child.wait_with_output().map_err(no_git)?;
        Ok(Said {
            code: output.status.code(),
            out: output.stdout,
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        })
    }
}

/// No more is asked of git in one go; it fits into a pipe.
const MOST_ASKED: usize = 32 << 10;

/// Whether each of these names is a commit in the repository that holds a directory. Nothing is fetched for it, and no
/// name may hold a line's end. Fails when there is no repository, or no git.
pub fn are_commits(directory: &Path, names: &[&str]) -> Result<Vec<bool>, GitError> {
    let mut answers = Vec::with_capacity(names.len());
    let mut left = names;
    while !left.is_empty() {
        let mut size = 0;
        let fits = left.iter().take_while(|name| {
            size += name.len() + 1;
            size <= MOST_ASKED
        });
        let (now, later) = left.split_at(fits.count().max(1));
        let mut git = Git::at(directory);
        git.environment.push(("GIT_NO_LAZY_FETCH", "1".into()));
        let arguments = ["cat-file", "--batch-check=%(objecttype)"];
        let said = git.once(&arguments, (now.join("\n") + "\n").as_bytes())?;
        let kinds: Vec<bool> = said.text().lines().map(|line| line == "commit").collect();
        if said.code != Some(0) || kinds.len() != now.len() {
            return Err(failed(&arguments, &said));
        }
        answers.extend(kinds);
        left = later;
    }
    Ok(answers)
}

/// The tree of the commit that a directory is at; nothing when there is no repository, or no commit.
pub fn tree_of(directory: &Path) -> Option<String> {
    answer(directory, &["rev-parse", "--verify", "--quiet", "HEAD^{tree}"])
}

/// Whether a commit took a file away on purpose, so that nobody misses it: one that a directory's branch has and its base
/// does not, or any where it is the base itself.
pub fn was_removed(directory: &Path, base: Option<&str>, path: &str) -> bool {
    let head = answer(directory, &["symbolic-ref", "--quiet", "--short", "HEAD"]);
    let range = match base.filter(|base| head.as_deref() != Some(base)) {
        Some(base) => format!("refs/heads/{base}..HEAD"),
        None => "HEAD".to_owned(),
    };
    let log = ["--literal-pathspecs", "log", "-1", "--format=%H", "--diff-filter=D", &range, "--", path];
    answer(directory, &log).is_some()
}

/// What git answers, unless that is nothing. Nothing is fetched for it.
fn answer(directory: &Path, arguments: &[&str]) -> Option<String> {
    let mut git = Git::at(directory);
    git.environment.push(("GIT_NO_LAZY_FETCH", "1".into()));
    git.run(arguments).ok().map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
}

/// Parts that are separated by NUL.
pub(crate) fn split(bytes: &[u8]) -> Vec<String> {
    split_keeping_empty(bytes).into_iter().filter(|part| !part.is_empty()).collect()
}

/// The same, with the empty ones that end a record.
pub(crate) fn split_keeping_empty(bytes: &[u8]) -> Vec<String> {
    bytes.split(|byte| *byte == 0).map(|part| String::from_utf8_lossy(part).into_owned()).collect()
}

pub(crate) fn failed(arguments: &[&str], said: &Said) -> GitError {
    let words = said.err.trim();
    let message = match (words.is_empty(), said.code) {
        (false, _) => words.to_owned(),
        (true, Some(code)) => format!("exit code {code}"),
        (true, None) => "ended by a signal".to_owned(),
    };
    GitError::Failed { command: arguments.join(" "), message }
}

fn is_lock_held(message: &str) -> bool {
    message.contains(".lock': File exists") || message.contains("cannot lock ref")
}
