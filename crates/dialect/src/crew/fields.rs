//! Keys in prose: `**Key:** value`, and headings with the text below them.

use super::lines::lines;

/// How many keys of one text are read; more than that is no message and no checkpoint.
const MOST: usize = 2_000;

/// How long a key may be; a longer bold text is emphasis.
const LONGEST_KEY: usize = 60;

/// A key and what follows it, up to the next one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field<'a> {
    /// The key as it is written, without its colon.
    pub key: &'a str,
    /// The text that follows, over as many lines as it takes.
    pub value: &'a str,
    /// Where the key's line begins in the text that was searched: a whole file, or the body of a message.
    pub at: usize,
}

impl<'a> Field<'a> {
    /// Whether this is the key of that name. Case does not matter, nor does what follows in parentheses.
    pub fn is(&self, name: &str) -> bool {
        self.key.split('(').next().unwrap_or_default().trim().eq_ignore_ascii_case(name)
    }

    /// The first line of the value; nothing when it is blank.
    pub fn line(&self) -> Option<&'a str> {
        self.value.lines().next().map(str::trim).filter(|line| !line.is_empty())
    }

    /// The items of a list in the value, without bullets, boxes and ticks; a single text is a list of one.
    pub fn items(&self) -> Vec<String> {
        let items = self.value.lines().filter_map(item).filter(|item| !item.is_empty());
        let items: Vec<_> = items.map(str::to_owned).collect();
        if items.is_empty() { self.line().map(str::to_owned).into_iter().collect() } else { items }
    }
}

/// Finds the keys of a text, in order.
pub fn fields(text: &str) -> Vec<Field<'_>> {
    let mut found: Vec<Field<'_>> = Vec::new();
    let mut value_from = 0;
    for line in lines(text).filter(|line| !line.fenced) {
        let Some((key, value_at)) = bold_key(line.text).or_else(|| heading(line.text)) else { continue };
        if let Some(last) = found.last_mut() {
            last.value = text[value_from..line.at].trim();
        }
        if found.len() == MOST {
            return found;
        }
        value_from = line.at + value_at;
        found.push(Field { key, value: "", at: line.at });
    }
    if let Some(last) = found.last_mut() {
        last.value = text[value_from..].trim();
    }
    found
}

/// The first key of one of these names that has a value.
pub fn find<'a, 'f>(fields: &'f [Field<'a>], names: &[&str]) -> Option<&'f Field<'a>> {
    let named = |name: &&str| fields.iter().find(|field| field.is(name) && !field.value.is_empty());
    names.iter().find_map(named)
}

/// A text without the marks that agents decorate with: ticks, hourglasses, asterisks, backticks.
pub fn plain(text: &str) -> &str {
    text.trim_matches(|c: char| c.is_whitespace() || matches!(c, '*' | '`' | '_') || is_emoji(c))
}

fn bold_key(line: &str) -> Option<(&str, usize)> {
    let trimmed = line.trim_start();
    let trimmed = trimmed.strip_prefix("- ").or_else(|| trimmed.strip_prefix("* ")).unwrap_or(trimmed);
    let rest = trimmed.strip_prefix("**")?;
    let close = rest.find("**").filter(|close| *close <= LONGEST_KEY)?;
    let (bold, after) = (&rest[..close], &rest[close + 2..]);
    let (key, value) = match bold.strip_suffix(':') {
        Some(key) => (key, after),
        None => (bold, after.strip_prefix(':')?),
    };
    let key = key.trim();
    (!key.is_empty()).then_some((key, line.len() - value.len()))
}

fn heading(line: &str) -> Option<(&str, usize)> {
    let level = line.bytes().take_while(|byte| *byte == b'#').count();
    let title = line[level..].strip_prefix(' ')?.trim().trim_end_matches('#').trim().trim_end_matches(':');
    ((1..=6).contains(&level) && !title.is_empty()).then_some((title, line.len()))
}

fn item(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let numbered = || line[digits..].strip_prefix(". ").filter(|_| digits > 0);
    let text = ["- ", "* ", "+ "].iter().find_map(|bullet| line.strip_prefix(bullet)).or_else(numbered)?;
    let text = ["[x] ", "[X] ", "[ ] "].iter().find_map(|tick| text.strip_prefix(tick)).unwrap_or(text);
    Some(text.trim_start_matches(|c: char| c.is_whitespace() || is_emoji(c)).trim_end())
}

fn is_emoji(c: char) -> bool {
    matches!(u32::from(c), 0x2300..=0x23ff | 0x2600..=0x27bf | 0x2b00..=0x2bff | 0xfe0f | 0x1f300..=0x1faff)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_bold_or_headings_and_values_run_to_the_next() {
        let text = "# Title\nintro\n**Subject:** late again\n**Details:**\n  - one\n  - **two**\n\n```\n**Not:** me\n```\n- **Next**: go on\n**bold** words\n**:** x\n";
        let found: Vec<_> = fields(text).iter().map(|field| (field.key, field.value)).collect();
        assert_eq!(
            found,
            [
                ("Title", "intro"),
                ("Subject", "late again"),
                ("Details", "- one\n  - **two**\n\n```\n**Not:** me\n```"),
                ("Next", "go on\n**bold** words\n**:** x"),
            ]
        );
    }

    #[test]
    fn names_ignore_case_and_parentheses() {
        let list = fields("**Next Steps (for Primary):**\n- ✅ one\n2. [ ] two\nthree\n**Can Resume:** false (done)\n");
        assert_eq!(find(&list, &["next steps"]).expect("a field").items(), ["one", "two"]);
        assert_eq!(find(&list, &["nothing", "Can Resume"]).and_then(Field::line), Some("false (done)"));
        assert_eq!((plain("✅ `COMPLETE`"), plain("**S2.P1** ⏳")), ("COMPLETE", "S2.P1"));
    }

    #[test]
    fn keys_are_bounded() {
        assert_eq!(fields(&"**a:**\n".repeat(50_000)).len(), MOST);
    }
}
