use clap::{ArgMatches, Args};
use piton_model::Event;

use crate::failure::Failure;
use crate::recording::{self, Writing};

#[derive(Args, Debug)]
#[command(after_help = "Example:\n  piton pause pipeline:PROJ-42 --reason 'waiting for the release'")]
pub struct PauseArgs {
    #[command(flatten)]
    writing: Writing,

    /// Why
    #[arg(long, visible_alias = "message", value_name = "TEXT", allow_hyphen_values = true)]
    reason: Option<String>,
}

pub fn run(matches: &ArgMatches, args: PauseArgs) -> Result<u8, Failure> {
    let event = Event::Paused { reason: args.reason };
    recording::run(matches, &args.writing, "pause", &event)
}
