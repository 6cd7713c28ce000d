use std::path::PathBuf;

use clap::{ArgMatches, Args};
use piton_engine::{CheckError, Checked, NotFound, Target, check};
use piton_model::{Severity, Tally, UnitRef};

use crate::context::Context;
use crate::failure::{FOUND_ERRORS, Failure, NOTHING};
use crate::output::{print, print_json};
use crate::render;

#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  piton check\n  piton check build:PRD-009\n  piton check plans/260220-1149-feature/plan.md\n\nExit code 3 when there is an error-level finding. Every code is explained in docs/findings.md."
)]
pub struct CheckArgs {
    /// Units, files or directories [default: the whole workspace]
    #[arg(value_name = "UNIT | PATH")]
    targets: Vec<String>,

    /// One JSON document
    #[arg(long)]
    json: bool,
}

pub fn run(matches: &ArgMatches, args: &CheckArgs) -> Result<u8, Failure> {
    let targets = args.targets.iter().map(|typed| target(typed)).collect::<Result<Vec<_>, _>>()?;
    let context = Context::new(matches)?;
    let mut all = Checked::default();
    let whole = [Target::Workspace];
    for target in if targets.is_empty() { &whole[..] } else { &targets } {
        let wanted = match target {
            Target::Unit(unit) => Some(unit),
            Target::Workspace | Target::Path(_) => None,
        };
        let checked = check(&context.workspace, target, context.now).map_err(|error| match (wanted, &error) {
            (Some(wanted), CheckError::Unit(NotFound::Nothing { similar }))
                if wanted.dialect.is_none() && similar.is_empty() =>
            {
                no_such_thing(&wanted.to_string())
            }
            _ => Failure::check(wanted, &error),
        })?;
        all.findings.extend(checked.findings);
        all.files += checked.files;
    }
    if args.json {
        print_json(&render::json::findings(&all.findings, all.files))?;
    } else {
        print(&render::findings::text(&all.findings, context.color))?;
        eprintln!("{}", render::findings::summary(Tally::of(&all.findings), all.files));
    }
    let has_errors = all.findings.iter().any(|finding| finding.code.severity == Severity::Error);
    Ok(if has_errors { FOUND_ERRORS } else { 0 })
}

/// What somebody typed: a unit when it names a dialect, a path when there is such a file, else a unit's bare id.
fn target(typed: &str) -> Result<Target, Failure> {
    let names_dialect = typed.split_once(':').is_some_and(|(word, _)| word.parse::<piton_model::Dialect>().is_ok());
    let path = PathBuf::from(typed);
    if !names_dialect && path.symlink_metadata().is_ok() {
        return Ok(Target::Path(path));
    }
    match UnitRef::parse(typed) {
        Ok(unit) => Ok(Target::Unit(unit)),
        Err(error) if names_dialect => Err(Failure::bad_unit(typed, &error)),
        Err(_) => Err(no_such_thing(typed)),
    }
}

fn no_such_thing(typed: &str) -> Failure {
    Failure::new(NOTHING, format!("there is no such file or unit: {typed}"))
}
