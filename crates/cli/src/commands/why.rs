use clap::{ArgMatches, Args};
use piton_engine::find;
use piton_model::UnitRef;

use crate::context::Context;
use crate::failure::Failure;
use crate::output::{print, print_json};
use crate::render;

#[derive(Args, Debug)]
#[command(after_help = "Example:\n  piton why crew:Secondary-A")]
pub struct WhyArgs {
    /// The unit
    #[arg(value_name = "UNIT")]
    unit: String,

    /// One JSON document
    #[arg(long)]
    json: bool,
}

pub fn run(matches: &ArgMatches, args: &WhyArgs) -> Result<u8, Failure> {
    let wanted = UnitRef::parse(&args.unit).map_err(|error| Failure::bad_unit(&args.unit, &error))?;
    let context = Context::new(matches)?;
    let found = find(&context.workspace, &wanted, context.now).map_err(|error| Failure::not_found(&wanted, &error))?;
    if args.json {
        print_json(&render::json::why(&found, context.now))?;
    } else {
        print(&render::why::text(&found, context.color))?;
    }
    Ok(0)
}
