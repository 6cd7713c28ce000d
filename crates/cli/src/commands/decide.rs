use clap::{ArgMatches, Args};
use piton_model::Event;

use crate::failure::Failure;
use crate::recording::{self, Writing};

#[derive(Args, Debug)]
#[command(after_help = "Example:\n  piton decide plan:260220-1149-feature 'use SQLite' --reason 'one file, no server'")]
pub struct DecideArgs {
    #[command(flatten)]
    writing: Writing,

    /// What was decided
    #[arg(value_name = "TEXT", allow_hyphen_values = true)]
    text: String,

    /// Why
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    reason: Option<String>,
}

pub fn run(matches: &ArgMatches, args: DecideArgs) -> Result<u8, Failure> {
    let event = Event::Decided { text: args.text, reason: args.reason };
    recording::run(matches, &args.writing, "decide", &event)
}
