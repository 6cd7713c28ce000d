//! The obedient worker: does what its prompt says, in the order in which it says it, and nothing else. It knows neither
//! verbs nor stages: only what words such as TEXT and N stand for, and that GO and NO-GO exclude each other.

use super::bench::Bench;
use super::prompt::{Instruction, Prompt};
use super::words::{self, Placeholder, outcome, placeholder};

/// What an instruction is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// When the work cannot go on.
    Trouble,
    /// One of several that exclude each other, and whether it is good news.
    Judgement(bool),
    /// Names a piece of work, which the worker thinks up.
    Plan,
    /// Brings another branch in.
    Merge,
    /// Says that a piece of work is done, or commits it: it has to be done before.
    Done,
    /// Anything else.
    Plain,
}

/// A worker at its prompt.
struct Worker<'a> {
    bench: &'a Bench,
    prompt: Prompt<'a>,
    instructions: Vec<(Kind, Instruction)>,
    /// What it did already.
    made: Vec<String>,
    files: Vec<String>,
}

/// What the words of an instruction stand for this time.
#[derive(Clone, Copy, Default)]
struct Filling<'a> {
    name: &'a str,
    files: &'a [String],
    text: &'a str,
    is_bad: bool,
}

/// Does what the prompt says.
pub fn work(bench: &Bench, text: &str) {
    let prompt = Prompt::new(text);
    let instructions = prompt.instructions().into_iter().map(|each| (kind(&each), each)).collect();
    let mut worker = Worker { bench, prompt, instructions, made: Vec::new(), files: Vec::new() };
    worker.goes_through();
}

impl Worker<'_> {
    fn goes_through(&mut self) {
        if self.asks_for_work() && (self.bench.takes("block-once") || self.bench.takes("question-once")) {
            return self.says_what_is_in_the_way("which of two ports is wanted?");
        }
        self.bench.is_silent(|question| work(self.bench, question));
        self.corrects();
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
                Kind::Merge => {
                    self.bench.merges(instruction.subject());
                    true
                }
                Kind::Done => self.does(&instruction),
                Kind::Plain => self.runs(&instruction, Filling { text: "as asked", ..Filling::default() }),
            };
            if !is_well {
                return self.says_what_is_in_the_way("a command was refused");
            }
        }
    }

    /// Where the prompt has something to correct first, makes the files that it names and commits them. Nothing else may
    /// be left to do, so no other instruction may ask for it.
    fn corrects(&self) {
        let told = self.prompt.told();
        let has_heading = told.lines().any(|line| line.starts_with('#') && line.to_lowercase().contains("correct"));
        let is_work = |(kind, _): &(Kind, Instruction)| !matches!(kind, Kind::Plan | Kind::Judgement(_));
        if has_heading && self.instructions.iter().all(is_work) {
            self.bench.makes(&self.prompt.files(), "the correction");
            self.bench.commits("the correction");
        }
    }

    /// Whether something is to be made: not where the prompt asks for a plan or a judgement.
    fn asks_for_work(&self) -> bool {
        self.instructions.iter().any(|(kind, _)| *kind == Kind::Done)
    }

    /// Which of the judgements is given: the first good one, unless the policy has a bad one to give.
    fn judgement(&self) -> Option<usize> {
        let first = |good: bool| self.instructions.iter().position(|(kind, _)| *kind == Kind::Judgement(good));
        let bad = first(false).filter(|number| {
            let says = |word: &str| self.instructions[*number].1.words.iter().any(|each| each.text == word);
            says("NO-GO") && (self.bench.takes("nogo-once") || self.bench.always("nogo"))
                || says("FAIL") && (self.bench.takes("fail-once") || self.bench.always("fail"))
        });
        let says = |word: &str| {
            self.instructions.iter().position(|(_, each)| each.words.iter().any(|given| given.text == word))
        };
        let other = ["CONCERNS", "WAIVED"].into_iter().filter(|word| self.bench.always(&word.to_lowercase()));
        let other = other.filter_map(says).next();
        bad.or(other).or_else(|| first(true)).or_else(|| first(false))
    }

    /// Names two pieces of work.
    fn plans(&self, instruction: &Instruction) -> bool {
        // Files are named after them, so no other story has the same.
        let unit = instruction.words.iter().find_map(|word| word.text.split_once(':'));
        let id = unit.map_or("work", |(_, id)| id).replace('/', "-");
        let names = [format!("{id}-T1"), format!("{id}-T2")];
        names.iter().all(|name| {
            let text = format!("the part {name} of what was asked");
            self.runs(instruction, Filling { name, text: &text, ..Filling::default() })
        })
    }

    /// Does a piece of work, once, then says so.
    fn does(&mut self, instruction: &Instruction) -> bool {
        let item = instruction.subject().to_owned();
        if !self.made.contains(&item) {
            let named = if self.made.is_empty() { self.prompt.files() } else { Vec::new() };
            self.files =
                if named.is_empty() { vec![format!("{}.txt", item.replace([' ', '/', ':'], "-"))] } else { named };
            self.bench.makes(&self.files, &item);
            self.made.push(item);
        }
        if instruction.line.starts_with("git ") {
            // Nothing to commit is no reason to stop.
            if !self.bench.leaves_uncommitted() {
                self.bench.types(&instruction.line);
            }
            return true;
        }
        if self.prompt.told().to_lowercase().contains("commit") {
            self.bench.commits(instruction.subject());
        }
        let is_well = self.runs(instruction, Filling { files: &self.files, text: "as asked", ..Filling::default() });
        self.bench.reaches("recorded");
        is_well
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
        if self.bench.always("once") {
            // It does what the refusal says, and types nothing twice.
            return self.bench.types(&other).code == 0;
        }
        other != line && self.bench.types(&other).code == 0 && self.bench.types(&line).code == 0
    }
}

fn is_advice(line: &str) -> bool {
    ["hint:", "next:"].iter().any(|label| line.trim_start().starts_with(label))
}

/// What an instruction is for, by what is said about it.
fn kind(instruction: &Instruction) -> Kind {
    if instruction.line.starts_with("git merge ") {
        return Kind::Merge;
    }
    if let Some(is_good) = instruction.words.iter().find_map(|word| alternatives(&word.text).find_map(outcome)) {
        return Kind::Judgement(is_good);
    }
    let before = instruction.before.to_lowercase();
    let troubles = ["keeps you", "cannot go on", "can't", "unable", "stuck", "blocked", "need an answer"];
    if troubles.iter().any(|word| before.contains(word)) {
        return Kind::Trouble;
    }
    if instruction.asks_for(Placeholder::Title) {
        return Kind::Plan;
    }
    let said = instruction.said();
    let is_commit = instruction.line.starts_with("git ") && instruction.line.contains("commit");
    let is_said = ["when it is done", "when the", "when a "].iter().any(|word| said.contains(word));
    if is_commit || said.contains("done") && (said.contains("record") || is_said) {
        return Kind::Done;
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
    for word in &instruction.words {
        let text = word.text.trim_start_matches('[').trim_end_matches(']');
        let filled = match placeholder(text) {
            _ if text != word.text => continue,
            Some(Placeholder::Number) => number(instruction, prompt, filling.is_bad).to_string(),
            Some(Placeholder::Text) => filling.text.to_owned(),
            Some(Placeholder::Title | Placeholder::Step | Placeholder::Criterion) if !filling.name.is_empty() => {
                filling.name.to_owned()
            }
            Some(Placeholder::Title | Placeholder::Step | Placeholder::Criterion) => "the-work".to_owned(),
            Some(Placeholder::Command) => "true".to_owned(),
            Some(Placeholder::More) => continue,
            Some(Placeholder::File) => match filling.files.first() {
                Some(file) => file.clone(),
                None => {
                    // Without a file there is no option for it.
                    typed.pop_if(|option| option.starts_with('-'));
                    continue;
                }
            },
            None if text.starts_with('$') => {
                typed.push(format!("\"{text}\""));
                continue;
            }
            None => alternatives(text).find(|each| outcome(each) == Some(!filling.is_bad)).unwrap_or(text).to_owned(),
        };
        typed.push(words::quoted(&filled));
    }
    typed.join(" ")
}

/// A score within the range that is told nearest to the command.
fn number(instruction: &Instruction, prompt: &Prompt<'_>, is_bad: bool) -> u32 {
    let near = [instruction.after.clone(), instruction.before.clone(), instruction.heading.clone()];
    let told = prompt.told();
    let scores = told.lines().filter(|line| ["score", "from", " N "].iter().any(|word| line.contains(word)));
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
            // Numbers of a path are no range of scores.
            Some((low.parse().ok()?, high.parse().ok()?)).filter(|(low, high): &(u32, u32)| low < high && *high <= 100)
        }
        _ => None,
    };
    words.windows(3).enumerate().find_map(|(at, triple)| {
        // "1 to 8 tasks" is no score.
        let counts = words.get(at + 3).is_some_and(|next| ["tasks", "steps", "minutes", "lines"].contains(next));
        range(triple).filter(|_| !counts)
    })
}
