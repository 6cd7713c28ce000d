//! Schemas: of arguments, made from the types that read them; of documents, as the engine writes them.

use rmcp::model::JsonObject;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

/// The schema of a tool's arguments, in the plainest form: clients differ in what they understand.
pub fn input<I: JsonSchema>() -> JsonObject {
    let mut settings = SchemaSettings::draft2020_12();
    settings.inline_subschemas = true;
    settings.meta_schema = None;
    let schema = settings.into_generator().into_root_schema_for::<I>();
    let mut map = match plain(schema.to_value()) {
        Value::Object(map) => map,
        _ => Map::new(),
    };
    map.entry("properties").or_insert_with(|| json!({}));
    map.insert("additionalProperties".to_owned(), Value::Bool(false));
    map.remove("description");
    map
}

/// Leaves out what says nothing: names of types, widths of numbers, that what is optional may be null.
fn plain(schema: Value) -> Value {
    let Value::Object(schema) = schema else { return schema };
    let mut kept = Map::new();
    for (key, value) in schema {
        let value = match (key.as_str(), value) {
            ("title" | "format" | "default", _) => continue,
            ("type", Value::Array(types)) => {
                types.into_iter().find(|name| name != "null").unwrap_or_else(|| json!("null"))
            }
            ("properties", Value::Object(properties)) => {
                properties.into_iter().map(|(name, schema)| (name, plain(schema))).collect()
            }
            ("anyOf", Value::Array(options)) => {
                let mut options = options.into_iter().filter(|option| option["type"] != "null").map(plain);
                match (options.next(), options.next()) {
                    (Some(Value::Object(only)), None) => {
                        // What stands beside it is said about the argument itself.
                        for (key, value) in only {
                            kept.entry(key).or_insert(value);
                        }
                        continue;
                    }
                    (first, second) => first.into_iter().chain(second).chain(options).collect(),
                }
            }
            ("enum", Value::Array(words)) => words.into_iter().filter(|word| !word.is_null()).collect(),
            ("items", value) => plain(value),
            (_, value) => value,
        };
        kept.insert(key, value);
    }
    Value::Object(kept)
}

fn object(properties: Value, required: &[&str]) -> Value {
    json!({ "type": "object", "properties": properties, "required": required })
}

fn list(items: Value) -> Value {
    json!({ "type": "array", "items": items })
}

fn text() -> Value {
    json!({ "type": "string" })
}

fn maybe_text() -> Value {
    json!({ "type": ["string", "null"] })
}

fn number() -> Value {
    json!({ "type": "integer" })
}

fn maybe_number() -> Value {
    json!({ "type": ["integer", "null"] })
}

/// Which part of a list is shown, and which lists were cut besides.
fn with_page(mut properties: Value) -> Value {
    let page = object(
        json!({ "offset": number(), "shown": number(), "of": number(), "next_offset": maybe_number() }),
        &["offset", "shown", "of", "next_offset"],
    );
    properties["page"] = page;
    with_cut(properties)
}

fn with_cut(mut properties: Value) -> Value {
    let entry = object(json!({ "list": text(), "shown": number(), "of": number() }), &["list", "shown", "of"]);
    properties["cut"] = list(entry);
    properties
}

fn finished(schema: Value) -> JsonObject {
    match schema {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

/// What became true.
pub fn recorded() -> JsonObject {
    let properties = json!({
        "unit": text(), "seq": number(), "attempt": number(), "summary": text(), "warnings": list(text()),
        "next": text(),
        "handoff": text(),
    });
    finished(object(with_cut(properties), &["unit", "seq", "attempt", "summary", "warnings"]))
}

fn counts() -> Value {
    object(json!({ "error": number(), "warning": number(), "note": number() }), &["error", "warning", "note"])
}

fn reasons() -> Value {
    list(object(json!({ "what": text(), "because": text() }), &["what", "because"]))
}

fn finding() -> Value {
    let properties = json!({
        "code": text(), "severity": text(), "path": text(), "line": maybe_number(), "message": text(), "help": text(),
    });
    object(properties, &["code", "severity", "path", "line", "message", "help"])
}

/// Units and their sum. For a single unit there is more about it.
pub fn status() -> JsonObject {
    let step = json!({
        "id": text(), "title": maybe_text(), "stage": maybe_text(), "state": text(), "by": maybe_text(),
        "at": maybe_text(), "outputs": list(text()),
    });
    let gate = json!({
        "name": text(), "step": maybe_text(), "stage": maybe_text(), "state": text(), "result": maybe_text(),
    });
    let unit = json!({
        "unit": text(), "dialect": text(), "id": text(), "title": maybe_text(), "path": text(), "lifecycle": text(),
        "status_text": text(), "reason": maybe_text(), "position": maybe_text(), "done": number(), "total": number(),
        "percent": { "type": "number" }, "agent": maybe_text(), "attempt": maybe_number(), "liveness": text(),
        "last_seen": maybe_text(), "blockers": list(text()), "findings": counts(), "session": maybe_text(),
        "resumable": { "type": "boolean" }, "steps": list(object(step, &["id", "state"])),
        "gates": list(object(gate, &["name", "state"])), "why": reasons(), "all_findings": list(finding()),
    });
    let required = ["unit", "dialect", "id", "lifecycle", "done", "total", "liveness", "attempt"];
    let properties = json!({
        "as_of": text(), "workspace": text(), "units": list(object(unit, &required)), "summary": { "type": "object" },
        "run": run(),
    });
    finished(object(with_page(properties), &["as_of", "workspace", "units", "summary"]))
}

/// The run that a lead is at work on, or else the newest that is not finished.
fn run() -> Value {
    let lead = json!({ "pid": maybe_number(), "since": text(), "at_work": { "type": "boolean" } });
    let waiting = json!({ "unit": text(), "what": text(), "command": text() });
    let properties = json!({
        "number": number(), "state": text(), "started": text(), "units": list(text()),
        "lead": object(lead, &["pid", "since", "at_work"]), "mode": maybe_text(), "done": maybe_number(),
        "total": maybe_number(), "workers": number(), "waiting": list(object(waiting, &["unit", "what", "command"])),
        "parked_until": maybe_text(), "ended": maybe_text(), "command": text(),
    });
    let mut run = object(properties, &["number", "state", "lead", "workers", "waiting", "command"]);
    run["type"] = json!(["object", "null"]);
    run
}

/// Findings.
pub fn check() -> JsonObject {
    let properties = json!({ "findings": list(finding()), "files": number(), "found": counts() });
    finished(object(with_page(properties), &["findings", "files", "found", "page"]))
}

/// How a unit was judged.
pub fn why() -> JsonObject {
    let properties = json!({
        "as_of": text(), "unit": text(), "lifecycle": text(), "liveness": text(), "last_seen": maybe_text(),
        "decided_by": maybe_text(), "why": reasons(), "lead": { "type": ["object", "null"] }, "next": text(),
    });
    finished(object(with_cut(properties), &["as_of", "unit", "lifecycle", "liveness", "why", "next"]))
}

/// Events.
pub fn log() -> JsonObject {
    let event = json!({
        "seq": number(), "at": text(), "attempt": number(), "by": text(), "event": text(), "summary": text(),
        "files": list(text()), "data": { "type": "object" },
    });
    let event = object(event, &["seq", "at", "attempt", "by", "event", "summary", "files"]);
    let properties = json!({ "unit": text(), "compacted_up_to": number(), "events": list(event) });
    finished(object(with_page(properties), &["unit", "compacted_up_to", "events", "page"]))
}

/// A document of a version, and which documents that version has.
pub fn version() -> JsonObject {
    let document = object(json!({ "path": text(), "text": text() }), &["path", "text"]);
    let properties = json!({ "unit": text(), "seq": number(), "documents": list(document), "paths": list(text()) });
    finished(object(with_page(properties), &["unit", "seq", "documents", "paths", "page"]))
}

/// Crews before their sync points.
pub fn sync() -> JsonObject {
    let missing = object(json!({ "agent": text(), "reason": text() }), &["agent", "reason"]);
    let crew = json!({
        "crew": text(), "ready": { "type": "boolean" }, "agents": number(), "missing": list(missing),
    });
    let crew = object(crew, &["crew", "ready", "agents", "missing"]);
    finished(object(with_cut(json!({ "as_of": text(), "crews": list(crew) })), &["as_of", "crews"]))
}

/// What is said about silent agents.
pub fn notified() -> JsonObject {
    let notice = json!({
        "agent": text(), "stale": { "type": "boolean" }, "message": text(), "commands": list(text()),
    });
    let notice = object(notice, &["agent", "stale", "message", "commands"]);
    let crew = json!({ "crew": text(), "notices": list(notice), "seq": maybe_number() });
    let crew = object(crew, &["crew", "notices", "seq"]);
    let properties = json!({ "notified": list(crew), "warnings": list(text()) });
    finished(object(with_cut(properties), &["notified", "warnings"]))
}

/// Messages.
pub fn inbox() -> JsonObject {
    let message = json!({
        "number": maybe_number(), "from": text(), "time": maybe_text(), "unread": { "type": "boolean" },
        "subject": maybe_text(), "body": text(), "file": text(),
    });
    let message = object(message, &["number", "from", "unread", "body"]);
    let properties = json!({ "agent": text(), "crew": text(), "unread": number(), "messages": list(message) });
    finished(object(with_page(properties), &["agent", "crew", "unread", "messages", "page"]))
}

/// A unit that is resumed.
pub fn resumption() -> JsonObject {
    let properties = json!({
        "unit": text(), "attempt": number(), "action": text(), "position": text(), "next": text(),
        "done": list(text()), "remaining": list(text()), "brief": text(), "reasons": list(text()),
        "alarms": list(text()), "seq": maybe_number(), "warnings": list(text()),
    });
    finished(object(with_cut(properties), &["unit", "attempt", "action", "next", "brief", "seq"]))
}
