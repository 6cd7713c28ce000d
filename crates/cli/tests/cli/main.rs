//! The real binary from outside: arguments in, output and exit code out.

#[path = "../support/mod.rs"]
mod support;

mod check;
mod compact;
mod hostile;
mod json_contract;
mod messages;
mod places;
mod schema;
mod stale;
mod status;
mod sync;
mod takeover;
mod usage;
mod why;
