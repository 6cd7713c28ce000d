use std::time::{Duration, Instant};

use piton_supervisor::{Condition, Exit, Gently, Identity};
use rustix::process::Signal;

use crate::lab::{Lab, PATIENCE, content_of, end_of, until};

#[test]
fn a_worker_that_listens_ends_by_itself() {
    let lab = Lab::new();
    for (how, name) in [(Gently::Interrupt, "INT"), (Gently::Terminate, "TERM")] {
        let ready = lab.path(name);
        let script = format!("trap 'exit 42' {name}; echo > {}; while :; do sleep 0.01; done", ready.display());
        let worker = lab.start(&script);
        content_of(&ready);
        worker.stop(how, PATIENCE).expect("it can be asked");
        assert_eq!(end_of(&worker).exit, Exit::Code(42), "{name}");
    }
}

#[test]
fn a_worker_that_does_not_listen_is_made_to() {
    let lab = Lab::new();
    let script = format!("trap '' TERM INT HUP; echo > {}; while :; do sleep 0.01; done", lab.path("ready").display());
    let worker = lab.start(&script);
    content_of(&lab.path("ready"));
    let begun = Instant::now();
    worker.stop(Gently::Terminate, Duration::from_millis(300)).expect("it can be asked");
    assert_eq!(end_of(&worker).exit, Exit::Signal(9));
    assert!(begun.elapsed() >= Duration::from_millis(300), "it was given its time");
    lab.assert_empty("");
}

#[test]
fn asking_again_shortens_the_time() {
    let lab = Lab::new();
    let script = format!("trap '' TERM; echo > {}; while :; do sleep 0.01; done", lab.path("ready").display());
    let worker = lab.start(&script);
    content_of(&lab.path("ready"));
    worker.stop(Gently::Terminate, PATIENCE * 100).expect("it can be asked");
    worker.stop(Gently::Terminate, Duration::from_millis(10)).expect("it can be asked again");
    worker.stop(Gently::Terminate, PATIENCE * 100).expect("more time is not given");
    assert_eq!(end_of(&worker).exit, Exit::Signal(9));
}

#[test]
fn stopping_at_once_ends_the_whole_tree() {
    let lab = Lab::new();
    let script = "setsid sh -c 'setsid sleep 1000 & sleep 1000' & sleep 1000 & sleep 1000";
    let worker = lab.start(script);
    until("all of it runs", || lab.processes().len() >= 5);
    worker.stop_now().expect("it can be stopped");
    assert_eq!(end_of(&worker).exit, Exit::Signal(9));
    lab.assert_empty("");
    worker.stop_now().expect("what has ended can be stopped again");
}

#[test]
fn one_that_keeps_forking_is_ended() {
    let lab = Lab::new();
    let script = "f() { (sleep 1000 &) ; }; while :; do f; done & while :; do setsid sleep 1000 & done";
    let worker = lab.start(script);
    until("there are many", || lab.processes().len() > 30);
    worker.stop_now().expect("it can be stopped");
    end_of(&worker);
    lab.assert_empty("");
}

#[test]
fn a_stopped_worker_hears_that_it_should_end() {
    let lab = Lab::new();
    let script = format!("trap 'exit 42' TERM; echo > {}; while :; do sleep 0.01; done", lab.path("ready").display());
    let worker = lab.start(&script);
    content_of(&lab.path("ready"));
    let Condition::Running { worker: Some(identity) } = worker.condition().expect("it can be read") else {
        panic!("it does not run");
    };
    assert!(identity.signal(Signal::STOP));
    worker.stop(Gently::Terminate, PATIENCE).expect("it can be asked");
    assert_eq!(end_of(&worker).exit, Exit::Code(42));
}

#[test]
fn a_keeper_that_does_not_answer_is_done_without() {
    let lab = Lab::new();
    let worker = lab.start("setsid sleep 1000 & sleep 1000");
    until("all of it runs", || lab.processes().len() >= 2);
    let keeper: Identity = content(&worker, "keeper").parse().expect("it is an identity");
    assert!(keeper.signal(Signal::STOP));
    let end = worker.force_end().expect("it can be ended");
    assert_eq!(end.exit, Exit::Vanished);
    assert!(!keeper.is_alive());
    lab.assert_empty("");
}

fn content(worker: &piton_supervisor::Worker, name: &str) -> String {
    std::fs::read_to_string(worker.home().join(name)).expect("it is there")
}
