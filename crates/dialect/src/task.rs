//! `task`: one agent's task with subtasks and acceptance criteria.

pub mod codes;
pub mod conflict;
pub mod layout;
mod read;
mod rules;
mod status_file;
pub mod wire;

pub use conflict::conflicts;
pub use read::{is_ours, read_checkpoint};
pub use status_file::{check_status_file, managed_block};

#[cfg(test)]
mod tests;
