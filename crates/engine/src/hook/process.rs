//! Whether the process of a session is there, so that one that was killed is told from one that is silent.

use std::fs;

/// What tells a process from every other: its number, when it began, and since which start of the machine.
pub(super) fn mark(pid: u32) -> Option<String> {
    Some(format!("{pid} {} {}", started(pid)?, boot()))
}

/// Whether the process of a mark may be there; only one that is surely gone is not.
pub(super) fn may_live(mark: &str) -> bool {
    let mut parts = mark.split(' ');
    let (Some(pid), Some(start), Some(since)) = (parts.next(), parts.next(), parts.next()) else { return true };
    let Ok(pid) = pid.parse::<u32>() else { return true };
    if !fs::exists("/proc/self").unwrap_or(false) {
        // Without a list of processes nobody is called dead.
        return true;
    }
    since == boot() && started(pid).is_some_and(|found| found.to_string() == start)
}

/// When a process began, in ticks since the machine did. A zombie is gone.
fn started(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name may hold anything, and ends at the last parenthesis.
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace();
    let state = fields.next()?;
    if matches!(state, "Z" | "X") {
        return None;
    }
    fields.nth(18)?.parse().ok()
}

fn boot() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").map_or_else(|_| String::new(), |id| id.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_process_is_told_from_a_dead_one_and_from_its_successor() {
        let own = mark(std::process::id()).expect("this process is there");
        assert!(may_live(&own));
        let mut child =
            Command::new("/bin/cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().expect("a process starts");
        let other = mark(child.id()).expect("it is there");
        assert!(may_live(&other));
        child.kill().expect("it can be ended");
        child.wait().expect("it is gone");
        assert!(!may_live(&other));
        let mut parts: Vec<&str> = own.split(' ').collect();
        parts[1] = "1";
        assert!(!may_live(&parts.join(" ")), "the number was given to another process");
        parts[2] = "another-start-of-the-machine";
        assert!(!may_live(&parts.join(" ")));
        assert!(may_live("nonsense"), "what is not understood accuses nobody");
    }
}
