//! Worktrees as git lists them.

use std::path::{Path, PathBuf};

use super::Listed;
use crate::git::{Git, GitError, split_keeping_empty};

pub(super) struct Entry {
    pub listed: Listed,
    pub is_bare: bool,
}

/// All of them, the main one first.
pub(super) fn all(git: &Git) -> Result<Vec<Entry>, GitError> {
    let said = git.bytes(&["worktree", "list", "--porcelain", "-z"])?;
    let mut entries = parse(&split_keeping_empty(&said));
    for entry in &mut entries {
        entry.listed.is_there = entry.listed.path.join(".git").exists() || entry.is_bare;
    }
    Ok(entries)
}

fn parse(lines: &[String]) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    for line in lines {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        if word == "worktree" {
            let path = PathBuf::from(rest);
            let name = name_of(&path);
            let listed = Listed { name, path, head: String::new(), branch: None, is_there: false, locked: None };
            entries.push(Entry { listed, is_bare: false });
            continue;
        }
        let Some(entry) = entries.last_mut() else { continue };
        match word {
            "HEAD" => entry.listed.head = rest.to_owned(),
            "branch" => entry.listed.branch = Some(rest.trim_start_matches("refs/heads/").to_owned()),
            "locked" => entry.listed.locked = Some(rest.to_owned()),
            "bare" => entry.is_bare = true,
            // A branch that is not checked out, a reason to prune, and what later versions add.
            _ => {}
        }
    }
    entries
}

/// What a worktree is called: where it is below `.worktrees`, else the last part of its path.
fn name_of(path: &Path) -> String {
    let parts: Vec<_> = path.iter().map(|part| part.to_string_lossy()).collect();
    let below = parts.iter().rposition(|part| part == ".worktrees").map_or(parts.len(), |at| at + 1);
    let first = if below < parts.len() { below } else { parts.len().saturating_sub(1) };
    parts[first..].join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worktree_is_called_by_its_place() {
        for (path, want) in [
            ("/r/.worktrees/story-7", "story-7"),
            ("/r/.worktrees/task-photo/T07", "task-photo/T07"),
            ("/home/u/hotfix", "hotfix"),
            ("/r/.worktrees", ".worktrees"),
        ] {
            assert_eq!(name_of(Path::new(path)), want);
        }
    }

    #[test]
    fn what_git_prints_is_understood() {
        let text = "worktree /r\0HEAD 11\0branch refs/heads/main\0\0worktree /r/.worktrees/story-7\0HEAD 22\0branch refs/heads/feature/7-x\0locked why not\0\0worktree /w\0HEAD 33\0detached\0prunable gone\0\0";
        let entries = parse(&split_keeping_empty(text.as_bytes()));
        let found: Vec<_> = entries
            .iter()
            .map(|Entry { listed, .. }| {
                (&*listed.name, &*listed.head, listed.branch.as_deref(), listed.locked.as_deref())
            })
            .collect();
        assert_eq!(
            found,
            [
                ("r", "11", Some("main"), None),
                ("story-7", "22", Some("feature/7-x"), Some("why not")),
                ("w", "33", None, None)
            ]
        );
        assert!(parse(&split_keeping_empty(b"worktree /b\0bare\0\0"))[0].is_bare);
    }
}
