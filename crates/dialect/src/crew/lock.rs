//! Locks of files that all agents of a crew write: a file in `.epic_locks/` for as long as somebody is at it.

use std::time::Duration;

use piton_model::{Time, text};
use serde_json::json;

use crate::json::Editor;
use crate::time;

/// How long a lock holds that nobody releases.
const HOLDS: Duration = Duration::from_secs(5 * 60);

/// How much of what others wrote into a lock is shown.
const LONGEST: usize = 60;

/// What a lock says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lock {
    /// Who has it, for people.
    pub holder: String,
    /// What tells the holder from others.
    pub holder_id: String,
    /// What it is held for.
    pub operation: String,
    /// From when on it holds no more.
    pub expires_at: Time,
}

/// The directory of locks that goes with a shared file, and the lock in it; nothing for a file that agents write without
/// one.
pub fn lock_of(path: &str) -> Option<(String, String)> {
    let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
    if name != "EPIC_README.md" {
        return None;
    }
    let locks = if directory.is_empty() { ".epic_locks".to_owned() } else { format!("{directory}/.epic_locks") };
    let lock = format!("{locks}/epic_readme.lock");
    Some((locks, lock))
}

impl Lock {
    /// A lock that is taken now.
    pub fn new(holder: &str, holder_id: &str, operation: &str, now: Time) -> Lock {
        let [holder, holder_id, operation] = [holder, holder_id, operation].map(str::to_owned);
        Lock { holder, holder_id, operation, expires_at: now.after(HOLDS) }
    }

    /// Reads a lock. One without an end is none: nobody could tell when it is over.
    pub fn read(bytes: &[u8]) -> Option<Lock> {
        let editor = Editor::open("the lock", bytes).ok()?;
        let said = |key: &str| editor.string(&[key]).unwrap_or_default();
        let expires_at = time::read(&said("expires_at")).time()?;
        Some(Lock { holder: said("holder"), holder_id: said("holder_id"), operation: said("operation"), expires_at })
    }

    /// The file's text.
    pub fn text(&self, now: Time) -> String {
        let lock = json!({
            "holder": self.holder,
            "holder_id": self.holder_id,
            "acquired_at": now.to_string(),
            "operation": self.operation,
            "expires_at": self.expires_at.to_string(),
            "auto_release": true,
        });
        format!("{lock:#}\n")
    }

    /// Whether it holds no more.
    pub fn is_over(&self, now: Time) -> bool {
        self.expires_at <= now
    }

    /// Who has it, for a message.
    pub fn who(&self) -> String {
        let shown = |said: &str| text::fit(&text::printable(said.trim()), LONGEST).into_owned();
        let holder = if self.holder.trim().is_empty() { "somebody".to_owned() } else { shown(&self.holder) };
        let operation =
            if self.operation.trim().is_empty() { String::new() } else { format!(" ({})", shown(&self.operation)) };
        format!("{holder}{operation} until {}", self.expires_at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Time {
        Time::from_unix_seconds(1_771_588_140 + seconds)
    }

    #[test]
    fn only_the_epics_readme_has_a_lock() {
        let lock = |path| lock_of(path).map(|(_, lock)| lock);
        assert_eq!(lock("EPIC_README.md").as_deref(), Some(".epic_locks/epic_readme.lock"));
        assert_eq!(lock("epics/e7/EPIC_README.md").as_deref(), Some("epics/e7/.epic_locks/epic_readme.lock"));
        assert_eq!(lock("feature_01/STATUS"), None);
        assert_eq!(lock("MY_EPIC_README.md"), None);
    }

    #[test]
    fn a_lock_is_read_as_it_was_written_and_is_over_after_five_minutes() {
        let lock = Lock::new("Secondary-A", "s-1", "a line \"of\" progress", at(0));
        assert_eq!(Lock::read(lock.text(at(0)).as_bytes()), Some(lock.clone()));
        let over = [(0, false), (299, false), (300, true), (9000, true)];
        assert_eq!(over.map(|(seconds, _)| (seconds, lock.is_over(at(seconds)))), over);
        assert_eq!(lock.who(), "Secondary-A (a line \"of\" progress) until 2026-02-20T11:54:00Z");
    }

    #[test]
    fn what_says_no_end_is_no_lock() {
        for text in ["", "{", "[]", "{}", "{\"holder\": \"A\"}", "{\"expires_at\": \"soon\"}", "{\"expires_at\": 7}"] {
            assert_eq!(Lock::read(text.as_bytes()), None, "{text}");
        }
    }
}
