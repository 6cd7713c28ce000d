//! A crash at every effect of every verb: what was acknowledged is there and whole, and the next command works.

use piton_testkit::{Kind, PowerLoss, Stop};

use crate::check::check;
use crate::scene::Scene;
use crate::table::{BUILD, CREW, Dialect, PIPELINE, PLAN, TASK};

/// Stops a verb at every effect, and checks whatever may be left. Returns how many states that were.
fn crash_everywhere(scene: &Scene, failures: &mut Vec<String>) -> usize {
    let mut states = 0;
    for stop in [Stop::Before, Stop::Halfway] {
        for point in 1.. {
            let disk = scene.base.after_kill();
            disk.stop_at(point, stop);
            let acted = scene.act(&disk);
            if !disk.is_dead() {
                break;
            }
            let at = disk.trace().last().cloned();
            if stop == Stop::Halfway && at.as_ref().is_some_and(|(kind, _)| *kind != Kind::Write) {
                continue;
            }
            let killed = std::iter::once(("killed".to_owned(), disk.after_kill()));
            let lost = PowerLoss::all(point).map(|loss| (format!("{loss:?}"), disk.after_power_loss(loss)));
            let mut seen = Vec::new();
            for (what, left) in killed.chain(lost) {
                states += 1;
                // Where nothing was unsynced, one model leaves the same as another.
                let files = left.snapshot();
                if seen.contains(&files) {
                    continue;
                }
                seen.push(files);
                if let Err(error) = check(&left, scene, acted.is_ok(), states as u64) {
                    failures.push(format!("{}: {stop:?} effect {point} {at:?}, {what}: {error}", scene.name()));
                }
            }
        }
    }
    states
}

fn every_verb(dialect: &Dialect) {
    let mut states = 0;
    let mut failures = Vec::new();
    for (prepare, verb) in dialect.verbs {
        states += crash_everywhere(&Scene::new(dialect, prepare, verb), &mut failures);
    }
    let first = &failures[..failures.len().min(20)];
    assert!(failures.is_empty(), "{} of {states} states:\n{}", failures.len(), first.join("\n"));
    println!("{}: {states} states of {} verbs", dialect.unit, dialect.verbs.len());
    assert!(states > 100 * dialect.verbs.len(), "{states}");
}

#[test]
fn every_verb_of_a_build_survives_a_crash_anywhere() {
    every_verb(&BUILD);
}

#[test]
fn every_verb_of_a_pipeline_survives_a_crash_anywhere() {
    every_verb(&PIPELINE);
}

#[test]
fn every_verb_of_a_plan_survives_a_crash_anywhere() {
    every_verb(&PLAN);
}

#[test]
fn every_verb_of_a_task_survives_a_crash_anywhere() {
    every_verb(&TASK);
}

#[test]
fn every_verb_of_a_crew_survives_a_crash_anywhere() {
    every_verb(&CREW);
}
