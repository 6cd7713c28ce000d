//! What a lead of a pipeline reads and writes: the state of all stories.

mod known;
mod write;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use piton_model::Time;

use super::briefs::Briefs;
use super::layout;

pub use known::{KnownStory, known_stories};
pub use write::{WrittenState, write_state};

/// Where the lead's state is, below a project.
pub fn state_path() -> String {
    format!("{}/state.json", layout::DIRECTORY)
}

/// What the lead knows of one story.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LeadStory {
    /// Its id.
    pub id: String,
    /// Where it stands, when only the lead can say: a story that has begun records that itself.
    pub standing: Option<&'static str>,
    /// Why the lead paused it, while its own record cannot say so.
    pub pause: Option<String>,
    /// Whether an earlier lead put it off, and this one does not.
    pub requeued: bool,
    /// Whether it is neither done nor paused.
    pub remains: bool,
    /// Its worker, while it has one.
    pub worker: Option<String>,
    /// What was granted: reworks, validations, respawns.
    pub reworks: u32,
    /// See [`LeadStory::reworks`].
    pub no_gos: u32,
    /// See [`LeadStory::reworks`].
    pub crashes: u32,
    /// What each stage resulted in.
    pub results: BTreeMap<u8, String>,
    /// Its worktree, relative to the project.
    pub worktree: Option<String>,
    /// What it waits for.
    pub depends_on: Vec<String>,
    /// When each stage began and ended.
    pub times: BTreeMap<u8, (Option<Time>, Option<Time>)>,
    /// Lines added, lines deleted, files changed.
    pub git: Option<(u64, u64, u64)>,
    /// The readiness that its validation gave.
    pub readiness: Option<f64>,
}

/// What a lead writes down on every heartbeat and transition.
#[derive(Debug, Clone, PartialEq)]
pub struct LeadState {
    /// Whether the pipeline has ended.
    pub complete: bool,
    /// When it began.
    pub started: Time,
    /// The name of the team of workers.
    pub team: String,
    /// What the settings tell workers about the project and its stories; what the state says already stays.
    pub briefs: Briefs,
    /// The stories, the most urgent first.
    pub stories: Vec<LeadStory>,
    /// What went wrong that is no story's fault: phase, kind, message.
    pub issues: Vec<(String, String, String)>,
    /// Stories that the user took out of their list before they began: the state does not name them any more.
    pub taken_out: Vec<String>,
}
