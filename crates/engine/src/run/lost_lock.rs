//! `.piton` goes while a lead is at work: with `git clean -fdx`, or with the workspace. Its lock went with it, so another lead
//! could begin beside it; and no command would find its workers.

use piton_model::fleet::LaneAt;

use super::lead::Lead;
use super::{LOCK, RunError, failed};
use crate::Workspace;

/// What is told and returned when the lock is lost.
const LOST: &str = "`.piton` was removed while this lead was at work";

/// The file at the lock's place, as the disk knows it.
pub(super) fn lock_file(workspace: &Workspace) -> Option<u64> {
    workspace.disk.stamp(LOCK).ok().flatten().map(|stamp| stamp.inode)
}

impl Lead<'_> {
    /// Whether the file that this lead holds locked is not the lock any more. A disk that does not answer says nothing.
    pub(super) fn is_lock_lost(&self) -> bool {
        let now = self.workspace.disk.stamp(LOCK).map(|stamp| stamp.map(|stamp| stamp.inode));
        now.is_ok_and(|now| now != self.lock)
    }

    /// Refuses to lead on without the lock.
    pub(super) fn refuse_lost_lock(&self) -> Result<(), RunError> {
        if self.is_lock_lost() { Err(failed(LOST)) } else { Ok(()) }
    }

    /// Ends all workers and commands by what this lead still knows of them. No later command would find them: their homes are
    /// gone.
    pub(super) fn leave_lost_workspace(&mut self) -> RunError {
        let mut lanes: Vec<LaneAt> = self.live.keys().copied().collect();
        lanes.sort_unstable();
        for at in &lanes {
            self.live[at].worker.end_by_mark();
        }
        self.commands.values().for_each(super::commands::LiveCommand::end_by_mark);
        let workers = match lanes.len() {
            1 => "its worker was ended".to_owned(),
            count => format!("its {count} workers were ended"),
        };
        failed(format!("{LOST}; {workers}; what is committed is on the branches of its units"))
    }
}
