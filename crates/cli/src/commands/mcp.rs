use std::io::IsTerminal as _;
use std::time::Duration;

use clap::{ArgMatches, Args, FromArgMatches as _};
use piton_model::hint::verbs;
use piton_model::{Arg, Time};
use piton_server::{Bound, Door, Listen, NotLoopback, serve_http, serve_stdio};

use crate::args::Global;
use crate::context::{Context, now};
use crate::failure::{FAILED, Failure, REFUSED, USAGE};
use crate::recording::{agent_of_environment, attempt_of_environment, unit};

#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  piton mcp\n  piton mcp --http 127.0.0.1:8931\n\nWithout --http it serves one client on standard input and output, and ends when that closes its side.\nPITON_UNIT, PITON_ATTEMPT and PITON_AGENT are what a call means that does not say. See docs/mcp.md."
)]
pub struct McpArgs {
    /// Serve clients on a port of this machine instead
    #[arg(long, value_name = "ADDRESS:PORT")]
    http: Option<String>,

    /// How often to look at files that a client wants to hear about
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0, hide_short_help = true)]
    poll: f64,
}

pub fn run(matches: &ArgMatches, args: &McpArgs) -> Result<u8, Failure> {
    let door = door(matches, args)?;
    let served = match &args.http {
        None => {
            if std::io::stdin().is_terminal() {
                eprintln!("waiting for a client on standard input; clients start this themselves, see docs/mcp.md");
            }
            serve_stdio(door)
        }
        Some(typed) => {
            let token = variable("PITON_MCP_TOKEN");
            let listen = Listen::parse(typed, token).map_err(|error| refused(&error))?;
            serve_http(door, &listen, announce)
        }
    };
    served.map(|()| 0).map_err(|error| Failure::new(FAILED, format!("cannot serve: {error}")))
}

/// What every call starts from.
fn door(matches: &ArgMatches, args: &McpArgs) -> Result<Door, Failure> {
    let context = Context::unread(matches)?;
    let pulse = Duration::try_from_secs_f64(args.poll).ok().filter(|pulse| *pulse >= Duration::from_millis(10));
    let pulse = pulse.ok_or_else(|| Failure::new(USAGE, format!("--poll {} is too often to be of use", args.poll)))?;
    let named = variable("PITON_UNIT");
    if let Some(named) = &named {
        // A server that misunderstands its environment would record about the wrong unit.
        unit(named)?;
    }
    Ok(Door {
        root: context.workspace.root().to_owned(),
        clock: clock(matches, context.now)?,
        unit: named,
        attempt: attempt_of_environment()?,
        agent: agent_of_environment(),
        pulse,
    })
}

/// The clock of a process that stays; with `--at` it stands still.
fn clock(matches: &ArgMatches, fixed: Time) -> Result<Box<dyn Fn() -> Time + Send + Sync>, Failure> {
    let global = Global::from_arg_matches(matches).map_err(|error| Failure::new(USAGE, error.to_string()))?;
    Ok(match global.at {
        Some(_) => Box::new(move || fixed),
        None => Box::new(move || now(None).unwrap_or(fixed)),
    })
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

fn refused(error: &NotLoopback) -> Failure {
    let code = match error {
        NotLoopback::NoAddress { .. } | NotLoopback::WeakToken => USAGE,
        NotLoopback::Reachable { .. } => REFUSED,
    };
    let hint = match error {
        NotLoopback::NoAddress { .. } => verbs::MCP.call().with("--http", Arg::Word("127.0.0.1:8931")).to("such as"),
        NotLoopback::Reachable { .. } => {
            "listen on 127.0.0.1; from another machine, tunnel to it: ssh -L 8931:127.0.0.1:8931 HOST".into()
        }
        NotLoopback::WeakToken => "leave it out, and a token is made".into(),
    };
    Failure::new(code, error.to_string()).hint(hint)
}

/// Says where clients find the server, beside the protocol.
fn announce(bound: &Bound) {
    eprintln!("serving {}", bound.url);
    match &bound.token_file {
        Some(file) => eprintln!("the token is in {file}; clients send it as `Authorization: Bearer TOKEN`"),
        None => eprintln!("the token is that of PITON_MCP_TOKEN; clients send it as `Authorization: Bearer TOKEN`"),
    }
}
