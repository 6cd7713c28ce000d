//! What a worker printed, as its keeper keeps it: the beginning and the end, bounded.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::Path;

use crate::home::Home;
use crate::launch::Spool;

/// No line is kept longer while it is read.
const LONGEST_LINE: usize = 256 << 10;

/// How much is read in one go, so that one worker that prints a lot does not keep others waiting.
const AT_ONCE: u64 = 1 << 20;

/// One of the two streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stream {
    /// Standard output.
    Out,
    /// Standard error.
    Err,
}

impl Stream {
    /// The beginning of its files' names.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Stream::Out => "stdout",
            Stream::Err => "stderr",
        }
    }
}

/// A line, without its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line<'a> {
    /// The line as it was printed, or as much of its beginning as is kept.
    pub bytes: &'a [u8],
    /// Whether it was longer.
    pub is_cut: bool,
}

/// Reads a stream line by line while it grows, with bounded memory.
///
/// What the keeper has let go before it was read is left out, with the lines that are no longer whole.
#[derive(Debug)]
pub struct LineReader {
    home: Home,
    stream: Stream,
    segment: u64,
    offset: u64,
    line: Vec<u8>,
    is_cut: bool,
    skips_to_line_end: bool,
    skipped: u64,
}

impl LineReader {
    /// Begins at the start of the stream.
    pub fn new(home: &Path, stream: Stream, spool: Spool) -> LineReader {
        LineReader {
            home: Home::new(home),
            stream,
            segment: spool.segment.max(1),
            offset: 0,
            line: Vec::new(),
            is_cut: false,
            skips_to_line_end: false,
            skipped: 0,
        }
    }

    /// How many bytes were let go before they could be read. It grows between two calls of [`LineReader::read`], never
    /// within one: lines before a gap and after it come from different calls.
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// How far it has read, in bytes of the whole stream.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Hands over every line that was completed since the last time; says whether there is more to be read at once.
    ///
    /// Fails when a file cannot be read; what was handed over is not handed over again.
    pub fn read(&mut self, on_line: &mut dyn FnMut(Line<'_>)) -> io::Result<bool> {
        let mut budget = AT_ONCE;
        while budget > 0 {
            let before = self.skipped;
            let Some(mut file) = self.open()? else { return Ok(false) };
            if self.skipped != before {
                return Ok(true);
            }
            let within = self.offset % self.segment;
            file.seek(SeekFrom::Start(within))?;
            let mut bytes = Vec::new();
            let wanted = (self.segment - within).min(budget);
            file.take(wanted).read_to_end(&mut bytes)?;
            if bytes.is_empty() {
                return Ok(false);
            }
            self.offset += bytes.len() as u64;
            budget -= bytes.len() as u64;
            self.split(&bytes, on_line);
        }
        Ok(true)
    }

    /// Hands over what stands after the last line's end. To be called when nothing more can come.
    pub fn finish(&mut self, on_line: &mut dyn FnMut(Line<'_>)) {
        if !self.line.is_empty() && !self.skips_to_line_end {
            on_line(Line { bytes: &self.line, is_cut: self.is_cut });
        }
        self.line = Vec::new();
    }

    /// The segment that holds the next byte, or after a gap the oldest one that is still there.
    fn open(&mut self) -> io::Result<Option<File>> {
        loop {
            let number = self.offset / self.segment;
            match File::open(self.home.segment(self.stream, number)) {
                Ok(file) => return Ok(Some(file)),
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                Err(_) => {}
            }
            let Some(next) = oldest_after(&self.home, self.stream, number)? else { return Ok(None) };
            self.skipped += next * self.segment - self.offset + self.line.len() as u64;
            self.offset = next * self.segment;
            self.line = Vec::new();
            self.skips_to_line_end = true;
        }
    }

    fn split(&mut self, mut bytes: &[u8], on_line: &mut dyn FnMut(Line<'_>)) {
        while let Some(end) = memchr::memchr(b'\n', bytes) {
            self.keep(&bytes[..end]);
            if !self.skips_to_line_end {
                on_line(Line { bytes: &self.line, is_cut: self.is_cut });
            }
            self.line.clear();
            self.line.shrink_to(LONGEST_LINE / 16);
            (self.is_cut, self.skips_to_line_end) = (false, false);
            bytes = &bytes[end + 1..];
        }
        self.keep(bytes);
    }

    fn keep(&mut self, bytes: &[u8]) {
        if self.skips_to_line_end {
            return;
        }
        let room = LONGEST_LINE - self.line.len();
        self.is_cut |= bytes.len() > room;
        self.line.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }
}

/// The last bytes of a stream, at most so many.
pub fn tail(home: &Path, stream: Stream, spool: Spool, most: usize) -> io::Result<Vec<u8>> {
    let home = Home::new(home);
    let mut numbers = segments(&home, stream)?;
    numbers.sort_unstable_by(|a, b| b.cmp(a));
    let mut found: Vec<u8> = Vec::new();
    let mut expected = None;
    for number in numbers {
        // Before a gap there is nothing that belongs to the end.
        if expected.is_some_and(|expected| expected != number) || found.len() >= most {
            break;
        }
        let mut bytes = Vec::new();
        let mut file = File::open(home.segment(stream, number))?;
        let length = file.metadata()?.len().min(spool.segment);
        file.seek(SeekFrom::Start(length.saturating_sub((most - found.len()) as u64)))?;
        file.take((most - found.len()) as u64).read_to_end(&mut bytes)?;
        bytes.extend_from_slice(&found);
        found = bytes;
        expected = number.checked_sub(1);
        if expected.is_none() {
            break;
        }
    }
    Ok(found)
}

/// The lowest segment above a number that is there.
fn oldest_after(home: &Home, stream: Stream, number: u64) -> io::Result<Option<u64>> {
    Ok(segments(home, stream)?.into_iter().filter(|each| *each > number).min())
}

fn segments(home: &Home, stream: Stream) -> io::Result<Vec<u64>> {
    let number = |name: &str| name.strip_prefix(stream.word())?.strip_prefix('.')?.parse().ok();
    let entries = std::fs::read_dir(&home.path)?;
    Ok(entries.flatten().filter_map(|entry| number(entry.file_name().to_str()?)).collect())
}
