use clap::{ArgMatches, Args};
use piton_model::Event;

use crate::failure::Failure;
use crate::recording::{self, Writing};

#[derive(Args, Debug)]
#[command(
    after_help = "Example:\n  piton block task:migration/T060 --message 'the source is missing' --type dependency_missing"
)]
pub struct BlockArgs {
    #[command(flatten)]
    writing: Writing,

    /// What keeps it from going on
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    message: String,

    /// What kind of thing, such as dependency_missing
    #[arg(long = "type", value_name = "TYPE")]
    kind: Option<String>,
}

pub fn run(matches: &ArgMatches, args: BlockArgs) -> Result<u8, Failure> {
    let event = Event::Blocked { message: args.message, kind: args.kind };
    recording::run(matches, &args.writing, "block", &event)
}
