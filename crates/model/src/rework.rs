//! Why a worker starts again on work that an earlier one called done: facts for its prompt and for the report.

use crate::text;

/// One reason to work on something again, with what the next worker needs to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rework {
    /// A gate's command failed.
    GateFailed {
        /// The gate's name.
        gate: String,
        /// Its command.
        command: String,
        /// How it ended: `exit code 1`.
        exit: String,
        /// The last lines that it printed.
        tail: String,
    },
    /// The branch cannot be merged.
    Conflict {
        /// The branch that it conflicts with.
        base: String,
        /// The conflicting files.
        files: Vec<String>,
    },
    /// Files in the worktree are not committed.
    Uncommitted {
        /// These files.
        files: Vec<String>,
    },
    /// Its commits are not on the branch that is merged.
    OtherBranch {
        /// Where they are: a branch, or a detached HEAD.
        found: String,
        /// What git calls that: the branch, or the commit.
        from: String,
        /// The branch that is merged.
        branch: String,
        /// The files that these commits change.
        files: Vec<String>,
    },
    /// Nothing was committed since the branch was made, so there is nothing to merge.
    NoCommit {
        /// The branch that is merged.
        branch: String,
    },
    /// Results that git ignores, so that no merge can take them.
    Ignored {
        /// These files.
        files: Vec<String>,
    },
    /// The worker ended without an error, and nothing of its work is recorded or there.
    NothingDone {
        /// What is missing: tasks, outputs, a commit.
        missing: Vec<String>,
        /// The last lines that it printed.
        printed: String,
    },
    /// The record of a stage is incomplete: what it lacks.
    Incomplete {
        /// The fields, each with the values that are allowed.
        missing: Vec<String>,
    },
    /// The quality gate said FAIL.
    ReviewFailed {
        /// What is wrong.
        issues: String,
    },
    /// The settings on its branch cannot be read: no run could begin with them.
    BadSettings {
        /// The file.
        file: String,
        /// What is wrong with it.
        why: String,
    },
    /// Something is recorded as done that is not there, or that nothing proves.
    Unproved {
        /// Each claim.
        claims: Vec<String>,
    },
}

impl Rework {
    /// The reason in one line, for a console, `why` and a report.
    pub fn summary(&self) -> String {
        let listed = |items: &[String]| items.join(", ");
        let text = match self {
            Rework::GateFailed { gate, command, exit, tail } => {
                let last = tail.lines().next_back().map(str::trim).filter(|last| !last.is_empty());
                let last = last.map_or_else(String::new, |last| format!(": {last}"));
                format!("gate {gate} failed: `{command}` ended with {exit}{last}")
            }
            Rework::Conflict { base, files } => format!("conflicts with {base} in {}", listed(files)),
            Rework::Uncommitted { files } => format!("files are not committed: {}", listed(files)),
            Rework::OtherBranch { found, branch, files, .. } if files.is_empty() => {
                format!("its commits are on {found}, not on {branch}")
            }
            Rework::OtherBranch { found, branch, files, .. } => {
                format!("its commits are on {found}, not on {branch}: {}", listed(files))
            }
            Rework::NoCommit { branch } => format!("nothing is committed on {branch}"),
            Rework::Ignored { files } => format!("git ignores what it made: {}", listed(files)),
            Rework::NothingDone { missing, .. } => format!("its worker ended and did not do: {}", listed(missing)),
            Rework::Incomplete { missing } => format!("the checkpoint lacks {}", listed(missing)),
            Rework::ReviewFailed { issues } => format!("FAIL: {issues}"),
            Rework::BadSettings { file, why } => format!("{file} of its branch cannot be read: {why}"),
            Rework::Unproved { claims } => claims.join("; "),
        };
        text::printable(&text).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_fits_on_a_line() {
        let list = |items: &[&str]| items.iter().map(|item| (*item).to_owned()).collect::<Vec<_>>();
        for (rework, want) in [
            (
                Rework::GateFailed {
                    gate: "test".to_owned(),
                    command: "make test".to_owned(),
                    exit: "exit code 2".to_owned(),
                    tail: "one\n  two failed  \n".to_owned(),
                },
                "gate test failed: `make test` ended with exit code 2: two failed",
            ),
            (
                Rework::Conflict { base: "main".to_owned(), files: list(&["a.rs", "b.rs"]) },
                "conflicts with main in a.rs, b.rs",
            ),
            (Rework::NoCommit { branch: "feature/x".to_owned() }, "nothing is committed on feature/x"),
            (Rework::Uncommitted { files: list(&["a.rs"]) }, "files are not committed: a.rs"),
            (
                Rework::OtherBranch {
                    found: "mine".to_owned(),
                    from: "mine".to_owned(),
                    branch: "feature/A".to_owned(),
                    files: list(&["a.rs", "b.rs"]),
                },
                "its commits are on mine, not on feature/A: a.rs, b.rs",
            ),
            (
                Rework::NothingDone { missing: list(&["a commit"]), printed: String::new() },
                "its worker ended and did not do: a commit",
            ),
            (
                Rework::Incomplete { missing: list(&["readiness (1 to 10)"]) },
                "the checkpoint lacks readiness (1 to 10)",
            ),
            (Rework::ReviewFailed { issues: "two\ntests".to_owned() }, "FAIL: two tests"),
            (
                Rework::BadSettings { file: "piton.toml".to_owned(), why: "line 3: a value is missing".to_owned() },
                "piton.toml of its branch cannot be read: line 3: a value is missing",
            ),
            (Rework::Unproved { claims: list(&["a", "b"]) }, "a; b"),
        ] {
            assert_eq!(rework.summary(), want);
        }
    }
}
