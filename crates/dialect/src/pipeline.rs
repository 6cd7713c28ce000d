//! `pipeline`: stories that go through stages 0 to 3, driven by a lead.

mod checkpoint;
pub mod codes;
pub mod layout;
mod read;
mod resume;
mod rules;
mod state;
mod unit;
pub mod wire;
mod write;

pub use checkpoint::{Checkpoint, is_our_checkpoint, read_checkpoint};
pub use read::{Seen, read};
pub use resume::resume;
pub use state::is_our_state;
pub use write::{documents, record};

#[cfg(test)]
mod tests;
