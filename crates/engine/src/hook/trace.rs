//! What hooks leave behind for people: when each last fired, and what went wrong.

use std::time::Duration;

use piton_dialect::hook::EVENTS;
use piton_dialect::time;
use piton_model::Time;
use piton_model::text::printable;
use piton_store::disk::{Access, Open};
use piton_store::{append_bounded, seal};

use crate::Workspace;

/// When each event was last seen: a line of fixed length for each, so that writing one is a single write.
const FIRED: &str = ".piton/fired";
const LINE: usize = 48;

/// How long what is written there is new enough.
const FRESH: Duration = Duration::from_secs(30);

/// What went wrong.
const LOG: &str = ".piton/hook.log";

/// How long the log may become before it is put aside.
const LONGEST_LOG: u64 = 256 * 1024;

/// The longest line in it.
const LONGEST_LINE: usize = 600;

/// Writes down that an event was seen. Nothing is made for it: without `.piton` nobody asks.
pub fn hook_fired(workspace: &Workspace, event: &str, now: Time) {
    let Some(place) = EVENTS.iter().position(|known| *known == event) else { return };
    let Ok(file) = workspace.disk.open(FIRED, Open::Create(Access::Private)) else { return };
    let at = (place * LINE) as u64;
    // A write may have to wait for the disk, a look does not; and nobody asks for seconds.
    let seen = file.read_at(at, LINE).ok().and_then(|line| time_in(event, &line));
    if seen.is_some_and(|seen| seen <= now && seen.age(now).0 < FRESH) {
        return;
    }
    let line = format!("{event:<24}{now}");
    let line = format!("{line:<width$}\n", width = LINE - 1);
    // It is a convenience; a full disk must not be heard of here.
    let _ = file.write_at(at, line.as_bytes());
}

/// When each event was last seen, in the order of [`EVENTS`].
pub fn fired(workspace: &Workspace) -> Vec<(&'static str, Option<Time>)> {
    let bytes = match seal::inspect(&*workspace.disk) {
        Ok(seal::Home::Ours) => workspace.disk.read(FIRED).map(|content| content.bytes).unwrap_or_default(),
        _ => Vec::new(),
    };
    let seen = |(place, event): (usize, &&'static str)| {
        (*event, bytes.get(place * LINE..(place + 1) * LINE).and_then(|line| time_in(event, line)))
    };
    EVENTS.iter().enumerate().map(seen).collect()
}

/// The time that the line of an event tells.
fn time_in(event: &str, line: &[u8]) -> Option<Time> {
    let rest = std::str::from_utf8(line).ok()?.strip_prefix(event)?;
    time::read(rest.trim()).time()
}

/// Adds a line to the log of what went wrong, where there is a place for it.
pub fn hook_log(workspace: &Workspace, event: &str, now: Time, what: &str) {
    let what = piton_model::secret::mask(what);
    let what: String = printable(&what).chars().take(LONGEST_LINE).collect();
    let event: String = printable(event).chars().take(40).collect();
    // Nobody can be told that the log itself cannot be written.
    let _ = append_bounded(&*workspace.disk, LOG, &format!("{now} {event}: {what}\n"), LONGEST_LOG);
}
