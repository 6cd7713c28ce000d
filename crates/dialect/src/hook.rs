//! What a coding agent's host tells a hook, and what a hook answers. All of it is decided here from bytes; nothing is
//! opened.

mod claims;
mod payload;
mod reply;

pub use claims::{claimed, named};
pub use payload::{BadPayload, EVENTS, Helper, Payload, Source, Told, read};
pub use reply::{CONTEXT_BUDGET, Reply, reaches_model};
