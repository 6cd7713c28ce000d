//! Hints are promises: what a command or a run prints as the next thing to type is typed, and has to work.

use crate::ground::{Ground, Typed};
use crate::lead::Ended;
use crate::moment::Moment;
use crate::workers::words::{self, Placeholder};

/// What the words of a hint stand for in a situation.
#[derive(Clone, Copy, Debug, Default)]
pub struct Situation<'a> {
    pub text: &'a str,
    pub number: u32,
    pub file: &'a str,
    pub step: &'a str,
}

/// The commands that a text offers: behind `hint:` and `next:`, and what a line ends with behind a colon; one after
/// another where `&&` joins them.
pub fn offered(text: &str) -> Vec<String> {
    let mut offered: Vec<String> = Vec::new();
    for line in text.lines() {
        for part in line.split("; ").flat_map(|part| part.split(" && ")) {
            let Some(at) = part.find("piton ").filter(|at| is_begin(&part[..*at])) else { continue };
            let command = part[at..].trim_matches(['`', '"', ' ']).trim_end_matches('`').to_owned();
            if !offered.contains(&command) {
                offered.push(command);
            }
        }
    }
    offered
}

impl Ended {
    /// All that the run said in words.
    pub fn said(&self) -> String {
        let texts = self.events.iter().filter_map(|event| event["text"].as_str()).map(|text| format!("{text}\n"));
        format!("{}{}", texts.collect::<String>(), self.stderr)
    }
}

/// Whether a command may begin behind this: at the start of a line, behind a label, or in code.
fn is_begin(before: &str) -> bool {
    let before = before.trim_end();
    before.is_empty() || before.ends_with([':', '`', '$', ','])
}

impl Situation<'_> {
    /// The command with its placeholders filled in.
    pub fn fill(&self, command: &str) -> String {
        let word = |word: words::Word| {
            let filled = match words::placeholder(&word.text) {
                Some(Placeholder::Text | Placeholder::Title) => self.text.to_owned(),
                Some(Placeholder::Number) => self.number.to_string(),
                Some(Placeholder::File) => self.file.to_owned(),
                Some(Placeholder::Step | Placeholder::Criterion) => self.step.to_owned(),
                Some(Placeholder::Command) => "true".to_owned(),
                Some(Placeholder::More) => return String::new(),
                None if word.text == "&&" => return word.text,
                None => word.text,
            };
            words::quoted(&filled)
        };
        words::split(command).into_iter().map(word).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
    }
}

impl Ended {
    /// The commands that the run says to type next.
    #[track_caller]
    pub fn next(&self) -> Vec<String> {
        let lines = self.outcome()["next"].as_array().cloned().unwrap_or_default();
        let next: Vec<String> = lines.iter().filter_map(|line| line.as_str()).flat_map(offered).collect();
        assert!(!next.is_empty(), "the run says nothing to type next\n{self}");
        next
    }
}

impl Ground {
    /// Types what was offered, one after another; each has to exit with 0. Returns what they printed.
    #[track_caller]
    pub fn follows(&self, offered: &[String], situation: Situation<'_>) -> Vec<Typed> {
        assert!(!offered.is_empty(), "nothing was offered\n{}", self.story());
        let typed = |command: &String| {
            let typed = self.types(&situation.fill(command));
            assert_eq!(typed.code, Some(0), "a command that was offered does not work: {typed}\n{}", self.story());
            typed
        };
        offered.iter().map(typed).collect()
    }

    /// The command with which `status` says that a run can be continued.
    #[track_caller]
    pub fn command_to_continue(&self) -> String {
        self.offer_to_continue().unwrap_or_else(|status| {
            panic!("the first line says nothing about a run without a lead: {status}\n{}", self.story())
        })
    }

    /// The command with which `status` says that a run can be continued, or else the whole of what it says.
    #[track_caller]
    pub fn offer_to_continue(&self) -> Result<String, Typed> {
        let status = self.types("piton status").succeeds();
        let said = status.said();
        let first = said.lines().next().unwrap_or_default();
        let command = offered(first).into_iter().find(|command| command.starts_with("piton run"));
        command.ok_or(status)
    }
}

/// Notes the sites of commands that were printed before, and that worked when a line typed them.
pub fn note_typed(before: &Moment, line: &str) {
    commands_of(line).for_each(|words| before.typed(&words));
}

/// The words of each command of a line.
pub fn commands_of(line: &str) -> impl Iterator<Item = Vec<String>> {
    line.split(" && ").map(|command| words::split(command).into_iter().map(|word| word.text).collect())
}

#[test]
fn offered_commands_are_found() {
    let cases: [(&str, &[&str]); 6] = [
        ("go on: piton approve build:X && piton run build:X", &["piton approve build:X", "piton run build:X"]),
        ("hint: run it again: piton run --retry", &["piton run --retry"]),
        ("next: piton approve build:X", &["piton approve build:X"]),
        ("piton keeps nothing", &["piton keeps nothing"]),
        ("the engine of piton is sound", &[]),
        ("paused; continue with: `piton run`", &["piton run"]),
    ];
    for (text, expected) in cases {
        assert_eq!(offered(text), expected, "{text}");
    }
    let situation = Situation { text: "port 80", ..Situation::default() };
    assert_eq!(situation.fill("piton unblock task:a/b --message TEXT"), "piton unblock task:a/b --message 'port 80'");
}
