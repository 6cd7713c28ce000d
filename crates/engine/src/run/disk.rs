//! A disk that refuses: what only repeats itself is tried again later, while the lead goes on; what the lead must not
//! forget is tried again at once, and when that does not help for long the lead ends, and its workers stay.

use std::time::Duration;

use super::RunError;
use super::lead::{Lead, steady};

/// How long the lead waits for a disk before it ends.
const PATIENCE: Duration = Duration::from_secs(60);

/// The first pause between two tries, and the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// What the disk refused to write, and when it is tried again.
#[derive(Debug, Default)]
pub(super) struct Trouble {
    /// The last refusal's pause, and when it is over.
    pause: Option<(Duration, Duration)>,
}

impl Trouble {
    /// When it is tried again, by the steady clock; nothing when nothing was refused.
    pub fn retry_at(&self) -> Option<Duration> {
        self.pause.map(|(_, until)| until)
    }

    /// Notes a refusal; says whether it is the first.
    fn refused(&mut self, now: Duration) -> bool {
        let pause = self.pause.map_or(FIRST_PAUSE, |(pause, _)| (pause * 2).min(LONGEST_PAUSE));
        self.pause.replace((pause, now + pause)).is_none()
    }

    /// Notes that it worked; says whether it was refused before.
    fn worked(&mut self) -> bool {
        self.pause.take().is_some()
    }
}

impl Lead<'_> {
    /// Writes down what the next lead must know. When this returns it is durable.
    pub(super) fn save(&mut self) -> Result<(), RunError> {
        self.persist(|lead| Ok(lead.memory.save(lead.workspace, &lead.work.fleet)?))?;
        // One that cannot be removed now is removed with the next save.
        let is_left = |path: &String| {
            self.workspace.disk.remove(path).is_err() && self.workspace.disk.stamp(path).is_ok_and(|it| it.is_some())
        };
        let left = std::mem::take(&mut self.taken_approvals).into_iter().filter(is_left).collect();
        self.taken_approvals = left;
        Ok(())
    }

    /// Tries to write until it works, with longer and longer pauses. Nothing that depends on it may be done before. What is
    /// refused for another reason than the disk is refused at once.
    pub(super) fn persist(&mut self, write: impl Fn(&mut Self) -> Result<(), RunError>) -> Result<(), RunError> {
        let begun = steady();
        loop {
            let written = write(self);
            let is_disk = matches!(written, Err(RunError::Disk { .. }));
            if !is_disk {
                self.note_write(Ok(()));
                return written;
            }
            let now = steady();
            if now.saturating_sub(begun) >= patience() || self.is_lock_lost() {
                return written;
            }
            self.note_write(written);
            let pause = self.trouble.retry_at().map_or(FIRST_PAUSE, |until| until.saturating_sub(now));
            std::thread::sleep(pause);
        }
    }

    /// Tells what a disk refuses, once, and that it works again. Whoever tried goes on.
    pub(super) fn note_write(&mut self, written: Result<(), RunError>) {
        match written {
            Ok(()) if self.trouble.worked() => self.tell(None, "disk", "the disk can be written again"),
            Ok(()) => {}
            Err(error) => {
                let is_first = self.trouble.refused(steady());
                if is_first {
                    let message = error.to_string();
                    self.tell(None, "disk", &format!("{message}; the lead goes on and tries again"));
                    self.memory.issues.push(("lead".to_owned(), "disk".to_owned(), message));
                }
            }
        }
    }

    /// Writes the state of all stories when something happened that it does not say yet; once for all that happened in
    /// one go.
    pub(super) fn write_due_state(&mut self) {
        let may_try = self.trouble.retry_at().is_none_or(|at| at <= steady());
        if !self.is_state_due || !may_try {
            return;
        }
        let written = self.write_state_file(false);
        self.is_state_due = written.is_err();
        self.note_write(written);
    }
}

/// How long a disk is waited for; a debug build takes milliseconds from `PITON_TEST_DISK_PATIENCE`.
fn patience() -> Duration {
    #[cfg(debug_assertions)]
    if let Some(milliseconds) = std::env::var("PITON_TEST_DISK_PATIENCE").ok().and_then(|text| text.parse().ok()) {
        return Duration::from_millis(milliseconds);
    }
    PATIENCE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_a_maximum_and_begin_anew_when_it_worked() {
        let mut trouble = Trouble::default();
        let mut pauses = Vec::new();
        for _ in 0..9 {
            let is_first = trouble.refused(Duration::from_secs(1));
            assert_eq!(is_first, pauses.is_empty());
            pauses.push(trouble.retry_at().expect("it is tried again").as_millis() - 1_000);
        }
        assert_eq!(pauses, [100, 200, 400, 800, 1_600, 3_200, 6_400, 10_000, 10_000]);
        assert!(trouble.worked() && !trouble.worked());
        assert_eq!(trouble.retry_at(), None);
        assert!(trouble.refused(Duration::ZERO));
    }
}
