//! Where git records what is committed in a linked worktree.

use std::fs;
use std::path::{Path, PathBuf};

/// The directories that `git commit` writes from a directory of a linked worktree: the repository's objects, references and their logs,
/// and the worktree's own git directory. Its configuration and hooks are in none of them. Empty for a directory that is
/// in no linked worktree: in a main checkout, whoever may commit may also change both.
///
/// What the worktree says about itself is believed only when the repository says the same: a worker may edit its own
/// `.git` file.
pub fn commit_directories(directory: &Path) -> Vec<PathBuf> {
    let find = || {
        let worktree = directory.ancestors().find(|above| above.join(".git").exists())?;
        let pointer = worktree.join(".git");
        let text = fs::read_to_string(&pointer).ok()?;
        let own = fs::canonicalize(worktree.join(text.strip_prefix("gitdir:")?.trim())).ok()?;
        let back = fs::read_to_string(own.join("gitdir")).ok()?;
        if fs::canonicalize(own.join(back.trim())).ok()? != fs::canonicalize(&pointer).ok()? {
            return None;
        }
        let common = fs::read_to_string(own.join("commondir")).ok()?;
        let common = fs::canonicalize(own.join(common.trim())).ok()?;
        (own.parent()? == common.join("worktrees")).then_some((own, common))
    };
    let Some((own, common)) = find() else { return Vec::new() };
    let shared = ["objects", "refs", "logs", "reftable"].map(|name| common.join(name));
    shared.into_iter().filter(|directory| directory.is_dir()).chain([own]).collect()
}

/// Whether a directory belongs to a git repository. A `.git` that is empty, or that points nowhere, makes none.
pub fn is_in_git(directory: &Path) -> bool {
    let is_repository = |above: &Path| {
        let git = above.join(".git");
        let linked = || Some(above.join(fs::read_to_string(&git).ok()?.strip_prefix("gitdir:")?.trim()));
        let own = if git.is_dir() { Some(git.clone()) } else { linked() };
        own.is_some_and(|own| own.join("HEAD").exists())
    };
    directory.ancestors().any(is_repository)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    #[test]
    fn a_linked_worktree_is_believed_when_its_repository_knows_it() {
        let scratch = Scratch::new();
        let root = fs::canonicalize(&scratch.0).expect("it is there");
        let (tree, own) = (root.join("main/.worktrees/s"), root.join("main/.git/worktrees/s"));
        for directory in [&tree, &own, &root.join("main/.git/objects"), &root.join("main/.git/refs")] {
            fs::create_dir_all(directory).expect("a directory");
        }
        let write = |path: &Path, text: String| fs::write(path, text).expect("a file");
        write(&tree.join(".git"), format!("gitdir: {}\n", own.display()));
        write(&own.join("HEAD"), "ref: refs/heads/s\n".to_owned());
        write(&own.join("commondir"), "../..\n".to_owned());
        write(&own.join("gitdir"), format!("{}\n", tree.join(".git").display()));
        let common = root.join("main/.git");
        assert_eq!(commit_directories(&tree), [common.join("objects"), common.join("refs"), own.clone()]);
        assert_eq!(commit_directories(&tree.join("deep/er")).len(), 3, "a workspace may be a part of its repository");
        assert!(is_in_git(&tree.join("deep/er")) && !is_in_git(Path::new("/")));
        // A worker that points its worktree at another place gets nothing there.
        let other = root.join("main/.git/worktrees/other");
        fs::create_dir_all(&other).expect("a directory");
        write(&other.join("commondir"), "../..\n".to_owned());
        write(&other.join("gitdir"), "/elsewhere/.git\n".to_owned());
        write(&tree.join(".git"), format!("gitdir: {}\n", other.display()));
        assert!(commit_directories(&tree).is_empty());
        write(&tree.join(".git"), "gitdir: /\n".to_owned());
        assert!(commit_directories(&tree).is_empty());
        assert!(commit_directories(&root.join("main")).is_empty(), "a main checkout");
        assert!(commit_directories(Path::new("/no/such/tree")).is_empty());
    }

    #[test]
    fn an_empty_or_broken_git_directory_above_makes_no_repository() {
        let scratch = Scratch::new();
        let (empty, broken) = (scratch.0.join("empty/.git"), scratch.0.join("broken"));
        fs::create_dir_all(&empty).expect("a directory");
        fs::create_dir_all(&broken).expect("a directory");
        fs::write(broken.join(".git"), "gitdir: /no/such/place\n").expect("a file");
        assert!(!is_in_git(&scratch.0.join("empty/workspace")) && !is_in_git(&broken.join("workspace")));
        fs::write(empty.join("HEAD"), "ref: refs/heads/main\n").expect("a file");
        assert!(is_in_git(&scratch.0.join("empty/workspace")));
    }
}
