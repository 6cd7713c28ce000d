//! `pipeline`: stories that go through stages 0 to 3, driven by a lead.

mod briefs;
mod checkpoint;
pub mod codes;
pub mod layout;
mod lead;
mod read;
mod resume;
mod rules;
mod scores;
mod state;
mod unit;
pub mod wire;
mod write;

pub use briefs::{Briefs, PROJECT_KEYS, STORY_KEYS, told};
pub use checkpoint::{Checkpoint, is_our_checkpoint, read_checkpoint};
pub use lead::{KnownStory, LeadState, LeadStory, known_stories, stage_of, standing, state_path, write_state};
pub use read::{Seen, read};
pub use resume::resume;
pub use scores::Scores;
pub use state::is_our_state;
pub use write::{documents, record};

#[cfg(test)]
mod tests;
