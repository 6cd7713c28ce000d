//! `crew`: one agent's feature in a crew of a primary and secondaries, in stages S2.P1 to S2.P3.

pub mod codes;
mod companions;
mod epic;
mod fields;
mod handoff;
mod keys;
pub mod layout;
mod lines;
mod lock;
mod mail;
mod markdown;
mod messages;
mod read;
mod resume;
mod rules;
mod standing;
mod status_file;
mod watch;
pub mod wire;
mod write;

pub use companions::{Mailbox, add_section, add_status};
pub use epic::{Section, read_epic};
pub use fields::Field;
pub use handoff::handoff;
pub use lock::{Lock, lock_of};
pub use mail::{Letter, Mail, check_inbox, inbox, mark_read, send};
pub use markdown::read_markdown;
pub use messages::{Mark, Message, read_messages};
pub use read::{is_ours, is_whole, read_checkpoint};
pub use resume::resume;
pub use standing::has_done_its_part;
pub use status_file::{StatusFile, compare_status, read_status_file, unit_of_status};
pub use watch::{AtSync, Notice, Watch, sync_ready, watch};
pub use write::{documents, record, status_files, step_numbers};

#[cfg(test)]
mod tests;
