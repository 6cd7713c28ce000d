use clap::{ArgMatches, Args};
use piton_model::Event;

use crate::failure::Failure;
use crate::recording::{self, Writing};

#[derive(Args, Debug)]
#[command(after_help = "Example:\n  piton beat crew:Secondary-A")]
pub struct BeatArgs {
    #[command(flatten)]
    writing: Writing,
}

pub fn run(matches: &ArgMatches, args: &BeatArgs) -> Result<u8, Failure> {
    let event = Event::Beat;
    recording::run(matches, &args.writing, "beat", &event)
}
