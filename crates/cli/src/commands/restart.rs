use clap::{ArgMatches, Args};
use piton_model::Event;

use crate::failure::Failure;
use crate::recording::{self, Writing};

#[derive(Args, Debug)]
#[command(after_help = "Example:\n  piton restart crew:Secondary-A")]
pub struct RestartArgs {
    #[command(flatten)]
    writing: Writing,

    /// Even if much work is recorded, or an agent seems to be alive
    #[arg(long)]
    force: bool,
}

pub fn run(matches: &ArgMatches, args: RestartArgs) -> Result<u8, Failure> {
    let event = Event::Restarted { force: args.force };
    recording::run(matches, &args.writing, "restart", &event)
}
