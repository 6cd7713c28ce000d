//! The least that could be done.

use std::fs::{self, File};
use std::io::Write as _;
use std::sync::{Condvar, Mutex};

use sha2::Digest as _;

/// Reads each document, keeps it as a backup where one is named, and replaces it; then the history gets a line. So many syncs: two
/// for each document, one for the history.
///
/// `NUMBER HISTORY (DOCUMENT BACKUPS|-)...`
pub const UPDATE: &str = r#"
use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::path::Path;
fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number: usize = arguments[0].parse().unwrap();
    for pair in arguments[2..].chunks(2) {
        let (document, backups) = (&pair[0], &pair[1]);
        let mut bytes = fs::read(document).unwrap();
        if backups != "-" {
            let backup = format!("{backups}/backup_{}.json", number % 10);
            let _ = fs::remove_file(&backup);
            fs::hard_link(document, &backup).unwrap();
        }
        let middle = bytes.len() / 2;
        bytes[middle] = b'a' + (number % 26) as u8;
        let aside = format!("{document}.new");
        let mut file = File::create(&aside).unwrap();
        file.write_all(&bytes).unwrap();
        file.sync_all().unwrap();
        fs::rename(&aside, document).unwrap();
        File::open(Path::new(document).parent().unwrap()).unwrap().sync_all().unwrap();
    }
    let mut history = OpenOptions::new().append(true).create(true).open(&arguments[1]).unwrap();
    let line = format!("{{\"ts\":\"2026-02-20T11:52:00Z\",\"event\":\"task_completed\",\"taskId\":\"task-{number}\",\"by\":\"main\"}}\n");
    history.write_all(line.as_bytes()).unwrap();
    history.sync_data().unwrap();
    println!("ok");
}
"#;

/// How this program is asked to be [`hash_and_replace`].
pub const HASH_AND_REPLACE: &str = "hash-and-replace";

/// Reads a file, hashes it, and replaces it durably.
pub fn hash_and_replace(file: &str, number: &str) {
    let number: usize = number.parse().expect("a number");
    let mut bytes = fs::read(file).expect("it is there");
    let digest = sha2::Sha256::digest(&bytes);
    let middle = bytes.len() / 2;
    bytes[middle] = b'a' + ((number + usize::from(digest[0] & 1)) % 26) as u8;
    replace(file, &bytes);
}

/// Replaces a file durably: two syncs.
pub fn replace(file: &str, bytes: &[u8]) {
    let aside = format!("{file}.new");
    let mut new = File::create(&aside).expect("the directory takes a file");
    new.write_all(bytes).and_then(|()| new.sync_all()).expect("the disk takes it");
    fs::rename(&aside, file).expect("a file is replaced");
    let directory = std::path::Path::new(file).parent().expect("a file is in a directory");
    File::open(directory).and_then(|directory| directory.sync_all()).expect("the directory can be synced");
}

/// A log that many append to. Whoever finds nobody at it writes and syncs what all have brought; the others wait.
pub struct SharedLog {
    file: File,
    state: Mutex<Waiting>,
    changed: Condvar,
}

#[derive(Default)]
struct Waiting {
    bytes: Vec<u8>,
    brought: u64,
    durable: u64,
    is_busy: bool,
}

impl SharedLog {
    pub fn new(path: &std::path::Path) -> SharedLog {
        let file = File::options().append(true).create(true).open(path).expect("a log");
        SharedLog { file, state: Mutex::default(), changed: Condvar::new() }
    }

    pub fn append(&self, line: &str) {
        let mut state = self.state.lock().expect("nobody panicked");
        state.bytes.extend_from_slice(line.as_bytes());
        state.brought += 1;
        let own = state.brought;
        while state.durable < own {
            if state.is_busy {
                state = self.changed.wait(state).expect("nobody panicked");
                continue;
            }
            let (bytes, brought) = (std::mem::take(&mut state.bytes), state.brought);
            state.is_busy = true;
            drop(state);
            (&self.file).write_all(&bytes).and_then(|()| self.file.sync_data()).expect("the disk takes it");
            state = self.state.lock().expect("nobody panicked");
            (state.is_busy, state.durable) = (false, brought);
            self.changed.notify_all();
        }
    }
}
