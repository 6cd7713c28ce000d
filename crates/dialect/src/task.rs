//! `task`: one agent's task with subtasks and acceptance criteria.

pub mod codes;
pub mod conflict;
pub mod layout;
mod read;
mod resume;
mod rules;
mod status_file;
pub mod wire;
mod write;

pub use conflict::conflicts;
pub use read::{claims_complete, is_ours, open_criteria, read_checkpoint};
pub use resume::resume;
pub use status_file::{check_status_file, managed_block};
pub use write::{StatusRow, awaited, documents, next_step, ready, record, status_block};

#[cfg(test)]
mod tests;
