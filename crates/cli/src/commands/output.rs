use std::io::IsTerminal as _;
use std::time::Duration;

use clap::{ArgMatches, Args};
use piton_engine::{KeptWorker, NoWorker, Piece, Sight, Stream, WorkerQuery, find_or_led, find_worker, next_step};
use piton_model::hint::verbs;
use piton_model::text::{counted, printable};
use serde_json::{Value, json};

use crate::context::Context;
use crate::failure::{FAILED, Failure, NOTHING, USAGE};
use crate::output::{print_bytes, print_json};
use crate::recording;

/// How often `--follow` looks for more.
const FOLLOW_EVERY: Duration = Duration::from_millis(100);

#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  piton output pipeline:PROJ-42\n  piton output build:PRD-009 WS1 --follow\n  piton output task:migration/T060 --attempt 2 --stderr\n  piton output pipeline:PROJ-42 --gate test\n  piton output pipeline:PROJ-42 --raw | jq .\n\nShows the newest worker. Of a long output the beginning and the end are kept."
)]
pub struct OutputArgs {
    /// The unit, such as pipeline:PROJ-42
    #[arg(value_name = "UNIT")]
    unit: String,

    /// Workstream or task, where several workers share the unit
    #[arg(value_name = "STEP", conflicts_with = "step")]
    lane: Option<String>,

    /// The same, as an option
    #[arg(long, value_name = "STEP")]
    step: Option<String>,

    /// Attempt of the worker, such as 3 or 3.17 [default: the newest]
    #[arg(long, value_name = "N")]
    attempt: Option<String>,

    /// What a gate that judged the unit printed, instead of its worker
    #[arg(long, value_name = "NAME", conflicts_with = "attempt")]
    gate: Option<String>,

    /// Standard error instead of standard output
    #[arg(long)]
    stderr: bool,

    /// Print what was printed, byte for byte
    #[arg(long)]
    raw: bool,

    /// Print more as it comes, until the worker ends
    #[arg(long, short)]
    follow: bool,

    /// One JSON document
    #[arg(long, conflicts_with = "follow")]
    json: bool,
}

pub fn run(matches: &ArgMatches, args: &OutputArgs) -> Result<u8, Failure> {
    // A lane as it is called everywhere else: `build:PRD-009 WS1`.
    let (unit, lane) = args.unit.split_once(' ').map_or((args.unit.as_str(), None), |(unit, lane)| (unit, Some(lane)));
    let step = args.step.clone().or_else(|| args.lane.clone()).or_else(|| lane.map(|lane| lane.trim().to_owned()));
    let query =
        WorkerQuery { unit: recording::unit(unit)?, step, attempt: args.attempt.clone(), gate: args.gate.clone() };
    let context = Context::new(matches)?;
    let mut worker = find_worker(&context.workspace, &query).map_err(|error| failure(&context, &query, &error))?;
    let stream = if args.stderr { Stream::Err } else { Stream::Out };
    if args.json {
        print_json(&document(&worker, stream, args.raw)?)?;
        return Ok(0);
    }
    eprintln!("{}", headline(&worker));
    let is_escaped = !args.raw || std::io::stdout().is_terminal();
    show(&mut worker, stream, args, is_escaped)?;
    if let (true, Some(exit)) = (args.follow, worker.exit()) {
        eprintln!("the worker ended: {exit}");
    }
    Ok(0)
}

/// Prints what there is, and with `--follow` what comes.
fn show(worker: &mut KeptWorker, stream: Stream, args: &OutputArgs, is_escaped: bool) -> Result<(), Failure> {
    let mut reader = worker.read(stream);
    loop {
        // What is printed before the last look at the worker is read after it.
        let is_over = !args.follow || !matches!(worker.look_again().map_err(unreadable)?, Sight::Running);
        let mut out = Vec::new();
        let mut keep = |piece: Piece| render(worker, &piece, stream, args.raw, is_escaped, &mut out);
        reader.read(&mut keep).map_err(unreadable)?;
        if is_over {
            reader.finish(&mut keep);
        }
        if !print_bytes(&out)? || is_over {
            return Ok(());
        }
        std::thread::sleep(FOLLOW_EVERY);
    }
}

fn render(worker: &KeptWorker, piece: &Piece, stream: Stream, is_raw: bool, is_escaped: bool, out: &mut Vec<u8>) {
    let mut line = |text: &[u8]| {
        out.extend_from_slice(text);
        out.push(b'\n');
    };
    match piece {
        Piece::Gap(bytes) => line(format!("… {bytes} bytes are not kept …").as_bytes()),
        Piece::Line { bytes, .. } if is_raw && !is_escaped => line(bytes),
        Piece::Line { bytes, .. } if is_raw => line(printable(&String::from_utf8_lossy(bytes)).as_bytes()),
        Piece::Line { bytes, is_cut: true } => {
            let start = String::from_utf8_lossy(&bytes[..bytes.len().min(200)]).into_owned();
            line(format!("{}… (a line of more than {} bytes)", printable(&start), bytes.len()).as_bytes());
        }
        Piece::Line { bytes, is_cut: false } => {
            worker.told(bytes, stream).iter().for_each(|told| line(told.as_bytes()));
        }
    }
}

fn document(worker: &KeptWorker, stream: Stream, is_raw: bool) -> Result<Value, Failure> {
    let (mut lines, mut missing) = (Vec::new(), 0);
    let mut keep = |piece: Piece| match piece {
        Piece::Gap(bytes) => missing += bytes,
        Piece::Line { bytes, .. } if is_raw => lines.push(String::from_utf8_lossy(&bytes).into_owned()),
        Piece::Line { bytes, .. } => lines.extend(worker.told(&bytes, stream)),
    };
    let mut reader = worker.read(stream);
    reader.read(&mut keep).map_err(unreadable)?;
    reader.finish(&mut keep);
    let about = &worker.about;
    let (name, printed) = match stream {
        Stream::Out => ("stdout", worker.printed.0),
        Stream::Err => ("stderr", worker.printed.1),
    };
    Ok(json!({
        "unit": about.unit,
        "step": about.step,
        "stage": about.stage,
        "attempt": about.attempt,
        "worker": about.worker,
        "gate": about.gate,
        "adapter": about.adapter,
        "started": worker.started().map(|at| at.to_string()),
        "is_running": worker.exit().is_none(),
        "exit": worker.exit(),
        "stream": name,
        "bytes": printed,
        "bytes_not_kept": missing,
        "lines": lines,
    }))
}

/// Whose output it is.
fn headline(worker: &KeptWorker) -> String {
    let about = &worker.about;
    let mut parts = vec![about.unit.clone().unwrap_or_default()];
    parts[0].extend(about.step.iter().map(|step| format!(" {step}")));
    parts.extend(about.gate.iter().map(|gate| format!("gate {gate}")));
    parts.extend(about.worker.iter().map(|worker| format!("worker {worker}")));
    parts.extend(about.attempt.iter().map(|attempt| format!("attempt {attempt}")));
    parts.extend(worker.started().map(|at| format!("started {at}")));
    parts.push(worker.exit().unwrap_or_else(|| "running".to_owned()));
    printable(&parts.join(", ")).into_owned()
}

fn failure(context: &Context, query: &WorkerQuery, error: &NoWorker) -> Failure {
    let unit = &query.unit;
    match error {
        NoWorker::Nothing => match find_or_led(&context.workspace, unit, context.now) {
            Ok(found) => {
                let directory = std::env::current_dir().unwrap_or_else(|_| context.workspace.root().to_owned());
                let whose = if query.gate.is_some() { "gate" } else { "worker" };
                Failure::new(NOTHING, format!("no output of a {whose} of {unit} is kept")).hint(next_step(
                    &context.workspace,
                    &found,
                    &directory,
                    context.now,
                ))
            }
            Err(error) => Failure::not_found(unit, &error),
        },
        NoWorker::Ambiguous { units } => {
            let failure = Failure::new(USAGE, format!("workers of several units are called {unit}"));
            units.iter().fold(failure, |failure, unit| failure.hint(verbs::OUTPUT.on(unit)))
        }
        NoWorker::Other { known } => {
            let attempt = query.attempt.as_ref().map(|attempt| format!("attempt {attempt}"));
            let gate = query.gate.as_ref().map(|gate| format!("gate {gate}"));
            let wanted = [query.step.clone(), attempt, gate].into_iter().flatten().collect::<Vec<_>>().join(", ");
            let count = match &query.gate {
                Some(_) => counted(known.len(), "gate of it is kept", "gates of it are kept"),
                None => counted(known.len(), "worker of it is kept", "workers of it are kept"),
            };
            let message = format!("no output of {unit}, {wanted} is kept; {count}: {}", known.join("; "));
            Failure::new(NOTHING, message).hint(verbs::OUTPUT.on(unit))
        }
        NoWorker::Unreadable { message } => {
            Failure::new(FAILED, format!("cannot read what workers printed: {message}"))
        }
    }
}

fn unreadable(error: std::io::Error) -> Failure {
    Failure::new(FAILED, format!("cannot read what the worker printed: {error}"))
}
