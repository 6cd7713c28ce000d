//! Clocks that are set and machines that sleep kill nobody. A debug build takes both from a file that
//! `PITON_TEST_CLOCKS` names: by how many seconds the clock was set, and how many the machine slept.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::yard::{Ended, Yard, finish};

/// A story whose worker is silent for longer than it may be.
fn silent(settings: &str) -> Yard {
    let spans = format!("[run]\nheartbeat = 1\npatience = 1\nanswer = 0.5\nlinger = 2\ngrace = 0.2\n{settings}");
    Yard::with(&spans, "[[stories]]\nid = \"S-1\"\ntitle = \"One\"\n").env("BAD", "dawdles")
}

/// Leads while the clocks are moved again and again.
fn lead(yard: &Yard, clocks: impl Fn(i64) -> (i64, i64) + Send + 'static) -> Ended {
    let file = yard.outer("clocks");
    std::fs::write(&file, "0 0\n").expect("it can be written");
    yard.run(&["approve"]);
    let mut command = yard.command(&["run", "--json"]);
    let lead = command.env("PITON_TEST_CLOCKS", &file).spawn().expect("it starts");
    let has_ended = std::sync::Arc::new(AtomicBool::new(false));
    let mover = std::thread::spawn({
        let has_ended = std::sync::Arc::clone(&has_ended);
        move || {
            let aside = file.with_extension("new");
            for turn in 1.. {
                if has_ended.load(Ordering::Relaxed) {
                    break;
                }
                let (set, slept) = clocks(turn);
                std::fs::write(&aside, format!("{set} {slept}\n")).expect("it can be written");
                std::fs::rename(&aside, &file).expect("it can be replaced");
                std::thread::sleep(Duration::from_millis(100));
            }
        }
    });
    let ended = finish(lead);
    has_ended.store(true, Ordering::Relaxed);
    mover.join().expect("it ends");
    assert_eq!(ended.code, Some(0), "{}{}", ended.stdout, ended.stderr);
    ended
}

#[test]
fn a_silent_worker_is_asked_where_clocks_are_in_order() {
    let ended = lead(&silent(""), |_| (0, 0));
    assert!(ended.stdout.contains("\"event\":\"asked\""), "{}", ended.stdout);
    for event in ["woke", "clock"] {
        assert!(!ended.stdout.contains(&format!("\"event\":\"{event}\"")), "{}", ended.stdout);
    }
}

#[test]
fn a_machine_that_sleeps_kills_nobody() {
    let ended = lead(&silent(""), |turn| (turn * 600, turn * 600));
    assert!(ended.stdout.contains("the machine slept"), "{}", ended.stdout);
    assert!(!ended.stdout.contains("\"event\":\"asked\""), "{}", ended.stdout);
    assert!(!ended.stdout.contains("\"event\":\"clock\""), "it slept, and nobody set the clock: {}", ended.stdout);
}

#[test]
fn a_clock_that_is_set_kills_nobody() {
    for by in [-3600, 3600] {
        let ended = lead(&silent(""), move |turn| (turn * by, 0));
        assert!(ended.stdout.contains("the clock was set"), "{}", ended.stdout);
        assert!(!ended.stdout.contains("\"event\":\"asked\""), "{}", ended.stdout);
    }
}
