use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::client::{PATIENCE, initialize, with_meta};
use super::support::{NOW, Workspace};

/// A server on a port.
struct Server {
    child: Child,
    port: u16,
    token: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// An answer: its status, its head, its body.
struct Answer {
    status: u16,
    head: String,
    body: String,
}

impl Server {
    fn start(workspace: &Workspace) -> Server {
        let mut command = Command::new(env!("CARGO_BIN_EXE_piton"));
        command.env_clear().current_dir(workspace.root()).args(["mcp", "--http", "127.0.0.1:0", "--at", NOW]);
        let child = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary can be started");
        // From here on it ends with this value, whatever is found out about it.
        let mut server = Server { child, port: 0, token: String::new() };
        let mut lines = BufReader::new(server.child.stderr.take().expect("it is piped")).lines().map_while(Result::ok);
        let url = lines.next().expect("it says where it is");
        let port = url.strip_prefix("serving http://127.0.0.1:").and_then(|rest| rest.strip_suffix("/mcp"));
        let port: u16 = port.and_then(|port| port.parse().ok()).unwrap_or_else(|| panic!("a port in {url:?}"));
        let file = workspace.path(&format!(".piton/mcp-{port}.token"));
        assert!(lines.next().is_some_and(|line| line.contains(&format!(".piton/mcp-{port}.token"))));
        let mode = file.metadata().expect("the token is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        server.token = std::fs::read_to_string(file).expect("a token").trim_end().to_owned();
        server.port = port;
        server
    }

    /// Sends bytes, and reads the first answer.
    fn send(&self, request: &[u8]) -> Answer {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("the server listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a deadline can be set");
        // Whoever is refused may find the door closed before all is said.
        let _ = stream.write_all(request);
        let mut text = String::new();
        let _ = stream.read_to_string(&mut text);
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer: {text:?}"));
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
        Answer { status, head: head.to_lowercase(), body: body.to_owned() }
    }

    /// Posts a message with the usual head, except for these headers; an empty value leaves one out.
    fn post(&self, path: &str, changes: &[(&str, &str)], body: &str) -> Answer {
        let mut headers = vec![
            ("Host", format!("127.0.0.1:{}", self.port)),
            ("Authorization", format!("Bearer {}", self.token)),
            ("Content-Type", "application/json".to_owned()),
            ("Accept", "application/json, text/event-stream".to_owned()),
            ("Connection", "close".to_owned()),
            ("Content-Length", body.len().to_string()),
        ];
        for (name, value) in changes {
            headers.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
            headers.push((name, (*value).to_owned()));
        }
        let head: String = headers
            .iter()
            .filter(|(_, value)| !value.is_empty())
            .map(|(name, value)| format!("{name}: {value}\r\n"))
            .collect();
        self.send(format!("POST {path} HTTP/1.1\r\n{head}\r\n{body}").as_bytes())
    }

    fn initialize(&self) -> Answer {
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": initialize("2025-11-25") });
        self.post("/mcp", &[], &message.to_string())
    }
}

impl Answer {
    /// The message in the body, which may be a stream of events.
    fn message(&self) -> Value {
        let data = self.body.lines().filter_map(|line| line.strip_prefix("data:").map(str::trim));
        let line = data.rev().find(|data| data.starts_with('{')).unwrap_or(self.body.trim());
        serde_json::from_str(line).unwrap_or_else(|error| panic!("{error} in {:?}", self.body))
    }
}

#[test]
fn tools_are_served_over_http_in_old_and_new_revisions() {
    let workspace = Workspace::new();
    let server = Server::start(&workspace);
    let hello = server.initialize();
    assert_eq!(hello.status, 200, "{} {}", hello.head, hello.body);
    assert_eq!(hello.message()["result"]["serverInfo"]["name"], "piton");
    let session = hello.head.lines().find_map(|line| line.strip_prefix("mcp-session-id: ")).expect("a session");
    let session = [("Mcp-Session-Id", session), ("Mcp-Protocol-Version", "2025-11-25")];
    let told = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    assert_eq!(server.post("/mcp", &session, &told.to_string()).status, 202);
    let call = |parameters: Value| json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": parameters });
    let start = call(json!({ "name": "start", "arguments": { "unit": "build:PRD-001", "steps": ["WS1"] } }));
    let answer = server.post("/mcp", &session, &start.to_string()).message();
    assert_eq!(answer["result"]["structuredContent"]["seq"], 1, "{answer}");
    let status = call(with_meta(json!({ "name": "status", "arguments": {} })));
    let newest = [("Mcp-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/call"), ("Mcp-Name", "status")];
    let answer = server.post("/mcp", &newest, &status.to_string());
    assert_eq!(answer.message()["result"]["structuredContent"]["units"][0]["unit"], "build:PRD-001");
    assert!(!answer.head.contains("mcp-session-id"), "{}", answer.head);
}

#[test]
fn every_request_is_guarded() {
    let workspace = Workspace::new();
    let server = Server::start(&workspace);
    let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": initialize("2025-11-25") });
    let hello = hello.to_string();
    let wrong = format!("Bearer {}", "0".repeat(64));
    for (path, changes, want) in [
        ("/mcp", &[][..], 200),
        ("/mcp", &[("Host", "evil.example")], 403),
        ("/mcp", &[("Host", "127.0.0.1:1")], 403),
        ("/mcp", &[("Host", "")], 403),
        ("/mcp", &[("Origin", "http://evil.example")], 403),
        ("/mcp", &[("Origin", "null")], 403),
        ("/mcp", &[("Authorization", "")], 401),
        ("/mcp", &[("Authorization", &*wrong)], 401),
        ("/mcp", &[("Content-Type", "application/x-www-form-urlencoded")], 415),
        ("/mcp", &[("Content-Type", "text/plain")], 415),
        ("/", &[], 404),
        ("/mcp/../mcp", &[], 404),
        ("/.piton/seal", &[], 404),
        ("/", &[("Authorization", "")], 401),
        ("/", &[("Host", "evil.example")], 403),
    ] {
        let answer = server.post(path, changes, &hello);
        assert_eq!(answer.status, want, "{path} {changes:?}: {} {}", answer.head, answer.body);
        assert!(!answer.head.contains("access-control-allow"), "{}", answer.head);
        assert!(!answer.body.contains(&server.token));
    }
    let preflight = format!("OPTIONS /mcp HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nConnection: close\r\n\r\n", server.port);
    assert_eq!(server.send(preflight.as_bytes()).status, 401);
}

#[test]
fn bodies_and_sessions_are_bounded() {
    let workspace = Workspace::new();
    let server = Server::start(&workspace);
    let large = format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"{}\"}}", "x".repeat(5 * 1024 * 1024));
    assert_eq!(server.post("/mcp", &[], &large).status, 413);
    let mut begun = 0;
    let refused = loop {
        let answer = server.initialize();
        if answer.status != 200 {
            break answer;
        }
        begun += 1;
        assert!(begun < 1_000, "sessions have no end");
    };
    assert_eq!((begun, refused.status), (128, 503), "{}", refused.body);
    // Clients of the newest revision have no sessions, and are served all the same.
    let discover = json!({ "jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": with_meta(json!({})) });
    let newest = [("Mcp-Protocol-Version", "2026-07-28"), ("Mcp-Method", "server/discover")];
    assert_eq!(server.post("/mcp", &newest, &discover.to_string()).status, 200);
}

#[test]
fn each_server_has_a_token_of_its_own_and_takes_none_that_lies_there() {
    let workspace = Workspace::new();
    let first = Server::start(&workspace);
    let second = Server::start(&workspace);
    assert_ne!(first.token, second.token);
    assert_eq!(first.token.len(), 64);
    let answer = second.post("/mcp", &[("Authorization", &format!("Bearer {}", first.token))], "{}");
    assert_eq!(answer.status, 401);
}

#[test]
fn other_addresses_are_refused() {
    let workspace = Workspace::new();
    for (address, code) in [("0.0.0.0:0", 4), ("[::]:0", 4), ("192.0.2.1:80", 4), ("example.com:80", 2), ("x", 2)] {
        let run = workspace.run(&["mcp", "--http", address]).exits(code);
        assert!(run.stderr.contains("hint: "), "{}", run.transcript());
    }
    let run = workspace.call(&["mcp", "--http", "0"]).env("PITON_MCP_TOKEN", "secret").run().exits(2);
    assert!(!run.stderr.contains("secret\n"), "{}", run.transcript());
    assert!(!workspace.path(".piton").exists(), "a server that does not start leaves nothing");
}

#[test]
fn whoever_says_nothing_gives_way_to_whoever_shows_the_token() {
    let workspace = Workspace::new();
    let server = Server::start(&workspace);
    // Many more than are served at once, some of them with half a request.
    let silent: Vec<_> = (0..200)
        .map(|number| {
            let mut stream = TcpStream::connect(("127.0.0.1", server.port)).expect("the server listens");
            if number % 2 == 0 {
                let _ = stream.write_all(b"POST /mcp HTTP/1.1\r\nHost: ");
            }
            stream
        })
        .collect();
    let began = Instant::now();
    assert_eq!(server.initialize().status, 200);
    // They would be sent away after ten seconds anyway.
    assert!(began.elapsed() < Duration::from_secs(8), "{:?}", began.elapsed());
    drop(silent);
}

#[test]
fn strange_requests_are_refused_and_nobody_waits_for_their_rest() {
    let workspace = Workspace::new();
    let server = Server::start(&workspace);
    let (port, token) = (server.port, &server.token);
    let right = format!(
        "Host: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\nConnection: close\r\n"
    );
    let accept = "Accept: application/json, text/event-stream\r\n";
    let chunk = format!("100000\r\n{}\r\n", "x".repeat(0x10_0000));
    for (request, want) in [
        // Without a name, in a version that does not ask for one.
        (format!("POST /mcp HTTP/1.0\r\nAuthorization: Bearer {token}\r\nContent-Length: 2\r\n\r\n{{}}"), 403),
        (format!("GET http://evil.example/mcp HTTP/1.1\r\n{right}\r\n"), 403),
        (format!("GET /mcp HTTP/1.1\r\n{right}Host: evil.example\r\n\r\n"), 403),
        (
            format!(
                "GET /mcp HTTP/1.1\r\nHost: 127.1:{port}\r\nConnection: close\r\nAuthorization: Bearer {token}\r\n\r\n"
            ),
            403,
        ),
        // A token where it would be kept in histories.
        (
            format!(
                "POST /mcp?token={token} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{{}}"
            ),
            401,
        ),
        // A body that never comes, of somebody who may not send one.
        (format!("POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Length: 4000000\r\n\r\n"), 401),
        ("POST /mcp HTTP/1.1\r\nHost: evil.example\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n".to_owned(), 403),
        // A body that says nothing about its length, and does not end.
        (format!("POST /mcp HTTP/1.1\r\n{right}{accept}Transfer-Encoding: chunked\r\n\r\n{}", chunk.repeat(5)), 413),
        (format!("POST /mcp HTTP/1.1\r\n{right}{accept}Content-Length: 99999999999\r\n\r\n"), 413),
        // Two lengths, a header that goes on in the next line, a header without an end.
        (format!("POST /mcp HTTP/1.1\r\n{right}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{{}}"), 400),
        (format!("GET /mcp HTTP/1.1\r\n{right}X: a\r\n b\r\n\r\n"), 400),
        (format!("GET /mcp HTTP/1.1\r\n{right}X: {}\r\n\r\n", "x".repeat(1_000_000)), 431),
        ("GET / HTTP/9.9\r\n\r\n".to_owned(), 400),
        ("\u{16}\u{3}\u{1} hello\r\n\r\n".to_owned(), 400),
    ] {
        let began = Instant::now();
        let answer = server.send(request.as_bytes());
        // Heads are waited for ten seconds, bodies thirty.
        assert!(began.elapsed() < Duration::from_secs(8), "{:?}: {}", began.elapsed(), answer.head);
        let shown: String = request.chars().take(200).collect();
        assert_eq!(answer.status, want, "{shown:?}: {} {}", answer.head, answer.body);
        assert!(!answer.head.contains("evil") && !answer.body.contains("evil"), "{} {}", answer.head, answer.body);
    }
    assert_eq!(server.initialize().status, 200);
}

#[test]
fn a_session_that_is_ended_makes_room() {
    let workspace = Workspace::new();
    let server = Server::start(&workspace);
    let descriptors = || std::fs::read_dir(format!("/proc/{}/fd", server.child.id())).expect("it runs").count();
    let mut before = 0;
    for round in 0..200 {
        let hello = server.initialize();
        assert_eq!(hello.status, 200, "round {round}: {}", hello.body);
        let session = hello.head.lines().find_map(|line| line.strip_prefix("mcp-session-id: ")).expect("a session");
        let end = format!(
            "DELETE /mcp HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nAuthorization: Bearer {}\r\nMcp-Session-Id: {session}\r\n\
             Mcp-Protocol-Version: 2025-11-25\r\nConnection: close\r\n\r\n",
            server.port, server.token
        );
        let ended = server.send(end.as_bytes()).status;
        assert!((200..300).contains(&ended), "round {round}: {ended}");
        if round == 20 {
            before = descriptors();
        }
    }
    // One that is just being closed may still be there.
    assert!(descriptors() <= before + 2, "{} after {before}", descriptors());
}

#[test]
fn whoever_listens_over_http_hears_what_another_process_writes() {
    let workspace = Workspace::new();
    workspace.write("plans/260101-0000-a/plan.md", "# A\n\n- [ ] one <!-- TASK: one -->\n");
    let server = Server::start(&workspace);
    let uri = "piton://document/plan:260101-0000-a";
    let wanted = with_meta(json!({ "notifications": { "resourceSubscriptions": [uri] } }));
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": wanted }).to_string();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nMcp-Protocol-Version: 2026-07-28\r\n\
         Mcp-Method: subscriptions/listen\r\nContent-Length: {}\r\n\r\n",
        server.port,
        server.token,
        body.len()
    );
    let mut stream = TcpStream::connect(("127.0.0.1", server.port)).expect("the server listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("a deadline can be set");
    stream.write_all(format!("{head}{body}").as_bytes()).expect("the server reads");
    let mut lines = BufReader::new(stream).lines().map(|line| line.expect("a line before the deadline"));
    let mut hear = |what: &str| lines.find(|line| line.contains(what)).unwrap_or_else(|| panic!("no {what}"));
    hear("notifications/subscriptions/acknowledged");
    // Everything is told once, in case it changed before.
    hear("notifications/resources/updated");
    workspace.run(&["step", "plan:260101-0000-a", "done", "one"]).exits(0);
    assert!(hear("notifications/resources/updated").contains(uri));
}
