//! Worker processes, what they print, and the git worktrees that they work in.
//!
//! **The lead is disposable**, so nothing of a worker hangs on it. A worker is held by a *keeper*: this program again
//! (`piton keep`), in a session of its own, that starts the worker, keeps its output in bounded files, waits for it,
//! writes down how it ended, and ends what it left behind. Whoever leads next finds keeper and worker by what stands
//! in the worker's *home*, a directory.
//!
//! Everything here is synchronous. Nothing here knows a dialect or opens a document.

mod adapter;
mod end;
mod environment;
mod full;
mod git;
mod home;
mod identity;
mod keeper;
mod launch;
mod output;
mod process;
mod readable;
mod tree;
mod watch;
mod worker;
mod worktree;

#[cfg(test)]
mod scratch;

pub use adapter::{
    Adapter, Agent, Allow, CommandLine, Denied, Grants, Kind, Limit, LimitCause, LimitScope, Login, Outcome, PromptBy,
    Reading, Remedy, ResultSeen, Seen, Spent, Tokens, Trace, Transcript, Wait, Work, commit_directories, is_in_git,
    login, new_session_id, quoted, simple_commands,
};
pub use end::{End, Exit, Signs};
pub use environment::clear_foreign;
pub use git::{GitError, are_commits, has_removed, is_ignored, tree_of};
pub use identity::Identity;
pub use keeper::keep;
pub use launch::{About, Input, Launch, Spool};
pub use output::{Line, LineReader, Stream, tail};
pub use readable::readable;
pub use watch::{Wake, Watch};
pub use worker::{AdoptError, Condition, Gently, KeeperProgram, Sight, StartError, StopError, Worker};
pub use worktree::{
    Advanced, Candidate, Created, Creation, Dropped, ExistingBranch, Head, InTree, Kept, LeftBranch, Listed, Maker,
    Merging, NewWorktree, Prepared, Removal, Repository, RestoreTo, Restored, Scratch, Snapshot, Statistics, Stray,
    WorktreeState, around_made, left_name,
};
