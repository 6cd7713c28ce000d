use clap::{ArgMatches, Args};
use piton_engine::run::{Stopping, stop_run};

use super::run::failure;
use crate::context::Context;
use crate::failure::{Failure, NOTHING};
use crate::output::print;

#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  piton stop\n  piton stop --workers\n\nWhat is open can be gone on with: piton run"
)]
pub struct StopArgs {
    /// Ask the workers to end too, instead of waiting for them
    #[arg(long)]
    workers: bool,
}

pub fn run(matches: &ArgMatches, args: &StopArgs) -> Result<u8, Failure> {
    let context = Context::new(matches)?;
    match stop_run(&context.workspace, args.workers).map_err(|error| failure(&error))? {
        Stopping::Asked if args.workers => print("the lead was asked to stop its workers and to end\n")?,
        Stopping::Asked => print("the lead was asked to end; it waits for its workers\n")?,
        Stopping::Nobody => {
            return Err(Failure::new(NOTHING, "no lead is at work here").hint("start one with: piton run"));
        }
    }
    Ok(0)
}
