//! The obedient worker: does what its prompt says, in the order in which it says it, and nothing else. It knows neither
//! verbs nor stages: only what words such as TASK and N stand for, and that GO and NO-GO exclude each other.

use super::bench::Bench;
use super::prompt::{Instruction, Prompt};
use super::words::{self, Placeholder, outcome, placeholder};

/// Where a list of tasks may be announced.
const STEPS: [&str; 4] = ["task", "step", "remain", "workstream"];
const CRITERIA: [&str; 2] = ["criteri", "gates"];

/// What an instruction is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// When the work cannot go on.
    Trouble,
    /// One of several that exclude each other, and whether it is good news.
    Judgement(bool),
    /// Names the pieces of work, which the worker thinks up.
    Plan,
    /// Once for each piece of work.
    EachStep,
    /// Once for each criterion.
    EachCriterion,
    /// Once.
    Plain,
}

/// A worker at its prompt.
struct Worker<'a> {
    bench: &'a Bench,
    prompt: Prompt<'a>,
    instructions: Vec<(Kind, Instruction)>,
    has_worked: bool,
}

/// What the words of an instruction stand for this time.
#[derive(Clone, Copy, Default)]
struct Filling<'a> {
    items: &'a [String],
    files: &'a [String],
    text: &'a str,
    is_bad: bool,
}

/// Does what the prompt says.
pub fn work(bench: &Bench, text: &str) {
    let prompt = Prompt::new(text);
    let instructions = prompt.instructions().into_iter().map(|each| (kind(&each, &prompt), each)).collect();
    let mut worker = Worker { bench, prompt, instructions, has_worked: false };
    worker.goes_through();
}

impl Worker<'_> {
    fn goes_through(&mut self) {
        if self.asks_for_work() && (self.bench.takes("block-once") || self.bench.takes("question-once")) {
            return self.says_what_is_in_the_way("which of two ports is wanted?");
        }
        self.brings_in_what_conflicts();
        let judged = self.judgement();
        for (number, (kind, instruction)) in self.instructions.clone().into_iter().enumerate() {
            let is_well = match kind {
                Kind::Trouble => true,
                Kind::Judgement(_) if judged != Some(number) => true,
                Kind::Judgement(is_good) => {
                    let text = "the edge cases are not described";
                    self.runs(&instruction, Filling { text, is_bad: !is_good, ..Filling::default() })
                }
                Kind::Plan => self.plans(&instruction),
                Kind::EachStep => self.does_each(&instruction),
                Kind::EachCriterion => self.records_each(&instruction),
                Kind::Plain => self.does(&instruction),
            };
            if !is_well {
                return self.says_what_is_in_the_way("a command was refused");
            }
        }
    }

    /// Whether something is to be made: not where the prompt asks for a plan or a judgement.
    fn asks_for_work(&self) -> bool {
        !self.instructions.iter().any(|(kind, _)| matches!(kind, Kind::Plan | Kind::Judgement(_)))
    }

    /// Which of the judgements is given: the first good one, unless the policy has a bad one to give.
    fn judgement(&self) -> Option<usize> {
        let first = |good: bool| self.instructions.iter().position(|(kind, _)| *kind == Kind::Judgement(good));
        let bad = first(false).filter(|number| {
            let says = |word: &str| self.instructions[*number].1.words.iter().any(|each| each.text == word);
            says("NO-GO") && self.bench.takes("nogo-once")
                || says("NO-GO") && self.bench.always("nogo")
                || says("FAIL") && self.bench.takes("fail-once")
                || says("FAIL") && self.bench.always("fail")
        });
        bad.or_else(|| first(true)).or_else(|| first(false))
    }

    fn plans(&self, instruction: &Instruction) -> bool {
        // A name that other stories do not use: files are named after it.
        let unit = instruction.words.iter().find_map(|word| word.text.split_once(':'));
        let id = unit.map_or("work", |(_, id)| id).replace('/', "-");
        let tasks = [format!("{id}-make"), format!("{id}-check")];
        let several = instruction.placeholders().filter(|each| matches!(each, Placeholder::Step | Placeholder::More));
        match several.count() {
            0 | 1 => tasks.iter().all(|task| {
                let text = format!("the part {task} of what was asked");
                self.runs(instruction, Filling { items: std::slice::from_ref(task), text: &text, ..Filling::default() })
            }),
            _ => self
                .runs(instruction, Filling { items: &tasks, text: "a part of what was asked", ..Filling::default() }),
        }
    }

    fn does_each(&mut self, instruction: &Instruction) -> bool {
        let items = self.prompt.listed(&STEPS);
        for item in &items {
            let files = self.makes(item);
            let filling =
                Filling { items: std::slice::from_ref(item), files: &files, text: "made", ..Filling::default() };
            if !self.runs(instruction, filling) {
                return false;
            }
            self.bench.reaches("recorded");
        }
        true
    }

    fn records_each(&self, instruction: &Instruction) -> bool {
        let criteria = self.prompt.listed(&CRITERIA);
        criteria.iter().all(|name| {
            self.runs(
                instruction,
                Filling { items: std::slice::from_ref(name), text: "it is met", ..Filling::default() },
            )
        })
    }

    fn does(&mut self, instruction: &Instruction) -> bool {
        let has_list = self.instructions.iter().any(|(kind, _)| *kind == Kind::EachStep);
        let is_reading =
            ["read", "see ", "look"].iter().any(|word| instruction.before.to_lowercase().starts_with(word));
        let mut files = Vec::new();
        if self.asks_for_work() && !has_list && !is_reading && !self.has_worked {
            let name = instruction
                .words
                .iter()
                .rev()
                .map(|word| word.text.as_str())
                .find(|word| !word.starts_with('-') && placeholder(word).is_none() && !word.contains('.'));
            files = self.makes(&name.unwrap_or("work").replace([':', '/'], "-"));
        }
        self.runs(instruction, Filling { files: &files, text: "done as asked", ..Filling::default() })
    }

    /// Makes the files that the prompt names, or one that is named after the piece of work.
    fn makes(&mut self, item: &str) -> Vec<String> {
        let named = if self.has_worked { Vec::new() } else { self.prompt.files() };
        self.has_worked = true;
        let files = if named.is_empty() { vec![format!("{}.txt", item.replace([' ', '/'], "-"))] } else { named };
        self.bench.makes(&files, item);
        files
    }

    /// Where the prompt says which branch to merge, merges it.
    fn brings_in_what_conflicts(&self) {
        let told = self.prompt.told();
        let Some((_, after)) = told.split_once("git merge ") else { return };
        let words = words::split(after.lines().next().unwrap_or_default().split('`').next().unwrap_or_default());
        if let Some(branch) = words.iter().find(|word| !word.text.starts_with('-')) {
            self.bench.merges(branch.text.trim_end_matches(['.', ',', ';', ':']));
        }
    }

    fn says_what_is_in_the_way(&self, text: &str) {
        let trouble = self.instructions.iter().find(|(kind, _)| *kind == Kind::Trouble);
        match trouble {
            Some((_, instruction)) => {
                self.bench.types(&command(instruction, &self.prompt, Filling { text, ..Filling::default() }));
            }
            None => self.bench.note("the prompt does not say what to do when the work cannot go on"),
        }
    }

    /// Runs a command. When it is refused, does once what the refusal says, then tries again.
    fn runs(&self, instruction: &Instruction, filling: Filling<'_>) -> bool {
        let line = command(instruction, &self.prompt, filling);
        let done = self.bench.types(&line);
        if done.code == 0 {
            return true;
        }
        let advice: Vec<&str> = done.text.lines().filter(|line| is_advice(line)).collect();
        let advised = advice.iter().flat_map(|line| Prompt::new(line).instructions()).next();
        let Some(advised) = advised else { return false };
        let other = command(&advised, &self.prompt, filling);
        other != line && self.bench.types(&other).code == 0 && self.bench.types(&line).code == 0
    }
}

fn is_advice(line: &str) -> bool {
    ["hint:", "next:"].iter().any(|label| line.trim_start().starts_with(label))
}

/// What an instruction is for, by what is said about it.
fn kind(instruction: &Instruction, prompt: &Prompt<'_>) -> Kind {
    let before = instruction.before.to_lowercase();
    if let Some(is_good) = instruction.words.iter().find_map(|word| alternatives(&word.text).find_map(outcome)) {
        return Kind::Judgement(is_good);
    }
    let troubles = ["keeps you", "cannot", "can't", "unable", "stuck", "blocked", "question", "in the way", "a person"];
    if troubles.iter().any(|word| before.contains(word)) {
        return Kind::Trouble;
    }
    let stands_for = |wanted: Placeholder| instruction.placeholders().any(|each| each == wanted);
    if stands_for(Placeholder::Criterion) {
        return Kind::EachCriterion;
    }
    if stands_for(Placeholder::Step) {
        let is_planning = instruction.said().contains("plan") || prompt.listed(&STEPS).is_empty();
        return if is_planning { Kind::Plan } else { Kind::EachStep };
    }
    Kind::Plain
}

/// A word, or each of those that a word offers: `GO|NO-GO`.
fn alternatives(word: &str) -> impl Iterator<Item = &str> {
    word.trim_matches(['<', '>', '(', ')', '{', '}']).split('|')
}

/// The command as it is typed, with everything filled in.
fn command(instruction: &Instruction, prompt: &Prompt<'_>, filling: Filling<'_>) -> String {
    let mut typed: Vec<String> = Vec::new();
    let mut has_items = false;
    for word in &instruction.words {
        let is_optional = word.text.starts_with('[') || word.text.ends_with(']');
        let text = word.text.trim_start_matches('[').trim_end_matches(']');
        let filled = match placeholder(text) {
            _ if is_optional && filling.files.is_empty() => continue,
            Some(Placeholder::Number) => vec![number(instruction, prompt, filling.is_bad).to_string()],
            Some(Placeholder::Text) => vec![filling.text.to_owned()],
            Some(Placeholder::Title) => vec![filling.items.first().map_or("The work", String::as_str).to_owned()],
            Some(Placeholder::Command) => vec!["true".to_owned()],
            Some(Placeholder::More) => continue,
            Some(Placeholder::File) if filling.files.is_empty() => {
                // Without a file there is no option for it.
                typed.pop_if(|option| option.starts_with('-'));
                continue;
            }
            Some(Placeholder::File) => vec![filling.files[0].clone()],
            Some(Placeholder::Step | Placeholder::Criterion) if has_items => continue,
            Some(Placeholder::Step | Placeholder::Criterion) => {
                has_items = true;
                filling.items.to_vec()
            }
            None if text.starts_with('$') => {
                typed.push(format!("\"{text}\""));
                continue;
            }
            None => {
                vec![alternatives(text).find(|each| outcome(each) == Some(!filling.is_bad)).unwrap_or(text).to_owned()]
            }
        };
        typed.extend(filled.iter().map(|word| words::quoted(word)));
    }
    typed.join(" ")
}

/// A score within the range that is told nearest to the command.
fn number(instruction: &Instruction, prompt: &Prompt<'_>, is_bad: bool) -> u32 {
    let near = [instruction.after.clone(), instruction.before.clone(), instruction.heading.clone()];
    let told = prompt.told();
    let scores = told.lines().filter(|line| line.to_lowercase().contains("score") || line.contains(" N"));
    let range = near.iter().map(String::as_str).chain(scores).find_map(range_in);
    let (low, high) = range.unwrap_or((0, 10));
    if is_bad { low + (high - low) / 5 } else { low + (high - low) * 4 / 5 }
}

/// The first range that a text tells: `0 to 4`, `1-10`, `0–100`.
fn range_in(text: &str) -> Option<(u32, u32)> {
    let spaced = text.replace(['–', '-'], " to ").replace(['(', ')', ',', ';', '.', ':', '`'], " ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let range = |triple: &[&str]| match triple {
        [low, "to", high] => {
            Some((low.parse().ok()?, high.parse().ok()?)).filter(|(low, high): &(u32, u32)| low < high)
        }
        _ => None,
    };
    words.windows(3).enumerate().find_map(|(at, triple)| {
        // "1 to 8 tasks" is no score.
        let counts = words.get(at + 3).is_some_and(|next| ["tasks", "steps", "minutes", "lines"].contains(next));
        range(triple).filter(|_| !counts)
    })
}
