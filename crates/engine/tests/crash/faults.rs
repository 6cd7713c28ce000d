//! A disk that fails once at every effect of every verb: the verb has happened or it has not, and it works afterwards.

use piton_engine::RecordError;
use piton_testkit::{CrashDisk, Fault, PowerLoss};

use crate::check::compare;
use crate::scene::{Scene, look, world};
use crate::table::ALL;

/// Lets one effect of a verb fail. Returns whether there was such an effect.
fn fail_once(scene: &Scene, point: u64, fault: Fault) -> Result<bool, String> {
    let disk = scene.base.after_kill();
    disk.fail_at(point, fault);
    let acted = scene.act(&disk);
    let Some((_, path)) = disk.trace().get(point as usize - 1).cloned() else { return Ok(false) };
    disk.repair();
    if !disk.retried_syncs().is_empty() {
        return Err(format!("synced again after a failure: {:?}", disk.retried_syncs()));
    }
    match acted {
        Ok(_) => durable(&disk, scene),
        Err(RecordError::Failed { message }) if message.contains(&path) => {
            nothing_changed(&disk, scene)?;
            scene.act(&disk).map_err(|error| format!("afterwards: {error:?}"))?;
            durable(&disk, scene).map_err(|error| format!("afterwards: {error}"))
        }
        Err(error) => Err(format!("{error:?}, and `{path}` failed")),
    }?;
    Ok(true)
}

/// The verb said that it failed: but for what a look may do, the files are as they were.
fn nothing_changed(disk: &CrashDisk, scene: &Scene) -> Result<(), String> {
    look(disk, scene.unit, scene.now).map_err(|error| format!("the next command: {error}"))?;
    let found = world(disk);
    compare(&found, &scene.looked_at.0).or_else(|error| match compare(&found, &scene.before.0) {
        Ok(()) => Ok(()),
        Err(_) => Err(format!("it failed and has changed something: {error}")),
    })
}

/// The verb said that it happened: it survives the power.
fn durable(disk: &CrashDisk, scene: &Scene) -> Result<(), String> {
    for loss in PowerLoss::all(disk.effects()) {
        let left = disk.after_power_loss(loss);
        look(&left, scene.unit, scene.now).map_err(|error| format!("{loss:?}: {error}"))?;
        compare(&world(&left), &scene.after.0).map_err(|error| format!("{loss:?}: {error}"))?;
    }
    look(disk, scene.unit, scene.now)?;
    compare(&world(disk), &scene.after.0)
}

fn fail_everywhere(fault: Fault) {
    let mut points = 0;
    let mut failures = Vec::new();
    for dialect in ALL {
        for (prepare, verb) in dialect.verbs {
            let scene = Scene::new(dialect, prepare, verb);
            for point in 1.. {
                match fail_once(&scene, point, fault) {
                    Ok(false) => break,
                    Ok(true) => {}
                    Err(error) => failures.push(format!("{}: {fault:?} at effect {point}: {error}", scene.name())),
                }
                points += 1;
            }
        }
    }
    let first = &failures[..failures.len().min(20)];
    assert!(failures.is_empty(), "{} of {points} points:\n{}", failures.len(), first.join("\n"));
    println!("{fault:?}: {points} points");
    assert!(points > 1000, "{points}");
}

#[test]
fn a_full_disk_fails_a_verb_or_lets_it_be_and_never_halves_it() {
    fail_everywhere(Fault::FullOnce);
}

#[test]
fn a_failing_disk_fails_a_verb_or_lets_it_be_and_never_halves_it() {
    fail_everywhere(Fault::BrokenOnce);
}
