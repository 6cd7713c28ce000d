//! Which files a branch must not change unseen: those that decide how it is judged.

use std::path::{Path, PathBuf};

use piton_model::Rework;
use piton_supervisor::{Candidate, GitError};

use super::candidacy::Question;
use super::settings::{SETTINGS, Settings};

/// How many directories of a command are followed.
const MOST_DIRECTORIES: usize = 64;

/// The changed files that gates depend on: the settings, files that a gate's command names, and files that name
/// commands. What the specification lists as a result is work, whatever names it. Paths are relative to the repository's
/// root; the workspace may be below it.
pub(super) fn own_gates(changed: &[String], judges: &[String], outputs: &[String], inside: &Path) -> Vec<String> {
    let named: Vec<String> = judges.iter().flat_map(|command| named_files(command)).collect();
    let is_own = |path: &&String| {
        let Ok(local) = Path::new(path.as_str()).strip_prefix(inside) else { return false };
        let local = local.to_string_lossy();
        if outputs.iter().any(|output| *output == *local) {
            return false;
        }
        *local == *SETTINGS || named.iter().any(|name| *name == *local)
    };
    changed.iter().filter(is_own).cloned().collect()
}

impl Question {
    /// Refuses settings that a branch changes and that cannot be read, approved or not: no run could begin with them.
    pub(super) fn bad_settings(&self, candidate: &Candidate) -> Result<Option<Rework>, GitError> {
        let path = self.repository.inside().join(SETTINGS).display().to_string();
        let text = |commit: &str| self.repository.text_at(commit, &path);
        let (before, own) = (text(&candidate.base_commit)?, text(&candidate.commit)?);
        let Some(own) = own.filter(|own| before.as_ref() != Some(own)) else { return Ok(None) };
        let read = Settings::parse(&String::from_utf8_lossy(&own));
        Ok(read.err().map(|error| Rework::BadSettings { file: path, why: error.message }))
    }

    /// The files of its own gates that a branch changes and that no person approved. What is the same on the base is not
    /// the branch's change: its worker brought it over, or took a change back.
    pub(super) fn unapproved(&self, candidate: &Candidate) -> Result<Vec<String>, GitError> {
        let repository = &self.repository;
        let mut changed = repository.changed_files(&candidate.base_commit, &candidate.commit)?;
        let base = repository.tip(&self.base)?.filter(|base| *base != candidate.base_commit);
        if let Some(base) = &base {
            let differs = repository.changed_files(base, &candidate.commit)?;
            changed.retain(|file| differs.contains(file));
        }
        let mut own = own_gates(&changed, &self.judges, &self.results, repository.inside());
        // What the base does not have judged nothing before: the branch that collects a phase has what its siblings made.
        let known = repository.files_in(base.as_ref().unwrap_or(&candidate.base_commit), &own)?;
        own.retain(|file| known.contains(file));
        for approved in &self.approved {
            if own.is_empty() || *approved == candidate.branch_commit {
                return Ok(Vec::new());
            }
            // An approval is for a commit. It holds as long as the work is built on that, for the version that it has.
            if !repository.is_reachable(approved, &candidate.commit)? {
                continue;
            }
            match self.is_phase {
                // Each lane's change was approved when the lane joined; several of them are merged.
                true => {
                    let approved = repository.changed_files(&candidate.base_commit, approved)?;
                    own.retain(|file| !approved.contains(file));
                }
                false => {
                    let since = repository.changed_files(approved, &candidate.commit)?;
                    own.retain(|file| since.contains(file));
                }
            }
        }
        Ok(own)
    }
}

/// The words after which a command of a shell or of a build tool names the directory that it works in.
const DIRECTORY_WORDS: [&str; 5] = ["cd", "pushd", "-C", "--prefix", "--directory"];

/// The files of the workspace that a command could name: its words, seen from the workspace and from each directory that
/// it changes to.
fn named_files(command: &str) -> Vec<String> {
    let words: Vec<&str> = words(command).collect();
    let mut directories = vec![PathBuf::new()];
    for pair in words.windows(2).filter(|pair| DIRECTORY_WORDS.contains(&pair[0])) {
        let below: Vec<PathBuf> = directories.iter().map(|directory| directory.join(pair[1])).collect();
        directories.extend(below.into_iter().take(MOST_DIRECTORIES));
        directories.truncate(MOST_DIRECTORIES);
    }
    let from = |directory: &PathBuf| words.iter().map(|word| plain(&directory.join(word))).collect::<Vec<_>>();
    directories.iter().flat_map(from).collect()
}

/// A path without `.` and `..`, as git names it.
fn plain(path: &Path) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.to_str().unwrap_or_default().split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// The words of a shell command that could name a file of the workspace.
fn words(command: &str) -> impl Iterator<Item = &str> {
    let is_end = |letter: char| letter.is_whitespace() || "'\"`;|&()<>=$".contains(letter);
    command.split(is_end).filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_branch_that_changes_its_own_gate_is_seen() {
        let changed = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let judges = changed(&[
            "./scripts/check.sh --all",
            "sh -c 'python3 tools/lint.py && cargo test'",
            "docs/SPEC.md",
            "test -f out/made.txt",
            "cd app && ./verify.sh",
            "make -C tools/../build test -f rules.mk",
            "cd a; cd b; ../lint",
        ]);
        let outputs = changed(&["out/made.txt"]);
        for (files, inside, want) in [
            (&["src/lib.rs"][..], "", &[][..]),
            (&["out/made.txt"], "", &[]),
            (&["scripts/check.sh", "src/lib.rs"], "", &["scripts/check.sh"]),
            (&["tools/lint.py"], "", &["tools/lint.py"]),
            (&["piton.toml"], "", &["piton.toml"]),
            (&["docs/SPEC.md"], "", &["docs/SPEC.md"]),
            (&["other/piton.toml"], "", &[]),
            (&["app/verify.sh", "verify.sh", "other/verify.sh"], "", &["app/verify.sh", "verify.sh"]),
            (&["build/rules.mk", "tools/rules.mk"], "", &["build/rules.mk"]),
            (&["a/lint", "a/b/lint", "b/lint"], "", &["a/lint"]),
            (
                &["app/piton.toml", "app/scripts/check.sh", "scripts/check.sh"],
                "app",
                &["app/piton.toml", "app/scripts/check.sh"],
            ),
        ] {
            assert_eq!(own_gates(&changed(files), &judges, &outputs, Path::new(inside)), want, "{files:?}");
        }
    }
}
