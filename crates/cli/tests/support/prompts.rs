//! The commands in the prompts of workers. Prompts are templates, so a command's place is a line of one.

use std::fs;
use std::path::Path;

/// What a value of a template becomes: anything.
const ANYTHING: char = '\0';

/// A command that a template gives to a worker.
#[derive(Debug)]
pub struct PromptCommand {
    /// `crates/engine/src/run/prompts/task.md:24`.
    pub site: String,
    /// As the template has it.
    pub line: String,
    template: String,
    words: Vec<String>,
}

/// The commands of all templates: lines of code, and what begins with the program between backticks.
pub fn commands() -> Vec<PromptCommand> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../engine/src/run/prompts");
    let mut files: Vec<_> = fs::read_dir(directory).expect("templates").flatten().map(|entry| entry.path()).collect();
    files.sort();
    let mut all = Vec::new();
    for file in files {
        let template = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let text = fs::read_to_string(&file).expect("a template can be read");
        for (number, line) in text.lines().enumerate() {
            let site = format!("crates/engine/src/run/prompts/{template}.md:{}", number + 1);
            let found = commands_in(line).map(|line| PromptCommand {
                site: site.clone(),
                words: words(&line),
                line,
                template: template.clone(),
            });
            all.extend(found.collect::<Vec<_>>());
        }
    }
    all
}

fn commands_in(line: &str) -> impl Iterator<Item = String> {
    let code = line.strip_prefix("    ").filter(|code| code.starts_with("{{ piton }} ") || code.starts_with("git "));
    let inline = line.split('`').skip(1).step_by(2).filter(|code| code.starts_with("{{ piton }} "));
    code.into_iter().chain(inline).map(str::to_owned).collect::<Vec<_>>().into_iter()
}

/// The words of a template's line, without its conditions.
fn words(line: &str) -> Vec<String> {
    let mut text = line.replace("{{ piton }}", "piton");
    while let (Some(from), Some(to)) = (text.find("{%"), text.find("%}")) {
        text.replace_range(from..to + 2, "");
    }
    while let (Some(from), Some(to)) = (text.find("{{"), text.find("}}")) {
        text.replace_range(from..to + 2, &ANYTHING.to_string());
    }
    text.split_whitespace().map(|word| word.trim_matches('\'').to_owned()).collect()
}

impl PromptCommand {
    /// Whether a worker of this dialect and stage has it in its prompt, or in the question of a lead that asked it.
    pub fn is_for(&self, dialect: &str, stage: &str, is_asked: bool) -> bool {
        let number = stage.trim_start_matches(|letter: char| !letter.is_ascii_digit());
        self.template.starts_with('_')
            || is_asked && self.template == "question"
            || self.template == dialect
            || dialect == "pipeline" && self.template == format!("pipeline-stage-{number}")
    }

    /// Whether a prompt gives it: with its values, and with the words that the worker fills in as they are.
    pub fn is_in(&self, prompt: &str) -> bool {
        let same = |(word, given): (&String, &String)| word == given || word.contains(ANYTHING);
        let is_it = |line: &str| {
            let given = words(line);
            let is_open = self.words.last().is_some_and(|word| word.contains(ANYTHING));
            let is_long_enough = given.len() == self.words.len() || is_open && given.len() + 1 >= self.words.len();
            is_long_enough && self.words.iter().zip(&given).all(same)
        };
        prompt.lines().flat_map(|line| line.split('`')).any(|part| is_it(part.trim()))
    }

    /// Whether a command is this one, filled in.
    pub fn is_typed_as(&self, typed: &[String]) -> bool {
        let is_any = |word: &str| word.contains(ANYTHING) || word.bytes().all(|byte| byte.is_ascii_uppercase());
        let same = |(word, typed): (&String, &String)| word == typed || is_any(word) && !is_verdict(word);
        // The last value may be several words, or nothing.
        let is_open = self.words.last().is_some_and(|word| word.contains(ANYTHING));
        let fixed = if is_open { self.words.len() - 1 } else { self.words.len() };
        let is_long_enough = if is_open { typed.len() >= fixed } else { typed.len() == fixed };
        is_long_enough && self.words[..fixed].iter().zip(typed).all(same)
    }
}

/// Words in capitals that are meant as they are.
fn is_verdict(word: &str) -> bool {
    ["GO", "PASS", "FAIL", "CONCERNS", "WAIVED", "PLAN"].contains(&word)
}
