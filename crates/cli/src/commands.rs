//! One file a verb.

pub mod approve;
pub mod beat;
pub mod block;
pub mod check;
pub mod compact;
pub mod completions;
pub mod decide;
pub mod demo;
pub mod diff;
pub mod doctor;
pub mod fail;
pub mod finish;
pub mod gate;
pub mod inbox;
pub mod init;
pub mod log;
#[cfg(feature = "mcp")]
pub mod mcp;
pub mod note;
pub mod output;
pub mod pause;
pub mod plan;
pub mod reopen;
pub mod repair;
pub mod restart;
pub mod resume;
pub mod rollback;
pub mod run;
pub mod schema;
pub mod send;
pub mod show;
pub mod stage;
pub mod stale;
pub mod start;
pub mod status;
pub mod step;
pub mod stop;
pub mod sync;
pub mod takeover;
pub mod unblock;
pub mod verdict;
pub mod why;
pub mod worktrees;

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
        "start" => start::run(matches, args(inner)?),
        "step" => step::run(matches, args(inner)?),
        "stage" => stage::run(matches, args(inner)?),
        "gate" => gate::run(matches, args(inner)?),
        "verdict" => verdict::run(matches, args(inner)?),
        "block" => block::run(matches, args(inner)?),
        "unblock" => unblock::run(matches, args(inner)?),
        "pause" => pause::run(matches, args(inner)?),
        "fail" => fail::run(matches, args(inner)?),
        "note" => note::run(matches, args(inner)?),
        "output" => output::run(matches, &args(inner)?),
        "decide" => decide::run(matches, args(inner)?),
        "beat" => beat::run(matches, &args(inner)?),
        "finish" => finish::run(matches, &args(inner)?),
        "resume" => resume::run(matches, &args(inner)?),
        "takeover" => takeover::run(matches, args(inner)?),
        "restart" => restart::run(matches, args(inner)?),
        "reopen" => reopen::run(matches, &args(inner)?),
        "log" => log::run(matches, &args(inner)?),
        "show" => show::run(matches, &args(inner)?),
        "diff" => diff::run(matches, &args(inner)?),
        "rollback" => rollback::run(matches, &args(inner)?),
        "repair" => repair::run(matches, &args(inner)?),
        "plan" => plan::run(matches, &args(inner)?),
        "send" => send::run(matches, args(inner)?),
        "inbox" => inbox::run(matches, &args(inner)?),
        "sync" => sync::run(matches, &args(inner)?),
        "compact" => compact::run(matches, &args(inner)?),
        #[cfg(feature = "mcp")]
        "mcp" => mcp::run(matches, &args(inner)?),
        "run" => run::run(matches, args(inner)?),
        "stop" => stop::run(matches, &args(inner)?),
        "approve" => approve::run(matches, &args(inner)?),
        "demo" => demo::run(&args(inner)?),
        "worktrees" => worktrees::run(matches, &args(inner)?),
        // It is heard before arguments are parsed, and never fails; this is for who asks in an unusual way.
        "hook" => Ok(crate::hook::run_parsed(args(inner)?)),
        "init" => init::run(matches, &args(inner)?),
        "doctor" => doctor::run(matches, &args(inner)?),
        "schema" => schema::run(&args(inner)?),
        "completions" => completions::run(&args(inner)?),
        verb => unreachable!("{verb} is not in the grammar"),
    }
}

fn args<A: FromArgMatches>(matches: &ArgMatches) -> Result<A, Failure> {
    A::from_arg_matches(matches).map_err(|error| Failure::new(USAGE, error.to_string()))
}
