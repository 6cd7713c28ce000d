use std::path::{Path, PathBuf};

use crate::walk::is_repository;

/// What makes a directory a workspace: documents of any dialect, our own directory, settings, or a repository.
const MARKS: [&str; 8] = [
    ".piton",
    "piton.toml",
    ".git",
    ".pipeline",
    "plans",
    ".claude/skills/build-pipeline/checkpoints",
    "progress/checkpoints",
    "agent_checkpoints",
];

/// A workspace that was found, and by what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Located {
    /// Its root.
    pub root: PathBuf,
    /// The mark that made it one, or nothing when the starting directory was taken for want of a mark.
    pub mark: Option<&'static str>,
}

/// Finds the nearest directory upwards from `start` that is a workspace.
pub fn locate(start: &Path) -> Located {
    start
        .ancestors()
        .find_map(|directory| {
            let is_marked = |mark: &&&str| match **mark {
                ".git" => is_repository(directory),
                mark => directory.join(mark).exists(),
            };
            let mark = MARKS.iter().find(is_marked)?;
            Some(Located { root: directory.to_owned(), mark: Some(mark) })
        })
        .unwrap_or_else(|| Located { root: start.to_owned(), mark: None })
}
