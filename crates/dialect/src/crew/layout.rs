//! Where a crew keeps its files, below the directory of an epic.

/// What a file of a crew is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum File {
    /// `agent_checkpoints/{agent}.json`
    Checkpoint,
    /// `agent_checkpoints/{agent}_crashed_{epoch}.json` or `…_aborted_…`: kept on take-over, never monitored.
    Archive,
    /// `agent_checkpoints/backups/{agent}_{time}.json`
    Backup,
}

/// Recognises a path: the epic's directory, and what the file is there.
pub fn recognise(path: &str) -> Option<(&str, File)> {
    let (directory, name) = path.rsplit_once('/')?;
    let stem = name.strip_suffix(".json")?;
    if let Some(epic) = in_directory(directory, "agent_checkpoints/backups") {
        return Some((epic, File::Backup));
    }
    let epic = in_directory(directory, "agent_checkpoints")?;
    Some((epic, if is_archive(stem) { File::Archive } else { File::Checkpoint }))
}

/// The name of an agent's checkpoint: lower case, `-` to `_`, and `Agent-Primary` is `primary`.
pub fn file_name(agent_id: &str) -> String {
    let folded = agent_id.to_ascii_lowercase().replace('-', "_");
    let stem = if folded == "agent_primary" { "primary" } else { &folded };
    format!("{stem}.json")
}

fn in_directory<'a>(directory: &'a str, wanted: &str) -> Option<&'a str> {
    let rest = directory.strip_suffix(wanted)?;
    if rest.is_empty() { Some(rest) } else { rest.strip_suffix('/') }
}

fn is_archive(stem: &str) -> bool {
    let ends_with_epoch = |(_, rest): (&str, &str)| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit());
    stem.rsplit_once("_crashed_").is_some_and(ends_with_epoch)
        || stem.rsplit_once("_aborted_").is_some_and(ends_with_epoch)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn live_files_are_told_from_copies() {
        for (path, want) in [
            ("agent_checkpoints/secondary_a.json", Some(("", File::Checkpoint))),
            ("epics/KAI-7/agent_checkpoints/primary.json", Some(("epics/KAI-7", File::Checkpoint))),
            ("agent_checkpoints/secondary_a_crashed_1769654893.json", Some(("", File::Archive))),
            ("agent_checkpoints/secondary_a_aborted_1769654893.json", Some(("", File::Archive))),
            ("agent_checkpoints/secondary_crashed_x.json", Some(("", File::Checkpoint))),
            ("agent_checkpoints/backups/secondary_a_20260115_143000.json", Some(("", File::Backup))),
            ("my_agent_checkpoints/secondary_a.json", None),
            ("agent_checkpoints/readme.txt", None),
            ("secondary_a.json", None),
        ] {
            assert_eq!(recognise(path), want, "{path}");
        }
    }

    #[test]
    fn file_names_follow_the_agent() {
        assert_eq!(file_name("Agent-Primary"), "primary.json");
        assert_eq!(file_name("Secondary-A"), "secondary_a.json");
    }
}
