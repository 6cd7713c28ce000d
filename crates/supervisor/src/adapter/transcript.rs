//! Where an agent's host writes down what it does: a sign of life that needs nobody's help. Files are only looked at
//! from outside, never opened.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// How many names are looked at before a transcript counts as not there.
const MOST_NAMES: usize = 5_000;

/// The longest session id that is looked for.
const LONGEST_SESSION: usize = 64;

/// How files looked: two of these that differ mean that somebody wrote in between, whatever the clock was set to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trace {
    /// When the newest of them was written.
    pub newest: SystemTime,
    /// A sum over the times and sizes of all of them.
    sum: u64,
}

impl Default for Trace {
    fn default() -> Trace {
        Trace { newest: UNIX_EPOCH, sum: 0 }
    }
}

impl Trace {
    /// Takes one more file in; in which order is the same.
    pub fn add(&mut self, metadata: &fs::Metadata) {
        let modified = metadata.modified().unwrap_or(UNIX_EPOCH);
        let nanoseconds = modified.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos() as u64;
        let one = nanoseconds.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ metadata.len();
        self.sum = self.sum.wrapping_add(one.wrapping_mul(0xff51_afd7_ed55_8ccd)).wrapping_add(1);
        self.newest = self.newest.max(modified);
    }

    /// Whether somebody wrote since an earlier look; without one, since a moment by the clock on the wall.
    pub fn is_sign(&self, before: Option<Trace>, since: SystemTime) -> bool {
        match before {
            Some(before) => before != *self,
            None => self.newest > since,
        }
    }
}

/// The transcript of one session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transcript {
    place: Place,
    session: String,
    /// The main file, once it was found.
    found: Option<PathBuf>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Place {
    /// `projects/PROJECT/SESSION.jsonl`, and those of subagents in `projects/PROJECT/SESSION/subagents`.
    Claude { projects: PathBuf, project: String },
    /// `sessions/YEAR/MONTH/DAY/rollout-TIME-SESSION.jsonl`.
    Codex { sessions: PathBuf },
}

impl Transcript {
    /// Of Claude Code; `home` is its own directory, such as `~/.claude`. Nothing when the session is no plain id.
    pub(super) fn of_claude(home: &Path, directory: &Path, session: &str) -> Option<Transcript> {
        let name = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '-' };
        let project = directory.to_string_lossy().chars().map(name).collect();
        let place = Place::Claude { projects: home.join("projects"), project };
        is_plain(session).then(|| Transcript { place, session: session.to_owned(), found: None })
    }

    /// Of Codex; `home` is its own directory, such as `~/.codex`. Nothing when the session is no plain id.
    pub(super) fn of_codex(home: &Path, session: &str) -> Option<Transcript> {
        let place = Place::Codex { sessions: home.join("sessions") };
        is_plain(session).then(|| Transcript { place, session: session.to_owned(), found: None })
    }

    /// Whose it is.
    pub fn session(&self) -> &str {
        &self.session
    }

    /// How it looks now; nothing while it is not there. A few names are looked at, and more until it was found once.
    pub fn look(&mut self) -> Option<Trace> {
        let known = self.found.take().filter(|path| path.is_file());
        self.found = known.or_else(|| self.find());
        let mut trace = Trace::default();
        let main = self.found.as_ref()?;
        trace.add(&fs::metadata(main).ok()?);
        if let Place::Claude { .. } = self.place {
            for entry in entries(&main.with_extension("").join("subagents")) {
                if let Ok(metadata) = entry.metadata() {
                    trace.add(&metadata);
                }
            }
        }
        Some(trace)
    }

    fn find(&self) -> Option<PathBuf> {
        match &self.place {
            Place::Claude { projects, project } => {
                let name = format!("{}.jsonl", self.session);
                let usual = projects.join(project).join(&name);
                if usual.is_file() {
                    return Some(usual);
                }
                // A long path is shortened in a way of the client's own, and a session may move to another directory.
                let others = entries(projects).into_iter().map(|entry| entry.path().join(&name));
                others.into_iter().find(|path| path.is_file())
            }
            Place::Codex { sessions } => newest_below(sessions, &format!("-{}.jsonl", self.session)),
        }
    }
}

/// The file with this ending in the newest of the directories YEAR/MONTH/DAY that has one.
fn newest_below(sessions: &Path, ending: &str) -> Option<PathBuf> {
    let mut left = MOST_NAMES;
    for year in newest_first(sessions) {
        for month in newest_first(&year) {
            for day in newest_first(&month) {
                let names = entries(&day);
                let is_it = |name: &OsStr| name.to_str().is_some_and(|name| name.ends_with(ending));
                if let Some(found) = names.iter().find(|entry| is_it(&entry.file_name())) {
                    return Some(found.path());
                }
                left = left.checked_sub(names.len() + 1)?;
            }
        }
    }
    None
}

fn newest_first(directory: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = entries(directory).into_iter().map(|entry| entry.path()).collect();
    paths.sort_unstable_by(|a, b| b.cmp(a));
    paths
}

fn entries(directory: &Path) -> Vec<fs::DirEntry> {
    fs::read_dir(directory).into_iter().flatten().flatten().take(MOST_NAMES).collect()
}

/// What a worker says about its session becomes part of a path here.
fn is_plain(session: &str) -> bool {
    (1..=LONGEST_SESSION).contains(&session.len())
        && session.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::scratch::Scratch;

    const ID: &str = "58a20814-7a6f-4602-ae8a-475dd3f97e59";

    fn write(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().expect("it has one")).expect("it can be made");
        fs::write(path, text).expect("it can be written");
    }

    #[test]
    fn a_transcript_and_those_of_subagents_are_found_and_seen_to_move() {
        let directory = Scratch::new();
        for project in ["-w-a-tree", "-somewhere-else-1x9"] {
            let home = directory.0.join(project);
            let mut transcript = Transcript::of_claude(&home, Path::new("/w/a.tree"), ID).expect("an id");
            assert_eq!(transcript.look(), None, "nothing is there yet");
            let main = home.join(format!("projects/{project}/{ID}.jsonl"));
            write(&home.join("projects/-other/other.jsonl"), "x");
            write(&main, "one\n");
            let first = transcript.look().expect("it is there");
            assert_eq!(transcript.look(), Some(first), "nobody wrote");
            write(&main, "one\ntwo\n");
            let second = transcript.look().expect("it is there");
            assert!(
                second.is_sign(Some(first), SystemTime::now() + Duration::from_secs(3600)),
                "whatever the clock says"
            );
            write(&main.with_extension("").join("subagents/agent-a1.jsonl"), "");
            let third = transcript.look().expect("it is there");
            assert!(third.is_sign(Some(second), SystemTime::now()));
        }
    }

    #[test]
    fn a_rollout_is_found_by_its_end_in_the_newest_day() {
        let directory = Scratch::new();
        let sessions = directory.0.join("sessions");
        write(&sessions.join(format!("2026/11/15/rollout-2026-11-15T09-00-00-{ID}.jsonl")), "old");
        write(&sessions.join("2026/11/16/rollout-2026-11-16T09-00-00-00000000-7a6f.jsonl"), "of somebody else");
        let mut transcript = Transcript::of_codex(&directory.0, ID).expect("an id");
        assert!(transcript.look().is_some());
        assert!(
            transcript
                .found
                .as_ref()
                .is_some_and(|path| path.ends_with(format!("rollout-2026-11-15T09-00-00-{ID}.jsonl")))
        );
        assert_eq!(Transcript::of_codex(&directory.0, "1111").expect("an id").look(), None);
    }

    #[test]
    fn what_is_no_id_is_not_looked_for() {
        for session in ["", "../../etc/passwd", "a/b", "a.b", "a b", &"x".repeat(65)] {
            assert_eq!(Transcript::of_claude(Path::new("/h"), Path::new("/w"), session), None, "{session:?}");
            assert_eq!(Transcript::of_codex(Path::new("/h"), session), None, "{session:?}");
        }
    }

    #[test]
    fn without_an_earlier_look_the_clock_decides() {
        let moment = UNIX_EPOCH + Duration::from_secs(100);
        let trace = Trace { newest: moment, sum: 7 };
        let other = Trace { sum: 8, ..trace };
        for (before, since, want) in [
            (None, 99, true),
            (None, 100, false),
            (Some(trace), 0, false),
            (Some(other), 0, true),
            (Some(other), 9_999, true),
        ] {
            assert_eq!(trace.is_sign(before, UNIX_EPOCH + Duration::from_secs(since)), want, "{before:?} {since}");
        }
    }
}
