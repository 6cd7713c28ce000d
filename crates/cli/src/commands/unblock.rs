use clap::{ArgMatches, Args};
use piton_model::Event;

use crate::failure::Failure;
use crate::recording::{self, Writing};

#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  piton unblock task:migration/T060\n  piton unblock pipeline:PROJ-42 --message 'use the staging database'"
)]
pub struct UnblockArgs {
    #[command(flatten)]
    writing: Writing,

    /// Answer or instruction for the next worker of the unit
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    message: Option<String>,

    /// The one blocker that is gone [default: all of them]
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    blocker: Option<String>,
}

pub fn run(matches: &ArgMatches, args: UnblockArgs) -> Result<u8, Failure> {
    let event = Event::Unblocked { which: args.blocker, answer: args.message };
    recording::run(matches, &args.writing, "unblock", &event)
}
