//! Where a crew keeps its files, below the directory of an epic.

use crate::base::in_directory;

/// What a file of a crew is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum File {
    /// `agent_checkpoints/{agent}.json`
    Checkpoint,
    /// `agent_checkpoints/{agent}_crashed_{epoch}.json` or `…_aborted_…`: kept on take-over, never monitored.
    Archive,
    /// `agent_checkpoints/backups/{agent}_{time}.json`
    Backup,
    /// `agent_checkpoints/*.md`: a checkpoint in prose.
    Markdown,
    /// `agent_comms/{from}_to_{to}.md`: messages from one agent to another.
    Messages,
    /// `agent_comms/inboxes/from_{agent}/*.md`: a single message.
    Inbox,
    /// `{feature}/STATUS`
    Status,
    /// `EPIC_README.md`
    EpicReadme,
}

/// Recognises a path: the epic's directory, and what the file is there.
pub fn recognise(path: &str) -> Option<(&str, File)> {
    let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
    match name {
        "EPIC_README.md" => return Some((directory, File::EpicReadme)),
        "STATUS" if !directory.is_empty() => {
            return Some((directory.rsplit_once('/').map_or("", |(epic, _)| epic), File::Status));
        }
        _ => {}
    }
    if let Some(stem) = name.strip_suffix(".json") {
        if let Some(epic) = checkpoints(directory.strip_suffix("/backups").unwrap_or("")) {
            return Some((epic, File::Backup));
        }
        let epic = checkpoints(directory)?;
        return Some((epic, if archive_owner(stem).is_some() { File::Archive } else { File::Checkpoint }));
    }
    name.strip_suffix(".md")?;
    if let Some(epic) = checkpoints(directory) {
        return Some((epic, File::Markdown));
    }
    if let Some(epic) = in_directory(directory, "agent_comms") {
        return parties(name).map(|_| (epic, File::Messages));
    }
    let (inboxes, sender) = directory.rsplit_once('/')?;
    sender.strip_prefix("from_")?;
    Some((in_directory(inboxes, "agent_comms/inboxes")?, File::Inbox))
}

/// The name of an agent's checkpoint: lower case, `-` to `_`, and `Agent-Primary` is `primary`.
pub fn file_name(agent_id: &str) -> String {
    let folded = agent_id.to_ascii_lowercase().replace('-', "_");
    let stem = if folded == "agent_primary" { "primary" } else { &folded };
    format!("{stem}.json")
}

/// Where an agent's checkpoint is kept, below the epic's directory.
pub fn path_of(agent_id: &str) -> String {
    format!("agent_checkpoints/{}", file_name(agent_id))
}

/// An agent's name as part of file names: `primary`, `secondary_a`.
pub fn stem_of(agent_id: &str) -> String {
    let mut name = file_name(agent_id);
    name.truncate(name.len() - ".json".len());
    name
}

/// Whether a file has the name that [`file_name`] gives.
pub fn is_file_of(name: &str, agent_id: &str) -> bool {
    let fold = |byte: u8| if byte == b'-' { b'_' } else { byte.to_ascii_lowercase() };
    let Some(stem) = name.strip_suffix(".json") else { return false };
    match stem {
        "primary" => agent_id.bytes().map(fold).eq(*b"agent_primary") || agent_id.bytes().map(fold).eq(*b"primary"),
        stem => stem != "agent_primary" && agent_id.bytes().map(fold).eq(stem.bytes()),
    }
}

/// What tells an agent from others however it is written: `Secondary-A`, `secondary_a`, `Secondary Agent A` and
/// `secondary-a-1770000000` are one, and so are `Agent-Primary` and `PRIMARY`.
pub fn agent_key(name: &str) -> String {
    let mut parts: Vec<String> = Vec::new();
    for part in words(name).filter(|part| part != "agent") {
        let is_stamp = part.len() >= 8 && part.bytes().all(|byte| byte.is_ascii_digit());
        if !is_stamp && parts.last() != Some(&part) {
            parts.push(part);
        }
    }
    parts.join("_")
}

/// What tells a feature from others: `feature_06_ledger` and `Feature 06 (ledger)` are one.
pub fn feature_key(name: &str) -> String {
    words(name).collect::<Vec<_>>().join("_")
}

/// Sender and receiver, from the name of a file of messages.
pub fn parties(file_name: &str) -> Option<(&str, &str)> {
    let (from, to) = file_name.strip_suffix(".md")?.split_once("_to_")?;
    (!from.is_empty() && !to.is_empty()).then_some((from, to))
}

/// The agent whose checkpoint an archive was, from its name without `.json`.
pub fn archive_owner(stem: &str) -> Option<&str> {
    let named = stem.trim_end_matches(|c: char| c.is_ascii_digit());
    let owner = named.strip_suffix("_crashed_").or_else(|| named.strip_suffix("_aborted_"));
    owner.filter(|_| named.len() < stem.len())
}

/// The agent whose checkpoint a backup is, from its name without `.json`, and what orders its backups: the time,
/// then the number that a second one of the same second has.
pub fn backup_owner(stem: &str) -> Option<(&str, (&str, u64))> {
    let stamped = |stem: &'_ str| -> Option<usize> {
        let at = stem.len().checked_sub("_YYYYMMDD_HHMMSS".len())?;
        let stamp = stem.get(at..)?.as_bytes();
        let is_stamp = stamp[0] == b'_' && stamp[9] == b'_';
        let digits = stamp[1..9].iter().chain(&stamp[10..]).all(u8::is_ascii_digit);
        (at > 0 && is_stamp && digits).then_some(at)
    };
    if let Some(at) = stamped(stem) {
        return Some((&stem[..at], (&stem[at + 1..], 1)));
    }
    let (first, suffix) = stem.rsplit_once(['_', '-'])?;
    let at = stamped(first)?;
    Some((&first[..at], (&first[at + 1..], suffix.parse().ok()?)))
}

fn checkpoints(directory: &str) -> Option<&str> {
    in_directory(directory, "agent_comms/agent_checkpoints").or_else(|| in_directory(directory, "agent_checkpoints"))
}

fn words(name: &str) -> impl Iterator<Item = String> {
    name.split(|c: char| !c.is_alphanumeric()).filter(|part| !part.is_empty()).map(str::to_lowercase)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn live_files_are_told_from_copies_and_companions() {
        for (path, want) in [
            ("agent_checkpoints/secondary_a.json", Some(("", File::Checkpoint))),
            ("epics/E-7/agent_checkpoints/primary.json", Some(("epics/E-7", File::Checkpoint))),
            ("agent_checkpoints/secondary_a_crashed_1770000000.json", Some(("", File::Archive))),
            ("agent_checkpoints/secondary_a_aborted_1770000000.json", Some(("", File::Archive))),
            ("agent_checkpoints/secondary_crashed_x.json", Some(("", File::Checkpoint))),
            ("agent_checkpoints/backups/secondary_a_20260115_143000.json", Some(("", File::Backup))),
            ("e/agent_checkpoints/backups/secondary_a_20260115_143000.json", Some(("e", File::Backup))),
            ("agent_checkpoints/secondary_a.md", Some(("", File::Markdown))),
            ("e/agent_comms/agent_checkpoints/b_checkpoint.md", Some(("e", File::Markdown))),
            ("e/agent_comms/agent_checkpoints/b.json", Some(("e", File::Checkpoint))),
            ("e/agent_comms/primary_to_secondary_a.md", Some(("e", File::Messages))),
            ("e/agent_comms/notes.md", None),
            ("e/agent_comms/_to_b.md", None),
            ("e/agent_comms/inboxes/from_b/done.md", Some(("e", File::Inbox))),
            ("e/agent_comms/inboxes/b/done.md", None),
            ("e/feature_01_x/STATUS", Some(("e", File::Status))),
            ("feature_01_x/STATUS", Some(("", File::Status))),
            ("STATUS", None),
            ("EPIC_README.md", Some(("", File::EpicReadme))),
            ("e/EPIC_README.md", Some(("e", File::EpicReadme))),
            ("my_agent_checkpoints/secondary_a.json", None),
            ("agent_checkpoints/readme.txt", None),
            ("backups/a.json", None),
            ("secondary_a.json", None),
        ] {
            assert_eq!(recognise(path), want, "{path}");
        }
    }

    #[test]
    fn file_names_follow_the_agent() {
        assert_eq!(file_name("Agent-Primary"), "primary.json");
        assert_eq!(file_name("Secondary-A"), "secondary_a.json");
        for agent in ["Agent-Primary", "agent_primary", "Primary", "Secondary-A", "secondary_a", "secondary-a-1", "x"] {
            for name in [
                "primary.json",
                "agent_primary.json",
                "secondary_a.json",
                "secondary_a_1.json",
                "x.json",
                "x",
                "Secondary-A.json",
            ] {
                assert_eq!(is_file_of(name, agent), name == file_name(agent), "{name} of {agent}");
            }
        }
    }

    #[test]
    fn agents_and_features_are_known_however_they_are_written() {
        for name in ["Secondary-A", "secondary_a", "Secondary Agent A", "secondary-a-1770000000", "SECONDARY-A"] {
            assert_eq!(agent_key(name), "secondary_a", "{name}");
        }
        for name in ["Agent-Primary", "primary", "Primary Agent", "PRIMARY"] {
            assert_eq!(agent_key(name), "primary", "{name}");
        }
        assert_eq!(feature_key("Feature 06 (ledger_export)"), feature_key("feature_06_ledger_export"));
    }

    #[test]
    fn copies_know_their_owner() {
        assert_eq!(archive_owner("secondary_a_crashed_1770000000"), Some("secondary_a"));
        assert_eq!(archive_owner("secondary_a"), None);
        for (stem, want) in [
            ("secondary_a_20260115_143000", Some(("secondary_a", ("20260115_143000", 1)))),
            ("secondary_a_20260115_143000_2", Some(("secondary_a", ("20260115_143000", 2)))),
            ("secondary_a_20260115_143000-3", Some(("secondary_a", ("20260115_143000", 3)))),
            ("_20260115_143000", None),
            ("secondary_a_2026015_143000", None),
            ("ä_20260115_14300ö", None),
            ("x", None),
        ] {
            assert_eq!(backup_owner(stem), want, "{stem}");
        }
    }
}
