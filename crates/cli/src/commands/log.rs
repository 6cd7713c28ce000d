use clap::{ArgMatches, Args};
use piton_engine::log;

use crate::context::Context;
use crate::failure::Failure;
use crate::output::{print, print_json};
use crate::recording::{unit, warn};
use crate::render;

#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  piton log build:PRD-009\n  piton log build:PRD-009 --last 5 --json")]
pub struct LogArgs {
    /// The unit
    #[arg(value_name = "UNIT")]
    unit: String,

    /// Only the newest N events
    #[arg(long, value_name = "N")]
    last: Option<usize>,

    /// One JSON document
    #[arg(long)]
    json: bool,
}

pub fn run(matches: &ArgMatches, args: &LogArgs) -> Result<u8, Failure> {
    let wanted = unit(&args.unit)?;
    let context = Context::new(matches)?;
    let mut found = log(&context.workspace, &wanted, context.now).map_err(|error| Failure::record(&wanted, &error))?;
    if let Some(at) = found.log.broken_at {
        let torn = format!("the journal of {} is whole up to byte {at}; the next record cuts what is torn", found.unit);
        warn(&[torn.into()]);
    }
    if let Some(last) = args.last {
        let skipped = found.log.events.len().saturating_sub(last);
        found.log.events.drain(..skipped);
    }
    match args.json {
        true => print_json(&render::json::log(&found))?,
        false => print(&render::history::text(&found))?,
    }
    Ok(0)
}
