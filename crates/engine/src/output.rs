//! What workers printed, found by what stands in their homes: no lead has to remember whose is whose.

use std::io;
use std::path::PathBuf;

use std::time::SystemTime;

use piton_model::{Lifecycle, Time, Unit, UnitRef, fold_gate, secret, text};
use piton_store::seal;
use piton_supervisor::{About, Exit, KeeperProgram, LineReader, Sight, Stream, Worker, readable, tail};

use crate::Workspace;

/// Where the homes of workers are, and those of gates.
const WORKERS: &str = ".piton/run/workers";
const GATES: &str = ".piton/run/gates";

/// How much of the end of a stream is looked at for its last lines.
const TAIL: usize = 64 << 10;

/// How many of the last lines are shown of each stream.
const LAST_LINES: usize = 10;
const LAST_COMPLAINTS: usize = 5;

/// A worker, or a gate's command, whose home is still there.
#[derive(Debug)]
pub struct KeptWorker {
    /// What it was started for.
    pub about: About,
    /// Where it stands.
    pub sight: Sight,
    /// How many bytes it printed: standard output, standard error.
    pub printed: (u64, u64),
    worker: Worker,
    /// The number that its lane gave it.
    number: u64,
}

/// Which worker is meant.
#[derive(Debug, Clone)]
pub struct WorkerQuery {
    /// Its unit.
    pub unit: UnitRef,
    /// The step that it works on, where several workers share the unit.
    pub step: Option<String>,
    /// Its attempt, `3` or `3.17`; the newest when none is named.
    pub attempt: Option<String>,
    /// The gate that judged its work, instead of the worker.
    pub gate: Option<String>,
}

/// Why there is no worker to show.
#[derive(Debug, PartialEq, Eq)]
pub enum NoWorker {
    /// No worker of that unit is known.
    Nothing,
    /// Workers of several units have that name.
    Ambiguous {
        /// These units.
        units: Vec<String>,
    },
    /// There are workers of the unit, and none of that step or attempt.
    Other {
        /// Those that there are, the newest first: step and attempt.
        known: Vec<String>,
    },
    /// The homes cannot be read.
    Unreadable {
        /// Why.
        message: String,
    },
}

/// A piece of a worker's output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// A line, as it was printed.
    Line {
        /// Its bytes, without its end.
        bytes: Vec<u8>,
        /// Whether it was longer.
        is_cut: bool,
    },
    /// So many bytes are not kept.
    Gap(u64),
}

/// Reads what a worker printed, while it prints.
#[derive(Debug)]
pub struct OutputReader {
    reader: LineReader,
    skipped: u64,
}

/// What a worker that failed printed last, or the gate that refused its work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastWords {
    /// The step that it worked on.
    pub step: Option<String>,
    /// Its name.
    pub worker: Option<String>,
    /// Its attempt.
    pub attempt: Option<String>,
    /// The gate's name, where it is no worker.
    pub gate: Option<String>,
    /// How it ended.
    pub exit: String,
    /// Its last lines, safe to print.
    pub lines: Vec<String>,
}

/// The workers of a unit whose homes are there, the newest first.
pub fn workers_of(workspace: &Workspace, unit: &UnitRef) -> Result<Vec<KeptWorker>, NoWorker> {
    kept_in(workspace, unit, WORKERS)
}

/// The gates and set-up commands of a unit whose homes are there, the newest first.
fn gates_of(workspace: &Workspace, unit: &UnitRef) -> Result<Vec<KeptWorker>, NoWorker> {
    kept_in(workspace, unit, GATES)
}

fn kept_in(workspace: &Workspace, unit: &UnitRef, directory: &str) -> Result<Vec<KeptWorker>, NoWorker> {
    let unreadable = |error: &dyn std::fmt::Display| NoWorker::Unreadable { message: error.to_string() };
    // What came with a repository is not what a worker of ours printed.
    if seal::inspect(&*workspace.disk).map_err(|error| unreadable(&error))? != seal::Home::Ours {
        return Ok(Vec::new());
    }
    let homes = match std::fs::read_dir(workspace.root().join(directory)) {
        Ok(homes) => homes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(unreadable(&error)),
    };
    let mut workers = Vec::new();
    for home in homes.flatten() {
        // One that is just being made or removed is not there.
        let Some(kept) = kept(home.path()) else { continue };
        if kept.about.unit.as_deref().is_some_and(|own| is_meant(unit, own)) {
            workers.push(kept);
        }
    }
    workers.sort_by_key(|kept| std::cmp::Reverse((kept.about.started.unwrap_or(0), kept.number)));
    Ok(workers)
}

/// The newest worker that a query means.
pub fn find_worker(workspace: &Workspace, query: &WorkerQuery) -> Result<KeptWorker, NoWorker> {
    let workers = match &query.gate {
        Some(_) => gates_of(workspace, &query.unit)?,
        None => workers_of(workspace, &query.unit)?,
    };
    let mut units: Vec<String> = workers.iter().filter_map(|kept| kept.about.unit.clone()).collect();
    units.sort();
    units.dedup();
    if units.len() > 1 {
        return Err(NoWorker::Ambiguous { units });
    }
    if workers.is_empty() {
        return Err(NoWorker::Nothing);
    }
    let is_gate = |kept: &KeptWorker, gate: &String| {
        kept.about.gate.as_ref().is_some_and(|own| fold_gate(own) == fold_gate(gate))
    };
    let is_meant = |kept: &KeptWorker| {
        query.gate.as_ref().is_none_or(|gate| is_gate(kept, gate))
            && query.step.as_ref().is_none_or(|step| kept.about.step.as_ref() == Some(step))
            && query.attempt.as_ref().is_none_or(|attempt| is_attempt(kept.about.attempt.as_deref(), attempt))
    };
    match workers.iter().position(is_meant) {
        Some(place) => Ok(workers.into_iter().nth(place).expect("it was found there")),
        None => Err(NoWorker::Other { known: workers.iter().map(KeptWorker::described).collect() }),
    }
}

/// What the last worker of a unit printed last, when it failed, or when the unit cannot go on; nothing while one runs.
/// A unit that cannot go on because a gate refused its work has the words of that gate.
pub fn last_words(workspace: &Workspace, name: &str, unit: &Unit) -> Option<LastWords> {
    let wanted = UnitRef::parse(name).ok()?;
    let is_stuck = match unit.state.lifecycle() {
        Lifecycle::Done => return None,
        Lifecycle::Paused | Lifecycle::Blocked | Lifecycle::Failed => true,
        Lifecycle::Queued | Lifecycle::Running | Lifecycle::Waiting | Lifecycle::Unknown => false,
    };
    let worker = workers_of(workspace, &wanted).ok()?.into_iter().next();
    let gate = gates_of(workspace, &wanted).ok()?.into_iter().next().filter(|_| is_stuck);
    let (is_failed, words) = last_of(worker, gate)?;
    (is_failed || is_stuck).then_some(words)
}

/// The last lines of the newest worker of a lane that has ended, or of the gate that refused its work; none while one runs.
pub(crate) fn last_lines(workspace: &Workspace, unit: &UnitRef, step: Option<&str>) -> Vec<String> {
    let is_its = |kept: &KeptWorker| kept.about.step.as_deref() == step;
    let newest = |kept: Result<Vec<KeptWorker>, NoWorker>| kept.ok()?.into_iter().find(is_its);
    let words = last_of(newest(workers_of(workspace, unit)), newest(gates_of(workspace, unit)));
    words.map(|(_, words)| words.lines).unwrap_or_default()
}

/// The words of a worker, or of the gate that failed after it.
fn last_of(worker: Option<KeptWorker>, gate: Option<KeptWorker>) -> Option<(bool, LastWords)> {
    let ended = worker.as_ref().and_then(KeptWorker::ended);
    let refused = gate.filter(|gate| gate.has_failed() && gate.ended() > ended);
    refused.or(worker)?.last_words()
}

impl KeptWorker {
    /// When it was started.
    pub fn started(&self) -> Option<Time> {
        self.about.started.map(Time::from_unix_seconds)
    }

    /// Begins to read a stream.
    pub fn read(&self, stream: Stream) -> OutputReader {
        OutputReader { reader: LineReader::new(self.worker.home(), stream, self.worker.spool()), skipped: 0 }
    }

    /// Where it stands now.
    pub fn look_again(&mut self) -> io::Result<&Sight> {
        self.sight = self.worker.sight()?;
        Ok(&self.sight)
    }

    /// A line of it for people: safe to print, none when it says nothing to them.
    pub fn told(&self, line: &[u8], stream: Stream) -> Vec<String> {
        let line = String::from_utf8_lossy(line);
        let lines = match stream {
            Stream::Out => readable(self.about.adapter.as_deref(), &line),
            Stream::Err => vec![line.into_owned()],
        };
        lines.iter().map(|line| secret::mask(&text::printable(line)).into_owned()).collect()
    }

    /// How it ended, in words; nothing while it runs.
    pub fn exit(&self) -> Option<String> {
        match &self.sight {
            Sight::Running => None,
            Sight::Ended(end) => Some(end.exit.to_string()),
            Sight::Gone => Some(Exit::Vanished.to_string()),
        }
    }

    /// When its end was seen; nothing while it runs.
    fn ended(&self) -> Option<SystemTime> {
        match &self.sight {
            Sight::Ended(end) => Some(end.at),
            Sight::Running | Sight::Gone => None,
        }
    }

    fn has_failed(&self) -> bool {
        !matches!(&self.sight, Sight::Running) && !matches!(&self.sight, Sight::Ended(end) if end.exit == Exit::Code(0))
    }

    /// Step, and attempt or gate.
    fn described(&self) -> String {
        let step = self.about.step.as_ref().map(|step| format!("{step}, ")).unwrap_or_default();
        if let Some(gate) = &self.about.gate {
            return format!("{step}{gate}");
        }
        format!("{step}attempt {}", self.about.attempt.as_deref().unwrap_or("unknown"))
    }

    /// Whether it failed, and its last lines; nothing while it runs.
    fn last_words(&self) -> Option<(bool, LastWords)> {
        let exit = self.exit()?;
        let About { step, worker, attempt, gate, .. } = self.about.clone();
        let complaints = if gate.is_some() { LAST_LINES } else { LAST_COMPLAINTS };
        let mut lines = self.last_lines(Stream::Out, LAST_LINES);
        lines.extend(self.last_lines(Stream::Err, complaints));
        Some((self.has_failed(), LastWords { step, worker, attempt, gate, exit, lines }))
    }

    fn last_lines(&self, stream: Stream, most: usize) -> Vec<String> {
        let bytes = tail(self.worker.home(), stream, self.worker.spool(), TAIL).unwrap_or_default();
        // What is cut at its beginning is no line.
        let whole = match bytes.len() < TAIL {
            true => &bytes[..],
            false => bytes.iter().position(|byte| *byte == b'\n').map_or(&[][..], |end| &bytes[end + 1..]),
        };
        let lines = whole.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        let told: Vec<String> = lines.flat_map(|line| self.told(line, stream)).collect();
        told[told.len().saturating_sub(most)..].to_vec()
    }
}

impl OutputReader {
    /// Hands over what was printed since the last time.
    pub fn read(&mut self, on_piece: &mut dyn FnMut(Piece)) -> io::Result<()> {
        loop {
            let more = self.reader.read(&mut |line| {
                on_piece(Piece::Line { bytes: line.bytes.to_vec(), is_cut: line.is_cut });
            })?;
            let skipped = self.reader.skipped() - self.skipped;
            if skipped > 0 {
                self.skipped += skipped;
                on_piece(Piece::Gap(skipped));
            }
            if !more {
                return Ok(());
            }
        }
    }

    /// Hands over what stands after the last line's end, when nothing more can come.
    pub fn finish(&mut self, on_piece: &mut dyn FnMut(Piece)) {
        self.reader.finish(&mut |line| {
            on_piece(Piece::Line { bytes: line.bytes.to_vec(), is_cut: line.is_cut });
        });
    }
}

fn kept(home: PathBuf) -> Option<KeptWorker> {
    let number = home.file_name()?.to_str()?.rsplit('-').next()?.parse().ok()?;
    let worker = Worker::adopt(&KeeperProgram::this(), &home).ok()?;
    let (sight, signs) = (worker.sight().ok()?, worker.signs().unwrap_or_default());
    let signs = if let Sight::Ended(end) = &sight { end.signs } else { signs };
    let about = worker.launch().about.clone();
    Some(KeptWorker { about, sight, printed: (signs.out, signs.err), worker, number })
}

/// Whether a unit that was typed is the one that a home names. Either may leave out directories.
fn is_meant(wanted: &UnitRef, own: &str) -> bool {
    let Ok(own) = UnitRef::parse(own) else { return false };
    let means = |one: &UnitRef, other: &UnitRef| {
        let name: Vec<&str> = other.parts.iter().map(piton_model::Id::as_str).collect();
        other.dialect.is_some_and(|dialect| one.means(dialect, &name.join("/")))
    };
    let is_longer = wanted.dialect.is_some() && wanted.parts.len() > own.parts.len() && means(&own, wanted);
    means(wanted, &own) || is_longer
}

/// Whether an attempt is the one that was typed: `3` means all of `3.1`, `3.2`.
fn is_attempt(own: Option<&str>, typed: &str) -> bool {
    own.is_some_and(|own| own == typed || own.split_once('.').is_some_and(|(attempt, _)| attempt == typed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_home_is_found_by_any_name_of_its_unit() {
        for (typed, own, want) in [
            ("build:PRD-009", "build:PRD-009", true),
            ("PRD-009", "build:PRD-009", true),
            ("plan:PRD-009", "build:PRD-009", false),
            ("crew:secondary_a", "crew:epics/e1/Secondary-A", true),
            ("crew:epics/e1/Secondary-A", "crew:Secondary-A", true),
            ("crew:epics/e2/Secondary-A", "crew:epics/e1/Secondary-A", false),
            ("build:PRD-00", "build:PRD-009", false),
        ] {
            assert_eq!(is_meant(&UnitRef::parse(typed).expect("a unit"), own), want, "{typed} {own}");
        }
    }

    #[test]
    fn an_attempt_means_all_of_its_workers() {
        for (own, typed, want) in [
            (Some("3.17"), "3", true),
            (Some("3.17"), "3.17", true),
            (Some("3"), "3.17", false),
            (Some("31"), "3", false),
        ] {
            assert_eq!(is_attempt(own, typed), want, "{own:?} {typed}");
        }
    }
}
