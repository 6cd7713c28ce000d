//! The operations that every door calls.
//!
//! A door (command, hook, tool) translates in, calls one function here, and translates out. Nothing here
//! prints or parses arguments.

mod check;
mod compact;
mod crew;
mod doctor;
mod evidence;
mod find;
mod half_written;
mod history;
mod hook;
mod in_git;
mod instructions;
mod journals;
pub mod json;
mod life;
mod lost;
mod messages;
mod next;
mod notify;
mod output;
mod parallel;
mod person;
mod persons_word;
mod preview;
mod problem;
mod record;
mod repair;
mod resume;
mod retries;
pub mod run;
mod setup;
mod status;
mod survey;
mod sync;
mod takeover;
mod target;
mod watch;
mod why;
mod workspace;
mod worktrees;
mod writer;

pub use check::{CheckError, Checked, Target, check};
pub use compact::{CompactRequest, compact};
pub use doctor::{Checkup, Health, Programs, doctor};
pub use evidence::{Trust, approve, gate_command, is_approved, run_evidence};
pub use find::{Found, NotFound, find, find_or_led, step_numbers};
pub use history::{UnitLog, Version, log, rollback, show, touched};
pub use hook::{HookDone, Surroundings, fired, hook, hook_fired, hook_log};
pub use messages::{Inbox, NewMessage, PRIMARY, ReadMessage, check_inbox, inbox, mark_read, send};
pub use next::next_step;
pub use notify::{Notified, notify};
pub use output::{
    KeptWorker, LastWords, NoWorker, OutputReader, Piece, WorkerQuery, find_worker, last_words, workers_of,
};
pub use person::{Unblocking, UserInstruction, approve_review, unblock, user_instructions};
pub use piton_store::Log;
pub use piton_supervisor::{GitError, Restored, Sight, Snapshot, Stream, clear_foreign, keep};
pub use preview::preview;
pub use problem::{Problem, ProblemKind};
pub use record::{RecordError, Recorded, Recorder, record};
pub use repair::{repair, repairable};
pub use resume::{ResumeRequest, Resumption, resumable, resume};
pub use setup::{Setup, SetupFile, SetupRequest, apply_setup, plan_setup, write_plugin};
pub use status::{stale, status};
pub use sync::{SyncPoint, sync};
pub use takeover::{Force, take_over};
pub use watch::Watch;
pub use why::{Reason, why};
pub use workspace::{OpenError, Workspace, keep_secret, read_named_text};
pub use worktrees::{Cleaned, WorktreeRow, Worktrees, WorktreesError, clean_worktrees, restore_worktree, worktrees};
pub use writer::Writer;
