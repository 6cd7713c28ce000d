//! The lead, with real processes, real git and real signals.

#[path = "../support/mod.rs"]
#[expect(dead_code, reason = "these tests use a part of the support that all tests share")]
mod support;

mod approvals;
mod bad_workers;
mod bases;
mod between;
mod by_the_book;
mod claims;
mod clients;
mod clocks;
mod continued;
mod delisted;
mod dialects;
mod doors;
mod everything_killed;
mod explain;
mod forewarned;
mod ghosts;
mod gone;
mod held;
mod hints;
mod homes;
mod killed_lead;
mod lies;
mod limits;
mod made;
mod meanwhile;
mod next_steps;
mod output;
mod outside;
mod own_gates;
mod places;
mod proof;
mod pty;
mod requests;
mod seen_to;
mod signs;
mod spec_changes;
mod stopped_lead;
mod stories;
mod surroundings;
mod taken_back;
mod taken_over;
mod terminal;
mod two_runs;
mod unmerged;
mod ways_out;
mod whose_word;
mod withdrawn;
mod yard;
