//! What a worker may do beside reading and editing its own directory, and how each client is told.

use std::path::{Path, PathBuf};

use super::shell::{is_open_ended, simple_commands, without_variables};

/// Something that a worker may use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Allow {
    /// Commands that begin with these words.
    Prefix(String),
    /// Exactly this command.
    Exact(String),
    /// A tool of the client, by the client's own rule: `WebFetch(domain:docs.rs)`.
    Tool(String),
}

impl Allow {
    /// As a person writes it in settings: a command's first words, or a client's rule.
    pub fn parse(text: &str) -> Allow {
        match is_rule(text) {
            true => Allow::Tool(text.to_owned()),
            false => Allow::Prefix(text.to_owned()),
        }
    }
}

/// Whether a text is a client's rule, and not a command: `Name(…)`, `mcp__server__tool`.
fn is_rule(text: &str) -> bool {
    let is_named = text.split_once('(').is_some_and(|(name, rest)| {
        name.starts_with(|c: char| c.is_ascii_uppercase())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
            && rest.ends_with(')')
    });
    is_named || text.starts_with("mcp__")
}

/// What a worker may do beside reading and editing its own directory. It may do nothing else, as far as its client can
/// hold it to that: Claude Code asks before each command, Codex runs every command in a sandbox.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Grants {
    /// Commands: gates, build tools, and what a person allowed.
    pub allow: Vec<Allow>,
    /// The words by which it calls Piton, each as one word of a shell: `piton`.
    pub piton: Vec<String>,
    /// Files and directories outside of its own directory that it may read.
    pub readable: Vec<PathBuf>,
    /// Documents of its unit outside of its own directory: files and directories that it may edit.
    pub documents: Vec<PathBuf>,
    /// Directories in which git and Piton record what it does. A client without a sandbox needs no leave for them.
    pub records: Vec<PathBuf>,
    /// Whether its commands may use the network.
    pub network: bool,
    /// Whether its directory belongs to a git repository.
    pub in_git: bool,
}

/// Commands of git that change its own worktree and branch, and run nothing of what they are given. Those that only read
/// are known to the client; `push`, `fetch`, `remote`, `worktree`, `config`, `submodule` and `rebase --exec` are not here.
const GIT: [&str; 14] = [
    "add",
    "apply",
    "branch",
    "checkout",
    "cherry-pick",
    "commit",
    "merge",
    "mv",
    "reset",
    "restore",
    "revert",
    "rm",
    "stash",
    "switch",
];

impl Grants {
    /// The rules for Claude Code. Measured with version 2.1: `Bash(a b:*)` allows `a b` with any further arguments, also
    /// as a part of a longer command whose other parts are allowed too; `Bash(TEXT)` exactly that text. A call of Piton
    /// by a variable (`"$PITON" …`) cannot be allowed by any rule.
    pub(super) fn claude_rules(&self) -> Vec<String> {
        let mut rules: Vec<String> = Vec::new();
        let mut add = |rule: String| {
            if !rules.contains(&rule) {
                rules.push(rule);
            }
        };
        for word in &self.piton {
            add(format!("Bash({word}:*)"));
        }
        add("mcp__piton".to_owned());
        if self.in_git {
            for verb in GIT {
                add(format!("Bash(git {verb}:*)"));
            }
        }
        for allow in &self.allow {
            match allow {
                Allow::Tool(rule) => add(rule.strip_suffix("()").unwrap_or(rule).to_owned()),
                Allow::Exact(command) => {
                    add(format!("Bash({command})"));
                    simple_commands(command).into_iter().for_each(|part| add(format!("Bash({part})")));
                }
                Allow::Prefix(command) => {
                    for part in simple_commands(command).into_iter().filter(|part| !is_open_ended(part)) {
                        add(format!("Bash({part}:*)"));
                        add(format!("Bash({}:*)", without_variables(&part)));
                    }
                    // A text with operators is also known as a whole.
                    add(format!("Bash({command})"));
                }
            }
        }
        for path in self.readable.iter().filter_map(|path| claude_path(path)) {
            add(format!("Read({path})"));
        }
        for path in self.documents.iter().filter_map(|path| claude_path(path)) {
            add(format!("Edit({path})"));
        }
        rules
    }

    /// Directories that Claude Code cannot be told of by a rule, because a rule's path is a pattern.
    pub(super) fn claude_directories(&self) -> Vec<String> {
        let paths = self.readable.iter().chain(&self.documents);
        let odd = paths.filter(|path| claude_path(path).is_none());
        unique(odd.filter_map(|path| directory(path)))
    }

    /// Directories that the sandbox of Codex lets its commands write.
    pub(super) fn codex_directories(&self) -> Vec<String> {
        unique(self.records.iter().chain(&self.documents).filter_map(|path| directory(path)))
    }
}

/// A path as a rule of Claude Code: absolute paths begin with two slashes, a directory stands for all that is in it.
fn claude_path(path: &Path) -> Option<String> {
    let text = path.to_str().filter(|text| !text.contains(['*', '?', '[', ']', '{', '}', '(', ')', '\\', '!', ',']))?;
    let rest = if path.is_dir() { "/**" } else { "" };
    Some(format!("/{text}{rest}"))
}

/// The directory of a path that may be a file.
fn directory(path: &Path) -> Option<String> {
    let directory = if path.is_dir() { path } else { path.parent()? };
    directory.to_str().map(str::to_owned)
}

fn unique(texts: impl Iterator<Item = String>) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for text in texts {
        if !all.contains(&text) {
            all.push(text);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_is_told_from_a_command() {
        for (text, is_a_rule) in [
            ("npm test", false),
            ("make", false),
            ("WebFetch(domain:docs.rs)", true),
            ("WebSearch()", true),
            ("mcp__db__query", true),
            ("node -e \"f(1)\"", false),
            ("(cd x && y)", false),
            ("Bash(npm ci", false),
        ] {
            assert_eq!(matches!(Allow::parse(text), Allow::Tool(_)), is_a_rule, "{text}");
        }
    }

    #[test]
    fn claude_gets_a_rule_for_each_part_of_a_command() {
        let rules = |allow: Allow| {
            let grants = Grants { allow: vec![allow], ..Grants::default() };
            grants.claude_rules().into_iter().filter(|rule| rule != "mcp__piton").collect::<Vec<_>>()
        };
        for (allow, want) in [
            (Allow::Prefix("npm test".to_owned()), vec!["Bash(npm test:*)", "Bash(npm test)"]),
            (
                Allow::Prefix("CI=1 npm test && npm run lint".to_owned()),
                vec![
                    "Bash(CI=1 npm test:*)",
                    "Bash(npm test:*)",
                    "Bash(npm run lint:*)",
                    "Bash(CI=1 npm test && npm run lint)",
                ],
            ),
            (Allow::Prefix("cat x | sh".to_owned()), vec!["Bash(cat x:*)", "Bash(cat x | sh)"]),
            (Allow::Exact("rm -r x".to_owned()), vec!["Bash(rm -r x)"]),
            (Allow::Exact("a && b".to_owned()), vec!["Bash(a && b)", "Bash(a)", "Bash(b)"]),
            (Allow::Tool("WebSearch()".to_owned()), vec!["WebSearch"]),
            (Allow::Tool("WebFetch(domain:docs.rs)".to_owned()), vec!["WebFetch(domain:docs.rs)"]),
        ] {
            assert_eq!(rules(allow.clone()), want, "{allow:?}");
        }
    }

    #[test]
    fn git_changes_the_own_branch_and_nothing_else() {
        let grants = Grants { in_git: true, piton: vec!["piton".to_owned()], ..Grants::default() };
        let rules = grants.claude_rules();
        assert!(rules.contains(&"Bash(git commit:*)".to_owned()) && rules.contains(&"Bash(piton:*)".to_owned()));
        for verb in
            ["push", "fetch", "pull", "remote", "worktree", "config", "rebase", "submodule", "bisect", "-c", "-C"]
        {
            assert!(!rules.iter().any(|rule| rule.starts_with(&format!("Bash(git {verb}"))), "{verb}");
        }
        assert!(!rules.iter().any(|rule| rule == "Bash" || rule == "Bash(git:*)"));
        assert!(!Grants::default().claude_rules().iter().any(|rule| rule.contains("git")));
    }

    #[test]
    fn paths_become_rules_or_directories() {
        let grants = Grants {
            readable: vec!["/tmp".into()],
            documents: vec!["/no/such/a.json".into(), "/no/such (copy)/b.json".into()],
            records: vec!["/tmp".into()],
            ..Grants::default()
        };
        let rules = grants.claude_rules();
        assert!(rules.contains(&"Read(//tmp/**)".to_owned()), "{rules:?}");
        assert!(rules.contains(&"Edit(//no/such/a.json)".to_owned()), "{rules:?}");
        assert_eq!(grants.claude_directories(), ["/no/such (copy)"]);
        assert_eq!(grants.codex_directories(), ["/tmp", "/no/such", "/no/such (copy)"]);
    }
}
