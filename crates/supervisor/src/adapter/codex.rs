//! Codex without a terminal.

use serde_json::Value;

use super::{Agent, Limit, LimitScope, Outcome, ResultSeen, Seen, Work, shorten};
use crate::end::Exit;
use crate::launch::Launch;
use crate::output::{Line, Stream};

pub(super) fn start(agent: &Agent, work: &Work) -> Launch {
    launch(agent, work, &["-"])
}

pub(super) fn resume(agent: &Agent, work: &Work, session: &str) -> Launch {
    launch(agent, work, &["resume", session, "-"])
}

fn launch(agent: &Agent, work: &Work, last: &[&str]) -> Launch {
    let argv = agent.program.iter().cloned().chain(["exec", "--json"].map(str::to_owned));
    // Options come before `resume`: after it, it does not know all of them.
    let argv = argv.chain(agent.permissions.iter().chain(&agent.extra).cloned());
    let argv = argv.chain(last.iter().map(|word| (*word).to_owned()));
    Launch::new(argv, &work.directory).input(&work.prompt)
}

pub(super) fn see(seen: &mut Seen, stream: Stream, line: Line<'_>) {
    match (stream, serde_json::from_slice::<Value>(line.bytes)) {
        (Stream::Out, Ok(value)) => see_event(seen, &value),
        // A line that is too long to be read is an item with much output.
        (Stream::Out, Err(_)) => {}
        (Stream::Err, _) => see_complaint(seen, &String::from_utf8_lossy(line.bytes)),
    }
}

fn see_event(seen: &mut Seen, event: &Value) {
    let message = event["message"].as_str().or(event["error"]["message"].as_str()).unwrap_or_default();
    match event["type"].as_str().unwrap_or_default() {
        "thread.started" => {
            seen.has_begun = true;
            seen.session = event["thread_id"].as_str().map(str::to_owned).or(seen.session.take());
        }
        "turn.started" => seen.result = None,
        "turn.completed" => {
            seen.result = Some(ResultSeen { is_error: false, text: String::new() });
            (seen.waiting, seen.limit) = (None, None);
        }
        "turn.failed" => {
            seen.result = Some(ResultSeen { is_error: true, text: shorten(message) });
            seen.waiting = None;
            seen.limit = Limit::of_error(None, message).or(seen.limit.take());
        }
        // It tries again by itself, and says so in words alone.
        "error" if message.starts_with("Reconnecting") => {
            seen.waiting = Some(Limit::new(LimitScope::Service, None, message));
        }
        "error" => {
            seen.complaint = Some(shorten(message));
            seen.limit = Limit::of_error(None, message).or(seen.limit.take());
        }
        kind if kind.starts_with("item.") && event["item"]["type"] != "error" => seen.waiting = None,
        _ => {}
    }
}

fn see_complaint(seen: &mut Seen, line: &str) {
    seen.refused_session |= line.contains("no rollout found") || line.contains("thread/resume failed");
    if line.starts_with("Error: ") {
        seen.complaint = Some(shorten(line));
    }
}

pub(super) fn judge(exit: &Exit, seen: &Seen) -> Outcome {
    let is_through = seen.result.as_ref().is_some_and(|result| !result.is_error);
    match exit {
        Exit::Code(0) if is_through => Outcome::Finished,
        Exit::Code(_) if seen.refused_session && !seen.has_begun => {
            Outcome::ResumeRefused { reason: seen.reason(exit) }
        }
        Exit::Code(_) => seen.limited_or_failed(exit),
        Exit::Signal(_) | Exit::Vanished | Exit::NotStarted { .. } => Outcome::Died { reason: exit.to_string() },
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{check, limited, work};
    use super::*;
    use crate::adapter::Adapter;

    fn codex() -> Adapter {
        Adapter::Codex(Agent::codex())
    }

    #[test]
    fn options_come_before_the_session() {
        let launch = codex().start(&work()).expect("nothing has to be read");
        assert_eq!(launch.argv.join(" "), "codex exec --json --sandbox workspace-write -");
        let launch = codex().resume(&work()).expect("it can be resumed");
        assert_eq!(launch.argv.join(" "), "codex exec --json --sandbox workspace-write resume 5bbc -");
    }

    const STARTED: &str = r#"{"type":"thread.started","thread_id":"01a1"}"#;

    #[test]
    fn what_it_says_is_understood() {
        let failed = |reason: &str| Outcome::Failed { reason: reason.to_owned() };
        let completed = r#"{"type":"turn.completed","usage":{"input_tokens":1}}"#;
        let hit = r#"{"type":"turn.failed","error":{"message":"You’ve hit your usage limit. Try again at 3:05 PM."}}"#;
        let bad = r#"{"type":"turn.failed","error":{"message":"no such model"}}"#;
        for (exit, lines, want) in [
            (Exit::Code(0), vec![STARTED, completed], Outcome::Finished),
            (Exit::Code(0), vec![STARTED], failed("exit code 0 without a result")),
            (
                Exit::Code(0),
                vec![STARTED, completed, r#"{"type":"turn.started"}"#],
                failed("exit code 0 without a result"),
            ),
            (Exit::Code(1), vec![STARTED, bad], failed("no such model")),
            (
                Exit::Code(1),
                vec![STARTED, hit],
                limited(LimitScope::Account, None, "You’ve hit your usage limit. Try again at 3:05 PM."),
            ),
            (Exit::Signal(9), vec![STARTED], Outcome::Died { reason: "signal 9".to_owned() }),
        ] {
            check(&codex(), &exit, &lines, &[], &want);
        }
    }

    #[test]
    fn a_session_that_is_not_there_is_refused() {
        let complaint = "Error: thread/resume: thread/resume failed: no rollout found for thread id 1111 (code -32600)";
        let refused = Outcome::ResumeRefused { reason: complaint.to_owned() };
        check(&codex(), &Exit::Code(1), &[], &["WARNING: something", complaint, "", "Stack backtrace:"], &refused);
    }

    #[test]
    fn waiting_for_the_network_is_life() {
        let reconnecting = r#"{"type":"error","message":"Reconnecting... 2/5 (stream disconnected)"}"#;
        let own = r#"{"type":"item.completed","item":{"id":"item_0","type":"error","message":"Falling back"}}"#;
        let item = r#"{"type":"item.completed","item":{"id":"item_1","type":"agent_message","text":"ok"}}"#;
        let seen = super::super::tests::seen(&codex(), &[STARTED, reconnecting, own], &[]);
        assert_eq!(
            seen.waiting.map(|limit| limit.message).as_deref(),
            Some("Reconnecting... 2/5 (stream disconnected)")
        );
        assert_eq!(seen.session.as_deref(), Some("01a1"));
        let seen = super::super::tests::seen(&codex(), &[STARTED, reconnecting, item], &[]);
        assert_eq!(seen.waiting, None);
    }
}
