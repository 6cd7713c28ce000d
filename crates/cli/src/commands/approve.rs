use clap::{ArgMatches, Args};
use piton_engine::run::{
    ApprovedPhase, NotApproved, RunError, RunRequest, RunState, WorkError, allow_denied, approve_commands,
    approve_phase, approve_settings, asks_for_commands, forewarn, plan_run, settings_ask_for_commands, status_of_run,
    unapproved_specifications,
};
use piton_engine::{approve_review, find_or_led};
use piton_model::hint::verbs;
use piton_model::text::printable;
use piton_model::{Arg, UnitRef};

use super::run::{failure, with_wanted};
use crate::context::Context;
use crate::failure::{Failure, REFUSED, USAGE};
use crate::output::print;
use crate::recording::{Writer, acknowledge, unit, user};

#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  piton approve\n  piton approve docs/EXECUTION-SPEC-PRD-009.md\n  piton approve --commands build:PRD-009\n  piton approve build:PRD-009\n  piton approve --denied\n\nCommands and phases are two things; approving one does not approve the other.\nWithout a unit: the commands that a run needs (the worker's, the gates'), from now on, exactly as they are now.\nWith a unit: the phase at which it waits, once."
)]
pub struct ApproveArgs {
    /// Units that wait after a phase; or run files, whose commands are approved
    #[arg(value_name = "UNIT | FILE")]
    wanted: Vec<String>,

    /// Approve the commands that a run of these units needs, and no phase
    #[arg(long)]
    commands: bool,

    /// Allow what workers of the last run were denied, and nothing else
    #[arg(long, conflicts_with_all = ["wanted", "commands"])]
    denied: bool,

    #[command(flatten)]
    writer: Writer,
}

pub fn run(matches: &ArgMatches, args: &ApproveArgs) -> Result<u8, Failure> {
    let context = Context::new(matches)?;
    if context.is_worker {
        return Err(
            Failure::new(REFUSED, "a worker cannot approve what workers may do").hint("end, and say what you need")
        );
    }
    if args.denied {
        let allowed = allow_denied(&context.workspace).map_err(|error| failure(&error, &args.wanted))?;
        for each in &allowed {
            print(&format!("allowed for workers: {} ({})\n", printable(&each.command), each.unit))?;
        }
        if allowed.is_empty() {
            print("nothing was denied\n")?;
        }
        return Ok(0);
    }
    let is_unit = |typed: &String| UnitRef::parse(typed).is_ok() && !std::path::Path::new(typed).exists();
    let units = args.wanted.iter().filter(|typed| is_unit(typed)).count();
    match (args.commands, units) {
        (true, _) | (false, 0) => commands(&context, &args.wanted),
        (false, count) if count == args.wanted.len() => phases(&context, args),
        (false, _) => Err(Failure::new(USAGE, "units wait at phases, files name commands: approve one or the other")
            .hint(
                with_wanted(verbs::APPROVE.call().flag("--commands"), &args.wanted)
                    .to("approve the commands of all of them"),
            )),
    }
}

/// Approves the commands of a run, and no phase.
fn commands(context: &Context, wanted: &[String]) -> Result<u8, Failure> {
    // Nothing named means the run that is not finished, as it does for who tries again.
    let request = RunRequest { wanted: wanted.to_vec(), retry: true, ..RunRequest::default() };
    let failure = |error: RunError| failure(&error, wanted);
    let (approved, is_asked, warnings) = match plan_run(&context.workspace, &request, context.now) {
        Ok(plan) => {
            let approved = approve_commands(&context.workspace, &plan).map_err(failure)?;
            (approved, asks_for_commands(&plan), forewarn(&context.workspace, &plan, context.now))
        }
        // Settings name commands before there is work.
        Err(RunError::Work(WorkError::Nothing { .. })) => {
            let is_asked = settings_ask_for_commands(&context.workspace).map_err(failure)?;
            (approve_settings(&context.workspace).map_err(failure)?, is_asked, Vec::new())
        }
        Err(error) => return Err(failure(error)),
    };
    for each in &approved {
        print(&format!("approved {}: {}\n", printable(&each.what), printable(&each.command)))?;
    }
    match (approved.is_empty(), is_asked) {
        (true, true) => print("every command is approved already\n")?,
        (true, false) => print("no command here needs an approval\n")?,
        (false, _) => {}
    }
    for warning in warnings {
        print(&format!("{}\n", printable(&warning)))?;
    }
    if wanted.is_empty() {
        let is_here = std::env::current_dir().is_ok_and(|directory| directory == context.workspace.root());
        for path in unapproved_specifications(&context.workspace, context.now) {
            let typed = if is_here { path.clone() } else { context.workspace.root().join(&path).display().to_string() };
            let approve = verbs::APPROVE.call().arg(Arg::typed(&typed));
            print(&format!(
                "{}\n",
                approve.to(format!("{} names commands of its own; approve them", printable(&path)))
            ))?;
        }
    }
    Ok(0)
}

/// Approves the phase at which each unit waits, and nothing else.
fn phases(context: &Context, args: &ApproveArgs) -> Result<u8, Failure> {
    let by = user();
    for typed in &args.wanted {
        let wanted = unit(typed)?;
        // A review that asks a person is answered in the unit's own document.
        let recorder = args.writer.recorder(context, "approve")?;
        let reviewed =
            approve_review(&context.workspace, &wanted, &recorder).map_err(|error| Failure::record(&wanted, &error))?;
        if let Some(recorded) = reviewed {
            acknowledge(&recorded)?;
            continue;
        }
        let approved = approve_phase(&context.workspace, &wanted, by.as_deref(), context.now);
        let ApprovedPhase { unit, what, run, lead } = approved.map_err(|error| match error {
            NotApproved::NoUnit(error) => Failure::not_found(&wanted, &error),
            NotApproved::NotWaiting { unit } => not_waiting(context, &wanted, &unit),
            NotApproved::Failed(error) => failure(&error, &[]),
        })?;
        for what in what {
            print(&format!("{unit}: approved {} (run {})\n", printable(&what), run.number))?;
        }
        let directory = std::env::current_dir().unwrap_or_default();
        match lead {
            Some(pid) => print(&format!("the lead at work (process {pid}) continues with it\n"))?,
            None => print(&format!("{}\n", run.command(context.workspace.root(), &directory, &[]).to("continue")))?,
        }
    }
    Ok(0)
}

fn not_waiting(context: &Context, wanted: &UnitRef, unit: &str) -> Failure {
    let failure = Failure::new(REFUSED, format!("{unit} waits for no approval"));
    // What a run asks next, it asks when it gets there.
    let led = find_or_led(&context.workspace, wanted, context.now).ok().and_then(|found| found.led);
    let run = led.and_then(|led| status_of_run(&context.workspace, led.lead.run, context.now));
    let directory = std::env::current_dir().unwrap_or_default();
    let failure = match run.filter(|run| run.state != RunState::Led) {
        Some(run) => failure.hint(run.continuation("continue the run", context.workspace.root(), &directory)),
        None => failure,
    };
    failure
        .hint(verbs::STATUS.on(unit).to("see where it stands"))
        .hint(verbs::APPROVE.on(unit).flag("--commands").to("to approve the commands that a run of it needs"))
}
