//! What a coding agent printed, for people: its words, the tools it used, and what came of them. Everything else that it
//! prints is for programs.

use serde_json::Value;

/// How much of a tool's input and of a line of its result is shown.
const LONGEST: usize = 200;

/// How many lines of a tool's result are shown.
const MOST_LINES: usize = 8;

/// A line of output as lines for people, none when it says nothing to them. Whatever is not a line of that kind of agent
/// is shown as it is. Nothing here is safe for a terminal yet.
pub fn readable(adapter: Option<&str>, line: &str) -> Vec<String> {
    let event = || serde_json::from_str::<Value>(line).ok().filter(|event| event["type"].is_string());
    match adapter {
        Some("claude") => event().map_or_else(|| whole(line), |event| claude(&event)),
        Some("codex") => event().map_or_else(|| whole(line), |event| codex(&event)),
        // What an older version started did not say what it is.
        None => event().and_then(|event| of_either(&event)).unwrap_or_else(|| whole(line)),
        Some(_) => whole(line),
    }
}

fn whole(line: &str) -> Vec<String> {
    vec![line.to_owned()]
}

fn of_either(event: &Value) -> Option<Vec<String>> {
    match event["type"].as_str()? {
        "system" | "assistant" | "user" | "result" | "rate_limit_event" | "stream_event" | "conversation_reset" => {
            Some(claude(event))
        }
        "thread.started" | "turn.started" | "turn.completed" | "turn.failed" | "item.started" | "item.completed" => {
            Some(codex(event))
        }
        _ => None,
    }
}

fn claude(event: &Value) -> Vec<String> {
    let text = |key: &str| event[key].as_str().unwrap_or_default();
    let lines = match (text("type"), text("subtype")) {
        ("system", "init") => {
            let model = event["model"].as_str().map_or_else(String::new, |model| format!(", {model}"));
            vec![format!("* session {}{model}", text("session_id"))]
        }
        ("system", "api_retry") => {
            let (attempt, most) = (&event["attempt"], &event["max_retries"]);
            vec![format!("* waiting: {} (attempt {attempt} of {most})", text("error"))]
        }
        ("system", "compact_boundary") => vec!["* context compacted".to_owned()],
        ("system", "informational") => vec![format!("* {}", text("content"))],
        ("assistant" | "user", _) => blocks(&event["message"]["content"]),
        ("result", subtype) => {
            let word = if event["is_error"] == true { "failed" } else { "result" };
            let said = event["result"].as_str().map_or_else(|| subtype.to_owned(), str::to_owned);
            let cost = event["total_cost_usd"].as_f64().map_or_else(String::new, |cost| format!(" (${cost:.2})"));
            with_first(&format!("= {word}{cost}: "), &said)
        }
        ("rate_limit_event", _) => {
            let info = &event["rate_limit_info"];
            let status = info["status"].as_str().filter(|status| *status != "allowed");
            status.map(|status| format!("* limit: {status}")).into_iter().collect()
        }
        _ => Vec::new(),
    };
    // What a helper of the agent did stands a step to the right.
    match event["parent_tool_use_id"].is_string() {
        true => lines.into_iter().map(|line| format!("  {line}")).collect(),
        false => lines,
    }
}

/// The blocks of a message: text, tool calls, results.
fn blocks(content: &Value) -> Vec<String> {
    if let Some(text) = content.as_str() {
        return text.lines().map(str::to_owned).collect();
    }
    let mut lines = Vec::new();
    for block in content.as_array().into_iter().flatten() {
        let text = |key: &str| block[key].as_str().unwrap_or_default();
        match text("type") {
            "text" => lines.extend(text("text").lines().map(str::to_owned)),
            "tool_use" => lines.push(format!("> {}{}", text("name"), input(&block["input"]))),
            "tool_result" => lines.extend(result(&said(&block["content"]), block["is_error"] == true)),
            _ => {}
        }
    }
    lines
}

fn codex(event: &Value) -> Vec<String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let item = &event["item"];
    match (text(&event["type"]).as_str(), text(&item["type"]).as_str()) {
        ("thread.started", _) => vec![format!("* session {}", text(&event["thread_id"]))],
        ("turn.completed", _) => {
            let tokens = |key: &str| event["usage"][key].as_u64().unwrap_or(0);
            vec![format!("= turn completed ({} tokens in, {} out)", tokens("input_tokens"), tokens("output_tokens"))]
        }
        ("turn.failed", _) => with_first("= failed: ", &text(&event["error"]["message"])),
        ("error", _) => with_first("! ", &text(&event["message"])),
        ("item.completed", "agent_message") => text(&item["text"]).lines().map(str::to_owned).collect(),
        ("item.started", "command_execution") => vec![format!("> {}", short(&text(&item["command"])))],
        ("item.completed", "command_execution") => {
            let is_error = item["exit_code"].as_i64().is_some_and(|code| code != 0);
            let code = item["exit_code"].as_i64().filter(|_| is_error).map(|code| format!("  ! exit code {code}"));
            result(&text(&item["aggregated_output"]), is_error).into_iter().chain(code).collect()
        }
        ("item.completed", "file_change") => {
            let changes = item["changes"].as_array().into_iter().flatten();
            changes.map(|change| format!("> {} {}", text(&change["kind"]), text(&change["path"]))).collect()
        }
        ("item.started", "mcp_tool_call") => {
            vec![format!("> {}.{}{}", text(&item["server"]), text(&item["tool"]), input(&item["arguments"]))]
        }
        ("item.completed", "mcp_tool_call") => {
            let is_error = item["status"] == "failed";
            let error = item["error"]["message"].as_str().map(str::to_owned);
            result(&error.unwrap_or_else(|| said(&item["result"]["content"])), is_error)
        }
        ("item.completed", "error") => with_first("! ", &text(&item["message"])),
        _ => Vec::new(),
    }
}

/// What tells most about a tool's input.
fn input(input: &Value) -> String {
    let keys = ["command", "file_path", "path", "pattern", "description", "prompt", "query", "url", "skill"];
    match keys.iter().find_map(|key| input[key].as_str()) {
        Some(text) => format!(": {}", short(text)),
        None if input.as_object().is_none_or(serde_json::Map::is_empty) => String::new(),
        None => format!(": {}", short(&input.to_string())),
    }
}

/// The text of a result: itself, or that of its parts.
fn said(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("\n"),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => String::new(),
    }
}

/// The first lines of what came of a tool.
fn result(text: &str, is_error: bool) -> Vec<String> {
    let mark = if is_error { "  !" } else { "  |" };
    let lines: Vec<&str> = text.trim_end().lines().collect();
    let shown = lines.iter().take(MOST_LINES).map(|line| format!("{mark} {}", short(line)));
    let left = lines.len().saturating_sub(MOST_LINES);
    let rest = (left > 0).then(|| format!("{mark} … {left} more lines"));
    shown.chain(rest).collect()
}

fn with_first(mark: &str, text: &str) -> Vec<String> {
    let mut lines = text.lines();
    let first = format!("{mark}{}", lines.next().unwrap_or_default());
    std::iter::once(first).chain(lines.map(str::to_owned)).collect()
}

fn short(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match text.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(adapter: &str, line: &str, want: &[&str]) {
        assert_eq!(readable(Some(adapter), line), want, "{line}");
        // Where it is not known what printed it, it is told by its lines.
        if want != [line] {
            assert_eq!(readable(None, line), want, "{line}");
        }
    }

    #[test]
    fn what_claude_prints_is_told_in_words() {
        for (line, want) in [
            (r#"{"type":"system","subtype":"init","session_id":"5b","model":"m"}"#, &["* session 5b, m"][..]),
            (r#"{"type":"system","subtype":"status","status":"requesting"}"#, &[]),
            (
                r#"{"type":"assistant","message":{"content":[{"type":"text","text":"I look.\nThen I write."}]}}"#,
                &["I look.", "Then I write."],
            ),
            (
                r#"{"type":"assistant","message":{"content":[{"type":"tool_use","name":"Bash","input":{"command":"git  status"}}]}}"#,
                &["> Bash: git status"],
            ),
            (
                r#"{"type":"assistant","message":{"content":[{"type":"tool_use","name":"Odd","input":{"a":1}}]}}"#,
                &["> Odd: {\"a\":1}"],
            ),
            (
                r#"{"type":"user","message":{"content":[{"type":"tool_result","content":"1\n2\n3\n4\n5\n6\n7\n8\n9\n10"}]}}"#,
                &["  | 1", "  | 2", "  | 3", "  | 4", "  | 5", "  | 6", "  | 7", "  | 8", "  | … 2 more lines"],
            ),
            (
                r#"{"type":"user","message":{"content":[{"type":"tool_result","is_error":true,"content":[{"type":"text","text":"denied"}]}]}}"#,
                &["  ! denied"],
            ),
            (
                r#"{"type":"user","parent_tool_use_id":"t","message":{"content":[{"type":"text","text":"go"}]}}"#,
                &["  go"],
            ),
            (
                r#"{"type":"result","subtype":"success","result":"Done.\nAll.","total_cost_usd":0.165}"#,
                &["= result ($0.17): Done.", "All."],
            ),
            (r#"{"type":"result","subtype":"error_max_turns","is_error":true}"#, &["= failed: error_max_turns"]),
            ("a wrapper's greeting", &["a wrapper's greeting"]),
            ("{\"type\":", &["{\"type\":"]),
        ] {
            check("claude", line, want);
        }
    }

    #[test]
    fn what_codex_prints_is_told_in_words() {
        for (line, want) in [
            (r#"{"type":"thread.started","thread_id":"01"}"#, &["* session 01"][..]),
            (r#"{"type":"turn.started"}"#, &[]),
            (r#"{"type":"item.completed","item":{"type":"reasoning","text":"hm"}}"#, &[]),
            (r#"{"type":"item.completed","item":{"type":"agent_message","text":"I write."}}"#, &["I write."]),
            (
                r#"{"type":"item.started","item":{"type":"command_execution","command":"/bin/bash -lc 'ls'"}}"#,
                &["> /bin/bash -lc 'ls'"],
            ),
            (
                r#"{"type":"item.completed","item":{"type":"command_execution","aggregated_output":"hi\n","exit_code":3}}"#,
                &["  ! hi", "  ! exit code 3"],
            ),
            (
                r#"{"type":"item.completed","item":{"type":"file_change","changes":[{"path":"/r/a","kind":"add"}]}}"#,
                &["> add /r/a"],
            ),
            (
                r#"{"type":"item.completed","item":{"type":"mcp_tool_call","status":"failed","result":{"content":[{"text":"no"}]}}}"#,
                &["  ! no"],
            ),
            (
                r#"{"type":"turn.completed","usage":{"input_tokens":5,"output_tokens":2}}"#,
                &["= turn completed (5 tokens in, 2 out)"],
            ),
            (r#"{"type":"turn.failed","error":{"message":"no such model"}}"#, &["= failed: no such model"]),
        ] {
            check("codex", line, want);
        }
    }

    #[test]
    fn what_a_command_prints_is_its_own() {
        let line = r#"{"type":"assistant","message":{"content":"x"}}"#;
        assert_eq!(readable(Some("command"), line), [line]);
    }
}
