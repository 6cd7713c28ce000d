use std::io::{IsTerminal as _, Write as _};

use clap::{ArgMatches, Args};
use piton_engine::{Problem, RecordError, ResumeRequest, Resumption, resumable, resume};
use piton_model::{Audience, Hint, RefusalKind, ResumeAction, ResumeMode, ResumeQuestion};
use serde_json::json;

use crate::context::Context;
use crate::failure::{FAILED, Failure, REFUSED};
use crate::output::{print, print_json};
use crate::recording::{Writer, unit, warn};
use crate::render;

#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  piton resume\n  piton resume crew:Secondary-A\n  piton resume build:PRD-009 --continue --json\n  piton resume build:PRD-009 --fixed\n\nWithout a unit: what could be resumed, the most urgent first.\nOn a terminal a build asks what a program answers with --restart, --continue or --fixed."
)]
pub struct ResumeArgs {
    /// The unit
    #[arg(value_name = "UNIT")]
    unit: Option<String>,

    /// Begin the interrupted stretch again
    #[arg(long, conflicts_with_all = ["go_on", "fixed"])]
    restart: bool,

    /// Continue the interrupted stretch
    #[arg(long = "continue", conflicts_with = "fixed")]
    go_on: bool,

    /// Continue a failed build: what failed is fixed
    #[arg(long)]
    fixed: bool,

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
    let mode = match (args.restart, args.go_on, args.fixed) {
        (true, _, _) => Some(ResumeMode::Restart),
        (false, true, _) => Some(ResumeMode::Continue),
        (false, false, true) => Some(ResumeMode::Fixed),
        (false, false, false) => None,
    };
    let mut request =
        ResumeRequest { mode, force: args.force, budget: args.budget, outputs_in: None, audience: Audience::Shell };
    let recorder = args.writer.recorder(&context, "resume")?;
    let resumed = match resume(&context.workspace, &wanted, &request, &recorder) {
        Ok(Resumption { question: Some(question), plan, .. }) if !args.json && is_on_terminal() => {
            request.mode = ask(question, &plan.reasons)?;
            resume(&context.workspace, &wanted, &request, &recorder)
        }
        resumed => resumed,
    };
    let resumption = match resumed {
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
        print_json(&render::json::resumption(&resumption, Audience::Shell))?;
        return Ok(if is_refused { REFUSED } else { 0 });
    }
    if is_refused {
        return Err(Problem::not_resumed(&resumption).into());
    }
    print(&resumption.brief)?;
    Ok(0)
}

/// Whether a person can be asked; elsewhere nothing is ever asked.
fn is_on_terminal() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Asks what a protocol asks before a unit is continued. No clear answer leaves it as it is.
fn ask(question: ResumeQuestion, reasons: &[Hint]) -> Result<Option<ResumeMode>, Failure> {
    if let Some(first) = reasons.first() {
        eprintln!("{}", render::clean(&first.to_string()));
    }
    let words = match question {
        ResumeQuestion::IsFixed => "is it fixed? [y/N] ",
        ResumeQuestion::RestartOrContinue => "restart what was interrupted, or continue it? [r/c/N] ",
    };
    eprint!("{words}");
    let _ = std::io::stderr().flush();
    let mut answer = String::new();
    std::io::stdin()
        .read_line(&mut answer)
        .map_err(|error| Failure::new(FAILED, format!("cannot read the answer: {error}")))?;
    Ok(match (question, answer.trim()) {
        (ResumeQuestion::IsFixed, "y" | "Y" | "yes") => Some(ResumeMode::Fixed),
        (ResumeQuestion::RestartOrContinue, "r" | "restart") => Some(ResumeMode::Restart),
        (ResumeQuestion::RestartOrContinue, "c" | "continue") => Some(ResumeMode::Continue),
        _ => None,
    })
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
