//! Files of a workspace, safely: bounded, never through a link that leads out, never blocking.
//!
//! A repository is untrusted input. What is read here is decided by the caller; how it is opened is decided
//! here, once.

mod locate;
mod read;
mod reader;
mod walk;

pub use locate::{Located, locate};
pub use read::{Content, LARGEST, ReadError, Tree, read_named};
pub use reader::Reader;
pub use walk::{SKIPPED, walk};
