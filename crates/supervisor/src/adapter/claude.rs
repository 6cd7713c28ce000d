//! Claude Code in print mode.

use serde_json::Value;

use super::limit::{Trouble, moment};
use super::{Agent, Denied, Limit, LimitScope, Outcome, Remedy, ResultSeen, Seen, Work, denied, shorten};
use crate::end::Exit;
use crate::launch::Launch;
use crate::output::{Line, Stream};

/// How many calls of tools are remembered, in case one of them is refused.
const MOST_CALLS: usize = 64;

/// What makes it go on with a session.
const RESUME: &str = "--resume";

pub(super) fn start(agent: &Agent, work: &Work) -> Launch {
    let session = work.session.iter().flat_map(|session| ["--session-id", session]);
    launch(agent, work, session)
}

pub(super) fn resume(agent: &Agent, work: &Work, session: &str) -> Launch {
    launch(agent, work, [RESUME, session])
}

pub(super) fn has_resumed(launch: &Launch) -> bool {
    launch.argv.iter().any(|word| word == RESUME)
}

fn launch<'a>(agent: &Agent, work: &Work, session: impl IntoIterator<Item = &'a str>) -> Launch {
    let fixed = ["-p", "--output-format", "stream-json", "--verbose"];
    let mut argv: Vec<String> = agent.program.clone();
    argv.extend(fixed.into_iter().chain(session).map(str::to_owned));
    argv.extend(agent.permissions.iter().cloned());
    // Both take words up to the next option; given twice, they add up.
    argv.push("--allowedTools".to_owned());
    argv.extend(work.grants.claude_rules());
    let directories = work.grants.claude_directories();
    if !directories.is_empty() {
        argv.push("--add-dir".to_owned());
        argv.extend(directories);
    }
    argv.extend(agent.chosen().map(str::to_owned));
    // It asks before each command, and Piton must not run for it what it would have been refused. Within a session of
    // its own kind it would refuse to begin.
    Launch::new(argv, &work.directory).input(&work.prompt).set("PITON_HELD", "yes").unset("CLAUDECODE")
}

pub(super) fn see(seen: &mut Seen, stream: Stream, line: Line<'_>) {
    match (stream, serde_json::from_slice::<Value>(line.bytes)) {
        (Stream::Out, Ok(value)) => see_event(seen, &value),
        (Stream::Out, Err(_)) if line.is_cut => see_cut(seen, line.bytes),
        // Text where a line of JSON should be: a wrapper's greeting.
        (Stream::Out, Err(_)) => {}
        (Stream::Err, _) => see_complaint(seen, &String::from_utf8_lossy(line.bytes)),
    }
}

fn see_event(seen: &mut Seen, event: &Value) {
    let text = |key: &str| event[key].as_str().unwrap_or_default();
    match (text("type"), text("subtype")) {
        ("system", "init") => {
            seen.has_begun = true;
            seen.session = event["session_id"].as_str().map(str::to_owned).or(seen.session.take());
        }
        ("system", "api_retry") => {
            let number = |key: &str| event[key].as_i64().map_or_else(|| "?".to_owned(), |number| number.to_string());
            let (error, attempt, of) = (text("error"), number("attempt"), number("max_retries"));
            let message = format!("{error} (status {}), attempt {attempt} of {of}", number("error_status"));
            seen.waiting = Some(Limit::new(LimitScope::Service, None, &message));
        }
        ("system", "permission_denied") => {
            let id = text("tool_use_id");
            let known = seen.calls.iter().find(|(call, _)| call == id).map(|(_, denied)| denied.clone());
            let unknown = || Denied::tool(text("tool_name"), "", Remedy::Unknown);
            denied::add(&mut seen.denied, known.unwrap_or_else(unknown));
        }
        ("rate_limit_event", _) => seen.limit = rate_limit(&event["rate_limit_info"], "usage limit reached"),
        ("assistant", _) if event["is_api_error_message"] == true => {
            let message = event["message"]["content"][0]["text"].as_str().unwrap_or_default();
            see_error(seen, event, message);
        }
        ("assistant", _) => {
            seen.waiting = None;
            see_calls(seen, &event["message"]["content"]);
        }
        ("stream_event" | "user", _) => seen.waiting = None,
        ("result", _) => see_result(seen, event),
        _ => {}
    }
}

/// Remembers what tools are called for: a refusal names the call alone.
fn see_calls(seen: &mut Seen, content: &Value) {
    for block in content.as_array().into_iter().flatten().filter(|block| block["type"] == "tool_use") {
        let (Some(id), Some(tool)) = (block["id"].as_str(), block["name"].as_str()) else { continue };
        if seen.calls.len() >= MOST_CALLS {
            seen.calls.remove(0);
        }
        seen.calls.push((id.to_owned(), refusal(tool, &block["input"])));
    }
}

/// A call as something that was refused, with the rule that would allow it.
fn refusal(tool: &str, input: &Value) -> Denied {
    let text = |key: &str| input[key].as_str().unwrap_or_default();
    let is_file = ["Edit", "Write", "NotebookEdit"].contains(&tool);
    match tool {
        "Bash" => Denied::command(text("command"), Remedy::Allow(text("command").to_owned())),
        "Read" => Denied::tool(tool, text("file_path"), Remedy::Allow(format!("Read(/{})", text("file_path")))),
        _ if is_file => Denied::tool(tool, text("file_path"), Remedy::Allow(format!("Edit(/{})", text("file_path")))),
        "WebFetch" => {
            let host = text("url").split_once("://").map_or("", |(_, rest)| rest).split(['/', ':', '?']).next();
            Denied::tool(tool, text("url"), Remedy::Allow(format!("WebFetch(domain:{})", host.unwrap_or_default())))
        }
        _ if tool.starts_with("mcp__") => Denied::tool(tool, "", Remedy::Allow(tool.to_owned())),
        _ => Denied::tool(tool, "", Remedy::Allow(format!("{tool}()"))),
    }
}

/// There may be several of these; the last one counts. Refusals add up.
fn see_result(seen: &mut Seen, event: &Value) {
    let errors = event["errors"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let errors = errors.collect::<Vec<_>>().join("; ");
    let words = event["result"].as_str().filter(|words| !words.is_empty()).unwrap_or(&errors);
    let is_error = event["is_error"].as_bool().unwrap_or(true);
    seen.spent.usd = event["total_cost_usd"].as_f64().or(seen.spent.usd);
    seen.waiting = None;
    seen.refused_session |= is_refusal(&errors);
    for denial in event["permission_denials"].as_array().into_iter().flatten() {
        let tool = denial["tool_name"].as_str().unwrap_or_default();
        denied::add(&mut seen.denied, refusal(tool, &denial["tool_input"]));
    }
    match is_error {
        true => see_error(seen, event, words),
        false => (seen.limit, seen.unusable) = (None, None),
    }
    seen.result = Some(ResultSeen { is_error, text: shorten(words) });
}

/// An error that may be a limit. What was said about when it is over is not forgotten.
fn see_error(seen: &mut Seen, event: &Value, message: &str) {
    let told = rate_limit(&event["rate_limit_info"], message);
    let status = event["api_error_status"].as_i64();
    let words = format!("{message} {}", event["error"].as_str().unwrap_or_default());
    match Trouble::of(status, &words) {
        Some(Trouble::LoggedOut) if told.is_none() => {
            let advice = "log in: run claude and type /login";
            seen.unusable = Some(format!("Claude Code is not logged in ({}); {advice}", shorten(message)));
            return;
        }
        Some(Trouble::NotPaid) if told.is_none() => {
            seen.unusable = Some(format!("the account of Claude Code cannot pay: {}", shorten(message)));
            return;
        }
        _ => {}
    }
    if seen.unusable.is_some() {
        return;
    }
    // A connection that broke has no status, and comes back.
    let is_lost = event["terminal_reason"] == "api_error" && status.is_none();
    let lost = || is_lost.then(|| Limit::new(LimitScope::Service, None, message));
    let limit = told.or_else(|| Trouble::of(status, message)?.limit()).or_else(lost);
    let Some(limit) = limit else { return };
    let before = seen.limit.take();
    let resets_at = limit.resets_at.or(before.as_ref().and_then(|before| before.resets_at));
    let is_account = |limit: &Limit| limit.scope == LimitScope::Account;
    let scope = if before.as_ref().is_some_and(is_account) { LimitScope::Account } else { limit.scope };
    seen.limit = Some(Limit { scope, resets_at, ..limit });
}

/// A limit that refuses requests; nothing when they go on, if need be for money.
fn rate_limit(info: &Value, message: &str) -> Option<Limit> {
    let is_refusing = info["status"] == "rejected" && info["isUsingOverage"] != true;
    is_refusing.then(|| {
        let kind = info["rateLimitType"].as_str().map_or_else(String::new, |kind| format!(" ({kind})"));
        Limit::new(LimitScope::Account, moment(&info["resetsAt"]), &format!("{message}{kind}"))
    })
}

/// A line that is too long to be read. Only a result matters, and the end of it may be missing.
fn see_cut(seen: &mut Seen, bytes: &[u8]) {
    let has = |text: &str| memchr::memmem::find(bytes, text.as_bytes()).is_some();
    if has("\"total_cost_usd\":") && has("\"is_error\":") {
        let is_error = has("\"is_error\":true");
        seen.result = Some(ResultSeen { is_error, text: "a result that is too long to be shown".to_owned() });
        seen.limit = seen.limit.take().filter(|_| is_error);
    }
}

fn see_complaint(seen: &mut Seen, line: &str) {
    seen.refused_session |= is_refusal(line);
    if line.starts_with("error: unknown option") || line.contains("needs an update") {
        let advice = "update it with: claude update, or correct `arguments` in piton.toml";
        seen.unusable = Some(format!("this version of Claude Code cannot be used ({}); {advice}", shorten(line)));
    }
    if !line.trim().is_empty() {
        seen.complaint = Some(shorten(line));
    }
}

fn is_refusal(text: &str) -> bool {
    text.contains("No conversation found with session ID") || text.contains("--resume requires a valid session")
}

pub(super) fn judge(exit: &Exit, seen: &Seen, has_resumed: bool) -> Outcome {
    let is_through = seen.result.as_ref().is_some_and(|result| !result.is_error);
    match exit {
        Exit::Code(0) if is_through => Outcome::Finished,
        // It ends in order when it is asked to by a signal, and says so as a shell does.
        Exit::Code(129 | 130 | 137 | 143) if !is_through => Outcome::Died { reason: seen.reason(exit) },
        Exit::Code(_) => seen.not_finished(exit, has_resumed),
        Exit::Signal(_) | Exit::Vanished | Exit::NotStarted { .. } => Outcome::Died { reason: exit.to_string() },
    }
}

#[cfg(test)]
mod tests;
