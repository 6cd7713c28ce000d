//! A lead at work: what it tells, event by event, and how it ends.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Instant;

use serde_json::Value;

use crate::follow::note_typed;
use crate::ground::{Ground, PATIENCE};
use crate::moment::Moment;

/// A lead whose events are read as they come.
pub struct Lead<'a> {
    ground: &'a Ground,
    line: String,
    before: Moment,
    child: Child,
    events: Receiver<Value>,
    stderr: Option<std::thread::JoinHandle<String>>,
    seen: Vec<Value>,
}

/// How a run ended, and all that it said.
pub struct Ended {
    pub line: String,
    /// Nothing when a signal ended it.
    pub code: Option<i32>,
    pub events: Vec<Value>,
    pub stderr: String,
}

impl<'a> Lead<'a> {
    /// Types a line that begins a run.
    pub fn start(ground: &'a Ground, line: &str) -> Lead<'a> {
        let before = Moment::now(&ground.outer(""));
        let line = format!("{line} --json");
        let mut command = ground.prepared("/bin/sh");
        command.args(["-c", &format!("exec {line}")]).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("a shell starts");
        let (sender, events) = mpsc::channel();
        let stdout = BufReader::new(child.stdout.take().expect("a pipe"));
        std::thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                // What is no event was meant for a person, and is kept as it is.
                let event = serde_json::from_str(&line).unwrap_or(Value::String(line));
                if sender.send(event).is_err() {
                    return;
                }
            }
        });
        let mut stderr = child.stderr.take().expect("a pipe");
        let stderr = std::thread::spawn(move || {
            let mut text = String::new();
            // A torn end is an end.
            let _ = stderr.read_to_string(&mut text);
            text
        });
        Lead { ground, line, before, child, events, stderr: Some(stderr), seen: Vec::new() }
    }

    /// The lead's process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The next event that is asked for; nothing when the run ends before.
    #[track_caller]
    pub fn until(&mut self, is_meant: impl Fn(&Value) -> bool) -> Option<Value> {
        let since = Instant::now();
        loop {
            match self.events.recv_timeout(PATIENCE.saturating_sub(since.elapsed())) {
                Ok(event) => {
                    self.seen.push(event.clone());
                    if is_meant(&event) {
                        return Some(event);
                    }
                }
                Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) => {
                    panic!("waited too long\n{}\n{}", shown(&self.line, &self.seen), self.ground.story())
                }
            }
        }
    }

    /// Waits until a worker of this run is at a point; returns its process.
    #[track_caller]
    pub fn worker_at(&mut self, point: &str) -> u32 {
        let since = Instant::now();
        loop {
            if let Some(pid) = self.ground.worker_at(point) {
                return pid;
            }
            let has_ended = self.child.try_wait().expect("it can be asked").is_some();
            if has_ended || since.elapsed() > PATIENCE {
                self.seen.extend(self.events.try_iter());
                panic!("no worker came to {point}\n{}\n{}", shown(&self.line, &self.seen), self.ground.story());
            }
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    }

    /// Kills the lead, as the kernel does when memory is short.
    pub fn kill(mut self) -> Vec<Value> {
        self.child.kill().expect("it can be killed");
        self.child.wait().expect("it is gone");
        self.seen.extend(self.events.iter());
        std::mem::take(&mut self.seen)
    }

    /// Waits for the end of the run.
    #[track_caller]
    pub fn end(mut self) -> Ended {
        assert!(self.until(|_| false).is_none(), "no event is asked for");
        let status = self.child.wait().expect("it ends");
        let stderr = self.stderr.take().expect("it is read once").join().expect("it was read");
        let events = std::mem::take(&mut self.seen);
        if status.success() {
            note_typed(&self.before, self.line.trim_end_matches(" --json"));
        }
        Ended { line: self.line.clone(), code: status.code(), events, stderr }
    }
}

impl Drop for Lead<'_> {
    fn drop(&mut self) {
        // One that was waited for is gone.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Ended {
    /// Asserts how it ended.
    #[track_caller]
    pub fn exits(self, code: i32, ground: &Ground) -> Ended {
        assert_eq!(self.code, Some(code), "{self}\n{}", ground.story());
        self
    }

    /// The last event: how the run ended.
    #[track_caller]
    pub fn outcome(&self) -> &Value {
        let is_end = |event: &&Value| event["event"] == "ended" && event.get("outcome").is_some();
        self.events.iter().rev().find(is_end).unwrap_or_else(|| panic!("the run did not say how it ended\n{self}"))
    }

    /// Whether an event was told.
    pub fn told(&self, event: &str) -> bool {
        self.events.iter().any(|each| each["event"] == event)
    }
}

impl std::fmt::Display for Ended {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let shown = shown(&self.line, &self.events);
        write!(formatter, "{shown}\n--- stderr\n{}--- exit code {:?}", self.stderr, self.code)
    }
}

fn shown(line: &str, events: &[Value]) -> String {
    let line_of = |event: &Value| format!("{event}\n");
    format!("$ {line}\n{}", events.iter().map(line_of).collect::<String>())
}

/// Waits for a process, with a deadline: exit code, standard output, standard error.
#[track_caller]
pub fn finish(mut child: Child, line: &str) -> (Option<i32>, String, String) {
    let read = |mut pipe: Box<dyn std::io::Read + Send>| {
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            // A torn end is an end.
            let _ = pipe.read_to_end(&mut bytes);
            String::from_utf8_lossy(&bytes).into_owned()
        })
    };
    let stdout = read(Box::new(child.stdout.take().expect("a pipe")));
    let stderr = read(Box::new(child.stderr.take().expect("a pipe")));
    let since = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().expect("it can be waited for") {
            break status;
        }
        if since.elapsed() > PATIENCE {
            child.kill().expect("it can be killed");
            child.wait().expect("it is gone");
            panic!("took too long: {line}\n{}{}", stdout.join().expect("output"), stderr.join().expect("output"));
        }
        std::thread::sleep(std::time::Duration::from_millis(2));
    };
    (status.code(), stdout.join().expect("output"), stderr.join().expect("output"))
}
