use clap::{ArgMatches, Args};
use piton_engine::run::{
    Progress, RunEnd, RunError, RunPlan, RunRequest, Surroundings, Unapproved, WorkError, approve_commands, plan_run,
    run as lead,
};
use piton_model::fleet::Outcome;

use crate::clock;
use crate::context::Context;
use crate::failure::{BUSY, FAILED, Failure, REFUSED, USAGE};
use crate::output::{print, print_json};
use crate::render;
use crate::render::live::LiveView;

#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  piton run --explain\n  piton run\n  piton run docs/EXECUTION-SPEC-PRD-009.md --yes\n  piton run plan:260220-1149-feature\n  piton run stories.toml --json\n\nWithout a name: the stories of piton.toml, or of .pipeline/board.json.\nCtrl-C once: no new work. Twice: workers are asked to end. Three times: the lead goes, its workers stay."
)]
pub struct RunArgs {
    /// Units, run files and specifications
    #[arg(value_name = "UNIT | FILE")]
    wanted: Vec<String>,

    /// Print what would be run, in which order and how, and start nothing
    #[arg(long)]
    explain: bool,

    /// Go on without asking: approves phases, and the commands that the repository names
    #[arg(long)]
    yes: bool,

    /// Try again what is paused
    #[arg(long)]
    retry: bool,

    /// An event a line as JSON; with --explain one document
    #[arg(long)]
    json: bool,
}

pub fn run(matches: &ArgMatches, args: RunArgs) -> Result<u8, Failure> {
    let context = Context::new(matches)?;
    let request = RunRequest { wanted: args.wanted, yes: args.yes, retry: args.retry };
    if args.explain {
        let plan = plan_run(&context.workspace, &request, context.now).map_err(|error| failure(&error))?;
        return explain(&context, &plan, args.json);
    }
    if args.yes {
        let plan = plan_run(&context.workspace, &request, context.now).map_err(|error| failure(&error))?;
        approve_commands(&context.workspace, &plan).map_err(|error| failure(&error))?;
    }
    let end = drive(&context, &request, args.json)?;
    Ok(match end.outcome {
        Outcome::Done => 0,
        Outcome::Paused => REFUSED,
        Outcome::Stopped => FAILED,
    })
}

/// Runs the lead and shows what happens.
pub fn drive(context: &Context, request: &RunRequest, json: bool) -> Result<RunEnd, Failure> {
    let program = std::env::current_exe()
        .map_err(|error| Failure::new(FAILED, format!("cannot tell where this program is: {error}")))?;
    let mut live = LiveView::new(context.color, context.width, context.height);
    let mut watcher = |progress: &Progress<'_>| match (progress, json) {
        (Progress::Happened { at, name, kind, text }, true) => {
            // A reader that has gone away does not end a run.
            let _ = print(&render::run::event_line(*at, *name, kind, text));
        }
        (Progress::Stands(_), true) => {}
        (Progress::Happened { at, name, text, .. }, false) => live.happened(*at, *name, text),
        (Progress::Stands(view), false) => live.stands(view),
    };
    let surroundings = Surroundings { clock: &clock::time, slept: &clock::slept, watcher: &mut watcher, program };
    let end = lead(&context.workspace, request, surroundings);
    live.close();
    let end = end.map_err(|error| failure(&error))?;
    match json {
        true => print(&render::run::end_line(&end))?,
        false => print(&render::run::end_text(&end))?,
    }
    Ok(end)
}

fn explain(context: &Context, plan: &RunPlan, json: bool) -> Result<u8, Failure> {
    let missing = piton_engine::run::unapproved(&context.workspace, plan);
    match json {
        true => print_json(&render::run::plan_json(plan, &missing))?,
        false => print(&render::run::plan_text(plan, &missing))?,
    }
    Ok(0)
}

/// Why a run did not begin, as users see it.
pub fn failure(error: &RunError) -> Failure {
    match error {
        RunError::Work(WorkError::File(bad)) => {
            let failure = Failure::new(USAGE, format!("{}: {}", bad.path, bad.message));
            bad.hint.iter().fold(failure, Failure::hint)
        }
        RunError::Work(WorkError::Unit { wanted, error }) => Failure::not_found(wanted, error),
        RunError::Work(WorkError::Cycle { names }) => {
            let ring = names.iter().chain(names.first()).map(String::as_str).collect::<Vec<_>>().join(" → ");
            Failure::new(REFUSED, format!("these wait for each other, so none can begin: {ring}"))
                .hint("take one of them out of `depends_on`")
        }
        RunError::Work(WorkError::Unusable { message, hint }) => Failure::new(USAGE, message.clone()).hint(hint),
        RunError::Busy { holder } => {
            let pid = holder.split(' ').next().unwrap_or_default();
            Failure::new(BUSY, format!("another lead is at work here: process {pid}"))
                .hint("watch it with: piton status --watch")
                .hint("ask it to end with: piton stop")
        }
        RunError::NotApproved(missing) => not_approved(missing),
        RunError::Git(error) => Failure::git(error),
        RunError::Failed { message } => Failure::new(FAILED, message.clone()),
    }
}

fn not_approved(missing: &[Unapproved]) -> Failure {
    let failure = Failure::new(REFUSED, "the repository names commands that you have not approved");
    let listed = missing.iter().map(|each| format!("{}: {}", each.what, each.command)).collect::<Vec<_>>().join("\n");
    failure.quote(&listed).hint("look at them, then: piton approve").hint("or approve and run: piton run --yes")
}
