//! `plan`: a Markdown plan whose checkboxes are the truth, with a state file beside it.

pub mod codes;
pub mod layout;
pub mod markdown;
mod parse;
mod repeated;

pub use parse::{MAIN_PHASE, Mark, Parsed, Phase, Remark, parse};
