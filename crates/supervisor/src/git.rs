//! Runs git, so that neither the environment nor the repository changes what it does.

mod error;
mod lock;
pub(crate) mod process;

use std::ffi::OsString;
use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

pub use error::GitError;
pub(crate) use error::{failed, quote};
pub(crate) use lock::{free as free_locks, holder_of, is_stale, named_in, user_of};
use process::ProcessError;

use crate::environment::is_foreign_to_git;

/// Whether a directory is the top of a work tree. An empty `.git` is no repository: sandboxes make one in every directory that
/// a command may write.
pub(crate) fn is_top(directory: &Path) -> bool {
    let inner = directory.join(".git");
    let is_empty = || std::fs::read_dir(&inner).is_ok_and(|mut entries| entries.next().is_none());
    inner.exists() && !is_empty()
}

/// Nothing of the repository's choice is started, nothing is tidied up in passing, and refs and objects are synced.
const SETTINGS: [&str; 8] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.quotePath=false",
    "core.fsync=committed,reference",
    "core.fsyncMethod=batch",
    "gc.auto=0",
    "maintenance.auto=false",
    "submodule.recurse=false",
];

/// How long one git process may take.
const TIME_LIMIT: Duration = Duration::from_secs(600);

/// How long a lock of another git process is waited for, and how often it is tried meanwhile.
const PATIENCE: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(100);

/// How often a git is started again that a signal of the terminal ended before it was away from there.
const MOST_INTERRUPTIONS: u32 = 3;

/// The exit status of git for arguments that it does not know.
const USAGE: i32 = 129;

/// The file in a worktree's git directory that says that Piton made it.
pub(crate) const MARK: &str = "piton";

/// Whether a worktree's git directory says that Piton made it.
pub(crate) fn is_marked(git_directory: &Path) -> bool {
    git_directory.join(MARK).is_file()
}

/// The variable that every git process of Piton has.
const OURS: &str = "PITON_GIT";

/// What git printed, and its exit status.
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

    pub fn is_success(&self) -> bool {
        self.code == Some(0)
    }

    /// Whether git was not able to answer a question that has a yes and a no.
    pub fn is_failure(&self) -> bool {
        !matches!(self.code, Some(0 | 1))
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

    /// The same with us as committer.
    pub fn with_committer(mut self) -> Git {
        self.environment.extend(OURSELVES[2..].iter().map(|(name, value)| (*name, value.into())));
        self
    }

    /// The same at another time, in seconds since 1970.
    pub fn at_time(mut self, at: i64) -> Git {
        let date = format!("@{at} +0000");
        self.environment.extend(["GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"].map(|name| (name, date.clone().into())));
        self
    }

    /// The same with another variable.
    pub fn with(mut self, name: &'static str, value: &str) -> Git {
        self.environment.push((name, value.into()));
        self
    }

    /// Runs a command that has to succeed; returns what it printed, without the last line's end.
    pub fn run(&self, arguments: &[&str]) -> Result<String, GitError> {
        self.bytes(arguments).map(|out| String::from_utf8_lossy(&out).trim_end_matches('\n').to_owned())
    }

    /// The same, with bytes as they are: for lists that are separated by NUL.
    pub fn bytes(&self, arguments: &[&str]) -> Result<Vec<u8>, GitError> {
        let said = self.ask(arguments)?;
        match said.code {
            Some(0) => Ok(said.out),
            _ => Err(failed(arguments, &said)),
        }
    }

    /// Runs a command whose exit status is an answer. Waits for another git that holds a lock.
    pub fn ask(&self, arguments: &[&str]) -> Result<Said, GitError> {
        self.tell(arguments, b"")
    }

    /// The same with an input.
    pub fn tell(&self, arguments: &[&str], input: &[u8]) -> Result<Said, GitError> {
        let until = Instant::now() + PATIENCE;
        loop {
            let said = self.once(arguments, input)?;
            let Some(lock) = lock::named_in(&said.err).filter(|_| !said.is_success()) else { return Ok(said) };
            if Instant::now() >= until && !lock::remove_if_ours(&lock) {
                return Ok(said);
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// Runs a command whose exit status is an answer, once.
    pub fn once(&self, arguments: &[&str], input: &[u8]) -> Result<Said, GitError> {
        let Some(program) = process::in_path("git") else {
            return Err(GitError::NoGit { error: io::Error::new(io::ErrorKind::NotFound, "it is not in PATH") });
        };
        let mut interruptions = 0;
        let ended = loop {
            let ended = process::run(&mut self.command(&program, arguments), input, TIME_LIMIT);
            let ended = ended.map_err(|error| self.not_ended(arguments, error))?;
            interruptions += 1;
            if !ended.was_interrupted() || interruptions > MOST_INTERRUPTIONS {
                break ended;
            }
        };
        let command = || arguments.join(" ");
        if let Some(signal) = ended.status.signal() {
            return Err(GitError::Killed { command: command(), signal });
        }
        let said =
            Said { code: ended.status.code(), out: ended.out, err: String::from_utf8_lossy(&ended.err).into_owned() };
        match said.code {
            Some(USAGE) => Err(self.does_not_know(arguments, &said)),
            _ => Ok(said),
        }
    }

    fn command(&self, program: &Path, arguments: &[&str]) -> Command {
        let mut command = process::in_own_session(program);
        command.arg("-C").arg(&self.directory);
        for setting in SETTINGS {
            command.args(["-c", setting]);
        }
        for (name, _) in std::env::vars_os().filter(|(name, _)| is_foreign_to_git(name)) {
            command.env_remove(name);
        }
        command
            .args(arguments)
            .env("LC_ALL", "C")
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env(OURS, "1");
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command
    }

    fn not_ended(&self, arguments: &[&str], error: ProcessError) -> GitError {
        let command = arguments.join(" ");
        match error {
            ProcessError::Io(error) => GitError::NoGit { error },
            ProcessError::TimedOut => GitError::TimedOut { command, limit: TIME_LIMIT },
            ProcessError::TooMuchOutput => GitError::Failed { command, message: "it printed too much".to_owned() },
        }
    }

    /// Arguments that git does not know are those of a newer git.
    fn does_not_know(&self, arguments: &[&str], said: &Said) -> GitError {
        let version = match arguments {
            ["version"] => None,
            _ => self.run(&["version"]).ok(),
        };
        match version {
            Some(version) => GitError::Refused {
                message: format!("{version} does not know git {}", arguments.join(" ")),
                hint: Some("install git 2.38 or newer".to_owned()),
            },
            None => failed(arguments, said),
        }
    }
}

/// No more is asked of git in one go.
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
        let git = Git::at(directory).with("GIT_NO_LAZY_FETCH", "1");
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

/// Whether one of some commits removed a file of a directory on purpose. The commits are given as git reads a range.
pub fn has_removed(directory: &Path, commits: &str, path: &str) -> bool {
    // Without this git leaves out side branches that end as they began: a file that was made and removed there.
    let history = "--full-history";
    let log = ["--literal-pathspecs", "log", "-1", history, "--format=%H", "--diff-filter=D", commits, "--", path];
    answer(directory, &log).is_some()
}

/// Whether git ignores a path of a directory.
pub fn is_ignored(directory: &Path, path: &str) -> bool {
    let git = Git::at(directory);
    git.ask(&["check-ignore", "--quiet", "--no-index", "--", path]).is_ok_and(|said| said.is_success())
}

/// What git answers, unless that is nothing. Nothing is fetched for it.
fn answer(directory: &Path, arguments: &[&str]) -> Option<String> {
    let git = Git::at(directory).with("GIT_NO_LAZY_FETCH", "1");
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
