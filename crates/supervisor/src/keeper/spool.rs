//! A stream on disk: its beginning and its end, in segments.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};

use crate::home::Home;
use crate::output::Stream;

/// Writes one stream. However much there is, at most three segments of it are on disk: the first and the last two.
#[derive(Debug)]
pub(super) struct SpoolFile {
    stream: Stream,
    segment: u64,
    total: u64,
    open: Option<(u64, File)>,
}

impl SpoolFile {
    pub fn new(stream: Stream, segment: u64) -> SpoolFile {
        SpoolFile { stream, segment: segment.max(1), total: 0, open: None }
    }

    /// How many bytes there were.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Keeps bytes. What a full disk does not take is counted and lost: a worker must not wait for a disk.
    pub fn write(&mut self, home: &Home, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let number = self.total / self.segment;
            let within = self.total % self.segment;
            let room = usize::try_from(self.segment - within).unwrap_or(usize::MAX);
            let (now, later) = bytes.split_at(bytes.len().min(room));
            if let Some(file) = self.file(home, number) {
                // In its place, so that bytes after a lost one stand where they belong.
                let _ = file.write_all_at(now, within);
            }
            self.total += now.len() as u64;
            bytes = later;
        }
    }

    fn file(&mut self, home: &Home, number: u64) -> Option<&File> {
        if self.open.as_ref().is_none_or(|(open, _)| *open != number) {
            let path = home.segment(self.stream, number);
            let file = OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(path).ok();
            self.open = file.map(|file| (number, file));
            if let Some(old) = number.checked_sub(2).filter(|old| *old > 0) {
                // It may be missing: the disk may have been full when it was its turn.
                let _ = fs::remove_file(home.segment(self.stream, old));
            }
        }
        self.open.as_ref().map(|(_, file)| file)
    }
}
