use clap::{ArgMatches, Args};
use piton_engine::{RecordError, repair, repairable};
use piton_model::UnitRef;

use crate::context::Context;
use crate::failure::Failure;
use crate::output::print;
use crate::recording::{Writer, acknowledge, unit};

#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  piton repair plan:260220-1149-feature\n  piton repair\n\nWithout a unit: every unit whose documents are missing or cannot be read."
)]
pub struct RepairArgs {
    /// The unit
    #[arg(value_name = "UNIT")]
    unit: Option<String>,

    #[command(flatten)]
    writer: Writer,
}

pub fn run(matches: &ArgMatches, args: &RepairArgs) -> Result<u8, Failure> {
    let context = Context::new(matches)?;
    if let Some(typed) = &args.unit {
        return one(&context, &unit(typed)?, args);
    }
    let names = repairable(&context.workspace, context.now);
    if names.is_empty() {
        print("nothing to repair\n")?;
    }
    for name in names {
        one(&context, &unit(&name)?, args)?;
    }
    Ok(0)
}

fn one(context: &Context, wanted: &UnitRef, args: &RepairArgs) -> Result<u8, Failure> {
    let recorder = args.writer.recorder(context, "repair")?;
    let recorded: Result<_, RecordError> = repair(&context.workspace, wanted, &recorder);
    acknowledge(&recorded.map_err(|error| Failure::record(wanted, &error))?)
}
