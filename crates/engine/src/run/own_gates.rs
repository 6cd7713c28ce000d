//! Which files a branch must not change unseen: those that decide how it is judged.

use std::path::Path;

use super::settings::SETTINGS;

/// The changed files that gates depend on: the settings, files that a gate's command names, and files that name
/// commands. What the specification lists as a result is work, whatever names it. Paths are relative to the repository's
/// root; the workspace may be below it.
pub(super) fn own_gates(changed: &[String], judges: &[String], outputs: &[String], inside: &Path) -> Vec<String> {
    let named: Vec<&str> = judges.iter().flat_map(|command| words(command)).collect();
    let is_own = |path: &&String| {
        let Ok(local) = Path::new(path.as_str()).strip_prefix(inside) else { return false };
        let local = local.to_string_lossy();
        if outputs.iter().any(|output| *output == *local) {
            return false;
        }
        *local == *SETTINGS || named.iter().any(|word| **word == *local)
    };
    changed.iter().filter(is_own).cloned().collect()
}

/// The words of a shell command that could name a file of the workspace.
fn words(command: &str) -> impl Iterator<Item = &str> {
    let is_end = |letter: char| letter.is_whitespace() || "'\"`;|&()<>=$".contains(letter);
    command.split(is_end).map(|word| word.strip_prefix("./").unwrap_or(word)).filter(|word| !word.is_empty())
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
