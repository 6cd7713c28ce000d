use serde_json::json;

/// The most characters that are given to a model at once. The host replaces an answer of more than 10,000 by a file's
/// name, so there is room for the rest of the answer.
pub const CONTEXT_BUDGET: usize = 9_500;

/// What a hook answers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reply {
    /// Text for the model.
    pub context: Option<String>,
    /// Files that the host is to watch, by absolute paths.
    pub watch: Vec<String>,
    /// A line for the person in front of the host.
    pub message: Option<String>,
}

/// Whether text given in answer to an event reaches the model.
pub fn reaches_model(event: &str) -> bool {
    matches!(
        event,
        "SessionStart"
            | "UserPromptSubmit"
            | "PreToolUse"
            | "PostToolUse"
            | "PostToolUseFailure"
            | "SubagentStart"
            | "Stop"
    )
}

impl Reply {
    /// The answer as the host reads it: one JSON object, or nothing at all.
    pub fn text(&self, event: &str) -> String {
        let mut own = serde_json::Map::new();
        if let Some(context) = self.context.as_ref().filter(|_| reaches_model(event)) {
            let end = context.char_indices().nth(CONTEXT_BUDGET).map_or(context.len(), |(at, _)| at);
            own.insert("additionalContext".to_owned(), context[..end].into());
        }
        if event == "SessionStart" && !self.watch.is_empty() {
            own.insert("watchPaths".to_owned(), json!(self.watch));
        }
        let mut answer = serde_json::Map::new();
        if let Some(message) = &self.message {
            answer.insert("systemMessage".to_owned(), message.as_str().into());
        }
        if !own.is_empty() {
            // Without its own event's name the host drops the whole answer.
            own.insert("hookEventName".to_owned(), event.into());
            answer.insert("hookSpecificOutput".to_owned(), own.into());
        }
        if answer.is_empty() { String::new() } else { format!("{}\n", serde_json::Value::Object(answer)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_nothing_or_one_object_that_names_its_event() {
        assert_eq!(Reply::default().text("Stop"), "");
        let reply = Reply { context: Some("go on".to_owned()), watch: vec!["/r/plan.md".to_owned()], message: None };
        assert_eq!(
            reply.text("SessionStart"),
            "{\"hookSpecificOutput\":{\"additionalContext\":\"go on\",\"watchPaths\":[\"/r/plan.md\"],\"hookEventName\":\"SessionStart\"}}\n"
        );
        assert_eq!(
            reply.text("PostToolUse"),
            "{\"hookSpecificOutput\":{\"additionalContext\":\"go on\",\"hookEventName\":\"PostToolUse\"}}\n"
        );
        for silent in ["SessionEnd", "FileChanged", "PreCompact", "PostCompact", "SubagentStop"] {
            assert_eq!(reply.text(silent), "", "{silent}");
        }
    }

    #[test]
    fn a_long_context_is_cut_below_what_the_host_takes() {
        let reply = Reply { context: Some("ä".repeat(20_000)), ..Reply::default() };
        assert!(reply.text("SessionStart").chars().count() < 10_000);
    }
}
