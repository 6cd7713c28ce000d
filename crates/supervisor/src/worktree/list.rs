//! Worktrees as git lists them.

use std::fs;
use std::path::{Path, PathBuf};

use super::{Listed, Maker, gates};
use crate::git::{Git, GitError, is_marked, is_top, split_keeping_empty};

pub(super) struct Entry {
    pub listed: Listed,
    pub is_bare: bool,
}

/// All work trees of the repository of one of them, the main one first.
pub(super) fn all(root: &Path) -> Result<Vec<Entry>, GitError> {
    let said = Git::at(root).bytes(&["worktree", "list", "--porcelain", "-z"])?;
    let mut entries = parse(&split_keeping_empty(&said));
    let common = common_directory(root);
    if let Some(main) = entries.first_mut()
        && is_main(root)
    {
        // Where the git directory is elsewhere (a submodule's), git lists that instead of the work tree.
        main.listed.path = root.to_owned();
        main.listed.name = name_of(root);
    }
    let known = administered(&common);
    for Entry { listed, is_bare } in &mut entries {
        listed.is_there = listed.path.join(".git").exists() || *is_bare;
        let directory = known.iter().find(|(path, _)| *path == listed.path).map(|(_, directory)| directory);
        listed.maker = match directory.is_some_and(|directory| is_marked(directory)) {
            true => Maker::Piton,
            false if gates::is_scratch(listed) => Maker::Scratch,
            false => Maker::User,
        };
    }
    Ok(entries)
}

/// Whether a work tree is the main one: its git directory is not one of a linked worktree.
fn is_main(tree: &Path) -> bool {
    !git_directory(tree).join("commondir").exists()
}

/// The git directory of a work tree.
pub(super) fn git_directory(tree: &Path) -> PathBuf {
    let inner = tree.join(".git");
    let named = fs::read_to_string(&inner).ok();
    match named.as_deref().and_then(|text| text.strip_prefix("gitdir:")) {
        Some(path) => tree.join(path.trim()),
        // A bare repository is one itself.
        None if inner.is_dir() => inner,
        None => tree.to_owned(),
    }
}

/// The directory around the worktree in which a directory is, when Piton made that worktree there: for a lane, or for gates.
/// One that was moved to another repository or out of all of them is a work tree like any other.
pub fn around_made(directory: &Path) -> Option<PathBuf> {
    let tree_of = |directory: &Path| directory.ancestors().find(|each| is_top(each)).map(Path::to_owned);
    let tree = tree_of(directory)?;
    let own = git_directory(&tree);
    if !tree.join(".git").is_file() || !(is_marked(&own) || gates::is_scratch_directory(&own)) {
        return None;
    }
    let around = tree.parent()?;
    let common = |tree: &Path| fs::canonicalize(common_directory(tree)).ok();
    let is_same = common(&tree).is_some_and(|own| tree_of(around).and_then(|outer| common(&outer)) == Some(own));
    is_same.then(|| around.to_owned())
}

/// The git directory that all work trees of a repository share.
pub(super) fn common_directory(tree: &Path) -> PathBuf {
    let directory = git_directory(tree);
    match fs::read_to_string(directory.join("commondir")) {
        Ok(path) => directory.join(path.trim_end()),
        Err(_) => directory,
    }
}

/// The linked worktrees that a repository administers, whether or not they are there, each with its git directory.
fn administered(common: &Path) -> Vec<(PathBuf, PathBuf)> {
    let Ok(entries) = fs::read_dir(common.join("worktrees")) else { return Vec::new() };
    let each = |directory: PathBuf| {
        let text = fs::read_to_string(directory.join("gitdir")).ok()?;
        let tree = directory.join(text.trim_end()).parent()?.to_owned();
        // A path that is relative to the directory has dots in it.
        Some((fs::canonicalize(&tree).unwrap_or(tree), directory))
    };
    entries.flatten().filter_map(|entry| each(entry.path())).collect()
}

fn parse(lines: &[String]) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    for line in lines {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        if word == "worktree" {
            let path = PathBuf::from(rest);
            let name = name_of(&path);
            let listed = Listed {
                name,
                path,
                head: String::new(),
                branch: None,
                is_there: false,
                locked: None,
                maker: Maker::User,
            };
            entries.push(Entry { listed, is_bare: false });
            continue;
        }
        let Some(entry) = entries.last_mut() else { continue };
        match word {
            "HEAD" => entry.listed.head = rest.to_owned(),
            "branch" => entry.listed.branch = Some(rest.strip_prefix("refs/heads/").unwrap_or(rest).to_owned()),
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
