//! Files of a workspace, safely: bounded, never through a link that leads out, never blocking.
//!
//! A repository is untrusted input. What is read here is decided by the caller; how it is opened is decided
//! here, once.

mod commit;
mod compact;
mod contact;
mod deferred;
pub mod disk;
mod finish;
mod glance;
mod history;
pub mod journal;
mod locate;
mod lock_file;
mod overlaid;
mod parents;
mod read;
mod reader;
mod real;
mod replace;
#[cfg(test)]
mod scratch;
pub mod seal;
mod secret;
mod seen;
mod short_log;
mod stop;
mod stray;
mod unit;
mod walk;

pub use locate::{Located, locate};
pub use read::{Content, LARGEST, ReadError, Tree, read_named};
pub use reader::Reader;
pub use replace::{lock_shared, replace};
pub use short_log::append_bounded;
pub use walk::{SKIPPED, walk};

pub use commit::{CommitError, NewEntry};
pub use compact::{CompactError, Compacted, Keep};
pub use contact::{Contact, ContactError, Observation};
pub use glance::{Behind, Glance};
pub use history::{History, Log};
pub use lock_file::{Asked, LockFile, LockState};
pub use overlaid::Overlaid;
pub use secret::keep_secret;
pub use seen::{SeenContent, SeenDocument};
pub use unit::{Key, LockedUnit, holder_of};
