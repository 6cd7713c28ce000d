//! The templates: Markdown with the tags of Jinja, built in, and replaced by the user's own where there are some.
//!
//! The user's own come from the user's configuration directory and never from a repository: what a worker is told to do
//! is the user's business.

use std::fmt;
use std::io;
use std::path::Path;

use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment, UndefinedBehavior};
use serde_json::Value;

use super::{example, value};

/// Every template, by its file's name. Those that begin with `_` are parts of others.
const BUILT_IN: &[(&str, &str)] = &[
    ("_context.md", include_str!("../prompts/_context.md")),
    ("_first.md", include_str!("../prompts/_first.md")),
    ("_gates.md", include_str!("../prompts/_gates.md")),
    ("_head.md", include_str!("../prompts/_head.md")),
    ("_resume.md", include_str!("../prompts/_resume.md")),
    ("_rules.md", include_str!("../prompts/_rules.md")),
    ("_tasks.md", include_str!("../prompts/_tasks.md")),
    ("_work.md", include_str!("../prompts/_work.md")),
    ("build.md", include_str!("../prompts/build.md")),
    ("crew.md", include_str!("../prompts/crew.md")),
    ("pipeline-stage-0.md", include_str!("../prompts/pipeline-stage-0.md")),
    ("pipeline-stage-1.md", include_str!("../prompts/pipeline-stage-1.md")),
    ("pipeline-stage-2.md", include_str!("../prompts/pipeline-stage-2.md")),
    ("pipeline-stage-3.md", include_str!("../prompts/pipeline-stage-3.md")),
    ("plan.md", include_str!("../prompts/plan.md")),
    ("question.md", include_str!("../prompts/question.md")),
    ("task.md", include_str!("../prompts/task.md")),
];

/// The templates of a run.
#[derive(Debug)]
pub struct Templates {
    environment: Environment<'static>,
}

/// A template that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadTemplate {
    /// Its file, or its name where it is built in.
    pub path: String,
    /// What is wrong, as a fragment.
    pub message: String,
}

impl fmt::Display for BadTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot use the prompt template `{}`: {}", self.path, self.message)
    }
}

impl std::error::Error for BadTemplate {}

impl Templates {
    /// The templates as they are built in.
    pub fn built_in() -> Templates {
        let mut environment = Environment::new();
        let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).keep_trailing_newline(true).build();
        environment.set_syntax(syntax.expect("the usual delimiters are different from each other"));
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        // Markdown is no HTML; what others wrote is made safe before it comes here.
        environment.set_auto_escape_callback(|_| AutoEscape::None);
        for (name, source) in BUILT_IN {
            environment.add_template(name, source).expect("tests parse what is built in");
        }
        Templates { environment }
    }

    /// The same with those that stand in a directory in their place. Each is tried on an example, so that a mistake is
    /// found before anything starts.
    pub fn load(directory: &Path) -> Result<Templates, BadTemplate> {
        let mut templates = Templates::built_in();
        let mut has_own = false;
        for (name, _) in BUILT_IN {
            let path = directory.join(name);
            let source = match std::fs::read_to_string(&path) {
                Ok(source) => source,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(bad(&path, format!("it cannot be read: {error}"))),
            };
            has_own = true;
            let added = templates.environment.add_template_owned(*name, source);
            added.map_err(|error| bad(&path, explained(&error)))?;
        }
        if has_own {
            templates.try_all(directory)?;
        }
        Ok(templates)
    }

    fn try_all(&self, directory: &Path) -> Result<(), BadTemplate> {
        let whole = BUILT_IN.iter().map(|(name, _)| *name).filter(|name| !name.starts_with('_'));
        for name in whole {
            for context in example::contexts() {
                self.render(name.trim_end_matches(".md"), &value::of(&context)).map_err(|wrong| {
                    let own = directory.join(&wrong.path);
                    if own.exists() { bad(&own, wrong.message) } else { wrong }
                })?;
            }
        }
        Ok(())
    }

    /// Fills a template in. Empty lines that tags leave behind become one.
    pub(super) fn render(&self, name: &str, context: &Value) -> Result<String, BadTemplate> {
        let file = format!("{name}.md");
        let rendered = self.environment.get_template(&file).and_then(|template| template.render(Serde(context)));
        let text = rendered.map_err(|error| {
            let cause = innermost(&error);
            BadTemplate { path: cause.name().unwrap_or(&file).to_owned(), message: explained(cause) }
        })?;
        Ok(tidied(&text))
    }
}

/// At most one empty line in a row, none at the ends.
fn tidied(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut was_empty = true;
    for line in text.lines().map(str::trim_end) {
        if !(line.is_empty() && was_empty) {
            out.push_str(line);
            out.push('\n');
        }
        was_empty = line.is_empty();
    }
    format!("{}\n", out.trim_end())
}

fn bad(path: &Path, message: String) -> BadTemplate {
    BadTemplate { path: path.display().to_string(), message }
}

/// What went wrong in a part that a template includes.
fn innermost(error: &minijinja::Error) -> &minijinja::Error {
    let inner = std::error::Error::source(error).and_then(|source| source.downcast_ref::<minijinja::Error>());
    inner.map_or(error, innermost)
}

fn explained(error: &minijinja::Error) -> String {
    let kind = error.kind().to_string();
    let detail = error.detail().map_or_else(|| kind.clone(), |detail| format!("{kind}: {detail}"));
    match error.line() {
        Some(line) => format!("line {line}: {detail}"),
        None => detail,
    }
}
