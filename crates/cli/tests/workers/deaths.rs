use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use piton_supervisor::{Condition, Exit, Gently, Identity, Worker};
use rustix::process::Signal;

use crate::lab::{Lab, PATIENCE, content_of, end_of, program, until};

/// Says to a process of this test that it is the lead, and where the worker's home is to be.
const LEAD: &str = "PITON_TEST_LEAD";

#[test]
fn a_worker_outlives_its_lead() {
    if let Some(lab) = std::env::var_os(LEAD).map(PathBuf::from) {
        return lead(&lab);
    }
    let lab = Lab::new();
    let mut leader = Command::new(std::env::current_exe().expect("this is a program"))
        .args(["--exact", "deaths::a_worker_outlives_its_lead", "--nocapture"])
        .env(LEAD, lab.path(""))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the lead starts");
    content_of(&lab.path("started"));
    leader.kill().expect("it can be killed");
    leader.wait().expect("it can be collected");
    // The next lead: this process.
    let worker = Worker::adopt(&program(), &lab.path("home")).expect("it is found again");
    assert!(matches!(worker.condition(), Ok(Condition::Running { worker: Some(_) })));
    fs::write(lab.path("go"), "").expect("it can be written");
    let end = end_of(&worker);
    assert_eq!((end.exit, end.signs.out), (Exit::Code(9), 6));
}

fn lead(lab: &std::path::Path) {
    let script = "while [ ! -e go ]; do sleep 0.01; done; echo alive; exit 9";
    let launch = piton_supervisor::Launch::new(["/bin/sh", "-c", script], lab);
    let _worker = Worker::start(&program(), &lab.join("home"), &launch).expect("the worker starts");
    fs::write(lab.join("started"), "yes\n").expect("it can be written");
    loop {
        std::thread::park();
    }
}

#[test]
fn a_worker_whose_keeper_was_killed_is_seen_and_can_be_stopped() {
    let lab = Lab::new();
    let worker = lab.start("setsid sh -c 'sleep 1000' & trap 'exit 0' TERM; while :; do sleep 0.01; done");
    until("all of it runs", || lab.processes().len() >= 2);
    kill_keeper(&worker);
    let found = Worker::adopt(&program(), worker.home()).expect("it is found again");
    until("the keeper is gone", || matches!(found.condition(), Ok(Condition::Orphaned { .. })));
    let Ok(Condition::Orphaned { worker: identity }) = found.condition() else { panic!("it is an orphan") };
    assert!(identity.is_alive());
    found.stop(Gently::Terminate, PATIENCE).expect("it can be asked");
    let end = end_of(&found);
    assert_eq!(end.exit, Exit::Vanished, "nobody could see how it ended");
    assert!(!identity.is_alive());
    lab.assert_empty("what it started was found by its mark");
}

#[test]
fn a_worker_that_died_with_its_keeper_has_vanished_and_left_nothing() {
    let lab = Lab::new();
    let worker = lab.start("setsid sleep 1000 & sleep 1000");
    until("all of it runs", || lab.processes().len() >= 2);
    let identity = identity(&worker, "worker");
    kill_keeper(&worker);
    assert!(identity.signal(Signal::KILL));
    let end = end_of(&worker);
    assert_eq!(end.exit, Exit::Vanished);
    lab.assert_empty("");
}

#[test]
fn a_keeper_killed_after_the_end_loses_neither_status_nor_leftovers() {
    let lab = Lab::new();
    let worker = lab.start("exit 6");
    let end = end_of(&worker);
    // As it is between the two times that the end is written.
    let path = worker.home().join("exit.json");
    let text = fs::read_to_string(&path).expect("it is there").replace("\"is_swept\":true", "\"is_swept\":false");
    fs::write(&path, text).expect("it can be written");
    let mark = fs::read_to_string(worker.home().join("launch.json")).expect("it is there");
    let mark = mark.split("\"mark\":\"").nth(1).and_then(|rest| rest.split('"').next()).expect("a mark");
    let mut left = Command::new("/bin/sleep").arg("1000").env("PITON_WORKER", format!("other:{mark}")).spawn();
    let Ok(Condition::Ended(found)) = worker.condition() else { panic!("it has ended") };
    assert_eq!((found.exit, found.leftovers), (end.exit, 1));
    let status = left.as_mut().expect("it was started").wait().expect("it was ours");
    assert!(!status.success());
}

#[test]
fn a_claim_that_nobody_fulfilled_is_void_for_ever() {
    let lab = Lab::new();
    // A home as a lead leaves it that dies before it starts the keeper.
    let donor = lab.start("exit 0");
    end_of(&donor);
    let home = lab.home();
    fs::create_dir(&home).expect("it can be made");
    fs::copy(donor.home().join("launch.json"), home.join("launch.json")).expect("it can be copied");
    let worker = Worker::adopt(&program(), &home).expect("it was claimed");
    let Ok(Condition::Ended(end)) = worker.condition() else { panic!("nothing was started") };
    assert!(matches!(end.exit, Exit::NotStarted { .. }), "{end:?}");
    // The keeper of the dead lead comes late.
    let late = Command::new(env!("CARGO_BIN_EXE_piton")).arg("keep").arg(&home).output().expect("it can be started");
    assert_eq!(String::from_utf8_lossy(&late.stdout), "it was given up before\n");
    assert!(!home.join("worker").exists());
}

#[test]
fn a_stranger_with_the_same_pid_is_left_alone() {
    let lab = Lab::new();
    let worker = lab.start("sleep 1000");
    let kept = identity(&worker, "worker");
    kill_keeper(&worker);
    assert!(kept.signal(Signal::KILL));
    until("it is gone", || !kept.is_alive());
    let mut stranger = Command::new("/bin/sleep").arg("1000").spawn().expect("it starts");
    let real = Identity::of(stranger.id()).expect("it runs");
    for forged in [
        Identity { start: real.start - 1, ..real.clone() },
        Identity { start: real.start + 1, ..real.clone() },
        Identity { boot: "another".to_owned(), ..real.clone() },
    ] {
        assert_ne!(real, forged);
        for name in ["worker", "keeper"] {
            fs::write(worker.home().join(name), forged.to_string()).expect("it can be written");
        }
        let _ = fs::remove_file(worker.home().join("exit.json"));
        worker.stop_now().expect("there is nothing to stop");
        assert_eq!(worker.force_end().expect("there is nothing to end").exit, Exit::Vanished);
        assert!(real.is_alive(), "a stranger was killed");
    }
    stranger.kill().expect("it is ours");
    stranger.wait().expect("it is ours");
}

fn kill_keeper(worker: &Worker) {
    let keeper = identity(worker, "keeper");
    assert!(keeper.signal(Signal::KILL));
    until("the keeper is gone", || !keeper.is_alive());
}

fn identity(worker: &Worker, name: &str) -> Identity {
    fs::read_to_string(worker.home().join(name)).expect("it is there").parse().expect("it is an identity")
}
