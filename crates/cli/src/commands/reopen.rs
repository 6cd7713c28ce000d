use clap::{ArgMatches, Args};
use piton_model::Event;

use crate::failure::Failure;
use crate::recording::{self, Writing};

#[derive(Args, Debug)]
#[command(after_help = "Example:\n  piton reopen task:migration/T060")]
pub struct ReopenArgs {
    #[command(flatten)]
    writing: Writing,
}

pub fn run(matches: &ArgMatches, args: &ReopenArgs) -> Result<u8, Failure> {
    let event = Event::Reopened;
    recording::run(matches, &args.writing, "reopen", &event)
}
