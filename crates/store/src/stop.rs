//! A place to die, for tests: a debug build ends itself before the effect that `PITON_STOP_AT` counts to.

#[cfg(debug_assertions)]
mod counted {
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU64, Ordering};

    static DONE: AtomicU64 = AtomicU64::new(0);
    static STOP_AT: OnceLock<Option<u64>> = OnceLock::new();

    pub(super) fn here() {
        let stop_at = STOP_AT.get_or_init(|| std::env::var("PITON_STOP_AT").ok()?.parse().ok());
        let effect = DONE.fetch_add(1, Ordering::SeqCst) + 1;
        if *stop_at == Some(effect) {
            // As abrupt as a power switch: nothing is unwound, flushed or told.
            let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
            loop {
                std::thread::park();
            }
        }
    }
}

/// Counts one effect; a build for use does nothing here.
#[inline]
pub fn here() {
    #[cfg(debug_assertions)]
    counted::here();
}
