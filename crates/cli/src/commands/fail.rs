use clap::{ArgMatches, Args};
use piton_model::Event;

use crate::failure::Failure;
use crate::recording::{self, Writing};

#[derive(Args, Debug)]
#[command(
    after_help = "Example:\n  piton fail build:PRD-009 --step WS3 --message 'a type is missing' --file services/player/index.ts --line 45"
)]
pub struct FailArgs {
    #[command(flatten)]
    writing: Writing,

    /// At which step
    #[arg(long, value_name = "STEP")]
    step: Option<String>,

    /// What broke
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    message: String,

    /// In which file
    #[arg(long, value_name = "FILE")]
    file: Option<String>,

    /// In which line of it
    #[arg(long, value_name = "N", requires = "file")]
    line: Option<u64>,
}

pub fn run(matches: &ArgMatches, args: FailArgs) -> Result<u8, Failure> {
    let event = Event::Failed { step: args.step, message: args.message, file: args.file, line: args.line };
    recording::run(matches, &args.writing, "fail", &event)
}
