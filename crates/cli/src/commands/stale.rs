use clap::{ArgMatches, Args};
use piton_engine::stale;

use crate::context::Context;
use crate::failure::{FOUND_STALE, Failure};
use crate::output::{print, print_json};
use crate::render;

#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  piton stale\n  piton stale --json\n\nExit code 7 when anybody is listed. `piton why UNIT` says which sign decided."
)]
pub struct StaleArgs {
    /// One JSON document
    #[arg(long)]
    json: bool,
}

pub fn run(matches: &ArgMatches, args: &StaleArgs) -> Result<u8, Failure> {
    let context = Context::new(matches)?;
    let rows = stale(&context.workspace, context.now);
    if args.json {
        print_json(&render::json::stale(&rows, context.now))?;
    } else {
        print(&render::report::stale(&rows, context.color, context.width))?;
    }
    Ok(if rows.is_empty() { 0 } else { FOUND_STALE })
}
