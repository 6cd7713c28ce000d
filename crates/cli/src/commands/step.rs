use clap::{ArgMatches, Args, ValueEnum};
use piton_model::{Event, StepMove, StepTo};

use crate::context::Context;
use crate::failure::Failure;
use crate::recording::{self, Writing};

#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  piton step build:PRD-009 begin WS2 WS3\n  piton step task:migration/T060 done post-01 --output docs/post-01.md --next post-02\n  piton step plan:260220-1149-feature done db-schema --by subagent:fullstack\n  piton step pipeline:PROJ-42 begin PROJ-101 --title 'Parse the file' --description 'Read the header first'\n  piton step build:PRD-009 done WS1 --evidence 'cargo test'"
)]
pub struct StepArgs {
    #[command(flatten)]
    writing: Writing,

    /// What happened to the steps
    #[arg(value_name = "begin|done|fail|skip", value_enum)]
    deed: Deed,

    /// The steps
    #[arg(value_name = "STEP", required = true)]
    steps: Vec<String>,

    /// A file that the step made; may be given several times
    #[arg(long = "output", value_name = "FILE")]
    outputs: Vec<String>,

    /// A file that the step changed; may be given several times
    #[arg(long = "file", value_name = "FILE")]
    files: Vec<String>,

    /// What comes next
    #[arg(long, value_name = "STEP")]
    next: Option<String>,

    /// What there is to say
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    message: Option<String>,

    /// Title of a story's task, for `begin` of one task
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    title: Option<String>,

    /// Description of a story's task, for `begin` of one task
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    description: Option<String>,

    /// A command that proves it: it is run now, and how it ended is recorded
    #[arg(long, value_name = "COMMAND")]
    evidence: Option<String>,
}

#[derive(ValueEnum, Debug, Clone, Copy)]
enum Deed {
    Begin,
    Done,
    Fail,
    Skip,
}

pub fn run(matches: &ArgMatches, args: StepArgs) -> Result<u8, Failure> {
    let to = match args.deed {
        Deed::Begin => StepTo::Begun,
        Deed::Done => StepTo::Done,
        Deed::Fail => StepTo::Failed,
        Deed::Skip => StepTo::Skipped,
    };
    let evidence = match &args.evidence {
        Some(command) => {
            let context = Context::new(matches)?;
            Some(super::gate::evidence(&context, command, to == StepTo::Done)?)
        }
        None => None,
    };
    let event = Event::StepMoved(StepMove {
        to,
        steps: args.steps,
        outputs: args.outputs,
        files: args.files,
        next: args.next,
        message: args.message,
        evidence,
        title: args.title,
        description: args.description,
    });
    recording::run(matches, &args.writing, "step", &event)
}
