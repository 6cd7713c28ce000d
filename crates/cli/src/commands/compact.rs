use clap::{ArgMatches, Args};
use piton_engine::{CompactRequest, compact};

use crate::context::Context;
use crate::failure::{Failure, USAGE};
use crate::output::print;
use crate::recording::{Writing, acknowledge, unit};

#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  piton compact build:PRD-009\n  piton compact build:PRD-009 --keep 20 --keep-version 3 --keep-version 12\n\nNumbers do not change. What is left out cannot be shown or rolled back to any more."
)]
pub struct CompactArgs {
    #[command(flatten)]
    writing: Writing,

    /// How many of the newest versions stay [default: 100]
    #[arg(long, value_name = "N", default_value_t = 100, hide_default_value = true)]
    keep: u64,

    /// Version K stays, however old it is; may be repeated
    #[arg(long = "keep-version", value_name = "K")]
    named: Vec<String>,
}

pub fn run(matches: &ArgMatches, args: &CompactArgs) -> Result<u8, Failure> {
    let wanted = unit(&args.writing.unit)?;
    let named = args.named.iter().map(|typed| version(typed)).collect::<Result<_, _>>()?;
    let context = Context::new(matches)?;
    let recorder = args.writing.writer.recorder(&context, "compact")?;
    let request = CompactRequest { newest: args.keep, named };
    match compact(&context.workspace, &wanted, &request, &recorder).map_err(|error| Failure::record(&wanted, &error))? {
        Some(recorded) => acknowledge(&recorded),
        None => {
            print(&format!("{wanted} has nothing to leave out\n"))?;
            Ok(0)
        }
    }
}

/// A version's number, with or without its `@`.
fn version(typed: &str) -> Result<u64, Failure> {
    let number = typed.strip_prefix('@').unwrap_or(typed);
    number
        .parse()
        .map_err(|_| Failure::new(USAGE, format!("a version is a number: {typed}")).hint("such as --keep-version 12"))
}
