use clap::{ArgMatches, Args};
use piton_engine::{NewMessage, send};

use crate::context::Context;
use crate::failure::Failure;
use crate::recording::{Writer, acknowledge, agent_of_environment};

#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  piton send --to Secondary-A --subject \"Schema changed\" --body \"Read docs/schema.md before you go on\"\n  piton send --from Secondary-A --to Agent-Primary --subject Blocked --body \"No database\" --action \"Start one\"\n\nThe message is added to agent_comms/{from}_to_{to}.md of the crew. Where there are several crews, name the agent\nwith its directory: crew:epics/e7/Secondary-A."
)]
pub struct SendArgs {
    /// The agent that gets it
    #[arg(long, value_name = "AGENT")]
    to: String,

    /// The agent that sends it [default: PITON_AGENT, else Agent-Primary]
    #[arg(long, value_name = "AGENT")]
    from: Option<String>,

    /// What it is about
    #[arg(long, value_name = "TEXT")]
    subject: String,

    /// All there is to say
    #[arg(long, value_name = "TEXT")]
    body: String,

    /// What is asked for
    #[arg(long, value_name = "TEXT")]
    action: Option<String>,

    /// What comes next
    #[arg(long, value_name = "TEXT")]
    next: Option<String>,

    /// How it is to be acknowledged
    #[arg(long, value_name = "TEXT")]
    acknowledge: Option<String>,

    #[command(flatten)]
    writer: Writer,
}

pub fn run(matches: &ArgMatches, args: SendArgs) -> Result<u8, Failure> {
    let context = Context::new(matches)?;
    let recorder = args.writer.recorder(&context, "send")?;
    let message = NewMessage {
        from: args.from.or_else(agent_of_environment),
        to: args.to,
        subject: args.subject,
        body: Some(args.body),
        action: args.action,
        next: args.next,
        acknowledge: args.acknowledge,
    };
    let recorded =
        send(&context.workspace, &message, &recorder).map_err(|error| Failure::record(&message.to, &error))?;
    acknowledge(&recorded)
}
