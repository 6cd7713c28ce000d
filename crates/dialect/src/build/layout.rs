//! Where builds keep their checkpoints, and how a specification is recognised.

/// Where checkpoints are, below a project.
pub const DIRECTORY: &str = ".claude/skills/build-pipeline/checkpoints";

/// The skill under which checkpoints were kept before. A build there is told from one of the protocol's own place by it.
const OLDER_SKILL: &str = "prd-pipeline";

/// How many words of a specification's name are looked at.
const MOST_WORDS: usize = 16;

/// What a file of a build is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum File {
    /// `.claude/skills/build-pipeline/checkpoints/{PRD}.json`
    Checkpoint,
    /// `EXECUTION-SPEC*.md`, `EXEC-SPEC*.md` or `EXEC-*.md`, anywhere in the project.
    Spec,
}

/// Recognises a path: the project's directory (for a specification the one that holds it), and what the file is.
pub fn recognise(path: &str) -> Option<(&str, File)> {
    let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
    if name.ends_with(".json") {
        let is_skill = |skill: &&str| skill.rsplit('/').next() == Some(OLDER_SKILL);
        if let Some(skill) = directory.strip_suffix("/checkpoints").filter(is_skill) {
            return Some((skill, File::Checkpoint));
        }
        let rest = directory.strip_suffix(DIRECTORY)?;
        let base = if rest.is_empty() { rest } else { rest.strip_suffix('/')? };
        return Some((base, File::Checkpoint));
    }
    let stem = name.strip_suffix(".md")?;
    (stem.starts_with("EXECUTION-SPEC") || stem.starts_with("EXEC-")).then_some((directory, File::Spec))
}

/// The name of a PRD's checkpoint.
pub fn file_name(prd: &str) -> String {
    format!("{prd}.json")
}

/// Where a PRD's checkpoint is, below its base.
pub fn path_of(base: &str, prd: &str) -> String {
    match base.rsplit('/').next() {
        Some(OLDER_SKILL) => format!("{base}/checkpoints/{}", file_name(prd)),
        Some("") | None => format!("{DIRECTORY}/{}", file_name(prd)),
        Some(_) => format!("{base}/{DIRECTORY}/{}", file_name(prd)),
    }
}

/// The project that a base belongs to.
pub fn project_of(base: &str) -> &str {
    let Some(skills) = base.strip_suffix(OLDER_SKILL) else { return base };
    let skills = skills.trim_end_matches('/');
    let above = skills.strip_suffix(".claude/skills").filter(|above| above.is_empty() || above.ends_with('/'));
    above.unwrap_or(skills).trim_end_matches('/')
}

/// Every id that a specification's file name may hold: its parts between punctuation, alone and joined.
pub fn ids_in(file_name: &str) -> Vec<&str> {
    let stem = file_name.strip_suffix(".md").unwrap_or(file_name);
    let mut words: Vec<(usize, usize)> = Vec::new();
    let mut start = None;
    for (at, c) in stem.char_indices().chain([(stem.len(), ' ')]) {
        match (c.is_alphanumeric(), start) {
            (true, None) => start = Some(at),
            (false, Some(from)) => {
                words.push((from, at));
                start = None;
            }
            _ => {}
        }
    }
    words.truncate(MOST_WORDS);
    let from = |first: usize| words[first..].iter().map(move |(_, end)| (first, *end));
    (0..words.len())
        .flat_map(|first| from(first).map(|(first, end)| &stem[words[first].0..end]).collect::<Vec<_>>())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_recognised_below_any_directory() {
        for (path, want) in [
            (".claude/skills/build-pipeline/checkpoints/PRD-101.json", Some(("", File::Checkpoint))),
            ("web/.claude/skills/build-pipeline/checkpoints/PRD-101.json", Some(("web", File::Checkpoint))),
            ("x.claude/skills/build-pipeline/checkpoints/PRD-101.json", None),
            (
                ".claude/skills/prd-pipeline/checkpoints/PRD-101.json",
                Some((".claude/skills/prd-pipeline", File::Checkpoint)),
            ),
            ("prd-pipeline/checkpoints/PRD-101.json", Some(("prd-pipeline", File::Checkpoint))),
            ("my-prd-pipeline/checkpoints/PRD-101.json", None),
            (".claude/skills/build-pipeline/checkpoints/notes.md", None),
            (".claude/skills/build-pipeline/checkpoints/old/PRD-101.json", None),
            ("docs/EXECUTION-SPEC-PRD-101.md", Some(("docs", File::Spec))),
            ("EXEC-101-boats.md", Some(("", File::Spec))),
            ("docs/EXEC-SPEC-7.md", Some(("docs", File::Spec))),
            ("docs/EXECUTIVE.md", None),
            ("docs/EXEC-7.txt", None),
        ] {
            assert_eq!(recognise(path), want, "{path}");
        }
    }

    #[test]
    fn a_checkpoint_is_below_its_base() {
        for (base, path, project) in [
            ("", ".claude/skills/build-pipeline/checkpoints/P.json", ""),
            ("web", "web/.claude/skills/build-pipeline/checkpoints/P.json", "web"),
            ("prd-pipeline", "prd-pipeline/checkpoints/P.json", ""),
            ("web/prd-pipeline", "web/prd-pipeline/checkpoints/P.json", "web"),
            (".claude/skills/prd-pipeline", ".claude/skills/prd-pipeline/checkpoints/P.json", ""),
            ("web/.claude/skills/prd-pipeline", "web/.claude/skills/prd-pipeline/checkpoints/P.json", "web"),
        ] {
            assert_eq!((path_of(base, "P").as_str(), project_of(base)), (path, project), "{base}");
            assert_eq!(recognise(path), Some((base, File::Checkpoint)));
        }
    }

    #[test]
    fn a_name_holds_whole_ids_only() {
        let ids = ids_in("EXECUTION-SPEC-PRD-101-v0.2.md");
        for (id, want) in
            [("PRD-101", true), ("PRD-101-v0.2", true), ("PRD-10", false), ("RD-101", false), ("101", true)]
        {
            assert_eq!(ids.contains(&id), want, "{id}");
        }
        assert_eq!(ids_in("--.md"), [""; 0]);
    }
}
