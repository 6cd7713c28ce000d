//! Where a pipeline keeps its files, below the directory of a project.

use crate::base::in_directory;

/// What a file of a pipeline is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum File {
    /// `.pipeline/state.json`, written by the lead.
    State,
    /// `.pipeline/checkpoint-{story}.json`, written by the story's worker.
    Checkpoint,
    /// `.worktrees/*/.pipeline/checkpoint-{story}.json`: a worker wrote it inside of its worktree by mistake.
    Stray,
}

/// The directory of a pipeline's files, below the project.
pub const DIRECTORY: &str = ".pipeline";

/// The directory of the workers' git worktrees, below the project.
pub const WORKTREES: &str = ".worktrees";

/// Recognises a path: the project's directory, and what the file is there.
pub fn recognise(path: &str) -> Option<(&str, File)> {
    let (directory, name) = path.rsplit_once('/')?;
    let base = in_directory(directory, DIRECTORY)?;
    let file = match name {
        "state.json" => File::State,
        _ => story_of(name).map(|_| File::Checkpoint)?,
    };
    let Some((project, inside)) = split_worktree(base) else { return Some((base, file)) };
    (file == File::Checkpoint && !inside.contains('/')).then_some((project, File::Stray))
}

/// The story that a checkpoint's file name names.
pub fn story_of(file_name: &str) -> Option<&str> {
    file_name.strip_prefix("checkpoint-")?.strip_suffix(".json").filter(|story| !story.is_empty())
}

/// The name of a story's checkpoint.
pub fn file_name(story: &str) -> String {
    format!("checkpoint-{story}.json")
}

/// Where a story's checkpoint is, below a project.
pub fn path_of(story: &str) -> String {
    format!("{DIRECTORY}/{}", file_name(story))
}

/// Splits the path of a worktree: the project's directory, and the path below `.worktrees`.
fn split_worktree(base: &str) -> Option<(&str, &str)> {
    if let Some(inside) = base.strip_prefix(WORKTREES).and_then(|rest| rest.strip_prefix('/')) {
        return Some(("", inside));
    }
    base.split_once("/.worktrees/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_recognised_below_any_directory() {
        for (path, want) in [
            (".pipeline/state.json", Some(("", File::State))),
            ("apps/web/.pipeline/state.json", Some(("apps/web", File::State))),
            (".pipeline/checkpoint-KITE-7.json", Some(("", File::Checkpoint))),
            ("apps/web/.pipeline/checkpoint-KITE-7.json", Some(("apps/web", File::Checkpoint))),
            (".worktrees/story-KITE-7/.pipeline/checkpoint-KITE-7.json", Some(("", File::Stray))),
            ("apps/.worktrees/story-KITE-7/.pipeline/checkpoint-KITE-7.json", Some(("apps", File::Stray))),
            (".worktrees/story-KITE-7/.pipeline/state.json", None),
            (".worktrees/story-KITE-7/deep/.pipeline/checkpoint-KITE-7.json", None),
            (".pipeline/checkpoint-.json", None),
            (".pipeline/checkpoint-KITE-7.json.bak", None),
            (".pipeline/preflight.json", None),
            ("x.pipeline/state.json", None),
            ("state.json", None),
        ] {
            assert_eq!(recognise(path), want, "{path}");
        }
        assert_eq!(story_of(&file_name("KITE-7")), Some("KITE-7"));
    }
}
