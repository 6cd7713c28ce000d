//! The server on standard input and output.

use std::io;
use std::sync::Arc;

use rmcp::service::{ServerInitializeError, serve_server};
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::io::stdio_pipes;

use crate::door::Door;
use crate::handler::Handler;
use crate::runtime;

/// Serves one client until it closes standard input. Returns then, or when the client breaks the protocol before it has
/// begun.
pub fn serve_stdio(door: Door) -> io::Result<()> {
    runtime::run(async move {
        let (input, output) = stdio_pipes();
        let transport = AsyncRwTransport::new_server(input, output);
        match serve_server(Handler::new(Arc::new(door)), transport).await {
            Ok(running) => running.waiting().await.map(drop).map_err(io::Error::other),
            // A client that leaves before it has said anything has done nothing wrong.
            Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
            Err(error) => Err(io::Error::other(error.to_string())),
        }
    })?
}
