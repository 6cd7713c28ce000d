//! One file a verb.

pub mod check;
pub mod completions;
pub mod schema;
pub mod stale;
pub mod status;
pub mod why;

use clap::{ArgMatches, FromArgMatches};

use crate::failure::{Failure, USAGE};

/// Runs the verb that was given; returns its exit code.
pub fn run(matches: &ArgMatches) -> Result<u8, Failure> {
    let (verb, inner) = matches.subcommand().expect("a verb is required");
    match verb {
        "status" => status::run(matches, args(inner)?),
        "check" => check::run(matches, &args(inner)?),
        "stale" => stale::run(matches, &args(inner)?),
        "why" => why::run(matches, &args(inner)?),
        "schema" => schema::run(&args(inner)?),
        "completions" => completions::run(&args(inner)?),
        verb => unreachable!("{verb} is not in the grammar"),
    }
}

fn args<A: FromArgMatches>(matches: &ArgMatches) -> Result<A, Failure> {
    A::from_arg_matches(matches).map_err(|error| Failure::new(USAGE, error.to_string()))
}
