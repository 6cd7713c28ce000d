use clap::{ArgMatches, Args};
use piton_model::Event;

use crate::failure::Failure;
use crate::recording::{self, Writing};

#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  piton stage pipeline:PROJ-42 2\n  piton stage crew:Secondary-A S2.P2 --phase 'Specification'"
)]
pub struct StageArgs {
    #[command(flatten)]
    writing: Writing,

    /// The stage or phase: its name or number
    #[arg(value_name = "STAGE")]
    stage: String,

    /// What a person calls the phase
    #[arg(long, value_name = "TEXT")]
    phase: Option<String>,
}

pub fn run(matches: &ArgMatches, args: StageArgs) -> Result<u8, Failure> {
    let event = Event::StageEntered { stage: args.stage, phase: args.phase };
    recording::run(matches, &args.writing, "stage", &event)
}
