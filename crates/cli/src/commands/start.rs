use std::path::PathBuf;

use clap::{ArgMatches, Args};
use piton_model::{Event, Start};

use crate::failure::{FAILED, Failure, NOTHING};
use crate::recording::{self, Writing};

#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  piton start build:PRD-009 --title 'Cashier Workflows' --step WS1 --step WS2 --gate lint\n  piton start task:migration/T060 --title 'Convert PDFs' --total 29 --criterion manifest_updated\n  piton start crew:Secondary-A --feature feature_02_team_penalty --stage S2.P1\n  piton start plan:260220-1149-feature\n  piton start pipeline:PROJ-42 --stage 0"
)]
pub struct StartArgs {
    #[command(flatten)]
    writing: Writing,

    /// What a person calls it
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    title: Option<String>,

    /// The EXECUTION-SPEC that a build follows
    #[arg(long, value_name = "FILE")]
    spec: Option<PathBuf>,

    /// A step; may be given several times
    #[arg(long = "step", value_name = "ID")]
    steps: Vec<String>,

    /// A gate; may be given several times
    #[arg(long = "gate", value_name = "NAME")]
    gates: Vec<String>,

    /// An acceptance criterion; may be given several times
    #[arg(long = "criterion", value_name = "NAME")]
    criteria: Vec<String>,

    /// How many steps there are, when not all are named
    #[arg(long, value_name = "N")]
    total: Option<u64>,

    /// What the agent is called
    #[arg(long, value_name = "NAME")]
    agent_name: Option<String>,

    /// The feature that an agent of a crew owns
    #[arg(long, value_name = "NAME")]
    feature: Option<String>,

    /// The stage it starts in
    #[arg(long, value_name = "STAGE")]
    stage: Option<String>,

    /// primary or secondary
    #[arg(long = "type", value_name = "TYPE")]
    agent_type: Option<String>,

    /// How long it is expected to take, such as 45m or 2h
    #[arg(long, value_name = "SPAN", value_parser = minutes)]
    estimate: Option<u64>,
}

pub fn run(matches: &ArgMatches, args: StartArgs) -> Result<u8, Failure> {
    let spec = args.spec.map(read_spec).transpose()?;
    let event = Event::Started(Start {
        title: args.title,
        spec,
        steps: args.steps,
        gates: args.gates,
        criteria: args.criteria,
        total: args.total,
        agent_name: args.agent_name,
        feature: args.feature,
        stage: args.stage,
        agent_type: args.agent_type,
        session: args.writing.writer.session.clone(),
        estimate_minutes: args.estimate,
        tasks: Vec::new(),
        replaces: false,
    });
    recording::run(matches, &args.writing, "start", &event)
}

fn read_spec(path: PathBuf) -> Result<(String, String), Failure> {
    let shown = path.display().to_string();
    match piton_engine::read_named_text(&path) {
        Ok(Some(text)) => Ok((shown, text)),
        Ok(None) => Err(Failure::new(NOTHING, format!("there is no such specification: {shown}"))),
        Err(error) => Err(Failure::new(FAILED, format!("cannot read the specification `{shown}`: {error}"))),
    }
}

/// A span such as `45m`, `2h` or `90`, in minutes.
fn minutes(text: &str) -> Result<u64, String> {
    let (number, factor) = match text.as_bytes().last() {
        Some(b'h') => (&text[..text.len() - 1], 60),
        Some(b'm') => (&text[..text.len() - 1], 1),
        _ => (text, 1),
    };
    let number: u64 = number.parse().map_err(|_| "write it as 45m or 2h".to_owned())?;
    number.checked_mul(factor).ok_or_else(|| "that is longer than anybody waits".to_owned())
}
