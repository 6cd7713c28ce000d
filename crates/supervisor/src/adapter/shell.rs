//! What a shell command consists of, as far as permissions depend on it. Nothing is run or expanded.

/// Words of the shell that stand before a command.
const BEFORE: [&str; 10] = ["if", "then", "elif", "else", "while", "until", "do", "!", "{", "time"];

/// Words that begin something without a command, or end a group.
const WITHOUT: [&str; 7] = ["for", "case", "done", "fi", "esac", "}", "in"];

/// Programs that run what they are given. Named alone, as at the end of a pipe, they would run anything.
const RUNNERS: [&str; 24] = [
    "sh", "bash", "dash", "zsh", "ksh", "fish", "env", "xargs", "sudo", "doas", "su", "ssh", "eval", "exec", "nohup",
    "python", "python3", "node", "deno", "bun", "ruby", "perl", "php", "source",
];

/// The simple commands of a shell text, in order: without redirections, keywords and comments, each as it was typed.
/// What stands in quotes or in a substitution stays whole. A command that reads from a redirection is left out: without
/// it, it is another command.
pub fn simple_commands(text: &str) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for part in parts(text) {
        let mut rest = part.trim();
        while let Some((word, after)) = rest.split_once(char::is_whitespace).filter(|(word, _)| BEFORE.contains(word)) {
            debug_assert!(!word.is_empty(), "the text was trimmed");
            rest = after.trim_start();
        }
        let first = rest.split_whitespace().next().unwrap_or_default();
        if first.is_empty() || first.starts_with('#') || BEFORE.contains(&first) || WITHOUT.contains(&first) {
            continue;
        }
        if !all.iter().any(|known| known == rest) {
            all.push(rest.to_owned());
        }
    }
    all
}

/// The command without the variables that are set for it: `A=1 b c` is `b c`.
pub(super) fn without_variables(command: &str) -> &str {
    let mut rest = command;
    loop {
        let Some((word, after)) = rest.split_once(' ') else { return rest };
        let is_variable = word.split_once('=').is_some_and(|(name, value)| {
            let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
            !name.is_empty() && name.chars().all(is_plain) && !value.contains(['"', '\'', '$', '`'])
        });
        if !is_variable {
            return rest;
        }
        rest = after.trim_start();
    }
}

/// Whether a command says nothing about what it runs: an interpreter without a script.
pub(super) fn is_open_ended(command: &str) -> bool {
    let mut words = without_variables(command).split_whitespace();
    let program = words.next().map_or("", |word| word.rsplit('/').next().unwrap_or(word));
    RUNNERS.contains(&program) && words.all(|word| word.starts_with('-') || word.contains('='))
}

/// The text cut at operators and before redirections.
fn parts(text: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut quote = None;
    let mut depth = 0_usize;
    // Whether the rest of the part is a redirection, which is left out.
    let mut is_cut = false;
    let mut letters = text.chars().peekable();
    let mut before = ' ';
    while let Some(letter) = letters.next() {
        let is_opaque = quote.is_some() || depth > 0;
        match letter {
            '\\' if quote != Some('\'') => {
                push(&mut parts, is_cut, letter);
                if let Some(next) = letters.next() {
                    push(&mut parts, is_cut, next);
                }
                before = ' ';
                continue;
            }
            '\'' | '"' | '`' if quote.is_none() => quote = Some(letter),
            _ if quote == Some(letter) => quote = None,
            '(' if before == '$' || depth > 0 => depth += 1,
            ')' if depth > 0 => depth -= 1,
            // A document within the text is no list of commands.
            '<' if !is_opaque && letters.peek() == Some(&'<') => return Vec::new(),
            '<' if !is_opaque => {
                parts.last_mut().into_iter().for_each(String::clear);
                is_cut = true;
            }
            '>' if !is_opaque => is_cut = true,
            // `2>&1` and `&>` are redirections.
            '&' if !is_opaque && (before == '>' || letters.peek() == Some(&'>')) => is_cut = true,
            '&' | '|' | ';' | '(' | ')' | '\n' if !is_opaque => {
                parts.push(String::new());
                is_cut = false;
                before = letter;
                continue;
            }
            _ => {}
        }
        // The number of a stream belongs to its redirection.
        if is_cut && let Some(part) = parts.last_mut().filter(|_| letter == '>') {
            let kept = part.trim_end_matches(|c: char| c.is_ascii_digit()).len();
            if part[..kept].ends_with(' ') {
                part.truncate(kept);
            }
        }
        push(&mut parts, is_cut, letter);
        before = letter;
    }
    parts
}

fn push(parts: &mut [String], is_cut: bool, letter: char) {
    if let Some(part) = parts.last_mut().filter(|_| !is_cut) {
        part.push(letter);
    }
}

/// A text as one word of a shell.
pub fn quoted(word: &str) -> String {
    let is_plain =
        !word.is_empty() && word.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_./=:,@+".contains(letter));
    if is_plain { word.to_owned() } else { format!("'{}'", word.replace('\'', "'\\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_into_its_simple_commands() {
        for (text, want) in [
            ("npm test", vec!["npm test"]),
            ("npm test && npm run lint", vec!["npm test", "npm run lint"]),
            ("a | b; c || d & e", vec!["a", "b", "c", "d", "e"]),
            ("npm test > out.log 2>&1", vec!["npm test"]),
            ("npm test 2>/dev/null && x", vec!["npm test", "x"]),
            ("a &> log", vec!["a"]),
            ("python3 < in | b", vec!["b"]),
            ("a && sh <<'EOF'\nrm x\nEOF", vec![]),
            ("echo 'a && b; c' \"d | e\"", vec!["echo 'a && b; c' \"d | e\""]),
            ("test -z \"$(gofmt -l . && x)\"", vec!["test -z \"$(gofmt -l . && x)\""]),
            ("test -z $(a (b) ; c) && d", vec!["test -z $(a (b) ; c)", "d"]),
            ("(cd sub && npm test)", vec!["cd sub", "npm test"]),
            ("if a; then b; else c; fi", vec!["a", "b", "c"]),
            ("for f in a b; do sh -n \"$f\"; done", vec!["sh -n \"$f\""]),
            ("! a", vec!["a"]),
            ("{ a; b; }", vec!["a", "b"]),
            ("a\nb # c\n# d", vec!["a", "b # c"]),
            ("a; a", vec!["a"]),
            ("echo a\\;b", vec!["echo a\\;b"]),
            ("echo 'it'\\''s'", vec!["echo 'it'\\''s'"]),
            ("", vec![]),
            (" ; && ", vec![]),
            ("echo \"open", vec!["echo \"open"]),
            ("do", vec![]),
        ] {
            assert_eq!(simple_commands(text), want, "{text}");
        }
    }

    #[test]
    fn an_interpreter_alone_is_open_ended() {
        for (command, want) in [
            ("sh", true),
            ("/bin/sh -s", true),
            ("python3 -", true),
            ("A=1 bash", true),
            ("env A=1", true),
            ("sh check.sh", false),
            ("sh -c 'npm test'", false),
            ("python3 -m pytest", false),
            ("npm", false),
            ("", false),
        ] {
            assert_eq!(is_open_ended(command), want, "{command}");
        }
    }

    #[test]
    fn variables_before_a_command_are_told_from_it() {
        for (command, want) in [
            ("npm test", "npm test"),
            ("CI=1 npm test", "npm test"),
            ("A=1 B_2=x npm test", "npm test"),
            ("A=$(x) npm", "A=$(x) npm"),
            ("a=b", "a=b"),
            ("make V=1", "make V=1"),
        ] {
            assert_eq!(without_variables(command), want, "{command}");
        }
    }
}
