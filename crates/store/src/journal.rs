//! The journal of a unit: what happened to it, line by line, and every version of its documents.
//!
//! A line is a JSON object that ends with a checksum over itself and the checksum of the line before. There are three
//! kinds: the head (whose journal this is), a snapshot (all of a document), and an event. An event says what it did to
//! each document as a splice of the version before, and carries where every document of the unit stands. So the last
//! line alone is enough to go on from, however long the journal is.

mod entry;
mod line;
mod splice;
mod tail;
mod versions;
mod writing;

pub use entry::{DocumentState, Entry, FileChange, Head};
pub use line::{Hash, Line};
pub use splice::Splice;

pub(crate) use line::{Parsed, parse_line, parse_unsummed, seal_event, seal_head, seal_snapshot};
pub(crate) use splice::{Text, common_end, common_start};
pub(crate) use tail::last_event;
pub(crate) use versions::{Reader, rebuild, rebuild_known};
