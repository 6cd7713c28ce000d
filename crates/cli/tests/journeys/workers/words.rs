//! Commands as a text gives them: shell words, some of which stand for something.

/// A word of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    pub text: String,
    /// Whether quotation marks stood around it.
    pub is_quoted: bool,
}

/// What a word stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placeholder {
    Number,
    Text,
    Title,
    File,
    /// A task, subtask or step.
    Step,
    /// An acceptance criterion or gate.
    Criterion,
    Command,
    /// As many more as there are.
    More,
}

/// Splits a line as a shell does, without expanding anything.
pub fn split(line: &str) -> Vec<Word> {
    let mut words = Vec::new();
    let mut word: Option<Word> = None;
    let mut quote = None;
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        match (quote, character) {
            (Some(mark), _) if character == mark => quote = None,
            (Some('"') | None, '\\') => begun(&mut word).text.extend(characters.next()),
            (Some(_), _) => begun(&mut word).text.push(character),
            (None, '\'' | '"') => {
                quote = Some(character);
                begun(&mut word).is_quoted = true;
            }
            (None, _) if character.is_whitespace() => words.extend(word.take()),
            (None, _) => begun(&mut word).text.push(character),
        }
    }
    words.extend(word);
    words
}

fn begun(word: &mut Option<Word>) -> &mut Word {
    word.get_or_insert_with(|| Word { text: String::new(), is_quoted: false })
}

/// A word as it is typed in a shell.
pub fn quoted(word: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./:=@,+%".contains(&byte);
    match !word.is_empty() && word.bytes().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

/// What a word stands for, if it is not meant as it is written.
pub fn placeholder(word: &str) -> Option<Placeholder> {
    if matches!(word, "…" | "...") {
        return Some(Placeholder::More);
    }
    let inner = word.trim_end_matches(['…', '.']);
    let is_bracketed = inner.starts_with('<') && inner.ends_with('>');
    let name = inner.trim_matches(['<', '>']).to_uppercase();
    if !is_bracketed && name != inner {
        return None;
    }
    // `TASK-1`, `TASK_2`: which of them does not matter.
    let stem = name.trim_end_matches(|character: char| character.is_ascii_digit()).trim_end_matches(['-', '_']);
    Some(match stem {
        "N" | "M" | "NUMBER" | "SCORE" => Placeholder::Number,
        "TEXT" | "WHY" | "REASON" | "MESSAGE" | "ISSUES" | "QUESTION" | "DESCRIPTION" | "NOTE" | "SUMMARY" => {
            Placeholder::Text
        }
        "TITLE" => Placeholder::Title,
        "FILE" | "PATH" | "OUTPUT" => Placeholder::File,
        "TASK" | "TASKS" | "SUBTASK" | "STEP" | "STEPS" | "ID" | "WORKSTREAM" | "NAME" => Placeholder::Step,
        "CRITERION" | "GATE" => Placeholder::Criterion,
        "COMMAND" | "CMD" => Placeholder::Command,
        _ => return None,
    })
}

/// Whether a word is good news, bad news, or neither.
pub fn outcome(word: &str) -> Option<bool> {
    match word {
        "GO" | "PASS" | "CONCERNS" | "WAIVED" | "ship" => Some(true),
        "NO-GO" | "FAIL" | "do_not_ship" => Some(false),
        _ => None,
    }
}

#[test]
fn words_are_split_as_a_shell_does() {
    let texts = |line: &str| split(line).into_iter().map(|word| word.text).collect::<Vec<_>>();
    assert_eq!(texts("a 'b c'  \"d e\"f"), ["a", "b c", "d ef"]);
    assert_eq!(texts(r#"a\ b '' "\"""#), ["a b", "", "\""]);
    assert_eq!(split(r#""$PITON" x"#)[0], Word { text: "$PITON".to_owned(), is_quoted: true });
    assert_eq!(
        split(&quoted("it's")),
        split(r"it\'s").into_iter().map(|word| Word { is_quoted: true, ..word }).collect::<Vec<_>>()
    );
}

#[test]
fn words_that_stand_for_something_are_told_from_names() {
    let cases = [
        ("N", Some(Placeholder::Number)),
        ("TASK-1", Some(Placeholder::Step)),
        ("<text>", Some(Placeholder::Text)),
        ("TASK…", Some(Placeholder::Step)),
        ("...", Some(Placeholder::More)),
        ("WS1", None),
        ("PASS", None),
        ("text", None),
        ("PROJ-1", None),
    ];
    for (word, expected) in cases {
        assert_eq!(placeholder(word), expected, "{word}");
    }
}
