use std::fmt;

use piton_model::Id;

use crate::json::{Kind, Value, parse};

/// The events that something is done about, in the order in which they are listed.
pub const EVENTS: [&str; 12] = [
    "SessionStart",
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "FileChanged",
    "SubagentStart",
    "SubagentStop",
    "PreCompact",
    "PostCompact",
    "Stop",
    "SessionEnd",
];

/// The longest text of a payload that is looked at.
const LONGEST: usize = 64 * 1024;

/// What a host tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Payload {
    /// The session that it happened in.
    pub session: Id,
    /// The helper inside of which it happened.
    pub helper: Option<Helper>,
    /// Whether the host can watch files. Codex cannot, and drops an answer as a whole that asks for it.
    pub can_watch: bool,
    /// What happened.
    pub told: Told,
}

/// A subagent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Helper {
    /// Its id, when it is one.
    pub id: Option<String>,
    /// Its type; never empty.
    pub kind: String,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Told {
    /// A session began, or its context did.
    SessionStarted(Source),
    /// Somebody asked for something.
    Prompted {
        /// Whether that was the host, about a task in the background.
        is_notification: bool,
    },
    /// A tool wrote a file.
    FileWritten {
        /// The file, as the host names it.
        path: String,
        /// Whether it was not there before.
        is_new: bool,
    },
    /// A watched file changed, whoever did it.
    FileChanged {
        /// The file, as the host names it.
        path: String,
    },
    /// A helper is about to be started.
    HelperWanted {
        /// Its type.
        kind: String,
        /// What it is told.
        prompt: String,
    },
    /// A helper was started, or came back.
    HelperReturned,
    /// A helper began.
    HelperStarted(Helper),
    /// A helper ended.
    HelperStopped {
        /// Which.
        helper: Helper,
        /// What it said last.
        message: String,
    },
    /// A tool failed.
    ToolFailed {
        /// Which.
        tool: String,
        /// What it said.
        message: String,
    },
    /// The context is about to be made shorter.
    Compacting,
    /// The context was made shorter.
    Compacted {
        /// What is left of it.
        summary: Option<String>,
    },
    /// A turn ended.
    TurnEnded {
        /// What the model said last.
        message: Option<String>,
        /// Whether something goes on in the background.
        goes_on: bool,
        /// Whether it goes on because a hook wanted it.
        is_again: bool,
    },
    /// The session ended.
    SessionEnded {
        /// Why, in the host's word.
        reason: String,
    },
    /// Something that nothing is done about.
    Nothing,
}

/// Why a session's context begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// A new session.
    Startup,
    /// An old one goes on, with its context.
    Resume,
    /// The user threw the context away; the session has a new id.
    Clear,
    /// The context was made shorter.
    Compact,
    /// A copy of an old session, with a new id.
    Fork,
}

/// Why a payload is ignored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BadPayload {
    /// It is no JSON object, and why.
    NotJson(String),
    /// It names no session, or one whose name is no id.
    NoSession,
    /// It is about another event than the hook was called for.
    OtherEvent,
}

impl fmt::Display for BadPayload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BadPayload::NotJson(why) => write!(f, "the payload is no JSON object: {why}"),
            BadPayload::NoSession => write!(f, "the payload names no session"),
            BadPayload::OtherEvent => write!(f, "the payload is about another event"),
        }
    }
}

/// Reads what the host told about an event. A field that is missing or has another type counts as not said.
pub fn read(event: &str, bytes: &[u8]) -> Result<Payload, BadPayload> {
    let text = std::str::from_utf8(bytes).map_err(|_| BadPayload::NotJson("it is not UTF-8".to_owned()))?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let json = parse(text).map_err(|error| BadPayload::NotJson(error.problem.to_string()))?;
    let root = json.root();
    if root.kind() != Kind::Object {
        return Err(BadPayload::NotJson(format!("it is {}", root.kind())));
    }
    let named = string(root, "hook_event_name");
    if named.is_some_and(|named| named != event) {
        return Err(BadPayload::OtherEvent);
    }
    let session = string(root, "session_id").and_then(|id| Id::parse(&id).ok()).ok_or(BadPayload::NoSession)?;
    // Where Codex writes a session down: `sessions/YEAR/MONTH/DAY/rollout-TIME-SESSION.jsonl`.
    let transcript = string(root, "transcript_path").unwrap_or_default();
    let is_codex = transcript.rsplit('/').next().is_some_and(|name| name.starts_with("rollout-"));
    Ok(Payload { session, helper: helper(root), can_watch: !is_codex, told: told(event, root) })
}

fn told(event: &str, root: Value<'_, '_>) -> Told {
    match event {
        "SessionStart" => Told::SessionStarted(source(root)),
        "UserPromptSubmit" => {
            let prompt = string(root, "prompt").unwrap_or_default();
            Told::Prompted { is_notification: prompt.trim_start().starts_with("<task-notification>") }
        }
        "PreToolUse" if tool(root).as_deref() == Some("Agent") => {
            let input = |key| root.get("tool_input").and_then(|input| string(input, key)).unwrap_or_default();
            Told::HelperWanted { kind: input("subagent_type"), prompt: input("prompt") }
        }
        "PostToolUse" => after_tool(root),
        "PostToolUseFailure" if root.get("is_interrupt").and_then(Value::as_bool) != Some(true) => {
            match (tool(root), string(root, "error")) {
                (Some(tool), Some(message)) => Told::ToolFailed { tool, message },
                _ => Told::Nothing,
            }
        }
        "FileChanged" => string(root, "file_path").map_or(Told::Nothing, |path| Told::FileChanged { path }),
        "SubagentStart" => helper(root).map_or(Told::Nothing, Told::HelperStarted),
        // The host's own forks have no type.
        "SubagentStop" => helper(root).map_or(Told::Nothing, |helper| Told::HelperStopped {
            helper,
            message: string(root, "last_assistant_message").unwrap_or_default(),
        }),
        "PreCompact" => Told::Compacting,
        "PostCompact" => Told::Compacted { summary: string(root, "compact_summary") },
        "Stop" => Told::TurnEnded {
            message: string(root, "last_assistant_message"),
            goes_on: root.get("background_tasks").is_some_and(|tasks| tasks.items().next().is_some()),
            is_again: root.get("stop_hook_active").and_then(Value::as_bool) == Some(true),
        },
        "SessionEnd" => Told::SessionEnded { reason: string(root, "reason").unwrap_or_else(|| "other".to_owned()) },
        _ => Told::Nothing,
    }
}

fn after_tool(root: Value<'_, '_>) -> Told {
    let input = root.get("tool_input");
    match tool(root).as_deref() {
        Some("Edit" | "Write") => {
            let is_new = root.get("tool_response").and_then(|response| string(response, "type"));
            let path = input.and_then(|input| string(input, "file_path"));
            path.map_or(Told::Nothing, |path| Told::FileWritten { path, is_new: is_new.as_deref() == Some("create") })
        }
        Some("NotebookEdit") => {
            let path = input.and_then(|input| string(input, "notebook_path"));
            path.map_or(Told::Nothing, |path| Told::FileWritten { path, is_new: false })
        }
        Some("Agent") => Told::HelperReturned,
        _ => Told::Nothing,
    }
}

fn source(root: Value<'_, '_>) -> Source {
    match string(root, "source").as_deref() {
        Some("resume") => Source::Resume,
        Some("clear") => Source::Clear,
        Some("compact") => Source::Compact,
        Some("fork") => Source::Fork,
        _ => Source::Startup,
    }
}

fn tool(root: Value<'_, '_>) -> Option<String> {
    string(root, "tool_name").filter(|name| !name.is_empty())
}

fn helper(root: Value<'_, '_>) -> Option<Helper> {
    let kind = string(root, "agent_type").filter(|kind| is_plain(kind))?;
    let id = string(root, "agent_id").filter(|id| is_plain(id));
    Some(Helper { id, kind })
}

/// Whether a name can stand in a document and in a message: plugins put a colon into the names of their agents.
fn is_plain(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= 128
        && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | ':' | ' '))
}

/// A text of bounded length.
fn string(object: Value<'_, '_>, key: &str) -> Option<String> {
    let text = object.get(key)?.as_str()?;
    Some(text[..text.floor_char_boundary(LONGEST)].to_owned())
}

#[cfg(test)]
mod tests;
