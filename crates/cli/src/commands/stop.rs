use clap::{ArgMatches, Args};
use piton_engine::run::{
    LeftWorker, Pending, RunRecord, RunRequest, StopRequest, Stopping, plan_run, status_of_run, stop_run,
};
use piton_model::Hint;
use piton_model::hint::verbs;
use piton_model::text::printable;

use super::run::failure;
use crate::context::Context;
use crate::failure::{FAILED, Failure, NOTHING};
use crate::output::print;
use crate::recording::user;

#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  piton stop\n  piton stop --workers\n\nAsking again changes nothing; `piton stop` and then `piton stop --workers` stops the workers too.\nWhat is open is continued with: piton run"
)]
pub struct StopArgs {
    /// Stop the workers too, instead of waiting for them; also when no lead is at work any more
    #[arg(long)]
    workers: bool,
}

pub fn run(matches: &ArgMatches, args: &StopArgs) -> Result<u8, Failure> {
    let context = Context::new(matches)?;
    if context.is_led_worker() {
        return Err(context.led("stop"));
    }
    let program = std::env::current_exe()
        .map_err(|error| Failure::new(FAILED, format!("cannot tell where this program is: {error}")))?;
    let request = StopRequest { workers: args.workers, user: user(), now: context.now, program };
    match stop_run(&context.workspace, &request).map_err(|error| failure(&error, &[]))? {
        Stopping::Asked { pid, pending, is_taken } => print(&asked(pid, pending, is_taken, args.workers))?,
        Stopping::NoLead { left, run } => return Err(no_lead(&context, &left, run.as_ref())),
        Stopping::Ended { workers, run } => {
            let ended = workers.iter().map(|worker| format!("ended {}\n", shown(worker))).collect::<String>();
            print(&ended)?;
            if let Some(run) = run {
                print(&format!("{}\n", again(&context, &run, &format!("continue run {}", run.number))))?;
            }
        }
    }
    Ok(0)
}

fn asked(pid: u32, pending: Pending, is_taken: bool, stops_workers: bool) -> String {
    if !is_taken {
        let show = verbs::RUN.call().to("show it");
        return format!("the lead (process {pid}) was asked to end, and has not answered yet\n{show}\n");
    }
    let counted = pending.shown();
    match (pending.is_empty(), stops_workers) {
        (true, _) => format!("the lead (process {pid}) ends\n"),
        (_, true) => format!("the lead (process {pid}) stops {counted}, then ends\n"),
        (_, false) => format!(
            "the lead (process {pid}) starts nothing new and ends after {counted}\n{}\n",
            verbs::STOP.call().flag("--workers").to(match pending.workers + pending.commands {
                1 => "stop it too",
                _ => "stop them too",
            })
        ),
    }
}

fn no_lead(context: &Context, left: &[LeftWorker], run: Option<&RunRecord>) -> Failure {
    let failure = Failure::new(NOTHING, "no lead is at work here");
    if left.is_empty() {
        let begin = || match plan_run(&context.workspace, &RunRequest::default(), context.now) {
            Ok(_) => verbs::RUN.call().to("start one"),
            // A plan, build, task or crew is run by its name.
            Err(_) => verbs::STATUS.call().flag("--all").to("see what can be run, by its name"),
        };
        let again = run.map_or_else(begin, |run| again(context, run, &format!("continue run {}", run.number)));
        return failure.hint(again);
    }
    let listed = left.iter().map(|worker| format!("{} still runs\n", shown(worker))).collect::<String>();
    let failure = failure.quote(&listed).hint(verbs::STOP.call().flag("--workers").to("end them"));
    match run {
        Some(run) => failure.hint(again(context, run, "or continue with them")),
        None => failure,
    }
}

fn shown(worker: &LeftWorker) -> String {
    let what = worker
        .unit
        .as_deref()
        .map_or_else(|| format!("the gate of {}", worker.home), |unit| format!("the worker of {}", printable(unit)));
    match worker.pid {
        Some(pid) => format!("{what} (process {pid})"),
        None => what,
    }
}

#[track_caller]
fn again(context: &Context, run: &RunRecord, why: &str) -> Hint {
    let directory = std::env::current_dir().unwrap_or_default();
    let root = context.workspace.root();
    let status = status_of_run(&context.workspace, run.number, context.now);
    status.map_or_else(
        || run.command(root, &directory, &[]).to(why.to_owned()),
        |status| status.continuation(why, root, &directory),
    )
}
