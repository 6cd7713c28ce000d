//! What a literal-minded reader finds in a prompt: commands to run with what is said about them, and files to make.

use super::words::{self, Placeholder, Word, placeholder};

/// A command that the prompt gives, with what is said about it.
#[derive(Clone, Debug)]
pub struct Instruction {
    /// As it stands there.
    pub line: String,
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
    is_code: bool,
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
            let is_code = !is_quoted && (is_fenced || line.starts_with("    "));
            if !is_quoted && !is_code && line.starts_with('#') {
                heading = line.trim_start_matches('#').trim().to_owned();
            }
            let text = if is_quoted { trimmed.trim_start_matches(['|', '>']).trim_start() } else { line };
            lines.push(Line { text, is_quoted, is_code, heading: heading.clone() });
        }
        Prompt { lines }
    }

    /// The commands that it gives, in their order: those of Piton, and those of git that stand in lines of their own.
    pub fn instructions(&self) -> Vec<Instruction> {
        let mut found: Vec<Instruction> = Vec::new();
        let mut above = String::new();
        for line in self.lines.iter().filter(|line| !line.is_quoted) {
            let mut rest = line.text;
            let mut has_any = false;
            while let Some((before, command, after)) = next_command(rest, line.is_code) {
                let said = match before.trim_matches(['-', '*', '$', '`', ' ']) {
                    "" => above.clone(),
                    said => said.to_owned(),
                };
                let next = next_command(after, line.is_code).map_or(after.len(), |(before, _, _)| before.len());
                let instruction = Instruction {
                    line: command.to_owned(),
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
            if !has_any && !line.text.trim().is_empty() && !line.is_code {
                above = line.text.trim().to_owned();
            }
        }
        found
    }

    /// The files that it asks for. What others wrote counts: it describes the work, and what a gate misses.
    pub fn files(&self) -> Vec<String> {
        let mut files: Vec<String> = Vec::new();
        for line in &self.lines {
            for sentence in line.text.split(". ") {
                let lower = sentence.to_lowercase();
                let asks = ["make", "write", "create", "output"];
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
}

impl Instruction {
    /// Whether one of its words stands for this.
    pub fn asks_for(&self, wanted: Placeholder) -> bool {
        self.words.iter().any(|word| placeholder(&word.text) == Some(wanted))
    }

    /// All that is said about it.
    pub fn said(&self) -> String {
        format!("{} {} {}", self.heading, self.before, self.after).to_lowercase()
    }

    /// The last word that is meant as it is written and belongs to no option: what the command is about.
    pub fn subject(&self) -> &str {
        let mut subject = "work";
        let mut is_value = false;
        for word in &self.words {
            let is_option = word.text.starts_with('-');
            if !is_option && !is_value && placeholder(&word.text).is_none() {
                subject = &word.text;
            }
            is_value = is_option && word.text.starts_with("--");
        }
        subject
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
        let before = line[..at].chars().next_back();
        let is_begun = before.is_none_or(|before| before.is_whitespace() || "`('$".contains(before));
        let verb = line[end..].strip_prefix(' ').and_then(|rest| rest.chars().next());
        if is_begun && verb.is_some_and(|verb| verb.is_ascii_lowercase()) {
            return Some((at, end));
        }
        from = end;
    }
}

/// The next command of a line: what stands before it, the command, what stands behind it.
fn next_command(line: &str, is_code: bool) -> Option<(&str, &str, &str)> {
    let begin = line.len() - line.trim_start().len();
    if is_code && line[begin..].starts_with("git ") {
        return Some((&line[..begin], line[begin..].trim_end(), ""));
    }
    let (at, program) = program_in(line)?;
    let is_span = line[..at].matches('`').count() % 2 == 1;
    let end = match (is_span, is_code) {
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
    let words = ["never", "do not", "don't", "must not"];
    words.iter().any(|word| before.ends_with(word) || before.contains(&format!("{word} run")))
}

fn is_file(word: &str) -> bool {
    let Some((stem, extension)) = word.rsplit_once('.') else { return false };
    let is_known = ["txt", "md", "rs", "py", "js", "ts", "json", "html", "css", "csv"].contains(&extension);
    let is_document = ["plan.md", "EXECUTION-SPEC", "SKILL.md", "CLAUDE.md", "AGENTS.md", "state.json", "checkpoint"];
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-/".contains(&byte);
    let is_relative = word.starts_with(|first: char| first.is_ascii_alphanumeric()) && word.bytes().all(is_plain);
    is_known && is_relative && !stem.is_empty() && !is_document.iter().any(|name| word.contains(name))
}

#[test]
fn commands_are_found_with_what_is_said_about_them() {
    let text = "# A story\n\nDo not run `piton finish x:y`.\n\n## Record\n\nWhen it is done:\n\n    git add -A && git commit -m T1\n    \
                \"$PITON\" step pipeline:P-1 done T1 --file FILE\n\n- If you cannot go on:\n\n    \"$PITON\" block pipeline:P-1 --message 'TEXT'\n\n\
                <<<abc\n| piton verdict pipeline:P-1 PASS\n| Make the file greeting.txt.\nabc>>>\n";
    let prompt = Prompt::new(text);
    let found = prompt.instructions();
    let lines: Vec<&str> = found.iter().map(|each| each.line.as_str()).collect();
    assert_eq!(
        lines,
        [
            "git add -A && git commit -m T1",
            "\"$PITON\" step pipeline:P-1 done T1 --file FILE",
            "\"$PITON\" block pipeline:P-1 --message 'TEXT'"
        ]
    );
    assert_eq!((found[0].subject(), found[1].subject()), ("T1", "T1"));
    assert_eq!(found[1].said(), "record when it is done: ");
    assert_eq!(found[2].before, "- If you cannot go on:");
    assert_eq!(prompt.files(), ["greeting.txt"]);
}
