use clap::{ArgMatches, Args};
use piton_engine::{find_or_led, last_words, next_step};
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
    let found =
        find_or_led(&context.workspace, &wanted, context.now).map_err(|error| Failure::not_found(&wanted, &error))?;
    let directory = std::env::current_dir().unwrap_or_else(|_| context.workspace.root().to_owned());
    let next = next_step(&context.workspace, &found, &directory, context.now).to_string();
    let words = last_words(&context.workspace, &found.name, &found.unit);
    if args.json {
        let mut document = render::json::why(&found, context.now);
        document["next"] = next.into();
        document["last_worker"] = words.as_ref().map(render::json::last_words).into();
        print_json(&document)?;
    } else {
        let text = render::why::text(&found, &next, context.color, context.now);
        print(&(text + &render::unit::last_words(words.as_ref(), context.color)))?;
    }
    Ok(0)
}
