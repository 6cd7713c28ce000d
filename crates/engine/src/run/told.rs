//! Everything that a run told, a line of JSON each, for those who attach to it: `events.jsonl` in the run's directory.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use piton_model::Time;
use serde_json::{Value, json};

/// How much of the log is read at once.
const AT_ONCE: u64 = 1 << 20;

/// The name of the log.
pub(super) const EVENTS: &str = "events.jsonl";

/// An event as a line of JSON.
pub fn event_json(at: Time, name: Option<&str>, kind: &str, text: &str) -> Value {
    json!({ "at": at.to_string(), "event": kind, "name": name, "text": text })
}

/// The log of a run, to be added to.
pub(super) struct EventLog {
    file: File,
}

impl EventLog {
    /// Opens the log of a run; what an earlier lead told stays.
    pub fn open(directory: &Path) -> io::Result<EventLog> {
        let mut file =
            OpenOptions::new().create(true).read(true).append(true).mode(0o600).open(directory.join(EVENTS))?;
        let mut last = [b'\n'];
        if file.seek(SeekFrom::End(0))? > 0 {
            file.seek(SeekFrom::End(-1))?;
            file.read_exact(&mut last)?;
        }
        if last != [b'\n'] {
            // A lead that died in the middle of a line is not continued in it.
            file.write_all(b"\n")?;
        }
        Ok(EventLog { file })
    }

    /// Adds a line.
    pub fn add(&mut self, event: &Value) -> io::Result<()> {
        self.file.write_all(format!("{event}\n").as_bytes())
    }

    /// Makes durable what was told.
    pub fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }
}

/// The log of a run, to be followed.
#[derive(Debug)]
pub(super) struct EventReader {
    file: File,
    /// What stands behind the last whole line.
    rest: Vec<u8>,
}

impl EventReader {
    /// Begins so many lines before the end.
    pub fn open(directory: &Path, lines: usize) -> io::Result<EventReader> {
        let mut file = File::open(directory.join(EVENTS))?;
        let size = file.seek(SeekFrom::End(0))?;
        let start = size.saturating_sub(AT_ONCE);
        file.seek(SeekFrom::Start(start))?;
        let mut bytes = Vec::new();
        (&file).take(size - start).read_to_end(&mut bytes)?;
        let ends: Vec<usize> =
            bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1).collect();
        let first = ends.len().checked_sub(lines + 1).map(|at| ends[at]);
        // Before the first end there may be a piece of a line, unless that is where the log begins.
        let first = first.unwrap_or(if start == 0 { 0 } else { ends.first().copied().unwrap_or(0) });
        let rest = bytes.split_off(first);
        Ok(EventReader { file, rest })
    }

    /// The whole lines that came since the last call. What is no event is passed over.
    pub fn next(&mut self) -> io::Result<Vec<Value>> {
        let mut events = Vec::new();
        loop {
            let count = (&self.file).take(AT_ONCE).read_to_end(&mut self.rest)?;
            let Some(end) = self.rest.iter().rposition(|byte| *byte == b'\n') else {
                return Ok(events);
            };
            let rest = self.rest.split_off(end + 1);
            let lines = std::mem::replace(&mut self.rest, rest);
            let lines = lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
            events.extend(lines.filter_map(|line| serde_json::from_slice(line).ok()));
            if count == 0 {
                return Ok(events);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(events: &[Value]) -> Vec<&str> {
        events.iter().filter_map(|event| event["event"].as_str()).collect()
    }

    #[test]
    fn a_log_is_followed_line_by_line_and_a_torn_line_is_passed_over() {
        let directory = std::env::temp_dir().join(format!("piton-told-{}", std::process::id()));
        std::fs::create_dir_all(&directory).expect("a directory");
        let event = |kind: &str| event_json(Time::from_unix_seconds(1), Some("build:A"), kind, "ü");
        let mut log = EventLog::open(&directory).expect("it opens");
        for kind in ["one", "two", "three"] {
            log.add(&event(kind)).expect("there is room");
        }
        let mut all = EventReader::open(&directory, 99).expect("it opens");
        assert_eq!(names(&all.next().expect("it reads")), ["one", "two", "three"]);
        let mut reader = EventReader::open(&directory, 2).expect("it opens");
        assert_eq!(names(&reader.next().expect("it reads")), ["two", "three"]);
        let mut from_now = EventReader::open(&directory, 0).expect("it opens");
        assert_eq!(names(&from_now.next().expect("it reads")), [""; 0]);
        // The lead dies in the middle of a line, and another one goes on.
        log.file.write_all(b"{\"at\": \"20").expect("there is room");
        assert_eq!(names(&reader.next().expect("it reads")), [""; 0]);
        let mut second = EventLog::open(&directory).expect("it opens");
        second.add(&event("four")).expect("there is room");
        for reader in [&mut reader, &mut from_now] {
            assert_eq!(names(&reader.next().expect("it reads")), ["four"]);
        }
        std::fs::remove_dir_all(&directory).expect("it can be removed");
    }
}
