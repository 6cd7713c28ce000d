use clap::{ArgMatches, Args};
use piton_engine::{ReadMessage, check_inbox, inbox, mark_read};

use crate::context::Context;
use crate::failure::Failure;
use crate::output::{print, print_json};
use crate::recording::{Writer, acknowledge};
use crate::render;

#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  piton inbox Secondary-A\n  piton inbox Secondary-A --read 3\n  piton inbox crew:epics/e7/Secondary-A --all --json\n\nListing changes nothing. `--read` and `--check` note in the agent's checkpoint that it looked."
)]
pub struct InboxArgs {
    /// The agent
    #[arg(value_name = "AGENT")]
    agent: String,

    /// Mark message N as read
    #[arg(long, value_name = "N", conflicts_with_all = ["all", "json", "check"])]
    read: Option<u64>,

    /// Only messages of this agent
    #[arg(long, value_name = "AGENT")]
    from: Option<String>,

    /// Those that are read too
    #[arg(long)]
    all: bool,

    /// Note in the agent's checkpoint that it looked
    #[arg(long)]
    check: bool,

    /// One JSON document
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    writer: Writer,
}

pub fn run(matches: &ArgMatches, args: &InboxArgs) -> Result<u8, Failure> {
    let context = Context::new(matches)?;
    let failed = |error| Failure::record(&args.agent, &error);
    if let Some(number) = args.read {
        let recorder = args.writer.recorder(&context, "inbox")?;
        let read = ReadMessage { number, from: args.from.clone() };
        return acknowledge(&mark_read(&context.workspace, &args.agent, &read, &recorder).map_err(failed)?);
    }
    let mut found = inbox(&context.workspace, &args.agent, context.now).map_err(failed)?;
    if let Some(sender) = &args.from {
        found.keep_from(sender);
    }
    if !args.all {
        found.keep_unread();
    }
    match args.json {
        true => print_json(&render::json::inbox(&found))?,
        false => print(&render::messages::text(&found))?,
    }
    if args.check {
        let recorder = args.writer.recorder(&context, "inbox")?;
        let checked = check_inbox(&context.workspace, &args.agent, &recorder).map_err(failed)?;
        crate::recording::warn(&checked.warnings);
        eprintln!("{} inbox checked, {} @{}", checked.unit, checked.summary, checked.seq);
    }
    Ok(0)
}
