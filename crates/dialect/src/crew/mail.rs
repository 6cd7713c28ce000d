//! Messages that are sent, listed and marked as read.

use crate::Files;

/// How many messages an agent has not read.
pub(super) fn unread(files: &dyn Files, base: &str, agent: &str) -> u64 {
    let _ = (files, base, agent);
    0
}
