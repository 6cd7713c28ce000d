//! What tests stand on: a disk in memory that stops, loses power, fails, and has other users; a worker that does what a
//! script says.
//!
//! No crate is built from this one; tests alone may use it.

mod crash;
mod effect;
mod handle;
mod loss;
mod outside;
mod program;
mod scripted;
mod state;

pub use crash::CrashDisk;
pub use effect::{Fault, Kind, Stop};
pub use loss::PowerLoss;
pub use outside::File;
pub use program::write_program;
pub use scripted::ScriptedWorker;
