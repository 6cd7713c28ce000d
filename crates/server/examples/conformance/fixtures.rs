//! What the suite expects to find, as JSON.

use rmcp::ErrorData;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// A picture of one pixel.
const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";
/// A sound without a sample.
const WAV: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=";

/// A value as the protocol has it.
pub fn read<T: DeserializeOwned>(value: Value) -> Result<T, ErrorData> {
    serde_json::from_value(value).map_err(|error| ErrorData::internal_error(error.to_string(), None))
}

/// Tools.
pub fn tools() -> Vec<Value> {
    let mut tools: Vec<Value> = [
        "test_simple_text",
        "test_image_content",
        "test_audio_content",
        "test_embedded_resource",
        "test_multiple_content_types",
        "test_error_handling",
        "test_tool_with_progress",
        "test_tool_with_logging",
        "test_logging_tool",
        "test_missing_capability",
        "test_streaming_elicitation",
        "test_elicitation_sep1034_defaults",
        "test_elicitation_sep1330_enums",
    ]
    .into_iter()
    .chain(crate::asking::TOOLS)
    .chain([crate::asking::CAPABILITIES])
    .map(|name| tool(name, json!({ "type": "object", "properties": {} })))
    .collect();
    let text =
        |name: &str| json!({ "type": "object", "properties": { name: { "type": "string" } }, "required": [name] });
    tools.push(tool("test_sampling", text("prompt")));
    tools.push(tool("test_elicitation", text("message")));
    tools.push(tool("test_headers", headers()));
    tools.push(tool("json_schema_2020_12_tool", rich_schema()));
    tools
}

fn tool(name: &str, schema: Value) -> Value {
    json!({ "name": name, "description": "For the conformance suite", "inputSchema": schema })
}

/// A schema whose argument is repeated in a header.
fn headers() -> Value {
    json!({
        "type": "object",
        "properties": { "region": { "type": "string", "x-mcp-header": "Region" } },
        "required": ["region"],
    })
}

/// A schema with every keyword that has to arrive as it is.
fn rich_schema() -> Value {
    let text = json!({ "type": "string" });
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": { "address": {
            "$anchor": "addressDef", "type": "object", "properties": { "street": text, "city": text },
        } },
        "properties": {
            "name": text, "address": { "$ref": "#/$defs/address" }, "phone": text, "email": text,
            "contactMethod": { "type": "string", "enum": ["phone", "email"] },
        },
        "allOf": [{ "anyOf": [{ "required": ["phone"] }, { "required": ["email"] }] }],
        "if": { "properties": { "contactMethod": { "const": "phone" } }, "required": ["contactMethod"] },
        "then": { "required": ["phone"] },
        "else": { "required": ["email"] },
        "additionalProperties": false,
    })
}

fn text(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

fn image() -> Value {
    json!({ "type": "image", "data": PNG, "mimeType": "image/png" })
}

fn resource(uri: &str, form: &str, text: &str) -> Value {
    json!({ "type": "resource", "resource": { "uri": uri, "mimeType": form, "text": text } })
}

/// What a tool returns that only returns something.
pub fn result(tool: &str) -> Option<Value> {
    let content = match tool {
        "test_simple_text" => vec![text("This is a simple text response for testing.")],
        "test_image_content" => vec![image()],
        "test_audio_content" => vec![json!({ "type": "audio", "data": WAV, "mimeType": "audio/wav" })],
        "test_embedded_resource" => {
            vec![resource("test://embedded-resource", "text/plain", "This is an embedded resource content.")]
        }
        "test_multiple_content_types" => vec![
            text("Multiple content types test:"),
            image(),
            resource("test://mixed-content-resource", "application/json", r#"{"test":"data","value":123}"#),
        ],
        "test_error_handling" => {
            return Some(json!({
                "resultType": "complete", "isError": true, "content": [text("This tool intentionally returns an error for testing")],
            }));
        }
        "test_headers" | "json_schema_2020_12_tool" => vec![text("done")],
        _ => return None,
    };
    Some(json!({ "resultType": "complete", "content": content }))
}

/// Resources and templates.
pub fn resources() -> Vec<Value> {
    vec![
        json!({ "uri": "test://static-text", "name": "text", "mimeType": "text/plain" }),
        json!({ "uri": "test://static-binary", "name": "binary", "mimeType": "image/png" }),
        json!({ "uri": WATCHED, "name": "watched", "mimeType": "text/plain" }),
    ]
}

/// The resource that can be subscribed to.
pub const WATCHED: &str = "test://watched-resource";

/// The only template.
pub fn template() -> Value {
    json!({ "uriTemplate": "test://template/{id}/data", "name": "template", "mimeType": "application/json" })
}

/// What a resource says.
pub fn content(uri: &str) -> Option<Value> {
    let id = uri.strip_prefix("test://template/").and_then(|rest| rest.strip_suffix("/data"));
    let content = match (uri, id) {
        ("test://static-text", _) => {
            json!({ "mimeType": "text/plain", "text": "This is the content of the static text resource." })
        }
        ("test://static-binary", _) => json!({ "mimeType": "image/png", "blob": PNG }),
        (WATCHED, _) => json!({ "mimeType": "text/plain", "text": "Watched" }),
        (_, Some(id)) => {
            let text = json!({ "id": id, "templateTest": true, "data": format!("Data for ID: {id}") }).to_string();
            json!({ "mimeType": "application/json", "text": text })
        }
        _ => return None,
    };
    let mut content = content;
    content["uri"] = uri.into();
    Some(json!({ "resultType": "complete", "contents": [content] }))
}

/// Prompts.
pub fn prompts() -> Vec<Value> {
    let argument = |name: &str| json!({ "name": name, "description": "For the suite", "required": true });
    let prompt = |name: &str, arguments: Vec<Value>| json!({ "name": name, "description": "For the conformance suite", "arguments": arguments });
    vec![
        prompt("test_simple_prompt", Vec::new()),
        prompt("test_prompt_with_arguments", vec![argument("arg1"), argument("arg2")]),
        prompt("test_prompt_with_embedded_resource", vec![argument("resourceUri")]),
        prompt("test_prompt_with_image", Vec::new()),
        prompt(crate::asking::PROMPT, Vec::new()),
    ]
}

/// What a prompt says.
pub fn prompt(name: &str, arguments: &Value) -> Option<Value> {
    let argument = |name: &str| arguments[name].as_str().unwrap_or_default();
    let contents = match name {
        "test_simple_prompt" => vec![text("This is a simple prompt for testing.")],
        "test_prompt_with_arguments" => {
            vec![text(&format!("Prompt with arguments: arg1='{}', arg2='{}'", argument("arg1"), argument("arg2")))]
        }
        "test_prompt_with_embedded_resource" => vec![
            resource(argument("resourceUri"), "text/plain", "Embedded resource content for testing."),
            text("Please process the embedded resource above."),
        ],
        "test_prompt_with_image" => vec![image(), text("Please analyze the image above.")],
        _ => return None,
    };
    let messages = contents.into_iter().map(|content| json!({ "role": "user", "content": content }));
    Some(json!({ "resultType": "complete", "messages": messages.collect::<Vec<_>>() }))
}
