//! A client that says what it is told to, and waits for answers until a deadline.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{NOW, Workspace, printed};

/// How long an answer may take on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(40);

/// The newest revision that begins with `initialize`.
pub const NEWEST_WITH_HANDSHAKE: &str = "2025-11-25";

/// A server and its only client.
pub struct Client {
    child: Child,
    input: Option<ChildStdin>,
    output: Receiver<Value>,
    asked: u64,
    /// Where the server writes down the commands that it prints.
    hints: PathBuf,
    /// What came and was not waited for yet.
    pub waiting: Vec<Value>,
}

impl Client {
    /// Starts a server at the moment of all tests.
    pub fn start(workspace: &Workspace) -> Client {
        Client::start_with(workspace, &["--at", NOW], &[])
    }

    /// Starts a server with these arguments and variables.
    pub fn start_with(workspace: &Workspace, arguments: &[&str], environment: &[(&str, &str)]) -> Client {
        let mut command = Command::new(env!("CARGO_BIN_EXE_piton"));
        command.env_clear().envs(environment.iter().copied()).current_dir(workspace.root());
        static COUNTER: AtomicU32 = AtomicU32::new(0);
        // Not in the workspace, where a test may look whether anything changed.
        let unique = format!("piton-mcp-hints-{}-{}", std::process::id(), COUNTER.fetch_add(1, Ordering::Relaxed));
        let hints = std::env::temp_dir().join(unique);
        command.env("PITON_TEST_HINTS", &hints);
        command.arg("mcp").args(arguments);
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .expect("the binary can be started");
        let lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
        let (sender, output) = channel();
        std::thread::spawn(move || {
            for line in lines {
                let line = line.expect("output is UTF-8");
                let message = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error} in {line}"));
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        Client { input: child.stdin.take(), child, output, asked: 0, hints, waiting: Vec::new() }
    }

    /// Starts a server, and says hello to it.
    pub fn connect(workspace: &Workspace) -> Client {
        Client::start(workspace).greeted()
    }

    /// The same client after the handshake.
    pub fn greeted(mut self) -> Client {
        let answer = self.ask("initialize", initialize(NEWEST_WITH_HANDSHAKE));
        assert_eq!(answer["result"]["protocolVersion"], NEWEST_WITH_HANDSHAKE, "{answer}");
        self.tell("notifications/initialized", json!({}));
        self
    }

    /// The server's process.
    pub fn process(&self) -> u32 {
        self.child.id()
    }

    /// Writes bytes as they are.
    pub fn write(&mut self, bytes: &[u8]) {
        let input = self.input.as_mut().expect("the input is open");
        input.write_all(bytes).and_then(|()| input.flush()).expect("the server reads");
    }

    /// Sends a notification.
    pub fn tell(&mut self, method: &str, parameters: Value) {
        let message = json!({ "jsonrpc": "2.0", "method": method, "params": parameters });
        self.write(format!("{message}\n").as_bytes());
    }

    /// Sends a request without waiting for its answer; returns its id.
    pub fn send(&mut self, method: &str, parameters: Value) -> u64 {
        self.asked += 1;
        let message = json!({ "jsonrpc": "2.0", "id": self.asked, "method": method, "params": parameters });
        self.write(format!("{message}\n").as_bytes());
        self.asked
    }

    /// Sends a request and returns its answer.
    pub fn ask(&mut self, method: &str, parameters: Value) -> Value {
        let id = self.send(method, parameters);
        self.answer_to(id)
    }

    /// Waits for an answer.
    pub fn answer_to(&mut self, id: u64) -> Value {
        self.wait_for(&|message| message["id"] == id, "answer")
    }

    /// Waits for a notification; others stay.
    pub fn notification(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
        self.wait_for(&wanted, "notification")
    }

    fn wait_for(&mut self, wanted: &dyn Fn(&Value) -> bool, what: &str) -> Value {
        let deadline = Instant::now() + PATIENCE;
        if let Some(at) = self.waiting.iter().position(wanted) {
            return self.waiting.remove(at);
        }
        loop {
            let message = self.next(deadline).unwrap_or_else(|| panic!("no such {what}, but {:?}", self.waiting));
            if wanted(&message) {
                return message;
            }
            self.waiting.push(message);
        }
    }

    fn next(&mut self, deadline: Instant) -> Option<Value> {
        self.output.recv_timeout(deadline.saturating_duration_since(Instant::now())).ok()
    }

    /// Calls a tool and returns its result.
    pub fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let before = printed::read(&self.hints);
        let mut answer = self.ask("tools/call", json!({ "name": tool, "arguments": arguments }));
        assert!(answer.get("error").is_none(), "{tool}: {answer}");
        if answer["result"]["isError"] == false {
            let meant = before.iter().filter(|hint| called(&hint.call) == Some((tool, arguments.clone())));
            meant.for_each(|hint| printed::executed(&hint.site));
        }
        answer["result"].take()
    }

    /// Calls a tool that has to succeed; returns its structured content.
    pub fn does(&mut self, tool: &str, arguments: Value) -> Value {
        let mut result = self.call(tool, arguments);
        assert_eq!(result["isError"], false, "{tool}: {result}");
        result["structuredContent"].take()
    }

    /// Calls a tool that has to be refused; returns its words.
    pub fn refuses(&mut self, tool: &str, arguments: Value) -> String {
        let result = self.call(tool, arguments);
        assert_eq!(result["isError"], true, "{tool}: {result}");
        assert!(result.get("structuredContent").is_none(), "{tool}: {result}");
        result["content"][0]["text"].as_str().expect("words").to_owned()
    }

    /// Closes the server's input, and waits until it has ended; returns what it still said, and its exit code.
    pub fn close(mut self) -> (Vec<Value>, Option<i32>) {
        drop(self.input.take());
        let deadline = Instant::now() + PATIENCE;
        let mut rest = std::mem::take(&mut self.waiting);
        while let Some(message) = self.next(deadline) {
            rest.push(message);
        }
        assert!(Instant::now() < deadline, "the server stays after its client is gone");
        (rest, self.child.wait().expect("a child can be waited for").code())
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_file(&self.hints);
    }
}

/// The tool and the arguments that a hint names: `call step with {"unit":"build:X"}`.
pub fn called(hint: &str) -> Option<(&str, Value)> {
    let call = hint.strip_prefix("call ")?;
    let (tool, arguments) = call.split_once(" with ").unwrap_or((call, "{}"));
    Some((tool, serde_json::from_str(arguments).ok()?))
}

/// What a client says first.
pub fn initialize(revision: &str) -> Value {
    json!({
        "protocolVersion": revision,
        "capabilities": { "roots": { "listChanged": true }, "elicitation": {} },
        "clientInfo": { "name": "test", "version": "1" },
    })
}

/// What every request of the newest revision says about its client.
pub fn with_meta(mut parameters: Value) -> Value {
    parameters["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    parameters
}

/// A text without what differs from run to run: the temporary directory, and fences that nobody can guess.
pub fn hide(workspace: &Workspace, text: &str) -> String {
    let mut hidden = text.replace(&workspace.outer().display().to_string(), "[TEMP]");
    while let Some(at) = hidden.find("<<<").filter(|at| !hidden[*at..].starts_with("<<<[FENCE]")) {
        let fence = hidden[at + 3..].get(..36).expect("a fence has 36 characters").to_owned();
        hidden = hidden.replace(&fence, "[FENCE]");
    }
    hidden
}
