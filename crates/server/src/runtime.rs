//! The async runtime: one thread for the protocol, and a few for the engine, which blocks.

use std::io;
use std::time::Duration;

/// How many calls may wait for a disk or a lock at the same time.
const BLOCKING: usize = 16;

/// How long calls that still run are waited for at the end. None waits longer for a lock.
const PATIENCE: Duration = Duration::from_secs(60);

/// Runs a future to its end.
pub fn run<T>(future: impl Future<Output = T>) -> io::Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .max_blocking_threads(BLOCKING)
        .thread_keep_alive(Duration::from_secs(5))
        .build()?;
    let output = runtime.block_on(future);
    // Whatever was begun is finished: a journal survives being cut off, but the next one would have to mend it.
    runtime.shutdown_timeout(PATIENCE);
    Ok(output)
}
