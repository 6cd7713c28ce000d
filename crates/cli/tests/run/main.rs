//! The lead, with real processes, real git and real signals.

#[path = "../support/mod.rs"]
#[expect(dead_code, reason = "these tests use a part of the support that all tests share")]
mod support;

mod approvals;
mod bad_workers;
mod between;
mod claims;
mod clients;
mod clocks;
mod dialects;
mod doors;
mod explain;
mod ghosts;
mod hints;
mod homes;
mod killed_lead;
mod lies;
mod limits;
mod output;
mod outside;
mod proof;
mod pty;
mod requests;
mod signs;
mod stopped_lead;
mod stories;
mod surroundings;
mod terminal;
mod two_runs;
mod unmerged;
mod ways_out;
mod whose_word;
mod yard;
