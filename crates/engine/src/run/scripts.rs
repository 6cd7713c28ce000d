//! The script that a gate's command names, and whether the tree that the gate judges has it.

use std::path::Path;

use piton_supervisor::Repository;

use super::{Settings, Work};
use crate::Workspace;
use crate::evidence::toml_key;

/// Programs whose first argument without a dash is a script.
const INTERPRETERS: [&str; 10] = ["sh", "bash", "dash", "ksh", "zsh", "python", "python3", "node", "perl", "ruby"];

/// What makes a shell command more than words.
const SHELL: [char; 16] = ['$', '`', '"', '\'', '(', ')', '<', '>', '*', '?', '[', ']', '{', '}', '\\', '~'];

/// The script of the repository that a command begins with: `sh check.sh`, `./check.sh --all`. Nothing where that cannot be
/// told from the words alone.
pub(super) fn script_of(command: &str) -> Option<String> {
    let first = command.split([';', '|', '&', '\n']).next()?;
    if first.contains(SHELL) {
        return None;
    }
    let mut words = first.split_whitespace().skip_while(|word| word.contains('='));
    let program = words.next()?;
    let name = program.rsplit('/').next().unwrap_or(program);
    let script = match INTERPRETERS.contains(&name) {
        // `-c`, `-m` and `-e CODE` take no script; switches of a shell change nothing.
        true => words.find(|word| !is_switch(word)).filter(|word| !word.starts_with('-')),
        false => Some(program).filter(|program| program.contains('/')),
    }?;
    let is_inside = !script.starts_with('/') && !script.split('/').any(|part| part == "..");
    let parts: Vec<&str> = script.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
    (is_inside && !parts.is_empty()).then(|| parts.join("/"))
}

/// `-e`, `-eux`: switches of a shell that take no argument.
fn is_switch(word: &str) -> bool {
    word.strip_prefix('-').is_some_and(|rest| !rest.is_empty() && rest.chars().all(|letter| "eux".contains(letter)))
}

/// Why a gate could not judge that ended with a failure: the script that its command names is not in the tree.
pub(super) fn missing_script(command: &str, tree: &Path, root: &Path) -> Option<String> {
    let script = script_of(command).filter(|script| !tree.join(script).exists())?;
    let here = match root.join(&script).exists() {
        true => "it is in the workspace, but not in what is merged",
        false => "it is not in the workspace either",
    };
    Some(format!("{script} is not in the tree that it judges; {here}"))
}

/// Gates whose script no commit of the base has: each would fail on every tree.
pub(super) fn missing_scripts(workspace: &Workspace, settings: &Settings, work: &Work, base: &Base<'_>) -> Vec<String> {
    // A set-up command may make it.
    if settings.worktree_setup.is_some() {
        return Vec::new();
    }
    let is_made = |script: &String| {
        settings.worktree_copy.contains(script) || work.lanes.iter().any(|lane| lane.outputs.contains(script))
    };
    let own = settings.gates.iter();
    let named = work.groups.iter().flat_map(|group| &group.gates).map(|(name, command)| (name, command));
    let mut all = Vec::new();
    for (gate, command) in own.chain(named) {
        let Some(script) = script_of(command).filter(|script| !is_made(script)) else { continue };
        let path = base.repository.inside().join(&script);
        if base.repository.has_file(base.branch, &path).unwrap_or(true) {
            continue;
        }
        let (gate, branch) = (toml_key(gate), base.branch);
        let found = match workspace.root().join(&script).exists() {
            true => {
                format!("gate {gate}: {script} is here but not committed, so no gate finds it; commit it on {branch}")
            }
            false => format!("gate {gate}: {script} is not there, neither here nor on {branch}"),
        };
        if !all.contains(&found) {
            all.push(found);
        }
    }
    all
}

/// The branch that a run merges into.
pub(super) struct Base<'a> {
    pub repository: &'a Repository,
    pub branch: &'a str,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_are_told_from_the_words_of_a_command() {
        for (command, want) in [
            ("sh verify.sh", Some("verify.sh")),
            ("CI=1 sh -eu ./scripts/verify.sh --all", Some("scripts/verify.sh")),
            ("./verify.sh && cargo test", Some("verify.sh")),
            ("python3 tools/lint.py | tail", Some("tools/lint.py")),
            ("/usr/bin/env sh verify.sh", None),
            ("/bin/sh verify.sh", Some("verify.sh")),
            ("scripts/verify", Some("scripts/verify")),
            ("sh -c 'exit 1'", None),
            ("sh -c true", None),
            ("python3 -m pytest tests", None),
            ("node --test", None),
            ("cargo test", None),
            ("cd app && ./verify.sh", None),
            ("sh \"$HOME/verify.sh\"", None),
            ("sh ../verify.sh", None),
            ("sh /opt/verify.sh", None),
            ("test -s schema.sql", None),
            ("", None),
        ] {
            assert_eq!(script_of(command).as_deref(), want, "{command}");
        }
    }
}
