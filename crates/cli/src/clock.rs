//! The clocks of a lead. For tests a debug build lets somebody set them: the file that `PITON_TEST_CLOCKS` names says by
//! how many seconds the clock was set, and how many the machine slept.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use piton_model::Time;

/// The time on the wall.
pub fn time() -> Time {
    // A clock before 1970 is broken; every age is then zero, which accuses nobody.
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Time::from_unix_seconds((since.as_secs() as i64).saturating_add(moved().0))
}

/// How long the machine has slept since it was started.
pub fn slept() -> Duration {
    piton_engine::run::slept().saturating_add(Duration::from_secs(moved().1))
}

#[cfg(debug_assertions)]
fn moved() -> (i64, u64) {
    let read = || {
        let text = std::fs::read_to_string(std::env::var_os("PITON_TEST_CLOCKS")?).ok()?;
        let (set, slept) = text.trim().split_once(' ')?;
        Some((set.parse().ok()?, slept.parse().ok()?))
    };
    read().unwrap_or_default()
}

#[cfg(not(debug_assertions))]
fn moved() -> (i64, u64) {
    (0, 0)
}
