//! Updates by a process that goes on living, beside bare loops.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use piton_engine::{Recorder, Workspace, Writer, record};
use piton_model::{Event, Time, UnitRef};

use crate::beside::{Contender, compare};
use crate::limits::SharedLog;
use crate::{Bench, cold, goal, limits};

const ROUNDS: usize = 30;
const UPDATES: usize = 20;
const WRITERS: usize = 64;

pub fn measure(bench: &Bench) {
    one_writer(bench);
    many_writers(bench);
}

/// One writer, one unit.
fn one_writer(bench: &Bench) {
    println!("one writer in one process, {UPDATES} updates of a story's checkpoint");
    let ours = stories(bench, "one-writer", 1);
    let workspace = Workspace::open(Some(&ours), &ours).expect("a workspace");
    let mut story = Story::open(&workspace, 0);
    let mut alone = 1_771_500_000;
    let unit = UnitRef::parse("pipeline:S-0").expect("a name");
    let bare = cold::bare_crew(bench, "bare-writer");
    let mut bare = BareWriter::new(&bare);
    let mut update_alone = || {
        alone += 1;
        record(&workspace, &unit, &Event::Beat, &recorder(alone)).expect("it is recorded");
    };
    let ratios = compare(
        vec![
            Contender::timed("a bare loop: backup, replace, history, 3 syncs", |_| timed(UPDATES, || bare.update())),
            Contender::timed("piton_engine::Writer", |_| timed(UPDATES, || story.update())),
        ],
        ROUNDS,
    );
    goal("at least as many updates as the bare loop", 1.0 / ratios[1], ratios[1] <= 1.0);
    drop(story);
    compare(
        vec![
            Contender::timed("the bare loop", |_| timed(UPDATES, || bare.update())),
            Contender::timed("piton_engine::record, a lock for each", |_| timed(UPDATES, &mut update_alone)),
        ],
        ROUNDS,
    );
}

/// Many writers, each with a unit of its own, beside as many that share one log.
fn many_writers(bench: &Bench) {
    println!("{WRITERS} writers in one process, {UPDATES} updates each");
    let ours = stories(bench, "many-writers", WRITERS);
    let workspace = Workspace::open(Some(&ours), &ours).expect("a workspace");
    let stories: Vec<_> = (0..WRITERS).map(|number| Mutex::new(Story::open(&workspace, number))).collect();
    let log = SharedLog::new(&bench.directory("bare-log").join("log"));
    let ratios = compare(
        vec![
            Contender::timed("a bare log, its sync shared by all who wait", |_| {
                at_once(|number| (0..UPDATES).for_each(|round| log.append(&line(number, round))))
            }),
            Contender::timed("piton_engine::Writer", |_| {
                at_once(|number| {
                    let mut story = stories[number].lock().expect("each has its own");
                    (0..UPDATES).for_each(|_| story.update());
                })
            }),
        ],
        ROUNDS,
    );
    goal("at least a third of the bare log", 1.0 / ratios[1], ratios[1] <= 3.0);
}

/// How long it takes until all writers are done.
fn at_once(write: impl Fn(usize) + Sync) -> f64 {
    let start = Instant::now();
    std::thread::scope(|scope| {
        for number in 0..WRITERS {
            let write = &write;
            scope.spawn(move || write(number));
        }
    });
    start.elapsed().as_secs_f64()
}

/// A line of the size of an event.
fn line(number: usize, round: usize) -> String {
    format!("{{\"writer\":{number},\"round\":{round},\"text\":\"{}\"}}\n", "x".repeat(700))
}

/// Makes a workspace with so many stories.
fn stories(bench: &Bench, name: &str, count: usize) -> PathBuf {
    let directory = bench.directory(name);
    for number in 0..count {
        bench.prepare(&directory, &["start", &format!("pipeline:S-{number}"), "--stage", "0"]);
    }
    directory
}

/// A story that a process holds.
struct Story<'w> {
    writer: Writer<'w>,
    second: i64,
}

impl<'w> Story<'w> {
    fn open(workspace: &'w Workspace, number: usize) -> Story<'w> {
        let unit = UnitRef::parse(&format!("pipeline:S-{number}")).expect("a name");
        let second = 1_771_000_000;
        Story { writer: Writer::open(workspace, &unit, &recorder(second)).expect("a unit"), second }
    }

    fn update(&mut self) {
        self.second += 1;
        self.writer.record(&Event::Beat, &recorder(self.second)).expect("it is recorded");
    }
}

fn timed(times: usize, mut what: impl FnMut()) -> f64 {
    let start = Instant::now();
    (0..times).for_each(|_| what());
    start.elapsed().as_secs_f64()
}

/// Somebody who records at a moment.
pub fn recorder(second: i64) -> Recorder {
    Recorder {
        now: Time::from_unix_seconds(second),
        by: "main".to_owned(),
        attempt: None,
        own: None,
        session: None,
        wait: Duration::from_secs(10),
        holder: "a benchmark".to_owned(),
    }
}

/// Does to a checkpoint what the bare program does, without starting for each.
struct BareWriter {
    document: String,
    backups: String,
    history: fs::File,
    number: usize,
}

impl BareWriter {
    fn new(directory: &std::path::Path) -> BareWriter {
        let checkpoints = directory.join("agent_checkpoints");
        let history = OpenOptions::new().append(true).create(true).open(directory.join("history"));
        BareWriter {
            document: checkpoints.join("secondary_000000.json").display().to_string(),
            backups: checkpoints.join("backups").display().to_string(),
            history: history.expect("a history"),
            number: 0,
        }
    }

    fn update(&mut self) {
        self.number += 1;
        let mut bytes = fs::read(&self.document).expect("it is there");
        let backup = format!("{}/backup_{}.json", self.backups, self.number % 10);
        let _ = fs::remove_file(&backup);
        fs::hard_link(&self.document, &backup).expect("a backup");
        let middle = bytes.len() / 2;
        bytes[middle] = b'a' + (self.number % 26) as u8;
        limits::replace(&self.document, &bytes);
        let line = format!("{{\"ts\":\"2026-02-20T11:52:00Z\",\"event\":\"step\",\"number\":{}}}\n", self.number);
        self.history.write_all(line.as_bytes()).and_then(|()| self.history.sync_data()).expect("the disk takes it");
    }
}
