//! The lead, with real processes, real git and real signals.

#[path = "../support/mod.rs"]
#[expect(dead_code, reason = "these tests use a part of the support that all tests share")]
mod support;

mod bad_workers;
mod dialects;
mod ghosts;
mod killed_lead;
mod lies;
mod proof;
mod stories;
mod yard;
