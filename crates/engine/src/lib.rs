//! The operations that every door calls.
//!
//! A door (command, hook, tool) translates in, calls one function here, and translates out. Nothing here
//! prints or parses arguments.

mod check;
mod find;
mod parallel;
mod status;
mod survey;
mod why;
mod workspace;

pub use check::{CheckError, Checked, Target, check};
pub use find::{Found, NotFound, find};
pub use status::{stale, status};
pub use why::{Reason, why};
pub use workspace::{OpenError, Workspace};
