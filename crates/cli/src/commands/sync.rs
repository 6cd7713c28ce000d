use clap::{ArgMatches, Args};
use piton_engine::sync;

use crate::context::Context;
use crate::failure::{FOUND_STALE, Failure};
use crate::output::{print, print_json};
use crate::render;

#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  piton sync\n  piton sync epics/e7 --json\n\nA crew is ready when every secondary is complete, ready for sync, not blocked, and was heard of within the hour or finished by a run.\nExit code 7 when anybody is missing."
)]
pub struct SyncArgs {
    /// The directory of the crew's epic; without it every crew
    #[arg(value_name = "EPIC")]
    epic: Option<String>,

    /// One JSON document
    #[arg(long)]
    json: bool,
}

pub fn run(matches: &ArgMatches, args: &SyncArgs) -> Result<u8, Failure> {
    let context = Context::new(matches)?;
    let points =
        sync(&context.workspace, args.epic.as_deref(), context.now).map_err(|refusal| Failure::refused(&refusal))?;
    match args.json {
        true => print_json(&render::json::sync(&points, context.now))?,
        false => print(&render::crew::sync(&points))?,
    }
    Ok(if points.iter().all(|point| point.missing.is_empty()) { 0 } else { FOUND_STALE })
}
