//! `build`: a PRD that is built in phases of parallel workstreams.

mod checkpoint;
pub mod codes;
mod gates;
pub mod layout;
mod read;
mod rules;
mod spec;
mod spec_rules;
mod unit;
pub mod wire;

pub use checkpoint::is_ours;
pub use read::{FoundSpec, Wanted, read_checkpoint};
pub use spec::{GateRule, Phase, Spec, SpecReading, Workstream, prd_of, read_spec};

#[cfg(test)]
mod tests;
