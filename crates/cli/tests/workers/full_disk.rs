use std::fs;
use std::path::{Path, PathBuf};

use piton_supervisor::{Condition, Exit, KeeperProgram, Worker};
use piton_testkit::write_program;

use crate::lab::{Lab, end_of, until};

/// The real binary on a disk that is full while a file is there: a debug build finds no room then.
fn on_full_disk(lab: &Lab, full: &Path) -> KeeperProgram {
    let script = format!(
        "#!/bin/sh\nPITON_DISK_FULL={} exec {} \"$@\"\n",
        full.display(),
        Path::new(env!("CARGO_BIN_EXE_piton")).display()
    );
    let path = lab.path("keeper.sh");
    write_program(&path, script.as_bytes()).expect("a program can be written");
    KeeperProgram::at(path)
}

/// A worker that exits with 7 when it is told to, and leaves a process behind.
fn start(lab: &Lab, full: &Path) -> (Worker, PathBuf) {
    let go = lab.path("go");
    let script = format!("sleep 1000 & while ! [ -e {} ]; do sleep 0.01; done; exit 7", go.display());
    let worker = Worker::start(&on_full_disk(lab, full), &lab.home(), &lab.launch(&script)).expect("it starts");
    (worker, go)
}

#[test]
fn a_disk_that_is_full_when_a_worker_ends_does_not_take_its_status() {
    let lab = Lab::new();
    let full = lab.path("full");
    let (worker, go) = start(&lab, &full);
    fs::write(&full, "").expect("it can be written");
    fs::write(&go, "").expect("it can be written");
    // The disk stays full: the room was taken before.
    let end = end_of(&worker);
    assert_eq!(end.exit, Exit::Code(7));
    assert!(end.leftovers > 0, "{end:?}");
    lab.assert_empty("");
}

#[test]
fn where_not_even_reserved_room_can_be_used_the_keeper_waits_for_some() {
    let lab = Lab::new();
    let full = lab.path("full");
    let (worker, go) = start(&lab, &full);
    fs::write(&full, "all").expect("it can be written");
    fs::write(&go, "").expect("it can be written");
    until("the worker and what it left behind are gone", || lab.processes().is_empty());
    let now = worker.condition().expect("its home can be read");
    assert!(matches!(now, Condition::Running { .. }), "its status is not lost, and not known: {now:?}");
    fs::remove_file(&full).expect("there is room again");
    assert_eq!(end_of(&worker).exit, Exit::Code(7));
    lab.assert_empty("");
}

#[test]
fn a_home_goes_when_its_worker_has_ended_and_not_before() {
    let lab = Lab::new();
    let worker = lab.start("sleep 1000");
    let home = worker.home().to_owned();
    let again = || Worker::adopt(&crate::lab::program(), &home).expect("it was claimed");
    assert!(!again().discard().expect("it can be looked at"), "it lives");
    assert!(home.join("launch.json").exists());
    worker.stop_now().expect("it can be stopped");
    end_of(&worker);
    assert!(again().discard().expect("it can be removed"));
    assert!(!home.exists());
}
