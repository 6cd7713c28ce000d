use clap::{ArgMatches, Args, ValueEnum};
use piton_model::Event;

use crate::failure::Failure;
use crate::recording::{self, Writing};

#[derive(Args, Debug)]
#[command(
    after_help = "Example:\n  piton plan mark plan:260220-1149-feature\n\nOnly markers are added; every other byte of the plan stays as it is."
)]
pub struct PlanArgs {
    /// What to do with the plan
    #[arg(value_name = "mark", value_enum)]
    deed: Deed,

    #[command(flatten)]
    writing: Writing,
}

#[derive(ValueEnum, Debug, Clone, Copy)]
enum Deed {
    /// Give an id to every checkbox that has none
    Mark,
}

pub fn run(matches: &ArgMatches, args: &PlanArgs) -> Result<u8, Failure> {
    match args.deed {
        Deed::Mark => recording::run(matches, &args.writing, "plan mark", &Event::Marked),
    }
}
