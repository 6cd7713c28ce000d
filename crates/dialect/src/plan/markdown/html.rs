use std::ops::Range;

use piton_model::seek;

/// How an HTML block ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// With the line that holds this text.
    Text(&'static [u8]),
    /// With the line that closes a `pre`, `script`, `style` or `textarea`.
    RawElement,
    /// Before a blank line.
    Blank,
}

/// What kind of HTML block a line begins, if any; `rest` starts with `<`.
pub(super) fn block_start(rest: &[u8], in_paragraph: bool) -> Option<End> {
    let after = rest.get(1..)?;
    if after.starts_with(b"!--") {
        return Some(End::Text(b"-->"));
    }
    if after.starts_with(b"?") {
        return Some(End::Text(b"?>"));
    }
    if after.starts_with(b"![CDATA[") {
        return Some(End::Text(b"]]>"));
    }
    if after.first() == Some(&b'!') && after.get(1).is_some_and(u8::is_ascii_alphabetic) {
        return Some(End::Text(b">"));
    }
    let closing = after.first() == Some(&b'/');
    let name_at = usize::from(closing);
    let name_length = after[name_at..].iter().take_while(|byte| byte.is_ascii_alphanumeric()).count();
    let name = &after[name_at..name_at + name_length];
    let next = after[name_at + name_length..].first();
    let named = |names: &[&str]| names.iter().any(|each| each.as_bytes().eq_ignore_ascii_case(name));
    if !closing && named(&RAW) && matches!(next, None | Some(b' ' | b'\t' | b'>')) {
        return Some(End::RawElement);
    }
    let ends_tag = match next {
        None | Some(b' ' | b'\t' | b'>') => true,
        Some(b'/') => after.get(name_at + name_length + 1) == Some(&b'>'),
        Some(_) => false,
    };
    if named(&BLOCK) && ends_tag {
        return Some(End::Blank);
    }
    let alone = |length: usize| rest[length..].iter().all(|byte| matches!(byte, b' ' | b'\t'));
    let may_stand_alone = !in_paragraph && (closing || !named(&RAW));
    (may_stand_alone && tag(rest).is_some_and(alone)).then_some(End::Blank)
}

/// Whether a line is the last of its HTML block.
pub(super) fn ends(end: End, line: &[u8]) -> bool {
    match end {
        End::Text(text) => seek::word(text, line).is_some(),
        End::RawElement => seek::words(b"</", line).any(|at| {
            RAW.iter().any(|name| {
                let rest = &line[at + 2..];
                rest.len() > name.len()
                    && rest[..name.len()].eq_ignore_ascii_case(name.as_bytes())
                    && rest[name.len()] == b'>'
            })
        }),
        End::Blank => false,
    }
}

/// Hands over the comments in raw HTML; returns whether the last one does not end.
pub(super) fn comments(body: &str, visit: &mut dyn FnMut(Range<usize>)) -> bool {
    let mut at = 0;
    while let Some(start) = find_comment(&body.as_bytes()[at..]).map(|start| at + start) {
        let Some(end) = comment_end(body.as_bytes(), start) else { return true };
        visit(start..end);
        at = end;
    }
    false
}

/// Where the comment that begins at `start` ends. `<!-->` and `<!--->` are comments too.
pub(super) fn comment_end(text: &[u8], start: usize) -> Option<usize> {
    let inner = &text[start + 4..];
    if inner.starts_with(b">") {
        return Some(start + 5);
    }
    if inner.starts_with(b"->") {
        return Some(start + 6);
    }
    let closes = |at: &usize| inner[..*at].ends_with(b"--");
    seek::bytes(b'>', inner).find(closes).map(|at| start + 4 + at + 1)
}

/// Where the next `<!--` is. Comments are short and near: a byte search beats building a substring search.
pub(super) fn find_comment(text: &[u8]) -> Option<usize> {
    seek::bytes(b'<', text).find(|at| text[*at..].starts_with(b"<!--"))
}

/// The length of the open or closing tag that the text begins with.
pub(super) fn tag(text: &[u8]) -> Option<usize> {
    let mut tag = Tag { text, at: 1 };
    let closing = tag.take(b'/');
    if !tag.peek()?.is_ascii_alphabetic() {
        return None;
    }
    tag.skip(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    if closing {
        tag.space();
        return tag.take(b'>').then_some(tag.at);
    }
    loop {
        let spaced = tag.space();
        match tag.peek()? {
            b'>' => return Some(tag.at + 1),
            b'/' => {
                tag.at += 1;
                return tag.take(b'>').then_some(tag.at);
            }
            byte if spaced && (byte.is_ascii_alphabetic() || matches!(byte, b'_' | b':')) => tag.attribute()?,
            _ => return None,
        }
    }
}

struct Tag<'t> {
    text: &'t [u8],
    at: usize,
}

impl Tag<'_> {
    fn attribute(&mut self) -> Option<()> {
        self.skip(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b':' | b'-'));
        let before_space = self.at;
        self.space();
        if !self.take(b'=') {
            // The white space belongs to what comes next.
            self.at = before_space;
            return Some(());
        }
        self.space();
        match self.peek()? {
            quote @ (b'"' | b'\'') => {
                let end = seek::byte(quote, &self.text[self.at + 1..])?;
                self.at += end + 2;
            }
            b'<' | b'>' | b'=' | b'`' => return None,
            _ => self
                .skip(|byte| !byte.is_ascii_whitespace() && !matches!(byte, b'"' | b'\'' | b'=' | b'<' | b'>' | b'`')),
        }
        Some(())
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn take(&mut self, wanted: u8) -> bool {
        let taken = self.peek() == Some(wanted);
        self.at += usize::from(taken);
        taken
    }

    fn space(&mut self) -> bool {
        let before = self.at;
        self.skip(|byte| byte.is_ascii_whitespace());
        self.at > before
    }

    fn skip(&mut self, while_: impl Fn(u8) -> bool) {
        while self.peek().is_some_and(&while_) {
            self.at += 1;
        }
    }
}

const RAW: [&str; 4] = ["pre", "script", "style", "textarea"];

const BLOCK: [&str; 62] = [
    "address",
    "article",
    "aside",
    "base",
    "basefont",
    "blockquote",
    "body",
    "caption",
    "center",
    "col",
    "colgroup",
    "dd",
    "details",
    "dialog",
    "dir",
    "div",
    "dl",
    "dt",
    "fieldset",
    "figcaption",
    "figure",
    "footer",
    "form",
    "frame",
    "frameset",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "head",
    "header",
    "hr",
    "html",
    "iframe",
    "legend",
    "li",
    "link",
    "main",
    "menu",
    "menuitem",
    "nav",
    "noframes",
    "ol",
    "optgroup",
    "option",
    "p",
    "param",
    "search",
    "section",
    "summary",
    "table",
    "tbody",
    "td",
    "tfoot",
    "th",
    "thead",
    "title",
    "tr",
    "track",
    "ul",
];
