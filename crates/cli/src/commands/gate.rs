use clap::{ArgMatches, Args, ValueEnum};
use piton_engine::{Trust, approve, find_or_led, gate_command, is_approved, next_step, record, run_evidence};
use piton_model::hint::verbs;
use piton_model::{Event, Evidence, GateJudgement};

use crate::context::Context;
use crate::failure::{FAILED, Failure, REFUSED, USAGE};
use crate::recording::{self, Writing, acknowledge};

#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  piton gate build:PRD-009 pass schema-validation --step WS1\n  piton gate task:migration/T060 pass manifest_updated\n  piton gate build:PRD-009 pass lint --step WS3 --evidence 'make lint'\n  piton gate build:PRD-009 run lint --step WS3 --approve\n  piton gate task:migration/T060 run manifest_updated\n\n`run` takes the command from a build's specification, else from [gates] in piton.toml.\nA command that comes from the repository runs only after you approved it once; the approval is kept outside of the repository."
)]
pub struct GateArgs {
    #[command(flatten)]
    writing: Writing,

    /// How they are judged; run executes the gate's command and judges by how it ends
    #[arg(value_name = "pass|fail|run", value_enum)]
    deed: Deed,

    /// The gates or acceptance criteria
    #[arg(value_name = "NAME", required = true)]
    names: Vec<String>,

    /// The step they belong to
    #[arg(long, value_name = "STEP")]
    step: Option<String>,

    /// Run COMMAND, and record how it ended; a pass is refused unless it ends with 0
    #[arg(long, value_name = "COMMAND")]
    evidence: Option<String>,

    /// Approve the command that the repository names for the gate, from now on
    #[arg(long)]
    approve: bool,
}

/// The exit codes with which a shell says that there is no such command. They say nothing about the work.
const NOT_EXECUTABLE: i32 = 126;
const NOT_FOUND: i32 = 127;

#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
enum Deed {
    Pass,
    Fail,
    Run,
}

pub fn run(matches: &ArgMatches, args: GateArgs) -> Result<u8, Failure> {
    if args.deed == Deed::Run {
        if args.evidence.is_some() {
            let message = "`gate run` runs the gate's own command; --evidence is for `pass` and `fail`";
            return Err(Failure::new(USAGE, message));
        }
        return run_gates(matches, &args);
    }
    let passed = args.deed == Deed::Pass;
    let evidence = match &args.evidence {
        Some(command) => Some(evidence(&Context::new(matches)?, command, passed)?),
        None => None,
    };
    let event = Event::GateJudged(GateJudgement { passed, names: args.names, step: args.step, evidence });
    recording::run(matches, &args.writing, "gate", &event)?;
    continue_run(matches, &args.writing.unit)
}

/// Names what continues the run of a unit whose gate a person judged.
fn continue_run(matches: &ArgMatches, unit: &str) -> Result<u8, Failure> {
    let context = Context::new(matches)?;
    let wanted = recording::unit(unit)?;
    let found = find_or_led(&context.workspace, &wanted, context.now).ok();
    if let Some(found) = found.filter(|found| found.led.is_some() && !context.is_worker) {
        let directory = std::env::current_dir().unwrap_or_else(|_| context.workspace.root().to_owned());
        let next = next_step(&context.workspace, &found, &directory, context.now);
        eprintln!("next: {}", crate::render::clean(&next.to_string()));
    }
    Ok(0)
}

/// Runs the command of each gate and records how it ended; the first one that fails is the last one that is run.
fn run_gates(matches: &ArgMatches, args: &GateArgs) -> Result<u8, Failure> {
    let wanted = recording::unit(&args.writing.unit)?;
    let context = Context::new(matches)?;
    for name in &args.names {
        let command = gate_command(&context.workspace, &wanted, name, context.now)
            .map_err(|error| Failure::record(&wanted, &error))?;
        permit(&context, &command, name, args)?;
        let evidence = evidence(&context, &command, false)?;
        if matches!(evidence.exit_code, NOT_EXECUTABLE | NOT_FOUND) {
            let message = format!("gate {name} cannot judge: `{command}` ended with {}", evidence.exit_code);
            let hint = "nothing was recorded; correct the command, or install what it needs";
            return Err(Failure::new(FAILED, message).quote(&evidence.tail).hint(hint));
        }
        let passed = evidence.exit_code == 0;
        let event = Event::GateJudged(GateJudgement {
            passed,
            names: vec![name.clone()],
            step: args.step.clone(),
            evidence: Some(evidence.clone()),
        });
        let recorder = args.writing.writer.recorder(&context, "gate")?;
        let recorded =
            record(&context.workspace, &wanted, &event, &recorder).map_err(|error| Failure::record(&wanted, &error))?;
        acknowledge(&recorded)?;
        if !passed {
            let message = format!("gate {name} failed: `{command}` ended with {}", evidence.exit_code);
            return Err(Failure::new(FAILED, message).quote(&evidence.tail));
        }
    }
    Ok(0)
}

fn permit(context: &Context, command: &str, name: &str, args: &GateArgs) -> Result<(), Failure> {
    let trust = Trust::of(&context.workspace, command);
    if args.approve && context.is_worker {
        let failure = Failure::new(REFUSED, "a worker cannot approve what workers may do");
        return Err(failure.hint("leave the gate to the lead, and end"));
    }
    if args.approve {
        return approve(&trust).map_err(|error| Failure::new(FAILED, error.to_string()));
    }
    if is_approved(&trust) {
        return Ok(());
    }
    Err(Failure::new(
        REFUSED,
        format!("the repository names a command for gate {name} that you have not approved: {command}"),
    )
    .hint(
        verbs::GATE_RUN.on(&args.writing.unit).word("run").name(name, "NAME").flag("--approve").to("look at it, then"),
    ))
}

/// Runs a command that proves something. For a claim that it must bear out, failing is a refusal.
pub fn evidence(context: &Context, command: &str, must_pass: bool) -> Result<Evidence, Failure> {
    if context.is_held && !is_approved(&Trust::of(&context.workspace, command)) {
        let message = format!("a worker may run only commands that were approved: {command}");
        return Err(Failure::new(REFUSED, message).hint("record it without --evidence; gates are run by the lead"));
    }
    let evidence = run_evidence(&context.workspace, command)
        .map_err(|error| Failure::new(FAILED, format!("cannot run `{command}`: {error}")))?;
    if must_pass && evidence.exit_code != 0 {
        let message = format!("the evidence does not bear it out: `{command}` ended with {}", evidence.exit_code);
        let hint = "nothing was recorded; mend it and run the same command again";
        return Err(Failure::new(REFUSED, message).quote(&evidence.tail).hint(hint));
    }
    Ok(evidence)
}
