//! A command as a value.

use std::fmt;
use std::panic::Location;
use std::sync::OnceLock;

use super::verbs::{Place, Taken, Verb};
use super::{Audience, Hint};
use crate::text::{printable, shell_word};
use crate::{Id, UnitRef};

/// The longest path that stands in a command.
const LONGEST_PATH: usize = 400;
/// The longest name that stands in a command.
const LONGEST_NAME: usize = 128;

/// A command: a verb, and what it is given.
#[derive(Clone)]
pub struct Invocation {
    /// The verb.
    pub verb: &'static Verb,
    /// Words without an option in front, in the order of the verb's table.
    pub args: Vec<Arg>,
    /// Options; a flag has no value.
    pub options: Vec<(&'static str, Option<Arg>)>,
    /// The directory to run in, where it is not that of the reader.
    pub directory: Option<Arg>,
    at: &'static Location<'static>,
}

/// An argument of a command. There is no free text among them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Arg {
    /// A unit.
    Unit(UnitRef),
    /// A name that a repository gave and that is one plain word.
    Name(Box<str>),
    /// A word of Piton.
    Word(&'static str),
    /// A number.
    Number(u64),
    /// A path that can be typed, as the reader's directory takes it.
    Path(Box<str>),
    /// A document of the workspace, relative to its root.
    Document(Box<str>),
    /// What the reader fills in, in capitals: `TEXT`, `N`.
    Fill(&'static str),
}

impl Arg {
    /// A unit by its name; `UNIT` where the name cannot be typed.
    pub fn unit(name: impl fmt::Display) -> Arg {
        UnitRef::parse(&name.to_string()).map_or(Arg::Fill("UNIT"), Arg::Unit)
    }

    /// A name from a repository: itself where it is one plain word, else `fill` in its place.
    pub fn name(name: &str, fill: &'static str) -> Arg {
        let is_plain =
            !name.is_empty() && name.len() <= LONGEST_NAME && !name.starts_with('-') && shell_word(name) == name;
        if is_plain { Arg::Name(name.into()) } else { Arg::Fill(fill) }
    }

    /// A path from a repository: itself where it can be typed, else `FILE`.
    pub fn path(path: &str) -> Arg {
        let is_typable =
            !path.is_empty() && path.len() <= LONGEST_PATH && !path.starts_with('-') && printable(path) == path;
        if is_typable { Arg::Path(path.into()) } else { Arg::Fill("FILE") }
    }

    /// What a caller typed where a unit or a file can stand.
    pub fn typed(typed: &str) -> Arg {
        match UnitRef::parse(typed) {
            Ok(unit) if unit.dialect.is_some() => Arg::Unit(unit),
            _ => Arg::path(typed),
        }
    }

    fn text(&self) -> String {
        match self {
            Arg::Unit(unit) => unit.to_string(),
            Arg::Name(text) | Arg::Path(text) | Arg::Document(text) => text.to_string(),
            Arg::Word(word) | Arg::Fill(word) => (*word).to_owned(),
            Arg::Number(number) => number.to_string(),
        }
    }

    /// As a text of JSON.
    fn json(&self) -> String {
        json_text(&self.text())
    }
}

impl From<u64> for Arg {
    fn from(number: u64) -> Arg {
        Arg::Number(number)
    }
}

impl From<&Id> for Arg {
    fn from(id: &Id) -> Arg {
        Arg::Name(id.as_str().into())
    }
}

impl Verb {
    /// The command alone.
    #[track_caller]
    pub fn call(&'static self) -> Invocation {
        Invocation { verb: self, args: Vec::new(), options: Vec::new(), directory: None, at: Location::caller() }
    }

    /// The command for a unit, by its name.
    #[track_caller]
    pub fn on(&'static self, unit: impl fmt::Display) -> Invocation {
        self.call().arg(Arg::unit(unit))
    }
}

impl Invocation {
    /// Adds an argument.
    #[must_use]
    pub fn arg(mut self, arg: impl Into<Arg>) -> Invocation {
        self.args.push(arg.into());
        self
    }

    /// Adds a word of Piton.
    #[must_use]
    pub fn word(self, word: &'static str) -> Invocation {
        self.arg(Arg::Word(word))
    }

    /// Adds a name from a repository.
    #[must_use]
    pub fn name(self, name: &str, fill: &'static str) -> Invocation {
        self.arg(Arg::name(name, fill))
    }

    /// Adds names from a repository.
    #[must_use]
    pub fn names(self, names: impl IntoIterator<Item = impl AsRef<str>>, fill: &'static str) -> Invocation {
        names.into_iter().fold(self, |command, name| command.name(name.as_ref(), fill))
    }

    /// Adds something for the reader to fill in.
    #[must_use]
    pub fn fill(self, fill: &'static str) -> Invocation {
        self.arg(Arg::Fill(fill))
    }

    /// Adds the path of a document, relative to the workspace.
    #[must_use]
    pub fn path(self, path: &str) -> Invocation {
        self.arg(match Arg::path(path) {
            Arg::Path(path) => Arg::Document(path),
            other => other,
        })
    }

    /// Adds an option with its value.
    #[must_use]
    pub fn with(mut self, option: &'static str, value: impl Into<Arg>) -> Invocation {
        self.options.push((option, Some(value.into())));
        self
    }

    /// Adds an option whose value the reader fills in.
    #[must_use]
    pub fn filled(self, option: &'static str, fill: &'static str) -> Invocation {
        self.with(option, Arg::Fill(fill))
    }

    /// Adds a flag.
    #[must_use]
    pub fn flag(mut self, option: &'static str) -> Invocation {
        self.options.push((option, None));
        self
    }

    /// Runs it in another directory than the reader's.
    #[must_use]
    pub fn within(self, directory: &str) -> Invocation {
        Invocation { directory: Some(Arg::path(directory)), ..self }
    }

    /// Says what it does: `go on with it: piton resume plan:x`.
    pub fn to(self, text: impl Into<std::borrow::Cow<'static, str>>) -> Hint {
        Hint::text(text).then(self)
    }

    /// Where in the sources it is made.
    pub fn at(&self) -> &'static Location<'static> {
        self.at
    }

    /// Its words, the program first.
    pub fn argv(&self) -> Vec<String> {
        let mut argv = vec!["piton".to_owned()];
        argv.extend(self.directory.iter().flat_map(|directory| ["-C".to_owned(), directory.text()]));
        argv.extend(self.verb.words.iter().map(|word| (*word).to_owned()));
        argv.extend(self.args.iter().map(Arg::text));
        for (option, value) in &self.options {
            argv.push((*option).to_owned());
            argv.extend(value.iter().map(Arg::text));
        }
        argv
    }

    /// The command in the words of its audience: words of a shell, or the call of a tool. Where no tool does it, the command
    /// is for a person, and stays as a person types it.
    pub fn render(&self, audience: Audience) -> String {
        let command = match audience {
            Audience::Shell => self.read_outside(OUTSIDE_OF.get().map(|root| &**root)),
            Audience::Tools => self.clone(),
        };
        seen(&command);
        command.words_for(audience)
    }

    /// The command for a reader whose shell finds another workspace than the one at `root`: it names that one, unless it
    /// names a directory already.
    fn read_outside(&self, root: Option<&str>) -> Invocation {
        let Some(root) = root.filter(|_| self.directory.is_none()) else { return self.clone() };
        let absolute = |arg: &Arg| match arg {
            Arg::Document(path) => Arg::path(&format!("{}/{path}", root.trim_end_matches('/'))),
            Arg::Unit(_) | Arg::Name(_) | Arg::Word(_) | Arg::Number(_) | Arg::Path(_) | Arg::Fill(_) => arg.clone(),
        };
        Invocation { args: self.args.iter().map(absolute).collect(), ..self.clone() }.within(root)
    }

    /// The same, without being observed.
    pub fn words_for(&self, audience: Audience) -> String {
        let tool = if audience == Audience::Tools { self.tool() } else { None };
        let Some((tool, arguments)) = tool else {
            return self.argv().iter().map(|word| shell_word(word).into_owned()).collect::<Vec<_>>().join(" ");
        };
        let arguments: Vec<_> = arguments.iter().map(|(name, value)| format!("{}:{value}", json_text(name))).collect();
        match arguments.is_empty() {
            true => format!("call {tool}"),
            false => format!("call {tool} with {{{}}}", arguments.join(",")),
        }
    }

    /// The tool that does the same, and its arguments as JSON; nothing where none does.
    fn tool(&self) -> Option<(&'static str, Vec<(&'static str, String)>)> {
        let tool = self.verb.tool.filter(|_| self.directory.is_none())?;
        let mut arguments = Vec::new();
        let mut args = self.args.iter();
        for place in self.verb.places {
            match place {
                Place::One(name) => arguments.extend(args.next().map(|arg| (*name, arg.json()))),
                Place::UnitOrPath => arguments.extend(args.next().map(|arg| match arg {
                    Arg::Unit(_) => ("unit", arg.json()),
                    Arg::Name(_) | Arg::Word(_) | Arg::Number(_) | Arg::Path(_) | Arg::Document(_) | Arg::Fill(_) => {
                        ("path", arg.json())
                    }
                })),
                Place::Rest(name) => {
                    let rest: Vec<_> = args.by_ref().map(Arg::json).collect();
                    arguments.extend((!rest.is_empty()).then(|| (*name, json_list(&rest))));
                }
            }
        }
        for (option, taken) in self.verb.options {
            let mut given = self.options.iter().filter(|(name, _)| name == option).map(|(_, value)| value);
            match taken {
                Taken::Value(name) => arguments.extend(given.flatten().map(|value| (*name, value.json()))),
                Taken::Number(name) => {
                    arguments.extend(given.flatten().map(|value| (*name, json_number(&value.text()))))
                }
                Taken::List(name) => {
                    let values: Vec<_> = given.flatten().map(Arg::json).collect();
                    arguments.extend((!values.is_empty()).then(|| (*name, json_list(&values))));
                }
                Taken::Flag(name) => arguments.extend(given.map(|_| (*name, "true".to_owned()))),
                Taken::Choice(name, word) => arguments.extend(given.map(|_| (*name, json_text(word)))),
                Taken::Always => {}
                Taken::Never if given.next().is_some() => return None,
                Taken::Never => {}
            }
        }
        Some((tool, arguments))
    }
}

/// As a shell reads it.
impl fmt::Display for Invocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(Audience::Shell))
    }
}

impl fmt::Debug for Invocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} at {}", self.argv(), self.at)
    }
}

/// The same command, wherever it is made.
impl PartialEq for Invocation {
    fn eq(&self, other: &Invocation) -> bool {
        self.argv() == other.argv()
    }
}

impl Eq for Invocation {}

static OUTSIDE_OF: OnceLock<Box<str>> = OnceLock::new();

/// Says that a reader with a shell is outside of the workspace at `root`: commands name it with `-C` from now on.
pub fn read_outside_of(root: &str) {
    // A process has one workspace.
    let _ = OUTSIDE_OF.set(root.into());
}

static OBSERVER: OnceLock<fn(&Invocation)> = OnceLock::new();

/// Calls a function with each command that is rendered from now on. Tests follow hints with it; release builds have no
/// observer.
pub fn observe(observer: fn(&Invocation)) {
    // A second observer would be a mistake of the caller, and the first one stays.
    let _ = OBSERVER.set(observer);
}

fn seen(command: &Invocation) {
    if cfg!(debug_assertions)
        && let Some(observer) = OBSERVER.get()
    {
        observer(command);
    }
}

/// A text of JSON. Control characters cannot be in an argument.
fn json_text(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// A number of JSON; a text where a word stands for the number.
fn json_number(text: &str) -> String {
    match text.parse::<f64>().is_ok_and(f64::is_finite) {
        true => text.to_owned(),
        false => json_text(text),
    }
}

fn json_list(items: &[String]) -> String {
    format!("[{}]", items.join(","))
}

#[cfg(test)]
mod tests {
    use super::super::verbs::{CHECK, GATE, GATE_RUN, PLAN_MARK, RESTART, RESUME, RUN, START, STATUS, STEP, VERDICT};
    use super::*;

    #[test]
    fn a_command_is_rendered_from_the_table() {
        let unit = "build:X";
        for (command, typed, call) in [
            (STATUS.call().flag("--all"), "piton status --all", "call status"),
            (RESTART.on("build:no name"), "piton restart UNIT", r#"call restart with {"unit":"UNIT"}"#),
            (
                STEP.on(unit).word("done").names(["WS1", "rm -rf /"], "STEP").filled("--message", "TEXT"),
                "piton step build:X done WS1 STEP --message TEXT",
                r#"call step with {"unit":"build:X","deed":"done","steps":["WS1","STEP"],"message":"TEXT"}"#,
            ),
            (
                GATE.on(unit).word("pass").name("test:unit", "GATE").with("--step", Arg::name("WS1", "STEP")),
                "piton gate build:X pass test:unit --step WS1",
                r#"call gate with {"unit":"build:X","verdict":"pass","names":["test:unit"],"step":"WS1"}"#,
            ),
            (
                VERDICT.on(unit).word("GO").with("--score", Arg::Number(8)),
                "piton verdict build:X GO --score 8",
                r#"call verdict with {"unit":"build:X","word":"GO","score":8}"#,
            ),
            (
                START.on(unit).with("--step", Arg::Name("WS1".into())).with("--step", Arg::Name("WS2".into())),
                "piton start build:X --step WS1 --step WS2",
                r#"call start with {"unit":"build:X","steps":["WS1","WS2"]}"#,
            ),
            (
                RESUME.on(unit).flag("--restart").flag("--force"),
                "piton resume build:X --restart --force",
                r#"call resume with {"unit":"build:X","force":true,"mode":"restart"}"#,
            ),
            (
                CHECK.call().path(r#"docs/a "b\.json"#),
                r#"piton check 'docs/a "b\.json'"#,
                r#"call check with {"path":"docs/a \"b\\.json"}"#,
            ),
            (CHECK.call().path("a\u{202e}b"), "piton check FILE", r#"call check with {"path":"FILE"}"#),
            (CHECK.on(unit), "piton check build:X", r#"call check with {"unit":"build:X"}"#),
            (PLAN_MARK.on("plan:x"), "piton plan mark plan:x", r#"call mark_plan with {"unit":"plan:x"}"#),
            // What only a person at a terminal does has no tool.
            (RUN.on(unit).flag("--retry"), "piton run build:X --retry", "piton run build:X --retry"),
            (GATE_RUN.on(unit).word("run").name("a", "GATE"), "piton gate build:X run a", "piton gate build:X run a"),
        ] {
            assert_eq!(command.to_string(), typed);
            assert_eq!(command.render(Audience::Tools), call);
            assert!(command.at().file().ends_with("invocation.rs"));
        }
    }

    #[test]
    fn a_reader_outside_of_the_workspace_gets_its_directory_once() {
        for (command, inside, outside) in [
            (STATUS.call(), "piton status", "piton -C '/a b' status"),
            (
                RUN.on("build:X").arg(Arg::typed("./spec.md")),
                "piton run build:X ./spec.md",
                "piton -C '/a b' run build:X ./spec.md",
            ),
            (RUN.call().within("/c"), "piton -C /c run", "piton -C /c run"),
            // A document is found from anywhere.
            (CHECK.call().path("docs/a.md"), "piton check docs/a.md", "piton -C '/a b' check '/a b/docs/a.md'"),
        ] {
            assert_eq!(command.read_outside(None).to_string(), inside);
            assert_eq!(command.read_outside(Some("/a b")).to_string(), outside);
        }
    }
}
