//! Where agents keep the checkpoints of their tasks, below any directory.

use crate::base::in_directory;

/// What a file of this dialect is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum File {
    /// `progress/checkpoints/{agent}-{task}.json`
    Checkpoint,
    /// `progress/checkpoints/{agent}-{task}-complete.json`, or `…-complete-2.json` and on: kept on completion.
    Archive,
    /// `progress/STATUS.md`, in which one block is managed.
    Status,
}

/// Begins the managed block of `STATUS.md`.
pub const BLOCK_BEGIN: &str = "<!-- piton:begin active-checkpoints -->";

/// Ends the managed block of `STATUS.md`.
pub const BLOCK_END: &str = "<!-- piton:end active-checkpoints -->";

/// Recognises a path: the directory that holds `progress`, and what the file is there.
pub fn recognise(path: &str) -> Option<(&str, File)> {
    let (directory, name) = path.rsplit_once('/')?;
    if name == "STATUS.md" {
        return Some((in_directory(directory, "progress")?, File::Status));
    }
    let stem = name.strip_suffix(".json")?;
    let base = in_directory(directory, "progress/checkpoints")?;
    Some((base, if live_stem(stem) == stem { File::Checkpoint } else { File::Archive }))
}

/// The name of a task's current checkpoint.
pub fn file_name(agent: &str, task: &str) -> String {
    format!("{agent}-{task}.json")
}

/// Where a task's current checkpoint is kept, below the directory that holds `progress`.
pub fn path_of(agent: &str, task: &str) -> String {
    format!("progress/checkpoints/{}", file_name(agent, task))
}

/// The files beside the checkpoint of one of an agent's tasks that Piton writes too: the agent's outbox, and the table of all
/// tasks.
pub fn shared_files(checkpoint: &str, agent: &str) -> Vec<String> {
    let Some((base, _)) = recognise(checkpoint) else { return Vec::new() };
    let slash = if base.is_empty() { "" } else { "/" };
    let files = [format!("outbox/{agent}.md"), "STATUS.md".to_owned()];
    files.iter().map(|file| format!("{base}{slash}progress/{file}")).collect()
}

/// The name of a task's archive: the plain one is the first.
pub fn archive_name(stem: &str, number: u64) -> String {
    if number < 2 { format!("{stem}-complete.json") } else { format!("{stem}-complete-{number}.json") }
}

/// A file name without `.json` and, for an archive, without what marks it as one.
pub fn live_stem(name: &str) -> &str {
    let stem = name.strip_suffix(".json").unwrap_or(name);
    archive(stem).map_or(stem, |(live, _)| live)
}

/// The number of an archive among those of its task: the plain one is the first.
pub fn archive_number(name: &str) -> Option<u64> {
    archive(name.strip_suffix(".json").unwrap_or(name)).map(|(_, number)| number)
}

fn archive(stem: &str) -> Option<(&str, u64)> {
    let (live, number) = match stem.rsplit_once("-complete") {
        Some((live, "")) => (live, 1),
        Some((live, rest)) => {
            let digits = rest.strip_prefix('-').filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))?;
            (live, digits.parse().ok().filter(|number| *number >= 2)?)
        }
        None => return None,
    };
    (!live.is_empty()).then_some((live, number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn current_files_are_told_from_archives() {
        for (path, want) in [
            ("progress/checkpoints/migration-T060.json", Some(("", File::Checkpoint))),
            ("docs/work/progress/checkpoints/content-T001.json", Some(("docs/work", File::Checkpoint))),
            ("progress/checkpoints/migration-T060-complete.json", Some(("", File::Archive))),
            ("progress/checkpoints/migration-T060-complete-2.json", Some(("", File::Archive))),
            ("progress/checkpoints/migration-T060-complete-1.json", Some(("", File::Checkpoint))),
            ("progress/checkpoints/migration-T060-complete-x.json", Some(("", File::Checkpoint))),
            ("progress/checkpoints/-complete.json", Some(("", File::Checkpoint))),
            ("progress/STATUS.md", Some(("", File::Status))),
            ("docs/progress/STATUS.md", Some(("docs", File::Status))),
            ("STATUS.md", None),
            ("in_progress/checkpoints/a-b.json", None),
            ("progress/checkpoints/notes.md", None),
            ("progress/checkpoints/old/a-b.json", None),
        ] {
            assert_eq!(recognise(path), want, "{path}");
        }
    }

    #[test]
    fn archives_are_numbered() {
        for (name, stem, number) in [
            ("a-T1.json", "a-T1", None),
            ("a-T1-complete.json", "a-T1", Some(1)),
            ("a-T1-complete-12.json", "a-T1", Some(12)),
            ("a-complete-T1.json", "a-complete-T1", None),
            ("a-T1-complete-99999999999999999999999.json", "a-T1-complete-99999999999999999999999", None),
        ] {
            assert_eq!((live_stem(name), archive_number(name)), (stem, number), "{name}");
        }
    }
}
