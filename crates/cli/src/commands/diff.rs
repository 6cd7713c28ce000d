use clap::{ArgMatches, Args};
use piton_engine::{Version, show};

use crate::context::Context;
use crate::failure::{Failure, USAGE};
use crate::output::print;
use crate::recording::unit;
use crate::render;

#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  piton diff build:PRD-009@11 build:PRD-009@12\n  piton diff build:PRD-009@12")]
pub struct DiffArgs {
    /// The older version
    #[arg(value_name = "UNIT@N")]
    old: String,

    /// The newer version [default: with one version, what that one changed]
    #[arg(value_name = "UNIT@M")]
    new: Option<String>,
}

pub fn run(matches: &ArgMatches, args: &DiffArgs) -> Result<u8, Failure> {
    let (typed, seq) = super::show::version(&args.old)?;
    let Some(seq) = seq else {
        return Err(Failure::new(USAGE, format!("which version? {}", args.old)).hint("such as build:PRD-009@12"));
    };
    let context = Context::new(matches)?;
    let get = |typed: &str, seq: Option<u64>| -> Result<Version, Failure> {
        let wanted = unit(typed)?;
        show(&context.workspace, &wanted, seq, context.now).map_err(|error| Failure::record(&wanted, &error))
    };
    let (old, new) = match &args.new {
        Some(new) => {
            let (other, number) = super::show::version(new)?;
            (get(typed, Some(seq))?, get(other, number)?)
        }
        // The first version came from nothing.
        None if seq <= 1 => (Version { unit: typed.to_owned(), seq: 0, documents: Vec::new() }, get(typed, Some(seq))?),
        None => (get(typed, Some(seq - 1))?, get(typed, Some(seq))?),
    };
    print(&render::history::diff(&old, &new, context.color))?;
    Ok(0)
}
