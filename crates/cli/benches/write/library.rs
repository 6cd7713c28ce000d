//! Updates by a process that goes on living, beside bare loops.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::time::{Duration, Instant};

use piton_engine::{Recorder, Workspace, record};
use piton_model::{Event, StepMove, StepTo, Time, UnitRef};

use crate::beside::{Contender, agent, compare};
use crate::{Bench, cold, goal, limits, put};

const ROUNDS: usize = 30;
const UPDATES: usize = 20;

pub fn measure(bench: &Bench) {
    one_writer(bench);
}

/// One writer, one unit.
fn one_writer(bench: &Bench) {
    println!("one writer in one process, {UPDATES} updates of an agent's checkpoint");
    let ours = bench.directory("one-writer");
    put(&ours.join("agent_checkpoints/secondary_000000.json"), &agent(0));
    let workspace = Workspace::open(Some(&ours), &ours).expect("a workspace");
    let unit = UnitRef::parse("crew:Secondary-000000").expect("a name");
    let mut second = 1_771_000_000;
    let mut update = || {
        second += 1;
        let to = if second % 2 == 0 { StepTo::Done } else { StepTo::Begun };
        record(&workspace, &unit, &step(to), &recorder(second)).expect("it is recorded");
    };
    let bare = cold::bare_crew(bench, "bare-writer");
    let mut bare = BareWriter::new(&bare);
    let ratios = compare(
        vec![
            Contender::timed("a bare loop: backup, replace, history, 3 syncs", |_| timed(UPDATES, || bare.update())),
            Contender::timed("piton_engine::record", |_| timed(UPDATES, &mut update)),
        ],
        ROUNDS,
    );
    goal("at least as many updates as the bare loop", 1.0 / ratios[1], ratios[1] <= 1.0);
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
        session: None,
        wait: Duration::from_secs(10),
        holder: "a benchmark".to_owned(),
    }
}

fn step(to: StepTo) -> Event {
    Event::StepMoved(StepMove {
        to,
        steps: vec!["Answer the open questions".to_owned()],
        outputs: Vec::new(),
        files: Vec::new(),
        next: None,
        message: None,
        evidence: None,
    })
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
