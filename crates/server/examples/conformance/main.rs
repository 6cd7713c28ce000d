//! The server with what the protocol's conformance suite expects of a server besides: tools, resources and prompts with
//! fixed names. They stand beside those of Piton, behind the same port, guards, sessions, bounds and handler, so that the
//! suite can try all of these.
//!
//! ```sh
//! PITON_MCP_TOKEN=0123456789abcdef01234567 cargo run -p piton-server --example conformance -- --http 127.0.0.1:0
//! ```

#![expect(clippy::disallowed_methods, reason = "this is whoever starts a server, who asks the environment")]
#![expect(clippy::disallowed_macros, reason = "this is whoever starts a server, who prints")]
#![expect(deprecated, reason = "the suite tries what only the older revisions have")]

mod asking;
mod fixtures;
mod served;

use std::io;
use std::time::Duration;

use piton_model::Time;
use piton_server::{Door, Listen, serve_http_as};

use crate::served::Served;

fn main() -> io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let typed = match arguments.as_slice() {
        [option, typed] if option == "--http" => typed.as_str(),
        _ => return Err(io::Error::other("usage: conformance --http 127.0.0.1:PORT")),
    };
    let token = std::env::var("PITON_MCP_TOKEN").ok();
    let listen = Listen::parse(typed, token).map_err(|error| io::Error::other(error.to_string()))?;
    let door = Door {
        root: std::env::current_dir()?,
        clock: Box::new(|| Time::from_unix_seconds(1_767_225_600)),
        unit: None,
        attempt: None,
        agent: None,
        pulse: Duration::from_secs(1),
    };
    let announce = |bound: &piton_server::Bound| eprintln!("serving {}", bound.url);
    serve_http_as(door, &listen, announce, Served::new)
}
