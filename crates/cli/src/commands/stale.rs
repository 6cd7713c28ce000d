use clap::{ArgMatches, Args};
use piton_engine::{notify, stale};
use piton_model::Audience;

use crate::context::Context;
use crate::failure::{FOUND_STALE, Failure};
use crate::output::{print, print_json};
use crate::recording::{Writer, warn};
use crate::render;

#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  piton stale\n  piton stale --json\n  piton stale --notify\n\nExit code 7 when anybody is listed. `piton why UNIT` says which sign decided. Nothing is written without --notify."
)]
pub struct StaleArgs {
    /// Warn silent agents of crews in their inboxes, mark those that crashed in the epic, and show how to recover them
    #[arg(long)]
    notify: bool,

    /// One JSON document
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    writer: Writer,
}

pub fn run(matches: &ArgMatches, args: &StaleArgs) -> Result<u8, Failure> {
    let context = Context::new(matches)?;
    let rows = stale(&context.workspace, context.now);
    let notified = match args.notify {
        true => notify(&context.workspace, &args.writer.recorder(&context, "stale")?)
            .map_err(|error| Failure::record("the crew", &error))?,
        false => Vec::new(),
    };
    for recorded in notified.iter().filter_map(|notified| notified.recorded.as_ref()) {
        warn(&recorded.warnings);
    }
    if args.json {
        let mut document = render::json::stale(&rows, context.now);
        if args.notify {
            document["notified"] = render::json::notified(&notified, Audience::Shell);
        }
        print_json(&document)?;
    } else {
        print(&render::report::stale(&rows, context.color, context.width))?;
        print(&render::crew::notified(&notified))?;
    }
    Ok(if rows.is_empty() { 0 } else { FOUND_STALE })
}
