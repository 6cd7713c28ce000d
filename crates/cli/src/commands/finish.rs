use clap::{ArgMatches, Args};
use piton_model::Event;

use crate::failure::Failure;
use crate::recording::{self, Writing};

#[derive(Args, Debug)]
#[command(after_help = "Example:\n  piton finish task:migration/T060")]
pub struct FinishArgs {
    #[command(flatten)]
    writing: Writing,
}

pub fn run(matches: &ArgMatches, args: &FinishArgs) -> Result<u8, Failure> {
    let event = Event::Finished;
    recording::run(matches, &args.writing, "finish", &event)
}
