use clap::{ArgMatches, Args};
use piton_engine::{Force, take_over};

use crate::context::Context;
use crate::failure::Failure;
use crate::recording::{Writing, hand_off, unit};

#[derive(Args, Debug)]
#[command(
    after_help = "Example:\n  piton takeover crew:Secondary-A --as Secondary-C\n\nIn a crew the new agent gets a checkpoint and a journal of its own; the old checkpoint is archived. What to\npaste into the new agent's session is printed between lines of `═`."
)]
pub struct TakeoverArgs {
    #[command(flatten)]
    writing: Writing,

    /// The agent that takes it over
    #[arg(long = "as", value_name = "AGENT")]
    agent: String,

    /// Even if the old agent seems to be alive
    #[arg(long)]
    force: bool,

    /// One JSON document
    #[arg(long)]
    json: bool,
}

pub fn run(matches: &ArgMatches, args: TakeoverArgs) -> Result<u8, Failure> {
    let wanted = unit(&args.writing.unit)?;
    let context = Context::new(matches)?;
    let recorder = args.writing.writer.recorder(&context, "takeover")?;
    let force = if args.force { Force::Yes } else { Force::No };
    let recorded = take_over(&context.workspace, &wanted, &args.agent, force, &recorder)
        .map_err(|error| Failure::record(&wanted, &error))?;
    hand_off(&recorded, args.json)
}
