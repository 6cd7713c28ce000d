//! `plan`: a Markdown plan whose checkboxes are the truth, with a state file beside it.

mod alignment;
pub mod codes;
mod compare;
mod excerpt;
mod history;
pub mod layout;
pub mod markdown;
mod own;
mod parse;
mod read;
mod repeated;
mod resume;
mod set;
mod sketch;
mod standing;
mod state;
pub mod wire;
mod write;

pub use alignment::{Alignment, alignment, may_be_marked};
pub use excerpt::{TaskExcerpt, excerpt};
pub use history::{HistoryReading, led_since, read_history, was_complete};
pub use parse::{MAIN_PHASE, Mark, Parsed, Phase, Remark, Unmarked, parse};
pub use read::{PlanFiles, checksum, is_recovery, is_state, read};
pub use resume::resume;
pub use set::{with_boxes, with_remarks, with_ticks, words};
pub use sketch::{Sketch, sketch};
pub use write::{documents, record};
