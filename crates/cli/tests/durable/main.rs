//! Many real processes, really killed: nothing acknowledged is lost, no document is ever torn.

#[path = "../support/mod.rs"]
#[expect(dead_code, reason = "these tests use a part of the support that all tests share")]
mod support;

mod contention;
mod editors;
mod killed;
mod process;
