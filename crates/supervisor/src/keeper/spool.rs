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

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use proptest::prelude::*;

    use super::*;
    use crate::launch::Spool;
    use crate::output::{Line, LineReader, tail};
    use crate::scratch::Scratch;

    /// A piece of output, and whether somebody reads after it.
    fn piece() -> impl Strategy<Value = (Vec<u8>, bool)> {
        (prop::collection::vec(prop_oneof![4 => Just(b'\n'), 20 => any::<u8>()], 0..60), any::<bool>())
    }

    fn read(reader: &mut LineReader, lines: &mut Vec<Vec<u8>>) {
        let mut keep = |line: Line<'_>| lines.push(line.bytes.to_vec());
        while reader.read(&mut keep).expect("it can be read") {}
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn what_is_read_is_what_was_written(pieces in prop::collection::vec(piece(), 0..40), segment in 1_u64..100) {
            let directory = Scratch::new();
            let (home, spool) = (Home::new(&directory.0), Spool { segment });
            let mut file = SpoolFile::new(Stream::Out, segment);
            let mut reader = LineReader::new(&directory.0, Stream::Out, spool);
            let (mut all, mut found) = (Vec::new(), Vec::new());
            // Whoever reads before two further segments are full misses nothing.
            let (mut unread, mut misses_nothing) = (0, true);
            for (bytes, is_read) in &pieces {
                file.write(&home, bytes);
                all.extend_from_slice(bytes);
                unread += bytes.len() as u64;
                misses_nothing &= unread <= segment;
                if *is_read {
                    read(&mut reader, &mut found);
                    unread = 0;
                }
            }
            read(&mut reader, &mut found);
            reader.finish(&mut |line| found.push(line.bytes.to_vec()));
            prop_assert_eq!(file.total(), all.len() as u64);
            prop_assert_eq!(reader.offset(), all.len() as u64);

            let mut lines: Vec<Vec<u8>> = all.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
            if lines.last().is_some_and(Vec::is_empty) {
                lines.pop();
            }
            if misses_nothing {
                prop_assert_eq!(&found, &lines);
            }
            // Else every line that is found is one of them, in order.
            let mut rest = lines.iter();
            for line in &found {
                prop_assert!(rest.any(|each| each == line), "{:?} is not in {:?}", line, lines);
            }

            let kept = fs::read_dir(&directory.0).expect("it is there").count();
            prop_assert!(kept <= 3, "{} segments", kept);
            let end = tail(&directory.0, Stream::Out, spool, segment as usize).expect("it can be read");
            let want = &all[all.len() - all.len().min(segment as usize)..];
            prop_assert_eq!(end.as_slice(), want);
        }
    }

    #[test]
    fn a_line_longer_than_any_memory_is_cut() {
        let directory = Scratch::new();
        let home = Home::new(&directory.0);
        let mut file = SpoolFile::new(Stream::Err, 1 << 20);
        for _ in 0..30 {
            file.write(&home, &[b'x'; 10_000]);
        }
        file.write(&home, b"\nshort\n");
        let mut reader = LineReader::new(&directory.0, Stream::Err, Spool { segment: 1 << 20 });
        let mut lines = Vec::new();
        while reader.read(&mut |line| lines.push((line.bytes.len(), line.is_cut))).expect("it can be read") {}
        assert_eq!(lines, [(256 << 10, true), (5, false)]);
    }

    #[test]
    fn a_disk_that_takes_nothing_does_not_stop_the_worker() {
        let home = Home::new(&PathBuf::from("/proc/no/such/place"));
        let mut file = SpoolFile::new(Stream::Out, 10);
        file.write(&home, b"twelve bytes");
        assert_eq!(file.total(), 12);
    }
}
