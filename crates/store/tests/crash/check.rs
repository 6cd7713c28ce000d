//! What has to hold on whatever a crash has left.

use piton_store::History;
use piton_testkit::{CrashDisk, PowerLoss};

use crate::script::{Do, LOG, PLAN, Run, STATE, World, commit, documents, key, open};

/// Opens what is left as the next process does, and compares it with what was acknowledged.
pub fn check(disk: &CrashDisk, run: &Run) -> Result<(), String> {
    let expected = settled(disk, run)?;
    // The unit goes on. Then the power fails: what was mended must be durable too, and what is new.
    let line = "{\"further\":true}\n".to_owned();
    let further = [Do::Write(PLAN, "# further\n".to_owned()), Do::Append(LOG, line)];
    let seq = commit(disk, &further, &expected, 999).map_err(|error| format!("a further commit: {error}"))?;
    let mut after = expected.clone();
    after.apply(&further);
    let mut longer = run.clone();
    longer.before = after.clone();
    longer.after = after.clone();
    longer.is_loose = false;
    longer.acknowledged.push((seq, after));
    longer.journal = disk.bytes(&key().journal()).unwrap_or_default();
    let loss = if seq % 2 == 0 { PowerLoss::NamesLost } else { PowerLoss::Mixed(disk.effects()) };
    let left = disk.after_power_loss(loss);
    settled(&left, &longer).map_err(|error| format!("then {loss:?}: {error}"))?;
    Ok(())
}

/// Brings the unit to rest, and returns which of the two worlds it is in.
pub fn settled(disk: &CrashDisk, run: &Run) -> Result<World, String> {
    let (unit, _) = open(disk).map_err(|error| format!("it does not open: {error}"))?;
    let last = unit.seq();
    let journaled: Vec<_> = documents().iter().map(|path| unit.current(path).unwrap_or_default()).collect();
    drop(unit);
    for (path, journaled) in documents().iter().zip(journaled) {
        same(&format!("the journal's last version of {path}"), disk.bytes(path), journaled)?;
    }
    let landed = check_journal(disk, run, last)?;
    let expected = if landed { &run.after } else { &run.before };
    if run.is_loose {
        // What others wrote and did not sync may be anything now; it was recorded as it is.
        return Ok(present(disk, expected));
    }
    compare_worlds(disk, expected)?;
    Ok(expected.clone())
}

fn check_journal(disk: &CrashDisk, run: &Run, last: u64) -> Result<bool, String> {
    let Some(history) = History::open(disk, &key()).map_err(|error| error.to_string())? else {
        return if run.acknowledged.is_empty() { Ok(false) } else { Err("the journal is gone".to_owned()) };
    };
    let journal = disk.bytes(&key().journal()).unwrap_or_default();
    if !journal.starts_with(&run.journal) {
        return Err("the journal of an acknowledged commit has changed".to_owned());
    }
    let log = history.log().map_err(|error| error.to_string())?;
    if let Some(at) = log.broken_at {
        return Err(format!("the journal is broken at {at}"));
    }
    let numbers: Vec<u64> = log.events.iter().map(|event| event.seq).collect();
    if numbers != (1..=last).collect::<Vec<_>>() {
        return Err(format!("numbers up to {last}: {numbers:?}"));
    }
    if let Some((seq, world)) = run.acknowledged.last() {
        for path in [PLAN, STATE] {
            let version = history.version(path, *seq).map_err(|error| error.to_string())?;
            same(&format!("{path}@{seq}"), version, world.read(path))?;
        }
    }
    let name = format!("step {}", run.begun);
    Ok(log.events.iter().any(|event| event.summary == name))
}

/// Compares every file but our own; nothing may be left over.
fn compare_worlds(disk: &CrashDisk, expected: &World) -> Result<(), String> {
    for path in disk.files().iter().filter(|path| !path.starts_with(".piton")) {
        if !expected.files.contains_key(path.as_str()) {
            return Err(format!("`{path}` is left over"));
        }
    }
    for (path, bytes) in &expected.files {
        same(path, disk.bytes(path), Some(bytes.clone()))?;
    }
    Ok(())
}

/// The files of a world as they are.
fn present(disk: &CrashDisk, world: &World) -> World {
    let paths = [PLAN, STATE].into_iter().chain(world.files.keys().copied());
    World { files: paths.filter_map(|path| Some((path, disk.bytes(path)?))).collect() }
}

fn same(what: &str, found: Option<Vec<u8>>, expected: Option<Vec<u8>>) -> Result<(), String> {
    if found == expected {
        return Ok(());
    }
    let show =
        |bytes: Option<Vec<u8>>| bytes.map(|bytes| String::from_utf8_lossy(&bytes[..bytes.len().min(80)]).into_owned());
    Err(format!("{what}: found {:?}, expected {:?}", show(found), show(expected)))
}
