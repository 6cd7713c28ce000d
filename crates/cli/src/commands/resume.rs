use clap::{ArgMatches, Args};
use piton_engine::{Problem, RecordError, ResumeRequest, resumable, resume};
use piton_model::{RefusalKind, ResumeAction, ResumeMode};
use serde_json::json;

use crate::context::Context;
use crate::failure::{Failure, REFUSED};
use crate::output::{print, print_json};
use crate::recording::{Writer, unit, warn};
use crate::render;

#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  piton resume\n  piton resume crew:Secondary-A\n  piton resume build:PRD-009 --continue --json\n\nWithout a unit: what could be resumed, the most urgent first."
)]
pub struct ResumeArgs {
    /// The unit
    #[arg(value_name = "UNIT")]
    unit: Option<String>,

    /// Begin the interrupted stretch again
    #[arg(long, conflicts_with = "go_on")]
    restart: bool,

    /// Go on with the interrupted stretch
    #[arg(long = "continue")]
    go_on: bool,

    /// Even if an agent seems to be alive
    #[arg(long)]
    force: bool,

    /// The most characters of the brief
    #[arg(long, value_name = "N", default_value_t = 10_000, hide_default_value = true)]
    budget: usize,

    /// One JSON document
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    writer: Writer,
}

pub fn run(matches: &ArgMatches, args: &ResumeArgs) -> Result<u8, Failure> {
    let context = Context::new(matches)?;
    let Some(typed) = &args.unit else { return list(&context, args) };
    let wanted = unit(typed)?;
    let mode = match (args.restart, args.go_on) {
        (true, _) => Some(ResumeMode::Restart),
        (false, true) => Some(ResumeMode::Continue),
        (false, false) => None,
    };
    let request = ResumeRequest { mode, force: args.force, budget: args.budget, outputs_in: None };
    let recorder = args.writer.recorder(&context, "resume")?;
    let resumption = match resume(&context.workspace, &wanted, &request, &recorder) {
        Ok(resumption) => resumption,
        Err(RecordError::Refused(refusal)) if args.json && refusal.kind == RefusalKind::Rule => {
            print_json(&render::json::not_resumed(&wanted, &refusal))?;
            return Ok(REFUSED);
        }
        Err(error) => return Err(Failure::record(&wanted, &error)),
    };
    warn(&resumption.warnings);
    let is_refused = resumption.plan.action == ResumeAction::Refuse;
    if args.json {
        print_json(&render::json::resumption(&resumption))?;
        return Ok(if is_refused { REFUSED } else { 0 });
    }
    if is_refused {
        return Err(Problem::not_resumed(&resumption).into());
    }
    print(&resumption.brief)?;
    Ok(0)
}

/// What could be resumed, the most urgent first.
fn list(context: &Context, args: &ResumeArgs) -> Result<u8, Failure> {
    let rows = resumable(&context.workspace, context.now);
    if args.json {
        let units: Vec<_> = rows.iter().map(render::json::row).collect();
        print_json(&json!({"units": units}))?;
        return Ok(0);
    }
    if rows.is_empty() {
        print("nothing to resume\n")?;
        return Ok(0);
    }
    print(&render::report::resumable(&rows, context.color, context.width))?;
    Ok(0)
}
