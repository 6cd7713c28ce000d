use clap::{ArgMatches, Args};
use piton_engine::rollback;
use piton_model::hint::verbs;

use crate::context::Context;
use crate::failure::{Failure, USAGE};
use crate::recording::{Writer, acknowledge, unit};

#[derive(Args, Debug)]
#[command(
    after_help = "Example:\n  piton rollback build:PRD-009@12\n\nNothing is lost: what is there now stays a version of its own."
)]
pub struct RollbackArgs {
    /// The unit and the number of the version
    #[arg(value_name = "UNIT@N")]
    version: String,

    #[command(flatten)]
    writer: Writer,
}

pub fn run(matches: &ArgMatches, args: &RollbackArgs) -> Result<u8, Failure> {
    let (typed, seq) = super::show::version(&args.version)?;
    let wanted = unit(typed)?;
    let Some(seq) = seq else {
        return Err(Failure::new(USAGE, format!("to which version? {}", args.version))
            .hint(verbs::LOG.on(typed).to("see them with")));
    };
    let context = Context::new(matches)?;
    let recorder = args.writer.recorder(&context, "rollback")?;
    let recorded =
        rollback(&context.workspace, &wanted, seq, &recorder).map_err(|error| Failure::record(&wanted, &error))?;
    acknowledge(&recorded)
}
