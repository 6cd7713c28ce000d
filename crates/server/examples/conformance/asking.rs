//! Tools and a prompt that ask the client for something before they answer.

use rmcp::ErrorData;
use rmcp::model::{InputRequiredResult, InputResponses};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::fixtures::read;

/// The tools that ask by an intermediate result.
pub const TOOLS: [&str; 7] = [
    "test_input_required_result_elicitation",
    "test_input_required_result_sampling",
    "test_input_required_result_list_roots",
    "test_input_required_result_request_state",
    "test_input_required_result_multiple_inputs",
    "test_input_required_result_multi_round",
    "test_input_required_result_tampered_state",
];

/// The tool that asks only for what the client can give.
pub const CAPABILITIES: &str = "test_input_required_result_capabilities";

/// The prompt that asks.
pub const PROMPT: &str = "test_input_required_result_prompt";

/// What comes next: a question, or the words of the answer.
pub enum Next {
    /// The client is asked.
    Ask(InputRequiredResult),
    /// It has said everything.
    Done(String),
}

/// Asks a person for a text.
pub fn person(message: &str, field: &str, kind: &str) -> Value {
    let schema = json!({ "type": "object", "properties": { field: { "type": kind } }, "required": [field] });
    json!({ "method": "elicitation/create", "params": { "message": message, "requestedSchema": schema } })
}

/// Asks the client's model.
pub fn model(question: &str) -> Value {
    let message = json!({ "role": "user", "content": { "type": "text", "text": question } });
    json!({ "method": "sampling/createMessage", "params": { "messages": [message], "maxTokens": 100 } })
}

fn roots() -> Value {
    json!({ "method": "roots/list", "params": {} })
}

/// What a tool or prompt asks for in its rounds.
fn rounds(name: &str) -> Option<Vec<Value>> {
    Some(match name {
        "test_input_required_result_elicitation" => {
            vec![json!({ "user_name": person("What is your name?", "name", "string") })]
        }
        "test_input_required_result_sampling" => {
            vec![json!({ "capital_question": model("What is the capital of France?") })]
        }
        "test_input_required_result_list_roots" => vec![json!({ "client_roots": roots() })],
        "test_input_required_result_request_state" | "test_input_required_result_tampered_state" => {
            vec![json!({ "confirm": person("Please confirm", "ok", "boolean") })]
        }
        "test_input_required_result_multiple_inputs" => vec![json!({
            "user_name": person("What is your name?", "name", "string"),
            "greeting": model("Generate a greeting"),
            "client_roots": roots(),
        })],
        "test_input_required_result_multi_round" => vec![
            json!({ "step1": person("Step 1: What is your name?", "name", "string") }),
            json!({ "step2": person("Step 2: What is your favorite color?", "color", "string") }),
        ],
        PROMPT => vec![json!({ "user_context": person("What context should the prompt use?", "context", "string") })],
        _ => return None,
    })
}

/// Whether its answers depend on a state that the client carries.
fn has_state(name: &str) -> bool {
    name.contains("state") || name.contains("multi")
}

/// The next round of a tool or prompt. Nothing when it does not ask.
pub fn next(name: &str, responses: Option<&InputResponses>, state: Option<&str>) -> Option<Result<Next, ErrorData>> {
    let rounds = rounds(name)?;
    Some(advance(name, &rounds, responses, state))
}

fn advance(
    name: &str,
    rounds: &[Value],
    responses: Option<&InputResponses>,
    state: Option<&str>,
) -> Result<Next, ErrorData> {
    let round = match state {
        None => 0,
        Some(state) => opened(name, rounds.len(), state)
            .ok_or_else(|| ErrorData::invalid_params("that is no state of this server", None))?,
    };
    let asked = rounds.get(round).unwrap_or(&Value::Null);
    let is_answered = responses.is_some_and(|responses| {
        asked.as_object().is_some_and(|asked| asked.keys().all(|key| responses.get(key).is_some_and(Value::is_object)))
    });
    let round = if is_answered { round + 1 } else { round };
    let Some(asked) = rounds.get(round) else {
        return Ok(Next::Done(format!("state-ok {}", json!(responses))));
    };
    let state = has_state(name).then(|| sealed(name, round));
    Ok(Next::Ask(InputRequiredResult::new(Some(read(asked.clone())?), state)))
}

/// The number of a round that nobody else could have written, if the key were a secret.
fn sealed(name: &str, round: usize) -> String {
    let digest = Sha256::digest(format!("a key for tests\0{name}\0{round}"));
    let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{round}.{digest}")
}

fn opened(name: &str, rounds: usize, state: &str) -> Option<usize> {
    (0..rounds).find(|round| sealed(name, *round) == state)
}
