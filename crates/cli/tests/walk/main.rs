//! Random walks from outside: the real binary, real git, scripted workers that misbehave and a user who interferes, all
//! chosen by a seed. Then the workers are good, the user types only what Piton printed, and everything has to arrive.
//!
//! `PITON_WALK_SEED=123 cargo test -p piton --test walk` repeats one walk, `PITON_WALKS=50` walks the seeds from 1 (or
//! from `PITON_WALK_SEED`) on, and `PITON_WALK_DIALECT=plan` has all of them walk one dialect. A walk that fails prints its
//! seed and everything that was typed.

mod checks;
mod dice;
mod ground;
mod settle;
mod user;
mod walk;
mod work;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Mutex;

use ground::Ground;

/// Walks of every ordinary test run: all dialects, and none that stops workers while they commit.
const SEEDS: [u64; 6] = [2, 7, 10, 14, 15, 17];

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name} is no number: {text}")))
}

fn seeds() -> Vec<u64> {
    match (number("PITON_WALK_SEED"), number("PITON_WALKS")) {
        (None, None) => SEEDS.to_vec(),
        (Some(seed), None) => vec![seed],
        (seed, Some(count)) => (seed.unwrap_or(1)..).take(usize::try_from(count).expect("a small number")).collect(),
    }
}

/// Walks once. The transcript is kept in a file; that of a walk that fails is returned.
fn fails(seed: u64) -> Option<String> {
    let mut ground = None;
    let walked = catch_unwind(AssertUnwindSafe(|| walk::walk(Ground::new(seed), seed, &mut ground)));
    let words = match &walked {
        Ok(()) => "arrived",
        Err(panic) => {
            panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref().copied()).unwrap_or("")
        }
    };
    let transcript = ground.map_or_else(String::new, |ground: Ground| {
        let read = |name: &str| std::fs::read_to_string(ground.outer(name)).unwrap_or_default();
        let events: String = ground.events().iter().map(|event| format!("{event}\n")).collect();
        format!("{}--- workers\n{}--- events\n{events}", ground.transcript(), read("ledger"))
    });
    let text = format!("{transcript}=== seed {seed}: {words}\n");
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("walk");
    std::fs::create_dir_all(&directory).expect("a directory can be made");
    std::fs::write(directory.join(format!("{seed}.log")), &text).expect("a transcript can be kept");
    walked.is_err().then_some(text)
}

#[test]
fn walks_arrive() {
    let seeds = Mutex::new(seeds().into_iter());
    let failed = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let next = seeds.lock().expect("no walk panics").next();
                    let Some(seed) = next else { return };
                    if let Some(text) = fails(seed) {
                        println!("{text}");
                        failed.lock().expect("no walk panics").push(seed);
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().expect("no walk panics");
    assert!(failed.is_empty(), "walks failed: {failed:?}; repeat one with PITON_WALK_SEED={}", failed[0]);
}

#[test]
fn offered_commands_are_found() {
    let text = "next: go on: piton approve build:X && piton run build:X\nrun it there: git checkout main";
    assert_eq!(settle::offered(text), ["piton approve build:X", "piton run build:X", "git checkout main"]);
}
