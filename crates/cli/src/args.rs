//! The grammar. A verb and its arguments are built only when that verb is used: most starts of this program are
//! hooks and single commands, and building all of it would take as long as the work.

use std::ffi::OsString;

use clap::{ArgMatches, Args, Command, CommandFactory as _, Parser};

use crate::commands::{
    approve, beat, block, check, compact, completions, decide, demo, diff, doctor, fail, finish, gate, inbox, init,
    log, note, output, pause, plan, reopen, repair, restart, resume, rollback, run, schema, send, show, stage, stale,
    start, status, step, stop, sync, takeover, unblock, verdict, why, worktrees,
};
use crate::hook;

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

/// Parses the command line.
pub fn parse(arguments: &[OsString]) -> Result<ArgMatches, clap::Error> {
    let word = |at: usize| arguments.get(at).and_then(|word| word.to_str());
    let verb = if word(1) == Some("-C") { word(3) } else { word(1) };
    // What one verb does not understand is for the whole grammar to explain.
    match verb.filter(|word| !word.starts_with('-')).map(|verb| grammar(Some(verb)).try_get_matches_from(arguments)) {
        Some(Ok(matches)) => Ok(matches),
        Some(Err(_)) | None => command().try_get_matches_from(arguments),
    }
}

/// The whole command line.
pub fn command() -> Command {
    grammar(None)
}

/// The command line with all verbs, or with one of them.
fn grammar(only: Option<&str>) -> Command {
    Grammar { command: Global::command(), only }
        .subcommand(verb::<status::StatusArgs>(
            "status",
            "Show every unit: how far it is, who works on it, whether they are alive",
        ))
        .subcommand(verb::<check::CheckArgs>("check", "Check documents against the rules of their dialects"))
        .subcommand(verb::<stale::StaleArgs>("stale", "List workers that are late, stale or dead"))
        .subcommand(verb::<why::WhyArgs>("why", "Explain how a unit was judged, with the records behind it"))
        .subcommand(verb::<start::StartArgs>("start", "Start a unit: make its document, or begin a new attempt"))
        .subcommand(verb::<step::StepArgs>("step", "Record that steps were begun, done, failed or skipped"))
        .subcommand(verb::<stage::StageArgs>("stage", "Enter the next stage or phase"))
        .subcommand(verb::<gate::GateArgs>(
            "gate",
            "Record that gates or acceptance criteria pass or fail, or run them",
        ))
        .subcommand(verb::<verdict::VerdictArgs>("verdict", "Record a verdict or a score"))
        .subcommand(verb::<block::BlockArgs>("block", "Record what keeps a unit from going on"))
        .subcommand(verb::<unblock::UnblockArgs>("unblock", "Record that a blocker is gone"))
        .subcommand(verb::<pause::PauseArgs>("pause", "Stop a unit on purpose"))
        .subcommand(verb::<fail::FailArgs>("fail", "Record what broke"))
        .subcommand(verb::<note::NoteArgs>("note", "Write something down, or an instruction for whoever resumes"))
        .subcommand(verb::<decide::DecideArgs>("decide", "Record a decision"))
        .subcommand(verb::<beat::BeatArgs>("beat", "Give a sign of life"))
        .subcommand(verb::<finish::FinishArgs>(
            "finish",
            "Complete a unit; refused with reasons while something is open",
        ))
        .subcommand(verb::<resume::ResumeArgs>(
            "resume",
            "Continue a unit: check it, begin a new attempt, print the brief",
        ))
        .subcommand(verb::<takeover::TakeoverArgs>("takeover", "Give a unit to another agent"))
        .subcommand(verb::<restart::RestartArgs>(
            "restart",
            "Begin a unit again from nothing; what there was is archived",
        ))
        .subcommand(verb::<reopen::ReopenArgs>("reopen", "Open a unit again that claims to be done and is not"))
        .subcommand(verb::<log::LogArgs>("log", "List everything that happened to a unit"))
        .subcommand(verb::<show::ShowArgs>("show", "Print a document as it was"))
        .subcommand(verb::<diff::DiffArgs>("diff", "Show what is different between two versions"))
        .subcommand(verb::<rollback::RollbackArgs>("rollback", "Make an old version the newest; nothing is lost"))
        .subcommand(verb::<repair::RepairArgs>("repair", "Bring a unit's documents back into order"))
        .subcommand(verb::<plan::PlanArgs>("plan", "Give ids to the steps of a plan that has none"))
        .subcommand(verb::<send::SendArgs>("send", "Send a message to an agent of a crew"))
        .subcommand(verb::<inbox::InboxArgs>("inbox", "List the messages to an agent of a crew, or mark one as read"))
        .subcommand(verb::<sync::SyncArgs>("sync", "Tell who is missing at a crew's sync point"))
        .subcommand(verb::<compact::CompactArgs>("compact", "Leave the oldest events out of a unit's journal"))
        .subcommand(verb::<run::RunArgs>("run", "Run units with a fleet of workers; safe to kill and rerun"))
        .subcommand(verb::<stop::StopArgs>("stop", "Stop the run, and with --workers its workers"))
        .subcommand(verb::<output::OutputArgs>("output", "Print what a worker printed"))
        .subcommand(verb::<approve::ApproveArgs>(
            "approve",
            "Approve the commands that a run needs, or the phase at which a unit waits",
        ))
        .subcommand(verb::<demo::DemoArgs>("demo", "Show the main job on an example, from nothing"))
        .subcommand(verb::<worktrees::WorktreesArgs>(
            "worktrees",
            "List the git worktrees of workers, clean them up, or bring one back",
        ))
        .subcommand(verb::<hook::HookArgs>("hook", "Hear an event of a coding agent's host: JSON on standard input"))
        .subcommand(verb::<init::InitArgs>("init", "Make this repository's coding agents use piton, or take that back"))
        .subcommand(verb::<doctor::DoctorArgs>("doctor", "Look whether disk, hooks and clients are as they should be"))
        .subcommands_that_serve()
        .subcommand(verb::<schema::SchemaArgs>("schema", "Print the JSON Schema of a dialect's documents"))
        .subcommand(verb::<completions::CompletionsArgs>("completions", "Print a completion script for a shell"))
        .command
}

struct Grammar<'a> {
    command: Command,
    only: Option<&'a str>,
}

struct Verb {
    name: &'static str,
    about: &'static str,
    arguments: fn(Command) -> Command,
}

fn verb<A: Args>(name: &'static str, about: &'static str) -> Verb {
    Verb { name, about, arguments: A::augment_args }
}

impl Grammar<'_> {
    /// Verbs that serve others, where they are built in.
    fn subcommands_that_serve(self) -> Self {
        #[cfg(feature = "mcp")]
        let with_servers = self
            .subcommand(verb::<crate::commands::mcp::McpArgs>("mcp", "Serve clients of the Model Context Protocol"));
        #[cfg(not(feature = "mcp"))]
        let with_servers = self;
        with_servers
    }

    fn subcommand(mut self, verb: Verb) -> Self {
        if self.only.is_none_or(|only| only == verb.name) {
            self.command = self.command.subcommand(Command::new(verb.name).about(verb.about).defer(verb.arguments));
        }
        self
    }
}
