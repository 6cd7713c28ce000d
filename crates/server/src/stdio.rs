//! The server on standard input and output.

mod lines;

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use rmcp::ErrorData;
use rmcp::service::{RoleServer, RxJsonRpcMessage, ServerInitializeError, TxJsonRpcMessage, serve_server};
use rmcp::transport::Transport;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::io::{StdioReader, StdioWriter, stdio_pipes};
use tokio::io::{AsyncRead, ReadBuf};
use tokio::sync::{mpsc, watch};

use self::lines::{LONGEST, Lines, Lost};
use crate::door::Door;
use crate::handler::Handler;
use crate::runtime;

/// Serves one client until it closes standard input. Returns then, or when the client breaks the protocol before it has
/// begun.
pub fn serve_stdio(door: Door) -> io::Result<()> {
    runtime::run(async move {
        let (ended, is_gone) = watch::channel(false);
        match serve_server(Handler::new(Arc::new(door)).until(is_gone), Pipes::open(ended)).await {
            Ok(running) => running.waiting().await.map(drop).map_err(io::Error::other),
            // A client that leaves before it has said anything has done nothing wrong.
            Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
            Err(error) => Err(io::Error::other(error.to_string())),
        }
    })?
}

/// Standard input and output. What is too long to be read is answered too: whoever asked would wait for ever.
struct Pipes {
    inner: AsyncRwTransport<RoleServer, Input, StdioWriter>,
    lost: mpsc::UnboundedReceiver<Lost>,
    /// An answer on its way. It is kept here because whoever waits for a message may stop waiting at any time.
    answer: Option<Pin<Box<dyn Future<Output = io::Result<()>> + Send>>>,
}

impl Pipes {
    fn open(ended: watch::Sender<bool>) -> Pipes {
        let (input, output) = stdio_pipes();
        let (losing, lost) = mpsc::unbounded_channel();
        let input = Input { input, ended, lines: Lines::default(), losing };
        let inner = AsyncRwTransport::new_server(input, output).with_max_line_length(LONGEST);
        Pipes { inner, lost, answer: None }
    }
}

impl Transport<RoleServer> for Pipes {
    type Error = io::Error;

    fn send(&mut self, message: TxJsonRpcMessage<RoleServer>) -> impl Future<Output = io::Result<()>> + Send + 'static {
        self.inner.send(message)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            if let Some(answer) = &mut self.answer {
                let told = answer.await;
                self.answer = None;
                told.ok()?;
            }
            let lost = tokio::select! {
                biased;
                Some(lost) = self.lost.recv() => lost,
                message = self.inner.receive() => match message {
                    Some(message) => return Some(message),
                    // The last line may have been too long.
                    None => self.lost.try_recv().ok()?,
                },
            };
            self.answer = Some(Box::pin(self.inner.send(too_long(lost))));
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.inner.close().await
    }
}

fn too_long(lost: Lost) -> TxJsonRpcMessage<RoleServer> {
    let words = format!(
        "the message has {} bytes; at most {LONGEST} are read: write what is large into a file, and record where that is",
        lost.bytes
    );
    TxJsonRpcMessage::<RoleServer>::error(ErrorData::invalid_request(words, None), lost.id)
}

/// Standard input that says when it has ended, and which lines are too long. What is asked before its end is still
/// answered, and whoever listens for changes would be waited for in vain.
struct Input {
    input: StdioReader,
    ended: watch::Sender<bool>,
    lines: Lines,
    losing: mpsc::UnboundedSender<Lost>,
}

impl AsyncRead for Input {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = ready!(Pin::new(&mut self.input).poll_read(context, buffer));
        let new = &buffer.filled()[before..];
        if read.is_err() || new.is_empty() {
            self.ended.send_replace(true);
        }
        for lost in self.lines.pass(new) {
            // Nobody hears it only when the client is not answered any more at all.
            let _ = self.losing.send(lost);
        }
        Poll::Ready(read)
    }
}
