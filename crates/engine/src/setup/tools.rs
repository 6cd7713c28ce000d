//! The build tools that a repository uses, by the files that belong to them, and the settings that let workers use them.
//!
//! Only names that this page knows are proposed: a script or a target of the repository is named, never quoted.

use std::fmt::Write as _;

use piton_model::hint::verbs;
use serde_json::Value;

/// Scripts and targets that build or check, and do nothing else by their name.
const KNOWN: [&str; 7] = ["test", "build", "check", "lint", "typecheck", "format", "fmt"];

/// Files with secrets of a development machine, which git usually ignores and programs need.
const PRIVATE: [&str; 2] = [".env", ".env.local"];

/// What workers of a repository need.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Tools {
    /// Commands that workers may run, by their first words.
    pub allow: Vec<String>,
    /// What sets up a new worktree.
    pub setup: Option<String>,
    /// Files that a new worktree gets a copy of.
    pub copy: Vec<String>,
}

/// A file at the root of the repository as text; nothing when it is not there.
pub(super) type Text<'a> = &'a dyn Fn(&str) -> Option<String>;

impl Tools {
    /// Looks at the files of the build tools, and which of the private files are there and ignored by git.
    pub fn find(text: Text<'_>, is_ignored: &dyn Fn(&str) -> bool) -> Tools {
        let mut tools = Tools::default();
        let has = |name: &str| text(name).is_some();
        if has("Cargo.toml") {
            tools.allow("cargo", &["build", "check", "test", "clippy", "fmt"]);
        }
        if has("go.mod") {
            tools.allow("go", &["build", "test", "vet", "fmt"]);
        }
        if let Some(package) = text("package.json") {
            tools.node(&package, text);
        }
        tools.python(text);
        if has("gradlew") {
            tools.allow("./gradlew", &["build", "test", "check"]);
        } else if has("pom.xml") {
            tools.allow(if has("mvnw") { "./mvnw" } else { "mvn" }, &["compile", "test", "verify"]);
        }
        if has("Gemfile.lock") {
            tools.sets_up("bundle install");
            tools.allow("bundle exec", &["rake test", "rspec"]);
        }
        if let Some(rules) = ["Makefile", "makefile", "GNUmakefile"].iter().find_map(|name| text(name)) {
            let is_target =
                |name: &&&str| rules.lines().any(|line| line.split_once(':').is_some_and(|(to, _)| to == **name));
            let known: Vec<&str> = KNOWN.iter().filter(is_target).copied().collect();
            tools.allow("make", &known);
        }
        tools.copy = PRIVATE.iter().filter(|name| is_ignored(name)).map(|name| (*name).to_owned()).collect();
        tools
    }

    fn node(&mut self, package: &str, text: Text<'_>) {
        let has = |name: &str| text(name).is_some();
        let (program, setup) = match () {
            () if has("pnpm-lock.yaml") => ("pnpm", Some("pnpm install --frozen-lockfile")),
            () if has("yarn.lock") && has(".yarnrc.yml") => ("yarn", Some("yarn install --immutable")),
            () if has("yarn.lock") => ("yarn", Some("yarn install --frozen-lockfile")),
            () if has("bun.lock") || has("bun.lockb") => ("bun", Some("bun install --frozen-lockfile")),
            () if has("package-lock.json") => ("npm", Some("npm ci")),
            () => ("npm", None),
        };
        setup.into_iter().for_each(|setup| self.sets_up(setup));
        let package: Value = serde_json::from_str(package).unwrap_or_default();
        for name in KNOWN.iter().filter(|name| package["scripts"][**name].is_string()) {
            // `bun test` is bun's own; a script of that name needs `run`.
            let is_short = *name == "test" && program != "bun";
            self.allow.push(if is_short { format!("{program} test") } else { format!("{program} run {name}") });
        }
    }

    fn python(&mut self, text: Text<'_>) {
        let has = |name: &str| text(name).is_some();
        if has("uv.lock") {
            self.sets_up("uv sync --locked");
            self.allow("uv run", &["pytest", "ruff"]);
        } else if has("poetry.lock") {
            self.sets_up("poetry install");
            self.allow("poetry run", &["pytest", "ruff"]);
        } else if has("requirements.txt") {
            self.sets_up("python3 -m venv .venv && .venv/bin/pip install -r requirements.txt");
            self.allow(".venv/bin/python -m", &["pytest", "unittest"]);
        } else if has("pyproject.toml") || has("setup.py") {
            self.allow("python3 -m", &["pytest", "unittest"]);
        }
    }

    fn allow(&mut self, program: &str, what: &[&str]) {
        self.allow.extend(what.iter().map(|what| format!("{program} {what}")));
    }

    /// Several tools of one repository are set up one after another.
    fn sets_up(&mut self, command: &str) {
        self.setup = Some(match self.setup.take() {
            Some(before) => format!("{before} && {command}"),
            None => command.to_owned(),
        });
    }

    fn is_empty(&self) -> bool {
        *self == Tools::default()
    }

    /// The settings for a repository that has none yet; nothing when there is nothing to say.
    pub fn settings(&self) -> Option<String> {
        if self.is_empty() {
            return None;
        }
        let approve = verbs::APPROVE.call().to("Workers may use these commands after you approved them");
        let mut text = format!("# Settings of Piton. {approve}\n");
        let list = |all: &[String]| toml_edit::Array::from_iter(all.iter().map(String::as_str)).to_string();
        if !self.allow.is_empty() {
            let _ = write!(text, "\n[worker]\nallow = {}\n", list(&self.allow));
        }
        if self.setup.is_some() || !self.copy.is_empty() {
            text.push_str("\n[worktree]\n");
        }
        if let Some(setup) = &self.setup {
            let _ = writeln!(text, "setup = {}", toml_edit::Value::from(setup.as_str()));
        }
        if !self.copy.is_empty() {
            let _ = writeln!(text, "copy = {}", list(&self.copy));
        }
        Some(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(files: &[(&str, &str)]) -> Tools {
        let text = |name: &str| files.iter().find(|(known, _)| *known == name).map(|(_, text)| (*text).to_owned());
        Tools::find(&text, &|name| text(name).is_some())
    }

    #[test]
    fn tools_are_known_by_their_files() {
        let scripts =
            r#"{"scripts": {"test": "vitest", "build": "vite build", "deploy": "rm -rf /", "postinstall": "x"}}"#;
        let make = "test: all\n\techo\ndeploy:\n\tfalse\nlint :\n";
        for (files, allow, setup) in [
            (vec![], vec![], None),
            (
                vec![("Cargo.toml", "")],
                vec!["cargo build", "cargo check", "cargo test", "cargo clippy", "cargo fmt"],
                None,
            ),
            (
                vec![("package.json", scripts), ("package-lock.json", "")],
                vec!["npm test", "npm run build"],
                Some("npm ci"),
            ),
            (
                vec![("package.json", scripts), ("bun.lock", "")],
                vec!["bun run test", "bun run build"],
                Some("bun install --frozen-lockfile"),
            ),
            (vec![("package.json", scripts)], vec!["npm test", "npm run build"], None),
            (vec![("package.json", "not JSON"), ("yarn.lock", "")], vec![], Some("yarn install --frozen-lockfile")),
            (vec![("uv.lock", "")], vec!["uv run pytest", "uv run ruff"], Some("uv sync --locked")),
            (vec![("Makefile", make)], vec!["make test"], None),
            (vec![("pom.xml", ""), ("mvnw", "")], vec!["./mvnw compile", "./mvnw test", "./mvnw verify"], None),
            (
                vec![("package.json", "{}"), ("package-lock.json", ""), ("poetry.lock", "")],
                vec!["poetry run pytest", "poetry run ruff"],
                Some("npm ci && poetry install"),
            ),
        ] {
            let tools = find(&files);
            assert_eq!(
                (tools.allow, tools.setup.as_deref()),
                (allow.into_iter().map(str::to_owned).collect(), setup),
                "{files:?}"
            );
        }
    }

    #[test]
    fn what_is_written_is_what_a_run_reads() {
        let files = [("go.mod", ""), ("package.json", "{}"), ("pnpm-lock.yaml", ""), (".env", "SECRET=1")];
        let text = find(&files).settings().expect("there is something to say");
        assert!(!text.contains("SECRET"));
        let settings = crate::run::Settings::parse(&text).unwrap_or_else(|error| panic!("{}", error.message));
        assert_eq!(settings.workers.choose(None, None).spec.allow, ["go build", "go test", "go vet", "go fmt"]);
        assert_eq!(settings.worktree_setup.as_deref(), Some("pnpm install --frozen-lockfile"));
        assert_eq!(settings.worktree_copy, [".env"]);
        assert_eq!(Tools::default().settings(), None);
    }
}
