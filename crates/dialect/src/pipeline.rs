//! `pipeline`: stories that go through stages 0 to 3, driven by a lead.

mod checkpoint;
pub mod codes;
pub mod layout;
mod read;
mod rules;
mod state;
mod unit;
pub mod wire;

pub use checkpoint::{Checkpoint, is_our_checkpoint, read_checkpoint};
pub use read::{Seen, read};
pub use state::is_our_state;

#[cfg(test)]
mod tests;
