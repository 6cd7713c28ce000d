//! What a tool returns: a document for programs and a few words for people, or a problem that says what to do.

use piton_engine::{Problem, Recorded, json};
use piton_model::Audience;
use piton_model::text::printable;
use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::Value;

use crate::bounds::{MOST_CHARACTERS, fit, shorten_text};

/// The most characters of the words.
const MOST_WORDS: usize = 4_000;

/// What a tool found out or did.
#[derive(Debug)]
pub struct Answer {
    /// For programs.
    pub document: Value,
    /// For people.
    pub text: String,
}

impl Answer {
    /// Something that was recorded.
    pub fn recorded(recorded: &Recorded) -> Answer {
        let attempt = recorded.attempt;
        let mut text =
            format!("{} {} @{}, attempt {attempt}", recorded.unit, printable(&recorded.summary), recorded.seq);
        for warning in &recorded.warnings {
            text.push_str(&format!("\nwarning: {}", printable(&warning.render(Audience::Tools))));
        }
        if let Some(next) = &recorded.next {
            text.push_str(&format!("\nnext: {}", printable(&next.render(Audience::Tools))));
        }
        if let Some(handoff) = &recorded.handoff {
            text.push_str("\n\nfor the new session:");
            handoff.lines().for_each(|line| text.push_str(&format!("\n{}", printable(line))));
        }
        Answer { document: json::recorded(recorded), text }
    }
}

/// An answer or a problem as the protocol has it. A problem is a result and not an error of the protocol, because only
/// a result reaches the model.
pub fn result(answer: Result<Answer, Problem>) -> CallToolResult {
    match answer {
        Ok(answer) => {
            let mut result = CallToolResult::success(vec![ContentBlock::text(shorten_text(&answer.text, MOST_WORDS))]);
            result.structured_content = Some(fit(&answer.document, MOST_CHARACTERS));
            result
        }
        Err(problem) => CallToolResult::error(vec![ContentBlock::text(words(&problem))]),
    }
}

/// A problem in words, with what to do next.
pub fn words(problem: &Problem) -> String {
    let mut text = format!("error: {}", printable(&problem.message));
    for hint in &problem.hints {
        text.push_str(&format!("\nhint: {}", printable(&hint.render(Audience::Tools))));
    }
    shorten_text(&text, MOST_WORDS)
}
