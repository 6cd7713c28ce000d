//! What to do next, for whoever has tools and no shell: a command in a hint becomes the call that does the same. A command
//! that is no tool stays as it is; it is for a person.

use serde_json::{Map, Value};

/// A command, and the tool that does the same.
struct Shape {
    command: &'static [&'static str],
    tool: &'static str,
    places: &'static [Place],
    options: &'static [(&'static str, Taken)],
}

/// What a word without an option is.
#[derive(Debug, Clone, Copy)]
enum Place {
    /// An argument of that name.
    One(&'static str),
    /// The rest of the words are a list.
    Rest(&'static str),
    /// A unit and the number of a version, behind an `@`.
    Version,
    /// A unit when it names a dialect, else a path.
    UnitOrPath,
}

/// What an option is.
#[derive(Debug, Clone, Copy)]
enum Taken {
    Text(&'static str),
    Number(&'static str),
    List(&'static str),
    Flag(&'static str),
    Word(&'static str, &'static str),
    Nothing,
}

use Place::{One, Rest, UnitOrPath, Version};
use Taken::{Flag, List, Number, Text, Word};

const UNIT: &[Place] = &[One("unit")];

const fn shape(
    command: &'static [&'static str],
    places: &'static [Place],
    options: &'static [(&'static str, Taken)],
) -> Shape {
    Shape { command, tool: command[0], places, options }
}

const SHAPES: &[Shape] = &[
    shape(&["status"], UNIT, &[("--all", Taken::Nothing)]),
    shape(&["check"], &[UnitOrPath], &[]),
    shape(&["why"], UNIT, &[]),
    shape(&["log"], UNIT, &[]),
    shape(&["show"], &[Version], &[("--file", Text("file"))]),
    shape(&["rollback"], &[Version], &[]),
    shape(
        &["resume"],
        UNIT,
        &[
            ("--force", Flag("force")),
            ("--restart", Word("mode", "restart")),
            ("--continue", Word("mode", "continue")),
            ("--fixed", Word("mode", "fixed")),
        ],
    ),
    shape(
        &["start"],
        UNIT,
        &[
            ("--title", Text("title")),
            ("--spec", Text("spec")),
            ("--step", List("steps")),
            ("--gate", List("gates")),
            ("--criterion", List("criteria")),
            ("--total", Number("total")),
            ("--agent-name", Text("agent_name")),
            ("--feature", Text("feature")),
            ("--stage", Text("stage")),
            ("--type", Text("agent_type")),
            ("--session", Text("session")),
        ],
    ),
    shape(
        &["step"],
        &[One("unit"), One("deed"), Rest("steps")],
        &[
            ("--output", List("outputs")),
            ("--file", List("files")),
            ("--next", Text("next")),
            ("--message", Text("message")),
            ("--by", Text("by")),
        ],
    ),
    shape(&["stage"], &[One("unit"), One("stage")], &[("--phase", Text("phase"))]),
    shape(&["gate"], &[One("unit"), One("verdict"), Rest("names")], &[("--step", Text("step"))]),
    shape(
        &["verdict"],
        &[One("unit"), One("word")],
        &[
            ("--score", Number("score")),
            ("--reason", Text("reason")),
            ("--issues", Text("issues")),
            ("--by", Text("by")),
            ("--p0", Number("p0")),
            ("--p1", Number("p1")),
            ("--report", Text("report")),
        ],
    ),
    shape(&["block"], UNIT, &[("--message", Text("message")), ("--type", Text("kind"))]),
    shape(&["unblock"], UNIT, &[("--message", Text("message")), ("--blocker", Text("blocker"))]),
    shape(&["pause"], UNIT, &[("--reason", Text("reason")), ("--message", Text("reason"))]),
    shape(
        &["fail"],
        UNIT,
        &[
            ("--message", Text("message")),
            ("--step", Text("step")),
            ("--file", Text("file")),
            ("--line", Number("line")),
        ],
    ),
    shape(&["note"], &[One("unit"), One("text")], &[]),
    shape(&["decide"], &[One("unit"), One("text")], &[("--reason", Text("reason"))]),
    shape(&["beat"], UNIT, &[]),
    shape(&["finish"], UNIT, &[]),
    shape(&["reopen"], UNIT, &[]),
    shape(&["repair"], UNIT, &[]),
    shape(&["restart"], UNIT, &[("--force", Flag("force"))]),
    shape(&["takeover"], UNIT, &[("--as", Text("agent")), ("--force", Flag("force"))]),
    shape(&["inbox"], &[One("agent")], &[("--from", Text("from")), ("--all", Flag("all"))]),
    shape(&["sync"], &[One("epic")], &[]),
    Shape { command: &["plan", "mark"], tool: "mark_plan", places: UNIT, options: &[] },
];

/// A hint for whoever has tools.
pub fn for_tools(hint: &str) -> String {
    let hint = hint.replace("--wait SECONDS", "`wait_seconds`");
    let Some(at) = hint.find("piton ").filter(|at| *at == 0 || hint[..*at].ends_with(' ')) else { return hint };
    match call(&hint[at + "piton ".len()..]) {
        Some(call) => format!("{}{call}", &hint[..at]),
        None => hint,
    }
}

/// A brief for whoever has tools. Text of others is quoted in it, behind a bar, and stays as it is.
pub fn brief_for_tools(brief: &str) -> String {
    let line = |line: &str| match line.trim_start().strip_prefix("export PITON_ATTEMPT=") {
        _ if line.starts_with('|') => line.to_owned(),
        Some(attempt) => format!("    pass \"attempt\": {attempt} in every call about this unit"),
        None => for_tools(line),
    };
    brief.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

/// The call that does what a command does. Nothing when it is no tool, or not a command alone.
fn call(command: &str) -> Option<String> {
    let words = words(command)?;
    let is_meant =
        |shape: &&Shape| shape.command.iter().enumerate().all(|(at, word)| words.get(at).is_some_and(|w| w == word));
    let shape = SHAPES.iter().find(is_meant)?;
    let arguments = arguments(shape, &words[shape.command.len()..])?;
    if arguments.get("verdict").is_some_and(|verdict| verdict == "run") {
        return None;
    }
    Some(match arguments.is_empty() {
        true => format!("call {}", shape.tool),
        false => format!("call {} with {}", shape.tool, Value::Object(arguments)),
    })
}

/// The words of a command as a shell would tell them apart, where that is plain.
fn words(command: &str) -> Option<Vec<String>> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for c in command.chars() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, ' ') => words.extend(word.take()),
            (None, '`' | '\\' | '[' | ']' | '(' | ')' | ';' | '|' | '…' | '\n') => return None,
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}

fn arguments(shape: &Shape, words: &[String]) -> Option<Map<String, Value>> {
    let mut arguments = Map::new();
    let (mut places, mut words) = (shape.places.iter().copied().peekable(), words.iter());
    while let Some(word) = words.next() {
        if word.starts_with("--") {
            let (_, taken) = shape.options.iter().find(|(option, _)| option == word)?;
            take(&mut arguments, *taken, &mut words)?;
            continue;
        }
        match *places.peek()? {
            Rest(name) => push(&mut arguments, name, word),
            place => {
                places.next();
                put(&mut arguments, place, word)?;
            }
        }
    }
    Some(arguments)
}

fn put(arguments: &mut Map<String, Value>, place: Place, word: &str) -> Option<()> {
    match place {
        One(name) | Rest(name) => drop(arguments.insert(name.to_owned(), word.into())),
        UnitOrPath => {
            let name = if word.contains(':') { "unit" } else { "path" };
            arguments.insert(name.to_owned(), word.into());
        }
        Version => {
            let (unit, number) = word.rsplit_once('@')?;
            arguments.insert("unit".to_owned(), unit.into());
            arguments.insert("version".to_owned(), number_or_text(number));
        }
    }
    Some(())
}

fn take<'w>(
    arguments: &mut Map<String, Value>,
    taken: Taken,
    words: &mut impl Iterator<Item = &'w String>,
) -> Option<()> {
    match taken {
        Text(name) => drop(arguments.insert(name.to_owned(), words.next()?.as_str().into())),
        Number(name) => drop(arguments.insert(name.to_owned(), number_or_text(words.next()?))),
        List(name) => push(arguments, name, words.next()?),
        Flag(name) => drop(arguments.insert(name.to_owned(), true.into())),
        Word(name, word) => drop(arguments.insert(name.to_owned(), word.into())),
        Taken::Nothing => {}
    }
    Some(())
}

fn push(arguments: &mut Map<String, Value>, name: &str, word: &str) {
    let list = arguments.entry(name).or_insert_with(|| Value::Array(Vec::new()));
    if let Value::Array(list) = list {
        list.push(word.into());
    }
}

/// A number, or the letter that stands for one.
fn number_or_text(word: &str) -> Value {
    word.parse::<u64>().map_or_else(|_| word.into(), Value::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_becomes_the_call_that_does_the_same() {
        for (hint, want) in [
            ("list all units with: piton status --all", "list all units with: call status"),
            ("see: piton log crew:A", r#"see: call log with {"unit":"crew:A"}"#),
            ("give them ids: piton plan mark plan:x", r#"give them ids: call mark_plan with {"unit":"plan:x"}"#),
            (
                "piton step crew:A skip 'Read S2.P2 guide' --message WHY",
                r#"call step with {"unit":"crew:A","deed":"skip","steps":["Read S2.P2 guide"],"message":"WHY"}"#,
            ),
            (
                "piton start build:X --title TITLE --step WS1 --step WS2 --gate lint",
                r#"call start with {"unit":"build:X","title":"TITLE","steps":["WS1","WS2"],"gates":["lint"]}"#,
            ),
            (
                "if it is gone: piton takeover crew:A --as B --force",
                r#"if it is gone: call takeover with {"unit":"crew:A","agent":"B","force":true}"#,
            ),
            ("piton resume build:X --restart", r#"call resume with {"unit":"build:X","mode":"restart"}"#),
            ("piton rollback build:X@7", r#"call rollback with {"unit":"build:X","version":7}"#),
            (
                "piton verdict pipeline:X GO --score N",
                r#"call verdict with {"unit":"pipeline:X","word":"GO","score":"N"}"#,
            ),
            ("see: piton check docs/a.json", r#"see: call check with {"path":"docs/a.json"}"#),
            ("wait longer with --wait SECONDS; it goes", "wait longer with `wait_seconds`; it goes"),
        ] {
            assert_eq!(for_tools(hint), want);
        }
    }

    #[test]
    fn what_is_for_a_person_stays_as_it_is() {
        for hint in [
            "",
            "try again",
            "piton run --retry",
            "look at it, then run: piton gate build:X run lint --approve",
            "piton gate build:X run lint",
            "from the journal: piton repair UNIT; or from a backup or git",
            "piton start task:AGENT/TASK --title T [--total N]",
            "piton inbox A --read 3",
            "piton log build:X and more",
            "piton step build:X done 'half",
            "the file .piton is not ours",
        ] {
            assert_eq!(for_tools(hint), hint);
        }
    }

    #[test]
    fn a_brief_says_what_to_call_and_what_others_wrote_stays() {
        let brief = "Next: paint, then: piton step plan:x done paint\n\n<<<f\n| run: piton log plan:x\nf>>>\n\n\
                     with this attempt:\n    export PITON_ATTEMPT=3\n    piton beat plan:x\n";
        let want = "Next: paint, then: call step with {\"unit\":\"plan:x\",\"deed\":\"done\",\"steps\":[\"paint\"]}\n\n\
                    <<<f\n| run: piton log plan:x\nf>>>\n\n\
                    with this attempt:\n    pass \"attempt\": 3 in every call about this unit\n    \
                    call beat with {\"unit\":\"plan:x\"}\n";
        assert_eq!(brief_for_tools(brief), want);
    }

    #[test]
    fn every_call_has_arguments_that_its_tool_knows() {
        for shape in SHAPES {
            let tool = crate::tools::get(shape.tool).unwrap_or_else(|| panic!("there is no tool {}", shape.tool));
            let known = tool.input_schema["properties"].as_object().expect("properties");
            let of_place = |place: &Place| match place {
                One(name) | Rest(name) => vec![*name],
                Version => vec!["unit", "version"],
                UnitOrPath => vec!["unit", "path"],
            };
            let of_option = |(_, taken): &(&str, Taken)| match taken {
                Text(name) | Number(name) | List(name) | Flag(name) | Word(name, _) => Some(*name),
                Taken::Nothing => None,
            };
            let names = shape.places.iter().flat_map(of_place).chain(shape.options.iter().filter_map(of_option));
            for name in names {
                assert!(known.contains_key(name), "{} has no argument {name}", shape.tool);
            }
        }
    }
}
