use clap::{ArgMatches, Args};
use piton_engine::run::{RunRequest, approve_commands, approve_group, plan_run};
use piton_model::text::printable;

use super::run::failure;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::print;
use crate::recording::unit;

#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  piton approve\n  piton approve docs/EXECUTION-SPEC-PRD-009.md\n  piton approve build:PRD-009\n\nWithout a unit: the commands that a run would need (the worker's, the gates'), from now on, as they are now.\nWith a unit: the phase at which it waits."
)]
pub struct ApproveArgs {
    /// A unit that waits after a phase, or what is to be run
    #[arg(value_name = "UNIT | FILE")]
    wanted: Vec<String>,
}

pub fn run(matches: &ArgMatches, args: &ApproveArgs) -> Result<u8, Failure> {
    let context = Context::new(matches)?;
    if let [typed] = args.wanted.as_slice()
        && typed.contains(':')
    {
        let wanted = unit(typed)?;
        approve_group(&context.workspace, &wanted.to_string()).map_err(|error| failure(&error))?;
        print(&format!("{wanted} may go on\n"))?;
    }
    let request = RunRequest { wanted: args.wanted.clone(), ..RunRequest::default() };
    let plan = plan_run(&context.workspace, &request, context.now).map_err(|error| failure(&error))?;
    let approved = approve_commands(&context.workspace, &plan).map_err(|error| failure(&error))?;
    for each in &approved {
        print(&format!("approved {}: {}\n", each.what, printable(&each.command)))?;
    }
    if approved.is_empty() && !args.wanted.iter().any(|typed| typed.contains(':')) {
        print("every command is approved already\n")?;
    }
    Ok(0)
}
