//! The real binary from outside: arguments in, output and exit code out.

#[path = "../support/mod.rs"]
mod support;

mod check;
mod clock;
mod compact;
mod doctor;
mod epic_locks;
mod hook;
mod hook_hostile;
mod hostile;
mod init;
mod json_contract;
mod messages;
mod pipeline_tasks;
mod places;
mod resume_git;
mod schema;
mod situations;
mod stale;
mod status;
mod sync;
mod takeover;
mod usage;
mod walks;
mod why;
mod worktrees;
mod write_build;
mod write_crew;
mod write_outside;
mod write_pipeline;
mod write_plan;
mod write_refusals;
mod write_surroundings;
mod write_task;
mod write_texts;
