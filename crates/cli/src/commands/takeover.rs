use clap::{ArgMatches, Args};
use piton_model::Event;

use crate::failure::Failure;
use crate::recording::{self, Writing};

#[derive(Args, Debug)]
#[command(after_help = "Example:\n  piton takeover crew:Secondary-A --as Secondary-C")]
pub struct TakeoverArgs {
    #[command(flatten)]
    writing: Writing,

    /// The agent that takes it over
    #[arg(long = "as", value_name = "AGENT")]
    agent: String,
}

pub fn run(matches: &ArgMatches, args: TakeoverArgs) -> Result<u8, Failure> {
    let event = Event::TakenOver { agent: args.agent };
    recording::run(matches, &args.writing, "takeover", &event)
}
