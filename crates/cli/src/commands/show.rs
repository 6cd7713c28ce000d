use clap::{ArgMatches, Args};
use piton_engine::show;

use crate::context::Context;
use crate::failure::{Failure, NOTHING, USAGE};
use crate::output::{print, print_json};
use crate::recording::unit;
use crate::render;

#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  piton show build:PRD-009@12\n  piton show plan:260220-1149-feature@3 --file plans/260220-1149-feature/plan.md"
)]
pub struct ShowArgs {
    /// The unit and the number of the version; without a number the newest one
    #[arg(value_name = "UNIT@N")]
    version: String,

    /// Another document of the unit than its main one
    #[arg(long, value_name = "PATH")]
    file: Option<String>,

    /// One JSON document with all documents of that version
    #[arg(long)]
    json: bool,
}

pub fn run(matches: &ArgMatches, args: &ShowArgs) -> Result<u8, Failure> {
    let (typed, seq) = version(&args.version)?;
    let wanted = unit(typed)?;
    let context = Context::new(matches)?;
    let found =
        show(&context.workspace, &wanted, seq, context.now).map_err(|error| Failure::record(&wanted, &error))?;
    if args.json {
        print_json(&render::json::version(&found))?;
        return Ok(0);
    }
    let document = match &args.file {
        Some(path) => found.documents.iter().find(|(found, _)| found == path),
        None => found.documents.first(),
    };
    let Some((_, bytes)) = document else {
        let failure = Failure::new(NOTHING, format!("{}@{} has no such document", found.unit, found.seq));
        return Err(found
            .documents
            .iter()
            .fold(failure, |failure, (path, _)| failure.hint(format!("there is {path}"))));
    };
    print(&String::from_utf8_lossy(bytes))?;
    Ok(0)
}

/// A unit with the number of a version behind an `@`.
pub fn version(typed: &str) -> Result<(&str, Option<u64>), Failure> {
    match typed.rsplit_once('@') {
        None => Ok((typed, None)),
        Some((unit, number)) => match number.parse() {
            Ok(number) => Ok((unit, Some(number))),
            Err(_) => Err(Failure::new(USAGE, format!("a version is a number behind an @: {typed}"))
                .hint("such as build:PRD-009@12")),
        },
    }
}
