//! The grammar. Each verb's arguments are built only when that verb is used: most starts of this program are
//! hooks and single commands, and building all of it would take as long as the work.

use clap::{Args, Command, CommandFactory as _, Parser};

use crate::commands::{check, completions, schema, stale, status, why};

/// Options that every verb takes.
#[derive(Parser, Debug)]
#[command(
    name = "piton",
    version,
    about = "Crash-proof, resumable work for coding agents",
    after_help = "Examples:\n  piton status\n  piton check plans/260220-1149-feature/plan.md\n  piton why crew:Secondary-A",
    disable_help_subcommand = true,
    subcommand_required = true,
    arg_required_else_help = true
)]
pub struct Global {
    /// Use DIR as the workspace [default: the nearest directory upwards with documents, .piton or .git]
    #[arg(short = 'C', value_name = "DIR", global = true)]
    pub root: Option<std::path::PathBuf>,

    /// When to use colour: auto, always, never
    #[arg(long, value_name = "WHEN", global = true, default_value = "auto", hide_default_value = true)]
    pub color: clap::ColorChoice,

    /// Pretend that it is TIME (for tests and imports)
    #[arg(long, value_name = "TIME", global = true, hide_short_help = true)]
    pub at: Option<String>,
}

/// The whole command line.
pub fn command() -> Command {
    Global::command()
        .subcommand(verb::<status::StatusArgs>(
            "status",
            "Show every unit: how far it is, who works on it, whether they are alive",
        ))
        .subcommand(verb::<check::CheckArgs>("check", "Check documents against the rules of their dialects"))
        .subcommand(verb::<stale::StaleArgs>("stale", "List workers that are late, stale or dead"))
        .subcommand(verb::<why::WhyArgs>("why", "Explain how a unit was judged, with the records behind it"))
        .subcommand(verb::<schema::SchemaArgs>("schema", "Print the JSON Schema of a dialect's documents"))
        .subcommand(verb::<completions::CompletionsArgs>("completions", "Print a completion script for a shell"))
}

fn verb<A: Args>(name: &'static str, about: &'static str) -> Command {
    Command::new(name).about(about).defer(A::augment_args)
}
