//! Any other command.

use std::io;

use serde_json::Value;

use super::limit::moment;
use super::{Limit, LimitScope, Outcome, Seen, Work, read_prompt, shorten};
use crate::launch::Launch;
use crate::output::{Line, Stream};
use crate::worker::Exit;

/// How a command gets its prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PromptBy {
    /// On its standard input.
    #[default]
    Stdin,
    /// The path of a file with it, in place of `{prompt}`, or as its last argument.
    File,
    /// Its text, in place of `{prompt}`, or as its last argument.
    Argument,
}

/// A command and its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandLine {
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// How it gets its prompt.
    pub prompt: PromptBy,
}

/// Stands for the prompt in an argument.
const PROMPT: &str = "{prompt}";

impl CommandLine {
    pub(super) fn start(&self, work: &Work) -> io::Result<Launch> {
        let launch =
            |argv: Vec<String>| Launch::new(argv, &work.directory).set("PITON_PROMPT", work.prompt.to_string_lossy());
        Ok(match self.prompt {
            PromptBy::Stdin => launch(self.argv.clone()).input(&work.prompt),
            PromptBy::File => launch(self.with_prompt(&work.prompt.to_string_lossy())),
            PromptBy::Argument => launch(self.with_prompt(&read_prompt(&work.prompt)?)),
        })
    }

    fn with_prompt(&self, prompt: &str) -> Vec<String> {
        let is_named = self.argv.iter().any(|argument| argument.contains(PROMPT));
        let last = (!is_named).then(|| prompt.to_owned());
        self.argv.iter().map(|argument| argument.replace(PROMPT, prompt)).chain(last).collect()
    }
}

/// The exit code of a command that cannot go on for now: `EX_TEMPFAIL` of `sysexits.h`.
const PARKED: i32 = 75;

pub(super) fn see(seen: &mut Seen, stream: Stream, line: Line<'_>) {
    seen.has_begun = true;
    let text = String::from_utf8_lossy(line.bytes);
    match stream {
        _ if text.trim().is_empty() => {}
        // Only the last line counts.
        Stream::Out => seen.limit = parked(line.bytes),
        // What to do about it follows what is the matter, and is worth less here.
        Stream::Err if text.starts_with("hint:") && seen.complaint.is_some() => {}
        Stream::Err => seen.complaint = Some(shorten(&text)),
    }
}

/// `{"limit_reset": TIME}`: seconds since 1970, RFC 3339, or null when it is not known. With `"scope": "account"` it
/// concerns all workers of this command.
fn parked(line: &[u8]) -> Option<Limit> {
    let value = serde_json::from_slice::<Value>(line).ok()?;
    let reset = value.as_object()?.get("limit_reset")?;
    let scope = if value["scope"] == "account" { LimitScope::Account } else { LimitScope::Worker };
    Some(Limit::new(scope, moment(reset), value["message"].as_str().unwrap_or("the command reports a limit")))
}

pub(super) fn judge(exit: &Exit, seen: &Seen) -> Outcome {
    match (exit, &seen.limit) {
        (Exit::Code(_), Some(limit)) => Outcome::Limited(limit.clone()),
        (Exit::Code(PARKED), None) => {
            Outcome::Limited(Limit::new(LimitScope::Worker, None, seen.complaint.as_deref().unwrap_or("exit code 75")))
        }
        (Exit::Code(0), None) => Outcome::Finished,
        (Exit::Code(_), None) => Outcome::Failed { reason: seen.reason(exit) },
        (Exit::Signal(_) | Exit::Vanished | Exit::NotStarted { .. }, _) => Outcome::Died { reason: exit.to_string() },
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{check, limited, work};
    use super::*;
    use crate::adapter::Adapter;
    use crate::launch::Input;

    fn command(argv: &[&str], prompt: PromptBy) -> Adapter {
        Adapter::Command(CommandLine { argv: argv.iter().map(|word| (*word).to_owned()).collect(), prompt })
    }

    #[test]
    fn a_prompt_comes_as_it_is_wanted() {
        let file = std::env::temp_dir().join(format!("piton-prompt-{}", std::process::id()));
        std::fs::write(&file, "do it").expect("a file can be written");
        let path = file.to_str().expect("it is text");
        let work = Work { prompt: file.clone(), ..work() };
        for (argv, prompt, want, input) in [
            (&["a", "b"][..], PromptBy::Stdin, vec!["a", "b"], Input::File(file.clone())),
            (&["a", "b"][..], PromptBy::File, vec!["a", "b", path], Input::Nothing),
            (&["a", "-f={prompt}", "c"][..], PromptBy::File, vec!["a", &format!("-f={path}"), "c"], Input::Nothing),
            (&["a"][..], PromptBy::Argument, vec!["a", "do it"], Input::Nothing),
            (&["a", "{prompt}", "-v"][..], PromptBy::Argument, vec!["a", "do it", "-v"], Input::Nothing),
        ] {
            let launch = command(argv, prompt).start(&work).expect("the prompt is there");
            assert_eq!((launch.argv, launch.input), (want.into_iter().map(str::to_owned).collect(), input));
        }
        std::fs::remove_file(&file).expect("it is ours");
        assert!(command(&["a"], PromptBy::Argument).start(&work).is_err());
        assert_eq!(command(&["a"], PromptBy::Stdin).resume(&work), None);
    }

    #[test]
    fn a_command_is_told_what_it_works_on() {
        let launch = command(&["a"], PromptBy::Stdin).start(&work()).expect("nothing has to be read");
        let value = |name: &str| launch.set.iter().find(|(set, _)| set == name).map(|(_, value)| value.as_str());
        for (name, want) in [
            ("PITON_UNIT", "pipeline:7"),
            ("PITON_ATTEMPT", "2"),
            ("PITON_ROOT", "/r"),
            ("PITON_CHECKPOINT", "/r/.pipeline/7.json"),
            ("PITON_PROMPT", "/h/prompt"),
        ] {
            assert_eq!(value(name), Some(want), "{name}");
        }
    }

    #[test]
    fn ends_are_understood() {
        let any = command(&["a"], PromptBy::Stdin);
        let parked = r#"{"limit_reset": "2026-11-16T03:15:00Z"}"#;
        let account = r#"{"limit_reset": null, "scope": "account", "message": "come back"}"#;
        let unknown = limited(LimitScope::Worker, None, "exit code 75");
        let until = limited(LimitScope::Worker, Some(1_794_798_900), "the command reports a limit");
        let failed = |reason: &str| Outcome::Failed { reason: reason.to_owned() };
        for (exit, lines, want) in [
            (Exit::Code(0), vec![], Outcome::Finished),
            (Exit::Code(0), vec!["{}", "[1]", "\"limit_reset\"", "done"], Outcome::Finished),
            (Exit::Code(1), vec!["x"], failed("exit code 1")),
            (Exit::Code(75), vec![], unknown),
            (Exit::Code(75), vec!["x", parked], until.clone()),
            (Exit::Code(0), vec!["x", parked, "  "], until),
            (Exit::Code(0), vec![parked, "went on all the same"], Outcome::Finished),
            (Exit::Code(1), vec![account], limited(LimitScope::Account, None, "come back")),
            (Exit::Signal(15), vec![parked], Outcome::Died { reason: "signal 15".to_owned() }),
            (Exit::Vanished, vec![], Outcome::Died { reason: "gone without a status".to_owned() }),
            (Exit::NotStarted { message: "no such program".to_owned() }, vec![], failed("no such program")),
        ] {
            check(&any, &exit, &lines, &[], &want);
        }
        check(&any, &Exit::Code(2), &["x"], &["oops", "", "hint: do"], &failed("exit code 2: oops"));
    }
}
