use clap::{ArgMatches, Args};
use piton_model::Event;

use crate::failure::Failure;
use crate::recording::{self, Writing};

#[derive(Args, Debug)]
#[command(after_help = "Example:\n  piton unblock task:migration/T060")]
pub struct UnblockArgs {
    #[command(flatten)]
    writing: Writing,

    /// The one blocker that is gone [default: all of them]
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    message: Option<String>,
}

pub fn run(matches: &ArgMatches, args: UnblockArgs) -> Result<u8, Failure> {
    let event = Event::Unblocked { which: args.message };
    recording::run(matches, &args.writing, "unblock", &event)
}
