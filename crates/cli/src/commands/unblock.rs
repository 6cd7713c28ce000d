use clap::{ArgMatches, Args};
use piton_engine::{Unblocking, unblock};

use crate::context::Context;
use crate::failure::Failure;
use crate::recording::{self, Writing, acknowledge};

#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  piton unblock task:migration/T060\n  piton unblock task:migration/T060 --message 'use the second edition of the PDF'\n  piton unblock crew:Secondary-A --blocker 'the ledger is locked'\n\nThe next worker gets the message as an instruction from you."
)]
pub struct UnblockArgs {
    #[command(flatten)]
    writing: Writing,

    /// Answer for the next worker; a text that equals a blocker names that blocker instead
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    message: Option<String>,

    /// The one blocker that is gone, by its text or number [default: all of them]
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    blocker: Option<String>,
}

pub fn run(matches: &ArgMatches, args: UnblockArgs) -> Result<u8, Failure> {
    let wanted = recording::unit(&args.writing.unit)?;
    let context = Context::new(matches)?;
    let recorder = args.writing.writer.recorder(&context, "unblock")?;
    let unblocking = Unblocking { blocker: args.blocker, answer: args.message };
    let recorded = unblock(&context.workspace, &wanted, &unblocking, &recorder)
        .map_err(|error| Failure::record(&wanted, &error))?;
    acknowledge(&recorded)
}
