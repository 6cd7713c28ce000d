//! `build`: a PRD that is built in phases of parallel workstreams.

mod checkpoint;
pub mod codes;
mod command;
mod excerpt;
mod find_spec;
mod gates;
pub mod layout;
mod lists;
mod read;
mod resume;
mod rules;
mod set;
mod spec;
mod spec_rules;
mod unit;
pub mod wire;
mod write;

pub use checkpoint::is_ours;
pub use command::{gate_command, spec_of};
pub use excerpt::{StreamExcerpt, excerpt};
pub use read::{FoundSpec, Wanted, read_checkpoint};
pub use resume::{question, resume};
pub use set::with_workstreams;
pub use spec::{GateRule, Phase, Spec, SpecReading, Workstream, prd_of, read_spec};
pub use unit::{claims_complete, is_refused, waits_for_person};
pub use write::{documents, record};

#[cfg(test)]
mod tests;
