//! How a worktree stands: what is uncommitted, what is not merged, what was done.

use std::path::{Path, PathBuf};

use super::fork::fork_in;
use super::{Repository, Statistics, WorktreeState};
use crate::git::{Git, GitError, split};

/// What git leaves in its directory while something is under way.
const UNDER_WAY: [(&str, &str); 6] = [
    ("MERGE_HEAD", "a merge"),
    ("rebase-merge", "a rebase"),
    ("rebase-apply", "a rebase"),
    ("CHERRY_PICK_HEAD", "a cherry-pick"),
    ("REVERT_HEAD", "a revert"),
    ("BISECT_LOG", "a bisection"),
];

impl Repository {
    /// How a worktree stands against a base.
    pub fn state(&self, worktree: &Path, base: &str) -> Result<WorktreeState, GitError> {
        let base = self.commit(base)?;
        let git = Git::at(worktree);
        let changed = changed(&git)?;
        let range = format!("{base}...HEAD");
        let counts = git.run(&["rev-list", "--left-right", "--count", &range])?;
        let mut counts = counts.split_ascii_whitespace().filter_map(|count| count.parse().ok());
        let (behind, ahead) = (counts.next().unwrap_or(0), counts.next().unwrap_or(0));
        // git shows a repository within a work tree as a directory, and keeps nothing of it.
        let inner = changed.iter().filter(|path| path.ends_with('/')).map(|path| format!("a repository in {path}"));
        let has_journal = worktree.join(".piton").exists() || worktree.join(&self.inside).join(".piton").exists();
        let journal = has_journal.then(|| "a journal in .piton".to_owned());
        let holds = inner.chain(journal).collect();
        Ok(WorktreeState { changed, ahead, behind, under_way: under_way(&git)?, holds })
    }

    /// Files of a worktree that git neither tracks nor ignores.
    pub fn untracked(&self, worktree: &Path) -> Result<Vec<String>, GitError> {
        let list = ["ls-files", "-z", "--others", "--exclude-standard", "--full-name", ":/"];
        Git::at(worktree).bytes(&list).map(|files| split(&files))
    }

    /// What was done in a worktree since it left its base, committed or not. Files that git does not track do not
    /// count.
    pub fn statistics(&self, worktree: &Path, base: &str) -> Result<Statistics, GitError> {
        let base = self.commit(base)?;
        let git = Git::at(worktree);
        let commits = git.run(&["rev-list", "--count", &format!("{base}..HEAD")])?.parse().unwrap_or(0);
        let fork = fork_in(&git, &base, "HEAD")?;
        let diff = ["diff", "--numstat", "-z", "--no-renames", "--no-ext-diff", "--no-textconv", fork.tree()];
        let lines = split(&git.bytes(&diff)?);
        Ok(lines.iter().fold(Statistics { commits, ..Statistics::default() }, |sum, line| {
            let mut words = line.split('\t');
            // A binary file has no lines; git writes a dash.
            let mut count = || words.next().and_then(|word| word.parse::<u64>().ok()).unwrap_or(0);
            let (insertions, deletions) = (count(), count());
            Statistics {
                files: sum.files + 1,
                insertions: sum.insertions + insertions,
                deletions: sum.deletions + deletions,
                ..sum
            }
        }))
    }
}

pub(super) fn under_way(git: &Git) -> Result<Option<&'static str>, GitError> {
    let directory = PathBuf::from(git.run(&["rev-parse", "--absolute-git-dir"])?);
    Ok(UNDER_WAY.into_iter().find(|(name, _)| directory.join(name).exists()).map(|(_, what)| what))
}

/// Files that are changed, staged or not tracked.
fn changed(git: &Git) -> Result<Vec<String>, GitError> {
    let status = git.bytes(&["status", "--porcelain=v2", "-z", "--untracked-files=all", "--ignore-submodules=none"])?;
    Ok(parse_status(&split(&status)))
}

fn parse_status(entries: &[String]) -> Vec<String> {
    let mut found = Vec::new();
    let mut entries = entries.iter();
    while let Some(entry) = entries.next() {
        let fields = match entry.as_bytes().first() {
            Some(b'1') => 9,
            Some(b'2') => 10,
            Some(b'u') => 11,
            Some(b'?') => 2,
            // Headers, and ignored files.
            _ => continue,
        };
        found.extend(entry.splitn(fields, ' ').nth(fields - 1).map(str::to_owned));
        if fields == 10 {
            // The name that it had before.
            entries.next();
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_change_gives_its_path() {
        let h = "0000000000000000000000000000000000000000";
        let text = format!(
            "# branch.oid x\0\
             1 .M N... 100644 100644 100644 {h} {h} a b.txt\0\
             2 R. N... 100644 100644 100644 {h} {h} R100 new name\0old name\0\
             u UU N... 100644 100644 100644 100644 {h} {h} {h} both ways\0\
             ? not tracked\0? inner/\0! ignored\0"
        );
        let want = ["a b.txt", "new name", "both ways", "not tracked", "inner/"];
        assert_eq!(parse_status(&split(text.as_bytes())), want);
    }
}
