/// A line being taken apart from its left. Columns matter, because a tab is worth up to four of them and
/// may be used up only in part.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line<'t> {
    text: &'t [u8],
    /// The next byte.
    pub at: usize,
    column: usize,
}

impl<'t> Line<'t> {
    pub fn new(text: &'t [u8]) -> Line<'t> {
        Line { text, at: 0, column: 0 }
    }

    pub fn rest(&self) -> &'t [u8] {
        &self.text[self.at..]
    }

    pub fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    pub fn is_blank(&self) -> bool {
        self.rest().iter().all(|byte| matches!(byte, b' ' | b'\t'))
    }

    /// How many columns of white space come next.
    pub fn indent(&self) -> usize {
        let mut ahead = *self;
        while ahead.take_column() {}
        ahead.column - self.column
    }

    /// Takes up to that many columns of white space; returns how many there were.
    pub fn take_indent(&mut self, most: usize) -> usize {
        (0..most).take_while(|_| self.take_column()).count()
    }

    /// Takes bytes that are one column wide.
    pub fn take(&mut self, bytes: usize) {
        self.at += bytes;
        self.column += bytes;
    }

    fn take_column(&mut self) -> bool {
        match self.peek() {
            Some(b' ') => {
                self.at += 1;
                self.column += 1;
                true
            }
            Some(b'\t') => {
                self.column += 1;
                // A tab is left behind only when its last column is used up.
                if self.column.is_multiple_of(4) {
                    self.at += 1;
                }
                true
            }
            _ => false,
        }
    }
}
