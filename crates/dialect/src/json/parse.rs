use std::cell::Cell;

use super::{DEEPEST, Json, Kind, MOST_VALUES, Node, Problem, SyntaxError};

/// Parses a text. Nothing is recovered: a document with a syntax error is repaired from a good copy,
/// never from a guess.
///
/// A text longer than 4 GiB cannot be parsed; documents are bounded far below that before they are read.
pub fn parse(text: &str) -> Result<Json<'_>, SyntaxError> {
    assert!(u32::try_from(text.len()).is_ok(), "documents are bounded before they are parsed");
    let mut parser =
        Parser { text: text.as_bytes(), at: 0, nodes: Vec::with_capacity(text.len() / 24 + 8), may_be_huge: false };
    parser.white_space();
    if parser.at == parser.text.len() {
        return Err(parser.error(Problem::Empty));
    }
    parser.value(0)?;
    parser.white_space();
    if parser.at < parser.text.len() {
        return Err(parser.error(Problem::Trailing));
    }
    Ok(Json {
        text,
        nodes: parser.nodes,
        keys_are_unique: false,
        may_be_huge: parser.may_be_huge,
        next_entry: Cell::new(0),
        next_object: Cell::new(0),
    })
}

/// What is passed over at once.
const INDENT: &[u8; 8] = b"        ";

struct Parser<'a> {
    text: &'a [u8],
    at: usize,
    nodes: Vec<Node>,
    may_be_huge: bool,
}

impl Parser<'_> {
    fn value(&mut self, depth: usize) -> Result<(), SyntaxError> {
        if depth >= DEEPEST {
            return Err(self.error(Problem::TooDeep));
        }
        let Some(first) = self.peek() else { return Err(self.error(Problem::Ends)) };
        match first {
            b'"' => self.string(),
            b'{' => self.object(depth),
            b'[' => self.array(depth),
            b't' => self.word("true", Kind::True),
            b'f' => self.word("false", Kind::False),
            b'n' => self.word("null", Kind::Null),
            b'-' | b'0'..=b'9' => self.number(),
            b'N' | b'I' | b'+' | b'.' => Err(self.error(Problem::NotANumber)),
            _ => Err(self.error(Problem::Expected("a value"))),
        }
    }

    fn object(&mut self, depth: usize) -> Result<(), SyntaxError> {
        let open = self.open(Kind::Object)?;
        if self.peek() == Some(b'}') {
            return self.close(open);
        }
        loop {
            match self.peek() {
                Some(b'"') => self.string()?,
                Some(_) => return Err(self.error(Problem::Expected("a key in double quotes"))),
                None => return Err(self.error(Problem::Ends)),
            }
            self.white_space();
            self.punctuation(b':', "`:` after the key")?;
            self.white_space();
            self.value(depth + 1)?;
            self.white_space();
            if self.peek() == Some(b'}') {
                return self.close(open);
            }
            self.punctuation(b',', "`,` or `}`")?;
            self.white_space();
        }
    }

    fn array(&mut self, depth: usize) -> Result<(), SyntaxError> {
        let open = self.open(Kind::Array)?;
        if self.peek() == Some(b']') {
            return self.close(open);
        }
        loop {
            self.value(depth + 1)?;
            self.white_space();
            if self.peek() == Some(b']') {
                return self.close(open);
            }
            self.punctuation(b',', "`,` or `]`")?;
            self.white_space();
        }
    }

    fn open(&mut self, kind: Kind) -> Result<usize, SyntaxError> {
        let open = self.nodes.len();
        self.push(kind, false, self.at)?;
        self.at += 1;
        self.white_space();
        Ok(open)
    }

    fn close(&mut self, open: usize) -> Result<(), SyntaxError> {
        self.at += 1;
        let nodes = (self.nodes.len() - open) as u32;
        self.nodes[open].nodes = nodes;
        self.nodes[open].end = self.at as u32;
        Ok(())
    }

    fn string(&mut self) -> Result<(), SyntaxError> {
        let start = self.at;
        let mut is_escaped = false;
        self.at += 1;
        loop {
            self.at += plain_length(&self.text[self.at..]);
            match self.peek() {
                None => return Err(self.error(Problem::Ends)),
                Some(b'"') => break,
                Some(b'\\') => {
                    is_escaped = true;
                    self.escape()?;
                }
                // A line break and nothing after it: the editor's, behind a torn string.
                Some(_) if self.text[self.at..].trim_ascii().is_empty() => return Err(self.error(Problem::Ends)),
                Some(_) => return Err(self.error(Problem::ControlCharacter)),
            }
        }
        self.at += 1;
        self.push(Kind::String, is_escaped, start)
    }

    fn escape(&mut self) -> Result<(), SyntaxError> {
        let rest = &self.text[self.at + 1..];
        let length = match rest.first() {
            None => return Err(self.error(Problem::Ends)),
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => 1,
            Some(b'u') if rest.len() < 5 => return Err(self.error(Problem::Ends)),
            Some(b'u') if rest[1..5].iter().all(u8::is_ascii_hexdigit) => 5,
            Some(_) => return Err(self.error(Problem::Escape)),
        };
        self.at += 1 + length;
        Ok(())
    }

    fn number(&mut self) -> Result<(), SyntaxError> {
        let start = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        match self.peek() {
            Some(b'0') => self.at += 1,
            Some(b'1'..=b'9') => self.digits(),
            Some(_) => return Err(self.error(Problem::NotANumber)),
            None => return Err(self.error(Problem::Ends)),
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.some_digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.some_digits()?;
        }
        // Short numbers without an exponent always fit.
        let number = &self.text[start..self.at];
        self.may_be_huge |= number.len() > 300 || number.iter().any(|byte| matches!(byte, b'e' | b'E'));
        self.push(Kind::Number, false, start)
    }

    fn some_digits(&mut self) -> Result<(), SyntaxError> {
        match self.peek() {
            Some(b'0'..=b'9') => self.digits(),
            Some(_) => return Err(self.error(Problem::NotANumber)),
            None => return Err(self.error(Problem::Ends)),
        }
        Ok(())
    }

    fn digits(&mut self) {
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
    }

    fn word(&mut self, word: &str, kind: Kind) -> Result<(), SyntaxError> {
        let rest = &self.text[self.at..];
        if !rest.starts_with(word.as_bytes()) {
            let torn = word.as_bytes().starts_with(rest);
            return Err(self.error(if torn { Problem::Ends } else { Problem::Expected("a value") }));
        }
        let start = self.at;
        self.at += word.len();
        self.push(kind, false, start)
    }

    fn punctuation(&mut self, byte: u8, what: &'static str) -> Result<(), SyntaxError> {
        match self.peek() {
            Some(found) if found == byte => {
                self.at += 1;
                Ok(())
            }
            Some(_) => Err(self.error(Problem::Expected(what))),
            None => Err(self.error(Problem::Ends)),
        }
    }

    fn push(&mut self, kind: Kind, is_escaped: bool, start: usize) -> Result<(), SyntaxError> {
        if self.nodes.len() >= MOST_VALUES {
            return Err(self.error(Problem::TooMany));
        }
        self.nodes.push(Node { kind, is_escaped, start: start as u32, end: self.at as u32, nodes: 1 });
        Ok(())
    }

    fn white_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\n' | b'\r' | b'\t')) {
            self.at += 1;
            // Half of a document may be indentation.
            while self.text[self.at..].starts_with(INDENT) {
                self.at += INDENT.len();
            }
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn error(&self, problem: Problem) -> SyntaxError {
        SyntaxError { at: self.at, problem }
    }
}

/// How many bytes come before a quote, a backslash or a control character. Most of a document is text, so this
/// looks at eight bytes at a time: a byte below 0x20 or equal to a wanted one sets its highest bit in the sum. Of the
/// set bits the lowest is always right; higher ones may be carried over from it.
fn plain_length(text: &[u8]) -> usize {
    const ONES: u64 = u64::from_ne_bytes([0x01; 8]);
    const HIGHS: u64 = u64::from_ne_bytes([0x80; 8]);
    let has_zero = |word: u64| word.wrapping_sub(ONES) & !word & HIGHS;
    let mut at = 0;
    while let Some(chunk) = text.get(at..).and_then(<[u8]>::first_chunk::<8>) {
        let word = u64::from_le_bytes(*chunk);
        let quote = has_zero(word ^ (ONES * u64::from(b'"')));
        let backslash = has_zero(word ^ (ONES * u64::from(b'\\')));
        let control = word.wrapping_sub(ONES * 0x20) & !word & HIGHS;
        let found = quote | backslash | control;
        if found != 0 {
            return at + found.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    let rest = &text[at..];
    at + rest.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..0x20)).unwrap_or(rest.len())
}
