//! Moves a branch forward, and only from where it was.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::find::head_of;
use super::intent::{Intent, Written};
use super::merge::full;
use super::state::under_way;
use super::{Advanced, Candidate, Head, Repository, list, refused, refused_with};
use crate::adapter::quoted;
use crate::git::{Git, GitError, Said, failed, holder_of, is_stale, named_in, quote, user_of};

/// How long the user's git is waited for: a hook that runs before a commit holds the index as long as it takes.
const PATIENCE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(200);

/// How often it is looked for where a branch is checked out, while the user switches branches.
const MOST_LOOKS: u32 = 5;

/// What the reflog of a branch says that Piton made.
pub(super) const MADE: &str = "piton: branch made";

impl Repository {
    /// Moves the base of a candidate to the candidate's commit: only when the base is still where it was, and only when
    /// that touches nothing uncommitted in a work tree that has it checked out.
    pub fn advance(&self, candidate: &Candidate) -> Result<Advanced, GitError> {
        for _ in 0..MOST_LOOKS {
            if let Some(answer) = self.stands(candidate)? {
                return Ok(answer);
            }
            let answer = match self.checked_out(&candidate.base_branch)? {
                Place::Nowhere => Some(self.advance_ref(candidate)?),
                Place::Blocked(reason) => Some(Advanced::Blocked { reason, files: Vec::new() }),
                Place::At(tree) => self.advance_tree(candidate, &tree)?,
            };
            if let Some(answer) = answer {
                return Ok(answer);
            }
        }
        let reason = format!("{} is checked out now here, now there", candidate.base_branch);
        Ok(Advanced::Blocked { reason, files: Vec::new() })
    }

    /// Brings a branch forward to a commit that has all of it; else it stays.
    pub fn forward_branch(&self, branch: &str, commit: &str) -> Result<(), GitError> {
        let Some(tip) = self.tip(branch)?.filter(|tip| tip != commit) else { return Ok(()) };
        if self.is_ancestor(&tip, commit)? {
            let movement = "piton: brought forward";
            self.git().run(&["update-ref", "-m", movement, &full(branch), commit, &tip])?;
        }
        Ok(())
    }

    /// Brings a worktree and its branch forward to where a target is now. It stays where the branch has commits of its own,
    /// where changes that are not committed are in the way, or where something else is checked out.
    pub fn forward_worktree(&self, tree: &Path, branch: &str, target: &str) -> Result<(), GitError> {
        let git = Git::at(tree);
        if git.ask(&["symbolic-ref", "--quiet", "HEAD"])?.text() != full(branch) {
            return Ok(());
        }
        git.ask(&["merge", "--ff-only", "--no-autostash", "--quiet", &full(target)]).map(drop)
    }

    /// Makes a branch at a commit. Says no when it is there already: of two that make it at once, one does.
    pub fn create_branch(&self, branch: &str, commit: &str) -> Result<bool, GitError> {
        self.check_branch_name(branch)?;
        let commit = self.commit(commit)?;
        let question = ["update-ref", "--create-reflog", "-m", MADE, &full(branch), &commit, ""];
        let said = self.git().ask(&question)?;
        if said.is_success() || self.tip(branch)?.is_some() {
            return Ok(said.is_success());
        }
        match self.in_the_way_of(branch)? {
            Some(other) => refused_with(
                format!("no branch {branch} can be made: there is a branch {other}"),
                format!("give it another name: git branch -m {0} {0}-renamed", quoted(&other)),
            ),
            None => Err(failed(&question, &said)),
        }
    }

    /// The branch that keeps another one from being made: git keeps branches as files, and `a/b` needs a directory `a`.
    pub fn in_the_way_of(&self, branch: &str) -> Result<Option<String>, GitError> {
        for (at, _) in branch.match_indices('/') {
            if self.tip(&branch[..at])?.is_some() {
                return Ok(Some(branch[..at].to_owned()));
            }
        }
        let list = ["for-each-ref", "--count=1", "--format=%(refname)", &full(branch)];
        let found = self.git().run(&list)?;
        Ok(found.strip_prefix("refs/heads/").map(str::to_owned))
    }

    pub(super) fn check_branch_name(&self, branch: &str) -> Result<(), GitError> {
        let name = full(branch);
        let question = ["check-ref-format", &name];
        let said = self.git().ask(&question)?;
        if said.is_failure() {
            return Err(failed(&question, &said));
        }
        let is_one = !branch.starts_with('-') && branch != "HEAD" && said.is_success();
        if is_one { Ok(()) } else { refused(format!("not the name of a branch: {branch}")) }
    }

    /// Whether there is nothing to do, or nothing that can be done.
    fn stands(&self, candidate: &Candidate) -> Result<Option<Advanced>, GitError> {
        match self.tip(&candidate.base_branch)? {
            Some(now) if now == candidate.base_commit => Ok(None),
            Some(now) if self.is_ancestor(&candidate.commit, &now)? => Ok(Some(Advanced::Moved)),
            now => Ok(Some(Advanced::BaseMoved { now })),
        }
    }

    /// Moves a branch that is checked out nowhere. What is left of an attempt before is put in order first.
    fn advance_ref(&self, candidate: &Candidate) -> Result<Advanced, GitError> {
        let Candidate { base_branch, base_commit, branch, commit, .. } = candidate;
        if let Some(written) = Written::find(&self.root)? {
            self.settle(&self.root, written)?;
        }
        let why = format!("piton: merge {branch}");
        let question = ["update-ref", "-m", &why, &full(base_branch), commit, base_commit];
        let written = Intent::new(base_branch, base_commit, commit, Vec::new())?.write(&self.root)?;
        let said = self.told_by(&self.root, &written).ask(&question)?;
        written.remove()?;
        match self.stands(candidate)? {
            Some(answer) => Ok(answer),
            None => Ok(blocked(&said)),
        }
    }

    /// Moves a branch together with the work tree that has it checked out; nothing when it is checked out there no longer.
    fn advance_tree(&self, candidate: &Candidate, tree: &Path) -> Result<Option<Advanced>, GitError> {
        let Candidate { base_branch, base_commit, commit, .. } = candidate;
        let git = Git::at(tree);
        let until = Instant::now() + PATIENCE;
        loop {
            if let Some(written) = Written::find(tree)? {
                self.settle(tree, written)?;
            }
            if let Some(what) = under_way(&git)? {
                let reason = format!("{what} is under way in {}", tree.display());
                return Ok(Some(Advanced::Blocked { reason, files: Vec::new() }));
            }
            if let Some(pid) = user_of(tree) {
                if Instant::now() >= until {
                    let reason = format!("process {pid} is a git at work in {}", tree.display());
                    return Ok(Some(Advanced::Blocked { reason, files: Vec::new() }));
                }
                std::thread::sleep(PAUSE);
                continue;
            }
            let dirty = self.dirty(tree, base_commit, commit)?;
            // git moves whatever is checked out there by now.
            match head_of(&git)? {
                Head::Branch { name, commit } if name == *base_branch && commit == *base_commit => {}
                Head::Branch { .. } | Head::Unborn { .. } | Head::Detached { .. } => return Ok(None),
            }
            let said = self.fast_forward(candidate, tree, dirty)?;
            if let Some(answer) = self.stands(candidate)? {
                return Ok(Some(answer));
            }
            if said.is_success() {
                return refused(format!("git moved something else than {base_branch}"));
            }
            let lock = named_in(&said.err);
            if lock.is_none_or(|lock| is_stale(&lock)) || Instant::now() >= until {
                return Ok(Some(blocked_in(tree, &said)));
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// Asks git for it. Where git does not do all of it, what it did is taken back.
    fn fast_forward(&self, candidate: &Candidate, tree: &Path, dirty: Vec<String>) -> Result<Said, GitError> {
        let Candidate { base_branch, base_commit, commit, .. } = candidate;
        let written = Intent::new(base_branch, base_commit, commit, dirty)?.write(tree)?;
        let merge = ["merge", "--ff-only", "--no-autostash", "--no-overwrite-ignore", "--quiet", commit];
        let said = self.told_by(tree, &written).ask(&merge);
        match &said {
            Ok(said) if said.is_success() || named_in(&said.err).is_some() => written.remove()?,
            _ => self.settle(tree, written)?,
        }
        said
    }

    /// A git whose processes the next lead finds by their mark.
    fn told_by(&self, tree: &Path, written: &Written) -> Git {
        let (name, mark) = written.intent.environment();
        Git::at(tree).with(name, &mark)
    }

    /// The work tree that has a branch checked out. Ours comes first.
    fn checked_out(&self, branch: &str) -> Result<Place, GitError> {
        let mut found = None;
        for listed in list::all(&self.root)?.into_iter().map(|entry| entry.listed) {
            let has_it = listed.branch.as_deref() == Some(branch);
            if has_it && listed.is_there && (found.is_none() || listed.path == self.root) {
                found = Some(listed.path);
            } else if has_it && listed.path.join("HEAD").is_file() {
                // A git directory away from its work tree, which only the work tree knows of.
                return Ok(Place::Blocked(format!(
                    "{branch} is checked out in the work tree of {}",
                    listed.path.display()
                )));
            } else if listed.branch.is_none() && is_rebased(&listed.path, branch) {
                let reason = format!("a rebase of {branch} is under way in {}", listed.path.display());
                return Ok(Place::Blocked(reason));
            }
        }
        Ok(found.map_or(Place::Nowhere, Place::At))
    }
}

enum Place {
    Nowhere,
    At(PathBuf),
    Blocked(String),
}

/// Whether a work tree without a branch is about to rebase this one, which git moves at the end.
fn is_rebased(tree: &Path, branch: &str) -> bool {
    let directory = list::git_directory(tree);
    let name = |place: &str| std::fs::read_to_string(directory.join(place).join("head-name")).ok();
    ["rebase-merge", "rebase-apply"].into_iter().filter_map(name).any(|name| name.trim_end() == full(branch))
}

fn blocked_in(tree: &Path, said: &Said) -> Advanced {
    match files_in_the_way(&said.err) {
        files if files.is_empty() => blocked(said),
        files => {
            Advanced::Blocked { reason: format!("uncommitted changes are in the way in {}", tree.display()), files }
        }
    }
}

fn blocked(said: &Said) -> Advanced {
    let reason = match named_in(&said.err) {
        Some(lock) => match holder_of(&lock) {
            Some(pid) => format!("process {pid} holds {}", lock.display()),
            None => format!("a stale lock is in the way; remove it: rm -- {}", quote(&lock)),
        },
        None => format!("git does not merge: {}", said.err.trim()),
    };
    Advanced::Blocked { reason, files: Vec::new() }
}

/// The files that git names when it does not overwrite something: one in each line that begins with a tab.
fn files_in_the_way(message: &str) -> Vec<String> {
    message.lines().filter_map(|line| line.strip_prefix('\t')).map(str::to_owned).collect()
}
