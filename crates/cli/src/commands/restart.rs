use clap::{ArgMatches, Args};
use piton_model::Event;

use crate::failure::Failure;
use crate::recording::{self, Writing};

#[derive(Args, Debug)]
#[command(
    after_help = "Example:\n  piton restart crew:Secondary-A\n\nFor an agent of a crew it prints what to paste into its new session."
)]
pub struct RestartArgs {
    #[command(flatten)]
    writing: Writing,

    /// Even if much work is recorded, or an agent seems to be alive
    #[arg(long)]
    force: bool,

    /// One JSON document
    #[arg(long)]
    json: bool,
}

pub fn run(matches: &ArgMatches, args: RestartArgs) -> Result<u8, Failure> {
    let event = Event::Restarted { force: args.force };
    recording::hand_off(&recording::happen(matches, &args.writing, "restart", &event)?, args.json)
}
