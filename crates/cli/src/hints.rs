//! For tests: which hints were printed. A debug build appends a line for each command that it renders to the file that
//! `PITON_TEST_HINTS` names: where in the sources the command is made, its words, and the directory that it is for.

use std::io::Write as _;
use std::path::PathBuf;

use piton_model::hint::observe;
use piton_model::{Audience, Invocation};
use serde_json::json;

const FILE: &str = "PITON_TEST_HINTS";

/// Writes down what is printed from now on, where a test asks for it.
pub fn write_down() {
    if cfg!(debug_assertions) && std::env::var_os(FILE).is_some() {
        observe(append);
    }
}

fn append(command: &Invocation) {
    let Some(path) = std::env::var_os(FILE).map(PathBuf::from) else { return };
    let directory = std::env::current_dir().unwrap_or_default();
    let line = json!({
        "at": format!("{}:{}", command.at().file(), command.at().line()),
        "argv": command.argv(),
        "call": command.words_for(Audience::Tools),
        "reads": command.verb.reads,
        "directory": directory,
    });
    let file = std::fs::OpenOptions::new().create(true).append(true).open(&path);
    let written = file.and_then(|mut file| file.write_all(format!("{line}\n").as_bytes()));
    written.unwrap_or_else(|error| panic!("cannot write to {}: {error}", path.display()));
}

#[cfg(test)]
mod tests {
    use piton_model::hint::{Place, Taken, VERBS, Verb};

    /// Words that a place of a verb takes.
    fn word(verb: &Verb, place: Place) -> &'static str {
        match place {
            Place::One("unit") | Place::Rest("wanted") | Place::UnitOrPath => "build:X",
            Place::One("deed") => "done",
            Place::One("verdict") if verb.tool.is_none() => "run",
            Place::One("verdict") => "pass",
            Place::One("dialect") => "plan",
            Place::One(_) | Place::Rest(_) => "NAME",
        }
    }

    fn value(option: &str) -> &'static str {
        match option {
            "--http" => "127.0.0.1:8931",
            _ => "3",
        }
    }

    /// Whether an option stands alone. Without a tool the table does not say.
    fn is_flag(option: &str, taken: Taken) -> bool {
        match taken {
            Taken::Flag(_) | Taken::Choice(..) | Taken::Always => true,
            Taken::Never => !matches!(option, "--http" | "--read" | "--from"),
            Taken::Value(_) | Taken::Number(_) | Taken::List(_) => false,
        }
    }

    #[test]
    fn the_grammar_has_every_verb_with_each_of_its_arguments() {
        for verb in VERBS {
            let places: Vec<&str> = verb.places.iter().map(|place| word(verb, *place)).collect();
            let plain: Vec<&str> = ["piton"].iter().chain(verb.words).chain(&places).copied().collect();
            // What a verb needs besides its places is among its options.
            let needed: &[&str] = match verb.words {
                ["block" | "unblock"] => &["--message", "3"],
                ["takeover"] => &["--as", "NAME"],
                _ => &[],
            };
            let mut commands = vec![plain.iter().chain(needed).copied().collect::<Vec<_>>()];
            // Of a run everything is meant when nothing is named, and some options need that.
            let is_named = !matches!(verb.places, [Place::Rest("wanted")]);
            let plain = if is_named { plain } else { ["piton"].iter().chain(verb.words).copied().collect() };
            for (option, taken) in verb.options.iter().filter(|(option, _)| !needed.contains(option)) {
                let given = [*option].into_iter().chain((!is_flag(option, *taken)).then(|| value(option)));
                commands.push(plain.iter().chain(needed).copied().chain(given).collect());
            }
            for command in commands {
                let arguments: Vec<_> = command.iter().map(std::ffi::OsString::from).collect();
                if let Err(error) = crate::args::parse(&arguments) {
                    panic!("{command:?}: {error}");
                }
            }
        }
    }
}
