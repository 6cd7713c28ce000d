//! `pipeline`: stories that go through stages 0 to 3, driven by a lead.

mod briefs;
mod checkpoint;
pub mod codes;
mod judge;
pub mod layout;
mod lead;
mod read;
mod resume;
mod rules;
mod scores;
mod standing;
mod state;
mod tasks;
mod unit;
pub mod wire;
mod write;

pub use briefs::{Briefs, PROJECT_KEYS, STORY_KEYS, told};
pub use checkpoint::{Checkpoint, is_our_checkpoint, read_checkpoint, read_remembering};
pub use lead::{KnownStory, LeadState, LeadStory, WrittenState, known_stories, state_path, write_state};
pub use read::{Seen, read};
pub use resume::{continues_at, resume, resume_block};
pub use scores::Scores;
pub use standing::{lacks_plan, must_enter, stage_of, stage_results, standing, story_tasks};
pub use state::is_our_state;
pub use tasks::{Plan, StoryTask, TaskState, remember};
pub use write::{NO_PLANNING, NO_VALIDATION, OWN_STAGE, beyond_stage, documents, record};

#[cfg(test)]
mod tests;
