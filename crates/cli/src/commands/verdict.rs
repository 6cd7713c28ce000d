use clap::{ArgMatches, Args};
use piton_model::{Event, Verdict};

use crate::failure::Failure;
use crate::recording::{self, Writing};

#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  piton verdict pipeline:PROJ-42 GO --score 8\n  piton verdict pipeline:PROJ-42 FAIL --score 40 --issues 'two tests are red'\n  piton verdict build:PRD-009 do_not_ship --p0 1 --p1 2\n  piton verdict task:migration/T060 PASS --by agent_4 --score 88"
)]
pub struct VerdictArgs {
    #[command(flatten)]
    writing: Writing,

    /// GO, NO-GO, PASS, CONCERNS, WAIVED, FAIL; ship, ship_with_gates, do_not_ship, overridden; PLAN for a plan's score
    #[arg(value_name = "WORD")]
    word: String,

    /// A score, in the dialect's scale
    #[arg(long, value_name = "N")]
    score: Option<f64>,

    /// Why
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    reason: Option<String>,

    /// What is wrong
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    issues: Option<String>,

    /// How many findings block
    #[arg(long, value_name = "N")]
    p0: Option<u64>,

    /// How many findings should be mended
    #[arg(long, value_name = "N")]
    p1: Option<u64>,

    /// Where the whole report is
    #[arg(long, value_name = "FILE")]
    report: Option<String>,
}

pub fn run(matches: &ArgMatches, args: VerdictArgs) -> Result<u8, Failure> {
    let reviewer = Some(args.writing.writer.by.clone()).filter(|by| by != "main");
    let event = Event::VerdictGiven(Verdict {
        word: args.word,
        score: args.score,
        reason: args.reason,
        issues: args.issues,
        reviewer,
        p0: args.p0,
        p1: args.p1,
        report: args.report,
    });
    recording::run(matches, &args.writing, "verdict", &event)
}
