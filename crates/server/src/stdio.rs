//! The server on standard input and output.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use rmcp::service::{ServerInitializeError, serve_server};
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::io::{StdioReader, stdio_pipes};
use tokio::io::{AsyncRead, ReadBuf};
use tokio::sync::watch;

use crate::door::Door;
use crate::handler::Handler;
use crate::runtime;

/// Serves one client until it closes standard input. Returns then, or when the client breaks the protocol before it has
/// begun.
pub fn serve_stdio(door: Door) -> io::Result<()> {
    runtime::run(async move {
        let (input, output) = stdio_pipes();
        let (ended, is_gone) = watch::channel(false);
        let transport = AsyncRwTransport::new_server(Input { input, ended }, output);
        match serve_server(Handler::new(Arc::new(door)).until(is_gone), transport).await {
            Ok(running) => running.waiting().await.map(drop).map_err(io::Error::other),
            // A client that leaves before it has said anything has done nothing wrong.
            Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
            Err(error) => Err(io::Error::other(error.to_string())),
        }
    })?
}

/// Standard input that says when it has ended. What is asked before that is still answered, and whoever listens for
/// changes would be waited for in vain.
struct Input {
    input: StdioReader,
    ended: watch::Sender<bool>,
}

impl AsyncRead for Input {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = ready!(Pin::new(&mut self.input).poll_read(context, buffer));
        if read.is_err() || buffer.filled().len() == before {
            self.ended.send_replace(true);
        }
        Poll::Ready(read)
    }
}
