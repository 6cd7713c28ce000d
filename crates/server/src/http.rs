//! The server on a port of this machine. Whoever may open a socket here may be anybody: another user, or a page in a
//! browser. So every request, whatever it asks for, shows a token and says whom it means to talk to.

mod guard;
mod guests;
mod token;

use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use hyper::body::{Body as _, Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use rmcp::ServerHandler;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::net::{TcpListener, TcpStream};

use self::guard::{Denied, Guard};
use self::guests::{Guests, Known};
use self::token::Token;
use crate::door::Door;
use crate::handler::Handler;
use crate::runtime;

/// The most connections at once. Those without a token give way to new ones; where all have one, more have to wait.
const CONNECTIONS: usize = 64;

/// The most sessions at once. Only clients of the older revisions have them; one that is not used ends by itself.
const SESSIONS: usize = 128;

/// The largest body of a request.
const LARGEST_BODY: usize = 4 * 1024 * 1024;

/// How long a client may take to send the head of a request.
const HEAD_PATIENCE: Duration = Duration::from_secs(10);

/// How long a client may take to send the rest of it.
const BODY_PATIENCE: Duration = Duration::from_secs(30);

/// Where to listen.
#[derive(Debug, Clone)]
pub struct Listen {
    address: SocketAddr,
    token: Option<String>,
}

/// Why an address is not listened on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotLoopback {
    /// It is none.
    NoAddress {
        /// What was typed.
        typed: String,
    },
    /// Others than this machine could reach it.
    Reachable {
        /// That address.
        address: SocketAddr,
    },
    /// The token that is to be used can be guessed.
    WeakToken,
}

impl fmt::Display for NotLoopback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotLoopback::NoAddress { typed } => write!(f, "not an address with a port: {typed}"),
            NotLoopback::Reachable { address } => write!(f, "others than this machine could reach {address}"),
            NotLoopback::WeakToken => {
                write!(f, "PITON_MCP_TOKEN is no secret: {} or more letters, digits, `-` or `_`", token::SHORTEST)
            }
        }
    }
}

impl Listen {
    /// Reads `127.0.0.1:PORT`, `[::1]:PORT`, `localhost:PORT` or a port alone; port 0 is any that is free. Without a
    /// token of the user's own a new one is made.
    pub fn parse(typed: &str, token: Option<String>) -> Result<Listen, NotLoopback> {
        let local = |port: &str| port.parse().ok().map(|port| SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port));
        let address = typed.parse().ok().or_else(|| local(typed.strip_prefix("localhost:").unwrap_or(typed)));
        let Some(address) = address else { return Err(NotLoopback::NoAddress { typed: typed.to_owned() }) };
        if !address.ip().is_loopback() {
            return Err(NotLoopback::Reachable { address });
        }
        if token.as_deref().is_some_and(|token| !token::is_strong(token)) {
            return Err(NotLoopback::WeakToken);
        }
        Ok(Listen { address, token })
    }
}

/// A server that listens.
#[derive(Debug)]
pub struct Bound {
    /// Where clients find it.
    pub url: String,
    /// The file that holds its token; nothing when the user gave it one.
    pub token_file: Option<String>,
}

/// Serves clients on a port until the process ends. `announce` is called once, when they can come.
pub fn serve_http(door: Door, listen: &Listen, announce: impl FnOnce(&Bound)) -> io::Result<()> {
    serve_http_as(door, listen, announce, |handler| handler)
}

/// The same for a server that answers otherwise, or more: `wrap` makes one client's server of the usual one.
pub fn serve_http_as<H: ServerHandler>(
    door: Door,
    listen: &Listen,
    announce: impl FnOnce(&Bound),
    wrap: impl Fn(Handler) -> H + Send + Sync + 'static,
) -> io::Result<()> {
    runtime::run(async move {
        let listener = TcpListener::bind(listen.address).await?;
        let address = listener.local_addr()?;
        let (token, token_file) = match &listen.token {
            Some(token) => (Token::of(token), None),
            None => {
                let fresh = token::fresh()?;
                let workspace = door.open().map_err(|problem| io::Error::other(problem.message))?;
                let name = format!("mcp-{}.token", address.port());
                let file = piton_engine::keep_secret(&workspace, &name, &fresh).map_err(io::Error::other)?;
                (Token::of(&fresh), Some(file))
            }
        };
        announce(&Bound { url: format!("http://{address}{}", guard::PATH), token_file });
        accept(listener, Arc::new(Server::new(door, Guard::new(address, token), wrap))).await
    })?
}

async fn accept<H: ServerHandler>(listener: TcpListener, server: Arc<Server<H>>) -> io::Result<()> {
    let mut guests = Guests::new(CONNECTIONS);
    loop {
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            // Too few descriptors, or a client that is gone already: the next one may have more luck.
            Err(_) => {
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        let room = guests.room().await?;
        let (server, known) = (Arc::clone(&server), Known::default());
        let shows = known.clone();
        let task = tokio::spawn(async move {
            server.serve(stream, shows).await;
            drop(room);
        });
        guests.add(known, task.abort_handle());
    }
}

type Sent = http_body_util::combinators::BoxBody<Bytes, std::convert::Infallible>;

struct Server<H: ServerHandler> {
    guard: Guard,
    sessions: Arc<LocalSessionManager>,
    service: StreamableHttpService<H, LocalSessionManager>,
}

impl<H: ServerHandler> Server<H> {
    fn new(door: Door, guard: Guard, wrap: impl Fn(Handler) -> H + Send + Sync + 'static) -> Server<H> {
        let (door, sessions) = (Arc::new(door), Arc::new(LocalSessionManager::default()));
        let config = StreamableHttpServerConfig::default()
            .with_allowed_hosts(guard.hosts())
            .with_allowed_origins(guard.origins())
            .enforce_origin_validation()
            .with_max_request_body_bytes(LARGEST_BODY);
        let begin = move || Ok(wrap(Handler::new(Arc::clone(&door))));
        let service = StreamableHttpService::new(begin, Arc::clone(&sessions), config);
        Server { guard, sessions, service }
    }

    /// Serves the requests of one connection.
    async fn serve(self: Arc<Self>, stream: TcpStream, known: Known) {
        let answer = service_fn(|request| {
            let (server, known) = (Arc::clone(&self), known.clone());
            async move { Ok::<_, std::convert::Infallible>(server.answer(request, &known).await) }
        });
        let mut builder = hyper::server::conn::http1::Builder::new();
        builder.timer(TokioTimer::new()).header_read_timeout(HEAD_PATIENCE);
        // A connection that breaks concerns its client alone, who knows.
        let _ = builder.serve_connection(TokioIo::new(stream), answer).await;
    }

    async fn answer(&self, request: Request<Incoming>, known: &Known) -> Response<Sent> {
        match self.let_in(request, known).await {
            Ok(request) => self.service.handle(request).await,
            Err(denied) => refuse(denied),
        }
    }

    /// A request that may be answered, with all of its body. Nothing of that is read before its head is found to be right.
    async fn let_in(&self, request: Request<Incoming>, known: &Known) -> Result<Request<Full<Bytes>>, Denied> {
        let asks = self.guard.judge(request.method(), request.uri(), request.headers())?;
        known.set();
        if asks.may_begin_session && self.sessions.sessions.read().await.len() >= SESSIONS {
            return Err(Denied::Full);
        }
        let (head, body) = request.into_parts();
        // Who says that too much will come is not waited for.
        if body.size_hint().lower() > LARGEST_BODY as u64 {
            return Err(Denied::TooLarge);
        }
        let body = Limited::new(body, LARGEST_BODY).collect();
        let body = tokio::time::timeout(BODY_PATIENCE, body).await.map_err(|_| Denied::TooSlow)?;
        let body = body.map_err(|error| match error.is::<LengthLimitError>() {
            true => Denied::TooLarge,
            false => Denied::Broken,
        })?;
        Ok(Request::from_parts(head, Full::new(body.to_bytes())))
    }
}

fn refuse(denied: Denied) -> Response<Sent> {
    let mut response = Response::new(Full::from(format!("{}\n", denied.words())).boxed());
    *response.status_mut() = StatusCode::from_u16(denied.status()).unwrap_or(StatusCode::FORBIDDEN);
    if denied == Denied::NoToken {
        let challenge = hyper::header::HeaderValue::from_static("Bearer");
        response.headers_mut().insert(hyper::header::WWW_AUTHENTICATE, challenge);
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_is_listened_on() {
        for (typed, want) in [
            ("127.0.0.1:0", "127.0.0.1:0"),
            ("127.0.0.1:8931", "127.0.0.1:8931"),
            ("localhost:8931", "127.0.0.1:8931"),
            ("8931", "127.0.0.1:8931"),
            ("[::1]:8931", "[::1]:8931"),
            ("0.0.0.0:8931", "others than this machine could reach 0.0.0.0:8931"),
            ("[::]:8931", "others than this machine could reach [::]:8931"),
            ("192.168.1.7:80", "others than this machine could reach 192.168.1.7:80"),
            ("127.0.0.1", "not an address with a port: 127.0.0.1"),
            ("example.com:80", "not an address with a port: example.com:80"),
            ("localhost:80:80", "not an address with a port: localhost:80:80"),
            ("65536", "not an address with a port: 65536"),
            ("", "not an address with a port: "),
        ] {
            let found = match Listen::parse(typed, None) {
                Ok(listen) => listen.address.to_string(),
                Err(error) => error.to_string(),
            };
            assert_eq!(found, want);
        }
        assert!(Listen::parse("8931", Some("short".to_owned())).is_err());
        assert!(Listen::parse("8931", Some("0123456789abcdef0123456789abcdef".to_owned())).is_ok());
    }
}
