//! What has to hold on whatever a crash has left.

use piton_engine::{RecordError, find, log};
use piton_model::{Unit, UnitRef};
use piton_testkit::{CrashDisk, PowerLoss};

use crate::scene::{Acknowledged, Looked, Scene, World, acknowledged, is_away, look, shown, world};
use crate::verb::{act, at, workspace};

/// Commands of which one comes next.
const NEXT: [&str; 2] = ["beat", "note later"];

/// Checks what is left: as it lies there, once the next command has looked at it, and once one has changed it.
pub fn check(left: &CrashDisk, scene: &Scene, is_acknowledged: bool, number: u64) -> Result<(), String> {
    check_as_it_lies(left, scene)?;
    let events = acknowledged(left, scene.unit, scene.now);
    keeps(&scene.acknowledged, &events).map_err(|error| format!("as it lies: {error}"))?;
    if let Some(last) = scene.acknowledged.last()
        && shown(left, scene.unit, last.seq, scene.now)? != last.documents
    {
        return Err(format!("@{} is shown otherwise", last.seq));
    }
    // Every other state: readers take as long as everything else together, and each effect has several states.
    let is_read = number % 2 == 1 && !scene.is_torn();
    let told = if is_read { told(left, scene)? } else { None };
    let looked = look(left, scene.unit, scene.now).map_err(|error| format!("the next command: {error}"))?;
    check_at_rest(left, scene, is_acknowledged)?;
    if is_read {
        let told_then = self::told(left, scene)?;
        if told != told_then {
            return Err(format!("without the lock a reader is told\n{told:?}\nand then\n{told_then:?}"));
        }
    }
    if looked == Looked::Nothing && !scene.makes_or_ends {
        return Err("the unit is gone".to_owned());
    }
    go_on(left, scene, number)
}

/// Each file is whole: a version that it had or was to have. The end of a log may be torn until somebody looks.
fn check_as_it_lies(left: &CrashDisk, scene: &Scene) -> Result<(), String> {
    for (path, bytes) in world(left).iter().filter(|(path, _)| !is_aside(path)) {
        let known = scene.versions.get(path);
        let is_known = known.is_some_and(|known| known.contains(bytes));
        let is_log =
            scene.logs.contains(path) && known.is_none_or(|known| known.iter().any(|known| has_begun(bytes, known)));
        if !is_known && !is_log {
            return Err(format!("`{path}` is neither old nor new: {}", excerpt(Some(bytes))));
        }
    }
    Ok(())
}

/// Whether a log holds what it held, and of what was added what has arrived; zeros stand where nothing has.
fn has_begun(bytes: &[u8], known: &[u8]) -> bool {
    bytes.len() <= known.len() && bytes.iter().zip(known).all(|(byte, known)| byte == known || *byte == 0)
}

/// What is told about the unit to somebody who only reads, but for which files say so and when they were written.
fn told(left: &CrashDisk, scene: &Scene) -> Result<Option<Unit>, String> {
    let wanted = UnitRef::parse(scene.unit).expect("a unit's name");
    let effects = left.trace().len();
    let found = find(&workspace(left), &wanted, scene.now).ok();
    if left.trace().len() != effects {
        return Err("somebody who only read has changed something".to_owned());
    }
    Ok(found.map(|found| Unit { signs: Vec::new(), documents: Vec::new(), ..found.unit }))
}

/// All files together are those of one moment, and the journal says of which.
fn check_at_rest(left: &CrashDisk, scene: &Scene, is_acknowledged: bool) -> Result<(), String> {
    let events = acknowledged(left, scene.unit, scene.now);
    keeps(&scene.acknowledged, &events)?;
    whole(left, scene)?;
    let last = events.last().map_or(0, |event| event.seq);
    let (expected, seq) = match last {
        last if last == scene.after.1 => &scene.after,
        _ if is_acknowledged => {
            return Err(format!("@{} was acknowledged, and the last one is @{last}", scene.after.1));
        }
        last if last == scene.before.1 => &scene.before,
        _ => &scene.looked_at,
    };
    compare(&world(left), expected).map_err(|error| format!("at @{last}, which is to be @{seq}: {error}"))
}

/// One more command works, leaves nothing lying about, and what it did survives the power.
fn go_on(left: &CrashDisk, scene: &Scene, number: u64) -> Result<(), String> {
    let later = at(600);
    let next = match number % 3 {
        0 => scene.verb.as_str(),
        number => NEXT[number as usize - 1],
    };
    let seq = match act(left, scene.unit, next, later) {
        Ok(seq) => Some(seq),
        Err(RecordError::Refused(_)) => None,
        Err(error) if is_away(&error) && scene.makes_or_ends => None,
        Err(error) => return Err(format!("{next}: {error:?}")),
    };
    if let Some(path) = left.files().iter().find(|path| is_aside(path)) {
        return Err(format!("after {next}: `{path}` is left over"));
    }
    whole(left, scene).map_err(|error| format!("after {next}: {error}"))?;
    let events = acknowledged(left, scene.unit, later);
    if seq.is_some_and(|seq| events.last().is_none_or(|event| event.seq != seq)) {
        return Err(format!("{next} was acknowledged as @{seq:?} and is not there"));
    }
    let expected = world(left);
    let loss = if number.is_multiple_of(2) { PowerLoss::NamesLost } else { PowerLoss::Mixed(number) };
    let left = left.after_power_loss(loss);
    look(&left, scene.unit, later).map_err(|error| format!("{next}, then {loss:?}: {error}"))?;
    compare(&world(&left), &expected).map_err(|error| format!("{next}, then {loss:?}: {error}"))?;
    keeps(&events, &acknowledged(&left, scene.unit, later)).map_err(|error| format!("{next}, then {loss:?}: {error}"))
}

/// What was acknowledged is in the journal, without a gap, and can be shown.
fn keeps(known: &[Acknowledged], found: &[Acknowledged]) -> Result<(), String> {
    for (number, event) in known.iter().enumerate() {
        match found.get(number) {
            Some(found) if found == event => {}
            Some(found) => return Err(format!("@{} is now {} {:?}", event.seq, found.seq, found.summary)),
            None => return Err(format!("@{} {} is gone", event.seq, event.event)),
        }
    }
    Ok(())
}

/// The journal has all its numbers and no damage; what is JSON can be read.
fn whole(left: &CrashDisk, scene: &Scene) -> Result<(), String> {
    let wanted = UnitRef::parse(scene.unit).expect("a unit's name");
    if let Ok(found) = log(&workspace(left), &wanted, scene.now) {
        if let Some(at) = found.log.broken_at {
            return Err(format!("the journal is broken at {at}"));
        }
        let numbers: Vec<u64> = found.log.events.iter().map(|event| event.seq).collect();
        if numbers != (1..=numbers.len() as u64).collect::<Vec<_>>() {
            return Err(format!("a gap: {numbers:?}"));
        }
    }
    Ok(())
}

pub fn compare(found: &World, expected: &World) -> Result<(), String> {
    for path in found.keys().chain(expected.keys()) {
        let (found, expected) = (found.get(path), expected.get(path));
        if found != expected {
            return Err(format!("{path}: found {}, expected {}", excerpt(found), excerpt(expected)));
        }
    }
    Ok(())
}

fn is_aside(path: &str) -> bool {
    path.rsplit('/').next().is_some_and(|name| name.contains(".piton-"))
}

fn excerpt(bytes: Option<&Vec<u8>>) -> String {
    match bytes {
        None => "nothing".to_owned(),
        Some(bytes) => {
            let text = String::from_utf8_lossy(bytes);
            format!(
                "{} bytes …{:?}",
                bytes.len(),
                text.chars().skip(text.chars().count().saturating_sub(100)).collect::<String>()
            )
        }
    }
}
