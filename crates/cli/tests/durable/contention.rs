use std::collections::BTreeMap;
use std::fs;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::Value;

use crate::process::{Dice, Ended, acknowledged, command, events, seed};
use crate::support::Workspace;

const WRITERS: u64 = 64;
const UPDATES: u64 = 50;

/// Every writer makes its updates one after the other, each as a process of its own; every third writer's processes
/// are killed at a random moment. What was acknowledged has to be in the log, once, under its number, by its writer.
fn contend(units: &[&str], documents: &[&str]) {
    let workspace = Workspace::new();
    for unit in units {
        acknowledged(&workspace, &["start", unit, "--feature", "feature_01_x", "--stage", "S2.P1"]);
    }
    let seed = seed();
    println!("seed {seed}");
    let known: Mutex<BTreeMap<(usize, u64), String>> = Mutex::default();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| read_until(&workspace, documents, &is_over));
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let (workspace, known) = (&workspace, &known);
                scope.spawn(move || write(workspace, units, writer, seed, known))
            })
            .collect();
        for writer in writers {
            writer.join().expect("a writer ends well");
        }
        is_over.store(true, Ordering::SeqCst);
        let reads = reader.join().expect("the reader saw nothing but whole documents");
        assert!(reads > 100, "the reader read {reads} times only");
    });
    let known = known.into_inner().expect("nobody panicked");
    assert!(known.len() as u64 > WRITERS * UPDATES / 2, "only {} updates were acknowledged", known.len());
    for (place, unit) in units.iter().enumerate() {
        // The next command works at once, without help.
        acknowledged(&workspace, &["beat", unit]);
        let events = events(&workspace, unit);
        for ((_, number), by) in known.iter().filter(|((of, _), _)| *of == place) {
            assert_eq!(events[*number as usize - 1]["by"], by.as_str(), "{unit}@{number} (seed {seed})");
        }
    }
    let leftovers: Vec<_> = fs::read_dir(workspace.path("agent_checkpoints"))
        .expect("the crew is there")
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8"))
        .filter(|name| name.contains(".piton-"))
        .collect();
    assert_eq!(leftovers, Vec::<String>::new());
}

fn write(workspace: &Workspace, units: &[&str], writer: u64, seed: u64, known: &Mutex<BTreeMap<(usize, u64), String>>) {
    let mut dice = Dice(seed ^ (writer << 32));
    for update in 0..UPDATES {
        let place = (writer as usize + update as usize) % units.len();
        let by = format!("writer-{writer}-{update}");
        let mut child = command(workspace, &["beat", units[place], "--by", &by, "--wait", "120"])
            .spawn()
            .expect("the binary starts");
        if writer.is_multiple_of(3) {
            // The moment is the test: anywhere between the start of the process and its end.
            std::thread::sleep(Duration::from_micros(dice.roll(20_000)));
            child.kill().expect("a child can be killed");
        }
        let ended = Ended::of(child);
        if let Some(number) = ended.acknowledged() {
            let before = known.lock().expect("nobody panicked").insert((place, number), by.clone());
            assert_eq!(before, None, "{}@{number} was acknowledged twice (seed {seed})", units[place]);
        } else {
            assert_eq!(ended.code, None, "not killed, and not acknowledged: {}", ended.stderr);
        }
    }
}

/// Reads the documents as anybody would, over and over.
fn read_until(workspace: &Workspace, documents: &[&str], is_over: &AtomicBool) -> u64 {
    let mut reads = 0;
    while !is_over.load(Ordering::SeqCst) {
        for document in documents {
            let bytes = fs::read(workspace.path(document)).expect("a document is there at every moment");
            serde_json::from_slice::<Value>(&bytes).expect("a document is whole at every moment");
            reads += 1;
        }
    }
    reads
}

#[test]
fn one_unit_keeps_what_it_acknowledged_while_writers_are_killed() {
    contend(&["crew:Secondary-A"], &["agent_checkpoints/secondary_a.json"]);
}

#[test]
fn eight_units_keep_what_they_acknowledged_while_writers_are_killed() {
    let units: Vec<String> = (b'a'..=b'h').map(|letter| format!("crew:Secondary-{}", char::from(letter))).collect();
    let documents: Vec<String> =
        (b'a'..=b'h').map(|letter| format!("agent_checkpoints/secondary_{}.json", char::from(letter))).collect();
    contend(
        &units.iter().map(String::as_str).collect::<Vec<_>>(),
        &documents.iter().map(String::as_str).collect::<Vec<_>>(),
    );
}
