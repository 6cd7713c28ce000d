//! Ticking a task of a plan with 100,000 of them.

use std::process::Command;

use crate::beside::{Contender, compare, plan};
use crate::{Bench, goal, limits, put};

const TASKS: usize = 100_000;
const ROUNDS: usize = 15;

pub fn measure(bench: &Bench) {
    let text = plan(TASKS);
    println!("a plan of {TASKS} tasks, {:.1} MB, cold", text.len() as f64 / 1e6);
    let (ours, bare) = (bench.directory("large"), bench.directory("bare-large"));
    put(&ours.join("plans/p/plan.md"), &text);
    put(&bare.join("plan.md"), &text);
    bench.prepare(&ours, &["start", "plan:p"]);
    let this = std::env::current_exe().expect("this program has a path");
    // Open tasks from all over the plan, none of which ends a phase.
    let open: Vec<usize> = (0..TASKS).filter(|task| task % 3 == 1).collect();
    let task = |round: usize| format!("task-{}", open[(round * 7919) % open.len()]);
    let ratios = compare(
        vec![
            Contender::program("reading, hashing, durable replacing", |round| {
                let mut command = Command::new(&this);
                command.arg(limits::HASH_AND_REPLACE).arg(bare.join("plan.md")).arg(round.to_string());
                command
            }),
            Contender::program("piton step done", |round| {
                bench.piton(&ours, &["step", "plan:p", "done", &task(round)])
            }),
        ],
        ROUNDS,
    );
    goal("at most 2 times that", ratios[1], ratios[1] <= 2.0);
}
