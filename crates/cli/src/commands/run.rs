mod attach;
mod detach;

use std::path::Path;
use std::time::{Duration, Instant};

use clap::{ArgMatches, Args};
use piton_engine::run::{
    Attached, Progress, RunEnd, RunError, RunPlan, RunRequest, Surroundings, Unapproved, WorkError, approve_commands,
    foresee, forewarn, plan_run, run as lead,
};
use piton_model::fleet::Outcome;
use piton_model::hint::verbs;
use piton_model::{Arg, Invocation};

use crate::clock;
use crate::context::{Context, prompts_directory};
use crate::failure::{BUSY, FAILED, Failure, REFUSED, USAGE};
use crate::output::{print, print_json};
use crate::recording::session_of_environment;
use crate::render;
use crate::render::live::LiveView;
use crate::render::told::Told;

/// How long a lead may take from its lock to the first word about itself, or from the last word to letting go.
const BEGINNING: Duration = Duration::from_secs(15);

/// How often a command that waits for another lead looks for it.
const BETWEEN_LOOKS: Duration = Duration::from_millis(100);

#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  piton run --explain\n  piton run\n  piton run docs/EXECUTION-SPEC-PRD-009.md --yes\n  piton run plan:260220-1149-feature --detach\n  piton run stories.toml --json\n\nWithout a name: the stories of piton.toml or .pipeline/board.json, else the last run that is not finished.\nWith --retry and without a name: the last run that is not finished, else the stories.\n\nWhen a lead is at work already, this attaches to it and shows it; Ctrl-C then only detaches.\nElse Ctrl-C once: no new work starts. Twice: the workers are asked to end, then the lead ends. Three times: the lead\nends at once, its workers keep running. Closing the terminal stops nothing: the lead goes on without a view."
)]
pub struct RunArgs {
    /// Units, run files and specifications
    #[arg(value_name = "UNIT | FILE")]
    wanted: Vec<String>,

    /// Print what would be run, in which order and how, and start nothing
    #[arg(long)]
    explain: bool,

    /// Approve phases without asking, and the commands that the repository names
    #[arg(long)]
    yes: bool,

    /// Retry paused units
    #[arg(long)]
    retry: bool,

    /// Start the lead in a session of its own and return when it leads
    #[arg(long, conflicts_with = "explain")]
    detach: bool,

    /// This is the process that `--detach` starts
    #[arg(long, hide = true, conflicts_with = "detach")]
    detached: bool,

    /// Print one JSON object per event; with --explain and --detach one document
    #[arg(long)]
    json: bool,
}

pub fn run(matches: &ArgMatches, args: RunArgs) -> Result<u8, Failure> {
    let context = Context::new(matches)?;
    let (prompts, directory) = (prompts_directory(), std::env::current_dir().ok());
    let session = session_of_environment();
    let request =
        RunRequest { wanted: args.wanted.clone(), yes: args.yes, retry: args.retry, prompts, directory, session };
    if args.explain {
        let mut plan =
            plan_run(&context.workspace, &request, context.now).map_err(|error| failure(&error, &args.wanted))?;
        foresee(&context.workspace, &mut plan, &request, context.now);
        return explain(&context, &plan, &request.wanted, args.json);
    }
    if args.yes && context.is_worker {
        let failure = Failure::new(REFUSED, "a worker cannot approve what workers may do");
        return Err(failure.hint("leave --yes out: what is approved already can be run"));
    }
    if !args.detached
        && let Some(attached) = Attached::to(&context.workspace, attach::earlier(args.json), context.now)
    {
        if context.is_led_worker() {
            return Err(context.led("follow"));
        }
        return match args.detach {
            true => detach::is_led(&context, &attached, &request, args.json),
            false => attach::follow(&context, attached, &request, args.json),
        };
    }
    if args.yes {
        let plan =
            plan_run(&context.workspace, &request, context.now).map_err(|error| failure(&error, &args.wanted))?;
        let approved = approve_commands(&context.workspace, &plan).map_err(|error| failure(&error, &args.wanted))?;
        for each in &approved {
            eprintln!("approved: {}: {}", render::clean(&each.what), render::clean(&each.command));
        }
    }
    if args.detach {
        return detach::start(&context, &args, &request);
    }
    let since = Instant::now();
    loop {
        if let Some(end) = drive(&context, &request, &args)? {
            return Ok(exit_code(end.outcome));
        }
        // Another lead was faster: it is followed, or has ended by now.
        if let Some(attached) = Attached::to(&context.workspace, attach::earlier(args.json), clock::time()) {
            return attach::follow(&context, attached, &request, args.json);
        }
        if since.elapsed() > BEGINNING {
            return Err(failure(&RunError::Busy { holder: String::new() }, &args.wanted));
        }
        std::thread::sleep(BETWEEN_LOOKS);
    }
}

/// The exit code of a run, wherever it is shown.
fn exit_code(outcome: Outcome) -> u8 {
    match outcome {
        Outcome::Done => 0,
        Outcome::Paused => REFUSED,
        Outcome::Stopped => FAILED,
    }
}

/// Runs the lead and shows what happens; nothing when another one is at work.
fn drive(context: &Context, request: &RunRequest, args: &RunArgs) -> Result<Option<RunEnd>, Failure> {
    let program = std::env::current_exe()
        .map_err(|error| Failure::new(FAILED, format!("cannot tell where this program is: {error}")))?;
    let directory = std::env::current_dir().unwrap_or_else(|_| context.workspace.root().to_owned());
    if args.detached {
        detach::begin_session()?;
    }
    let mut live = LiveView::new(context.color, context.width, context.height);
    let json = args.json;
    // A reader that has gone away does not end a run.
    let mut watcher = |progress: &Progress<'_>| match (progress, json) {
        (Progress::Happened { at, name, kind, text }, true) => {
            let _ = print(&render::run::event_line(*at, *name, kind, text));
        }
        (Progress::Stands(_) | Progress::HungUp, true) => {}
        (Progress::Happened { at, name, kind, text }, false) => {
            live.happened(*at, *name, kind, text);
        }
        (Progress::Stands(view), false) => live.stands(view),
        (Progress::HungUp, false) => live.hang_up(),
        (Progress::Leads { run, directory }, _) if args.detached => {
            detach::leads(&context.workspace.root().join(directory), *run);
        }
        (Progress::Leads { .. }, _) => {}
    };
    let surroundings =
        Surroundings { clock: &clock::time, slept: &clock::slept, watcher: &mut watcher, program, directory };
    let end = lead(&context.workspace, request, surroundings);
    live.close();
    let end = match end {
        Ok(end) => end,
        Err(RunError::Busy { .. }) if !args.detached => return Ok(None),
        Err(RunError::NotApproved(missing)) => return Err(not_approved(&missing, &request.wanted, request.retry)),
        Err(error) => return Err(failure(&error, &request.wanted)),
    };
    show_end(context, &end, live.told(), json);
    Ok(Some(end))
}

/// Shows how a run ended. What it ended with is the exit code, whether somebody reads this or not.
fn show_end(context: &Context, end: &RunEnd, told: &Told, json: bool) {
    let text = match json {
        true => format!("{}\n", end.to_json(clock::time())),
        false => render::run::end_text(end, told, context.color),
    };
    let _ = print(&text);
}

fn explain(context: &Context, plan: &RunPlan, wanted: &[String], json: bool) -> Result<u8, Failure> {
    let missing = piton_engine::run::unapproved(&context.workspace, plan);
    let warnings = forewarn(&context.workspace, plan, context.now);
    match json {
        true => print_json(&render::run::plan_json(plan, &missing, &warnings))?,
        false => print(&render::run::plan_text(plan, &missing, &approving(wanted), &warnings))?,
    }
    Ok(0)
}

/// Why a run did not begin, as users see it.
pub fn failure(error: &RunError, wanted: &[String]) -> Failure {
    match error {
        RunError::Work(WorkError::File(bad)) => {
            let failure = Failure::new(USAGE, format!("{}: {}", bad.path, bad.message));
            bad.hint.clone().into_iter().fold(failure, Failure::hint)
        }
        RunError::Work(WorkError::Unit { wanted, error }) => Failure::not_found(wanted, error),
        RunError::Work(WorkError::Cycle { names }) => {
            let ring = names.iter().chain(names.first()).map(String::as_str).collect::<Vec<_>>().join(" → ");
            Failure::new(REFUSED, format!("these wait for each other, so none can begin: {ring}"))
                .hint("take one of them out of `depends_on`")
        }
        RunError::Work(WorkError::Nothing { hint }) => {
            Failure::new(USAGE, "there is nothing to run").hint(hint.clone())
        }
        RunError::Work(WorkError::Unusable { message, hint }) => {
            Failure::new(USAGE, message.clone()).hint(hint.clone())
        }
        RunError::Busy { holder } => {
            let pid = holder.split(' ').next().filter(|pid| !pid.is_empty());
            let pid = pid.map_or_else(String::new, |pid| format!(": process {pid}"));
            Failure::new(BUSY, format!("another lead is just starting or ending here{pid}"))
                .hint(with_wanted(verbs::RUN.call(), wanted).to("try again"))
        }
        RunError::NotApproved(missing) => not_approved(missing, wanted, false),
        RunError::Git(error) => Failure::git(error),
        RunError::Disk { message } => Failure::new(FAILED, format!("{message}; the lead ends, its workers go on"))
            .hint(with_wanted(verbs::RUN.call(), wanted).to("when the disk can be written again")),
        RunError::Template(bad) => Failure::new(USAGE, bad.to_string())
            .hint("correct the file, or remove it to use the template that is built in"),
        RunError::Failed { message } => Failure::new(FAILED, message.clone()),
    }
}

fn not_approved(missing: &[Unapproved], wanted: &[String], is_retry: bool) -> Failure {
    let run = with_wanted(verbs::RUN.call(), wanted).flag("--yes");
    let run = if is_retry { run.flag("--retry") } else { run };
    let failure = Failure::new(REFUSED, "the repository names commands that you have not approved");
    let listed = missing.iter().map(|each| format!("{}: {}", each.what, each.command)).collect::<Vec<_>>().join("\n");
    failure.quote(&listed).hint(approving(wanted).to("look at them, then")).hint(run.to("or approve them and run"))
}

/// The command that approves the commands of a run of what was typed.
fn approving(wanted: &[String]) -> Invocation {
    match wanted {
        [] => verbs::APPROVE.call(),
        // A file can mean nothing but its commands; a unit may also wait for an approval of its phase.
        files if files.iter().all(|typed| Path::new(typed).is_file()) => with_wanted(verbs::APPROVE.call(), files),
        wanted => with_wanted(verbs::APPROVE.call(), wanted).flag("--commands"),
    }
}

/// A command with what was typed.
pub fn with_wanted(command: Invocation, wanted: &[String]) -> Invocation {
    wanted.iter().fold(command, |command, typed| command.arg(Arg::typed(typed)))
}
