use std::path::PathBuf;

use clap::{ArgMatches, Args, Subcommand};
use piton_engine::{clean_worktrees, restore_worktree, worktrees};

use crate::context::Context;
use crate::failure::Failure;
use crate::output::{print, print_json};
use crate::render;

#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  piton worktrees\n  piton worktrees clean --dry-run\n  piton worktrees restore story-7\n  piton worktrees restore story-7 --to /tmp/story-7\n\nclean removes a worktree only when Piton made it, everything in it is committed and merged, its unit is done and no\nprocess works in it. Before that, its files are kept as a snapshot: a commit below refs/piton/snapshots, outside of all\nbranches. The snapshot holds ignored files too, except dependencies and caches that tools make again. Ignored files that\nare too large for a snapshot keep their worktree."
)]
pub struct WorktreesArgs {
    #[command(subcommand)]
    action: Option<Action>,

    /// One JSON document
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Subcommand, Debug)]
enum Action {
    /// Remove worktrees that are clean and merged, each after a snapshot; list why others stay
    Clean {
        /// Print what would be done, change nothing
        #[arg(long)]
        dry_run: bool,
    },
    /// Restore a snapshot: the newest of a name, or NAME/TIME
    Restore {
        /// The worktree's name, such as story-7
        name: String,

        /// As plain files into DIR, instead of as a new worktree
        #[arg(long, value_name = "DIR")]
        to: Option<PathBuf>,
    },
}

pub fn run(matches: &ArgMatches, args: &WorktreesArgs) -> Result<u8, Failure> {
    let context = Context::new(matches)?;
    let (workspace, now) = (&context.workspace, context.now);
    let failed = |error| Failure::worktrees(&error);
    let (text, document) = match &args.action {
        None => {
            let found = worktrees(workspace, now).map_err(failed)?;
            (render::worktrees::list(&found), render::worktrees::list_json(&found, now))
        }
        Some(Action::Clean { dry_run }) => {
            let done = clean_worktrees(workspace, now, *dry_run).map_err(failed)?;
            (render::worktrees::cleaned(&done, *dry_run), render::worktrees::cleaned_json(&done, *dry_run))
        }
        Some(Action::Restore { name, to }) => {
            let restored = restore_worktree(workspace, name, to.as_deref()).map_err(failed)?;
            (render::worktrees::restored(&restored), render::worktrees::restored_json(&restored))
        }
    };
    match args.json {
        true => print_json(&document)?,
        false => print(&text)?,
    }
    Ok(0)
}
