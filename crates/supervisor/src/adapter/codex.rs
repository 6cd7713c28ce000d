//! Codex without a terminal.

use serde_json::Value;

use super::limit::Trouble;
use super::{Agent, Denied, Limit, LimitScope, Outcome, Remedy, ResultSeen, Seen, Tokens, Work, denied, shorten};
use crate::end::Exit;
use crate::launch::Launch;
use crate::output::{Line, Stream};

/// What makes it go on with a session.
const RESUME: &str = "resume";

/// The mode in which directories can be added that its commands may write.
const SANDBOX: &str = "workspace-write";

/// How much of a failed command's output is searched for signs of the sandbox.
const SEARCHED: usize = 4000;

pub(super) fn start(agent: &Agent, work: &Work) -> Launch {
    launch(agent, work, &["-"])
}

pub(super) fn resume(agent: &Agent, work: &Work, session: &str) -> Launch {
    launch(agent, work, &[RESUME, session, "-"])
}

pub(super) fn has_resumed(launch: &Launch) -> bool {
    matches!(&launch.argv[..], [.., word, _, last] if word == RESUME && last == "-")
}

fn launch(agent: &Agent, work: &Work, last: &[&str]) -> Launch {
    let mut argv: Vec<String> = agent.program.clone();
    let mut add = |words: &[&str]| argv.extend(words.iter().map(|word| (*word).to_owned()));
    // Options come before `resume`: after it, it does not know all of them. It remembers none of them.
    add(&["exec", "--json"]);
    // A login shell would reset PATH, and the worker would not find Piton.
    add(&["-c", "allow_login_shell=false"]);
    if !work.grants.in_git {
        add(&["--skip-git-repo-check"]);
    }
    agent.permissions.iter().for_each(|word| add(&[word]));
    let is_sandboxed = agent.permissions.iter().chain(&agent.extra).any(|word| word.contains(SANDBOX));
    if is_sandboxed {
        work.grants.codex_directories().iter().for_each(|directory| add(&["--add-dir", directory]));
        if work.grants.network {
            add(&["-c", "sandbox_workspace_write.network_access=true"]);
        }
    }
    agent.chosen().for_each(|word| add(&[word]));
    add(last);
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
            (seen.waiting, seen.limit, seen.unusable) = (None, None, None);
            see_usage(seen, &event["usage"]);
        }
        "turn.failed" => {
            seen.result = Some(ResultSeen { is_error: true, text: shorten(message) });
            seen.waiting = None;
            see_error(seen, message);
        }
        // It tries again by itself, and says so in words alone.
        "error" if message.starts_with("Reconnecting") => {
            seen.waiting = Some(Limit::new(LimitScope::Service, None, message));
        }
        "error" => {
            seen.complaint = Some(shorten(message));
            see_error(seen, message);
        }
        kind if kind.starts_with("item.") && event["item"]["type"] != "error" => {
            seen.waiting = None;
            see_item(seen, &event["item"]);
        }
        _ => {}
    }
}

/// The sum over the whole session, resumed turns included.
fn see_usage(seen: &mut Seen, usage: &Value) {
    let number = |key: &str| usage[key].as_u64();
    if let (Some(input), Some(output)) = (number("input_tokens"), number("output_tokens")) {
        seen.spent.tokens = Some(Tokens { input, output });
    }
}

fn see_error(seen: &mut Seen, message: &str) {
    match Trouble::of(None, message) {
        Some(Trouble::Passing(limit)) => seen.limit = Some(limit),
        Some(Trouble::LoggedOut) => {
            let words = shorten(message);
            seen.unusable = Some(format!("Codex is not logged in ({words}); log in with: codex login"));
        }
        Some(Trouble::NotPaid) => {
            seen.unusable = Some(format!("the account of Codex cannot pay: {}", shorten(message)));
        }
        None => {}
    }
}

/// A command that failed because of the sandbox, or a tool that would have needed a person.
fn see_item(seen: &mut Seen, item: &Value) {
    let text = |key: &str| item[key].as_str().unwrap_or_default();
    match text("type") {
        "command_execution" if item["exit_code"].as_i64().is_some_and(|code| code != 0) => {
            if let Some(remedy) = sandbox_sign(text("aggregated_output")) {
                denied::add(&mut seen.denied, Denied::command(typed(text("command")), remedy));
            }
        }
        "mcp_tool_call" => {
            let error = item["error"]["message"].as_str().unwrap_or_default();
            if error.contains("requires approval") {
                let tool = format!("mcp__{}__{}", text("server"), text("tool"));
                denied::add(&mut seen.denied, Denied::tool(&tool, "", Remedy::Unknown));
            }
        }
        _ => {}
    }
}

/// What in a failed command's output shows that the sandbox was in its way.
fn sandbox_sign(output: &str) -> Option<Remedy> {
    let from = output.char_indices().rev().nth(SEARCHED).map_or(0, |(at, _)| at);
    let end = &output[from..];
    let has = |signs: &[&str]| signs.iter().any(|sign| end.contains(sign));
    if has(&["Read-only file system", "EROFS"]) {
        return Some(Remedy::Write);
    }
    let network = [
        "Could not resolve host",
        "name resolution",
        "Name or service not known",
        "EAI_AGAIN",
        "ENOTFOUND",
        "etwork is unreachable",
        "ENETUNREACH",
    ];
    has(&network).then_some(Remedy::Network)
}

/// The command that was typed, without the shell that it is given to.
fn typed(command: &str) -> &str {
    let rest = [" -lc ", " -c "].iter().find_map(|before| Some(command.split_once(before)?.1)).unwrap_or(command);
    let inner = |quote: char| rest.strip_prefix(quote)?.strip_suffix(quote);
    inner('\'').or_else(|| inner('"')).unwrap_or(rest)
}

fn see_complaint(seen: &mut Seen, line: &str) {
    let is_busy = line.contains("already has an active writer");
    seen.busy_session |= is_busy;
    seen.refused_session |= !is_busy && (line.contains("no rollout found") || line.contains("thread/resume failed"));
    if line.contains("patch rejected: writing outside") {
        denied::add(&mut seen.denied, Denied::tool("apply_patch", "outside of its directory", Remedy::Write));
    } else if line.contains("you cannot ask for escalated permissions") {
        denied::add(&mut seen.denied, Denied::tool("Bash", "outside of the sandbox", Remedy::Unknown));
    }
    if line.starts_with("error: unexpected argument") {
        let advice = "update it with: codex update, or correct `arguments` in piton.toml";
        seen.unusable = Some(format!("this version of Codex cannot be used ({}); {advice}", shorten(line)));
    }
    if line.starts_with("Error: ") {
        seen.complaint = Some(shorten(line));
    }
}

pub(super) fn judge(exit: &Exit, seen: &Seen, has_resumed: bool) -> Outcome {
    let is_through = seen.result.as_ref().is_some_and(|result| !result.is_error);
    match exit {
        Exit::Code(0) if is_through => Outcome::Finished,
        Exit::Code(_) => seen.not_finished(exit, has_resumed),
        Exit::Signal(_) | Exit::Vanished | Exit::NotStarted { .. } => Outcome::Died { reason: exit.to_string() },
    }
}

#[cfg(test)]
mod tests;
