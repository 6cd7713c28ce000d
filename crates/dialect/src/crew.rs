//! `crew`: one agent's feature in a crew of a primary and secondaries, in stages S2.P1 to S2.P3.

pub mod codes;
pub mod layout;
mod read;
pub mod wire;

pub use read::{is_ours, read_checkpoint};
