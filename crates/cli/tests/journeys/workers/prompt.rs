//! What a literal-minded reader finds in a prompt: commands to run with what is said about them, lists, files to make.

use super::words::{self, Placeholder, Word, placeholder};

/// A command that the prompt gives, with what is said about it.
#[derive(Clone, Debug)]
pub struct Instruction {
    pub words: Vec<Word>,
    /// What stands before it: on its line, or on the line above.
    pub before: String,
    /// What stands behind it on its line.
    pub after: String,
    /// The heading that it stands below.
    pub heading: String,
}

/// A line, with where it stands.
struct Line<'a> {
    text: &'a str,
    /// Whether it is marked as other people's words.
    is_quoted: bool,
    is_fenced: bool,
    heading: String,
}

/// A prompt, line by line.
pub struct Prompt<'a> {
    lines: Vec<Line<'a>>,
}

impl<'a> Prompt<'a> {
    pub fn new(text: &'a str) -> Prompt<'a> {
        let mut lines = Vec::new();
        let (mut is_fenced, mut fence, mut heading) = (false, None, String::new());
        for line in text.lines() {
            let trimmed = line.trim_start();
            if let Some(name) = trimmed.strip_prefix("<<<") {
                fence = Some(name.to_owned());
                continue;
            }
            if fence.as_ref().is_some_and(|fence| trimmed.strip_suffix(">>>") == Some(fence.as_str())) {
                fence = None;
                continue;
            }
            if trimmed.starts_with("```") || trimmed.starts_with("~~~") {
                is_fenced = !is_fenced;
                continue;
            }
            let is_quoted = fence.is_some() || !is_fenced && trimmed.starts_with('>');
            if !is_quoted && !is_fenced && line.starts_with('#') {
                heading = line.trim_start_matches('#').trim().to_owned();
            }
            let text = if is_quoted { trimmed.trim_start_matches(['|', '>']).trim_start() } else { line };
            lines.push(Line { text, is_quoted, is_fenced, heading: heading.clone() });
        }
        Prompt { lines }
    }

    /// The commands that it gives, in their order.
    pub fn instructions(&self) -> Vec<Instruction> {
        let mut found: Vec<Instruction> = Vec::new();
        let mut above = String::new();
        for line in self.lines.iter().filter(|line| !line.is_quoted) {
            let mut rest = line.text;
            let mut has_any = false;
            while let Some((before, command, after)) = next_command(rest, line.is_fenced) {
                let said = match before.trim_matches(['-', '*', '$', '`', ' ', '1', '2', '3', '4', '5', '6', '.']) {
                    "" => above.clone(),
                    said => said.to_owned(),
                };
                let next = next_command(after, line.is_fenced).map_or(after.len(), |(before, _, _)| before.len());
                let instruction = Instruction {
                    words: words::split(command),
                    before: said,
                    after: after[..next].to_owned(),
                    heading: line.heading.clone(),
                };
                if !is_forbidden(&instruction.before) {
                    found.push(instruction);
                }
                (rest, has_any) = (after, true);
            }
            if !has_any && !line.text.trim().is_empty() && !line.is_fenced {
                above = line.text.trim().to_owned();
            }
        }
        found
    }

    /// The names that it lists where one of these words announces a list: bullets below a heading or a line that ends with
    /// a colon, or names behind a colon. What is ticked or said to be done is left out.
    pub fn listed(&self, announced: &[&str]) -> Vec<String> {
        let (mut found, mut done) = (Vec::new(), Vec::new());
        let mut announcing: Option<bool> = None;
        for line in &self.lines {
            let text = line.text.trim();
            if text.is_empty() {
                continue;
            }
            if let Some(entry) = bullet(text) {
                let Some(is_done) = announcing else { continue };
                let (entry, is_ticked) = ticked(entry);
                let into = if is_done || is_ticked { &mut done } else { &mut found };
                into.extend(name_of(entry));
            } else if line.is_quoted && announcing.is_some() {
                // A list of sentences is quoted, one a line.
                let into = if announcing == Some(true) { &mut done } else { &mut found };
                into.push(text.to_owned());
            } else if !line.is_fenced {
                announcing = announcement(text, announced);
                if let (Some(is_done), Some((_, names))) = (announcing, text.split_once(": ")) {
                    let names: Vec<&str> = names.split(", ").map(|name| name.trim_matches(['`', '.', ' '])).collect();
                    if names.iter().all(|name| is_name(name)) {
                        let into = if is_done { &mut done } else { &mut found };
                        into.extend(names.into_iter().map(str::to_owned));
                    }
                }
            }
        }
        let mut names: Vec<String> = Vec::new();
        for name in found {
            if !done.contains(&name) && !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    /// The files that it asks for. What a gate printed counts: it says what is missing.
    pub fn files(&self) -> Vec<String> {
        let mut files: Vec<String> = Vec::new();
        for line in &self.lines {
            for sentence in line.text.split(". ") {
                let lower = sentence.to_lowercase();
                let asks = ["make", "write", "create", "output", "deliver", "missing", "not there"];
                if program_in(sentence).is_some() || !asks.iter().any(|word| lower.contains(word)) {
                    continue;
                }
                for word in sentence.split(|c: char| c.is_whitespace() || ",;()[]`'\"".contains(c)) {
                    let word = word.trim_end_matches(['.', ':']);
                    if is_file(word) && !files.iter().any(|file| file == word) {
                        files.push(word.to_owned());
                    }
                }
            }
        }
        files
    }

    /// Every line that is not a quotation, as one text.
    pub fn told(&self) -> String {
        self.lines.iter().filter(|line| !line.is_quoted).map(|line| format!("{}\n", line.text)).collect()
    }

    /// Every line.
    pub fn all(&self) -> String {
        self.lines.iter().map(|line| format!("{}\n", line.text)).collect()
    }
}

impl Instruction {
    /// What its words stand for.
    pub fn placeholders(&self) -> impl Iterator<Item = Placeholder> + '_ {
        self.words.iter().filter_map(|word| placeholder(&word.text))
    }

    /// All that is said about it.
    pub fn said(&self) -> String {
        format!("{} {} {}", self.heading, self.before, self.after).to_lowercase()
    }
}

/// Where the program's name begins in a line, and where it ends.
fn program_in(line: &str) -> Option<(usize, usize)> {
    let mut from = 0;
    loop {
        let (at, name) = ["\"$PITON\"", "\"${PITON}\"", "$PITON", "piton"]
            .iter()
            .filter_map(|name| line[from..].find(name).map(|at| (from + at, *name)))
            .min()?;
        let end = at + name.len();
        let is_begun =
            line[..at].chars().next_back().is_none_or(|before| before.is_whitespace() || "`('$".contains(before));
        let verb = line[end..].strip_prefix(' ').and_then(|rest| rest.chars().next());
        if is_begun && verb.is_some_and(|verb| verb.is_ascii_lowercase()) {
            return Some((at, end));
        }
        from = end;
    }
}

/// The next command of a line: what stands before it, the command, what stands behind it.
fn next_command(line: &str, is_fenced: bool) -> Option<(&str, &str, &str)> {
    let (at, program) = program_in(line)?;
    let is_span = line[..at].matches('`').count() % 2 == 1;
    let end = match (is_span, is_fenced) {
        (true, _) => line[at..].find('`').map_or(line.len(), |end| at + end),
        (false, true) => end_of_code(line, program),
        (false, false) => end_of_prose(line, program),
    };
    Some((&line[..at], line[at..end].trim_end(), &line[end..]))
}

/// In code a command ends with its line, at a comment, or where another one begins.
fn end_of_code(line: &str, from: usize) -> usize {
    [" # ", " && ", "; "].iter().filter_map(|mark| line[from..].find(mark)).min().map_or(line.len(), |end| from + end)
}

/// In prose a command ends with its sentence, or where something is added in brackets.
fn end_of_prose(line: &str, from: usize) -> usize {
    let marks = [" (", "; ", ". ", ", ", " — ", " - "];
    let end = marks.iter().filter_map(|mark| line[from..].find(mark)).min().map_or(line.len(), |end| from + end);
    from + line[from..end].trim_end_matches('.').len()
}

fn is_forbidden(before: &str) -> bool {
    let before = before.to_lowercase();
    ["never", "do not", "don't", "must not"]
        .iter()
        .any(|word| before.ends_with(word) || before.contains(&format!("{word} run")))
}

fn bullet(text: &str) -> Option<&str> {
    let numbered = text.split_once(". ").filter(|(number, _)| number.bytes().all(|byte| byte.is_ascii_digit()));
    ["- ", "* ", "+ "].iter().find_map(|mark| text.strip_prefix(mark)).or(numbered.map(|(_, entry)| entry))
}

fn ticked(entry: &str) -> (&str, bool) {
    match entry.get(..4) {
        Some("[ ] ") => (&entry[4..], false),
        Some("[x] " | "[X] ") => (&entry[4..], true),
        _ => (entry, false),
    }
}

/// The name that an entry of a list begins with: in code, or before a colon, a dash or a bracket.
fn name_of(entry: &str) -> Option<String> {
    if let Some(code) = entry.strip_prefix('`') {
        return code.split_once('`').map(|(name, _)| name.to_owned()).filter(|name| program_in(name).is_none());
    }
    let entry = entry.trim_start_matches("**");
    let end = [": ", " (", " — ", " – ", " - ", "**"].iter().filter_map(|mark| entry.find(mark)).min();
    let name = entry[..end.unwrap_or(entry.len())].trim_end_matches([':', '.', ' ']);
    is_name(name).then(|| name.to_owned())
}

fn is_name(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-/@".contains(&byte);
    name.starts_with(|first: char| first.is_ascii_alphanumeric()) && name.bytes().all(is_plain)
}

/// Whether a line announces a list, and whether that is one of things that are done.
fn announcement(text: &str, announced: &[&str]) -> Option<bool> {
    let is_heading = text.starts_with('#') || text.ends_with(':') || text.contains(": ");
    let label = text.split_once(": ").map_or(text, |(label, _)| label).to_lowercase();
    if !is_heading || program_in(text).is_some() || !announced.iter().any(|word| label.contains(word)) {
        return None;
    }
    let is_done = ["done", "completed", "already"].iter().any(|word| label.contains(word)) && !label.contains("remain");
    Some(is_done)
}

fn is_file(word: &str) -> bool {
    let Some((stem, extension)) = word.rsplit_once('.') else { return false };
    let is_known = ["txt", "md", "rs", "py", "js", "ts", "json", "html", "css", "sh", "csv"].contains(&extension);
    let is_document = ["plan.md", "EXECUTION-SPEC", "SKILL.md", "CLAUDE.md", "AGENTS.md", "state.json", "checkpoint"];
    is_known && !stem.is_empty() && is_name(word) && !is_document.iter().any(|name| word.contains(name))
}
