//! What the kernel says about processes, read from `/proc`.

use std::fs;
use std::io::Read as _;

use crate::tree::MARK;

/// How much of an environment is looked at for a mark.
const LONGEST_ENVIRONMENT: u64 = 4 << 20;

/// A line of `/proc/PID/stat`, as far as it is needed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stat {
    pub state: char,
    pub parent: u32,
    pub session: u32,
    /// Ticks of processor time that it used, and that its collected children used.
    pub ticks: u64,
    /// When it began, in ticks since the machine started.
    pub start: u64,
}

impl Stat {
    /// Whether it only waits to be collected.
    pub fn has_ended(&self) -> bool {
        matches!(self.state, 'Z' | 'X' | 'x')
    }

    fn parse(line: &str) -> Option<Stat> {
        // The name is in parentheses and may itself hold spaces and parentheses.
        let fields: Vec<&str> = line.rsplit_once(')')?.1.split_ascii_whitespace().collect();
        let field = |number: usize| fields.get(number - 3).copied();
        let number = |at: usize| field(at)?.parse::<u64>().ok();
        let children = |at: usize| field(at)?.parse::<i64>().ok().map(|ticks| ticks.max(0) as u64);
        Some(Stat {
            state: field(3)?.chars().next()?,
            parent: field(4)?.parse().ok()?,
            session: field(6)?.parse().ok()?,
            ticks: number(14)? + number(15)? + children(16)? + children(17)?,
            start: number(22)?,
        })
    }
}

/// What is known of a process; nothing when there is none.
pub(crate) fn stat(pid: u32) -> Option<Stat> {
    let text = fs::read(format!("/proc/{pid}/stat")).ok()?;
    Stat::parse(&String::from_utf8_lossy(&text))
}

/// The pids of all processes.
pub(crate) fn all() -> Vec<u32> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// The children of a process as the kernel lists them; nothing when it keeps no list.
pub(crate) fn children(pid: u32) -> Option<Vec<u32>> {
    let mut found = Vec::new();
    for thread in fs::read_dir(format!("/proc/{pid}/task")).ok()?.flatten() {
        // A thread that has just ended has no children any more.
        match fs::read_to_string(thread.path().join("children")) {
            Ok(list) => found.extend(list.split_ascii_whitespace().filter_map(|pid| pid.parse::<u32>().ok())),
            Err(_) if thread.path().join("stat").exists() => return None,
            Err(_) => {}
        }
    }
    Some(found)
}

/// Whether a process was started with this mark in its environment. Those of other users cannot be looked at.
pub(crate) fn has_mark(pid: u32, mark: &str) -> bool {
    let Ok(file) = fs::File::open(format!("/proc/{pid}/environ")) else { return false };
    let mut environment = Vec::new();
    let read = file.take(LONGEST_ENVIRONMENT).read_to_end(&mut environment);
    read.is_ok() && environment.split(|byte| *byte == 0).any(|entry| is_marked(entry, mark))
}

fn is_marked(entry: &[u8], mark: &str) -> bool {
    let marks = entry.strip_prefix(MARK.as_bytes()).and_then(|rest| rest.strip_prefix(b"="));
    marks.is_some_and(|marks| marks.split(|byte| *byte == b':').any(|each| each == mark.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_after_the_last_parenthesis() {
        let line = "71 (a ) (b) S 7 70 69 0 -1 4194304 1 2 3 4 10 20 30 40 20 0 1 0 12345 9 9";
        let want = Stat { state: 'S', parent: 7, session: 69, ticks: 100, start: 12345 };
        assert_eq!(Stat::parse(line), Some(want));
        for broken in ["", "71 (a", "71 (a) S", "71 (a) S x 70 69 0 -1 1 1 2 3 4 10 20 30 40 20 0 1 0 12345"] {
            assert_eq!(Stat::parse(broken), None, "{broken:?}");
        }
    }

    #[test]
    fn a_mark_is_one_of_those_that_are_listed() {
        for (entry, want) in [
            ("PITON_WORKER=abc", true),
            ("PITON_WORKER=xyz:abc", true),
            ("PITON_WORKER=abc:xyz", true),
            ("PITON_WORKER=abcd", false),
            ("PITON_WORKER=", false),
            ("PITON_WORKER", false),
            ("OTHER=abc", false),
        ] {
            assert_eq!(is_marked(entry.as_bytes(), "abc"), want, "{entry}");
        }
    }

    #[test]
    fn this_process_is_known() {
        let own = stat(std::process::id()).expect("we run");
        assert!(!own.has_ended());
        assert!(all().contains(&std::process::id()));
    }
}
