//! JSON Schema (draft 2020-12) from the same tables that `check` uses.

use serde_json::{Map, Value, json};

use crate::shape::{Field, Need, Shape};

/// A document of a dialect, for its schema.
#[derive(Debug)]
pub struct DocumentShape {
    /// The document's name within its dialect, such as `checkpoint`.
    pub name: &'static str,
    /// What it is and where it lives.
    pub about: &'static str,
    /// Its keys.
    pub fields: &'static [Field],
}

/// The schema of one document.
pub fn of_document(document: &DocumentShape) -> Value {
    let mut schema = object(document.fields);
    let map = schema.as_object_mut().expect("an object's schema is an object");
    map.shift_insert(0, "$schema".into(), json!("https://json-schema.org/draft/2020-12/schema"));
    map.shift_insert(1, "title".into(), json!(document.name));
    map.shift_insert(2, "description".into(), json!(document.about));
    schema
}

/// The schema of a dialect: a document is any one of its documents.
pub fn of_dialect(title: &str, documents: &[DocumentShape]) -> Value {
    if let [only] = documents {
        return of_document(only);
    }
    let mut definitions = Map::new();
    for document in documents {
        let mut schema = object(document.fields);
        schema.as_object_mut().expect("an object's schema is an object").shift_insert(
            0,
            "description".into(),
            json!(document.about),
        );
        definitions.insert(document.name.into(), schema);
    }
    let any_of: Vec<_> =
        documents.iter().map(|document| json!({ "$ref": format!("#/$defs/{}", document.name) })).collect();
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": title,
        "anyOf": any_of,
        "$defs": definitions,
    })
}

fn object(fields: &[Field]) -> Value {
    let mut properties = Map::new();
    for field in fields {
        let mut schema = of_shape(&field.shape);
        if let Some(map) = schema.as_object_mut() {
            map.insert("description".into(), json!(field.about));
        }
        properties.insert(field.key.into(), schema);
    }
    let required: Vec<_> = fields.iter().filter(|field| field.need == Need::Required).map(|field| field.key).collect();
    json!({ "type": "object", "properties": properties, "required": required })
}

fn of_shape(shape: &Shape) -> Value {
    match shape {
        Shape::Any => json!({}),
        Shape::Text | Shape::Path => json!({ "type": "string" }),
        Shape::Id => json!({ "type": "string", "pattern": "^(?!.*\\.\\.)[A-Za-z0-9][A-Za-z0-9._-]{0,127}$" }),
        Shape::Time | Shape::Deadline => json!({ "type": "string", "format": "date-time" }),
        Shape::Flag => json!({ "type": "boolean" }),
        Shape::Count { min, max } => {
            let mut schema = json!({ "type": "integer", "minimum": min });
            if *max < i64::MAX {
                schema["maximum"] = json!(max);
            }
            schema
        }
        Shape::Number { min, max } => json!({ "type": "number", "minimum": min, "maximum": max }),
        Shape::Word(words) => json!({ "enum": words.canonical }),
        Shape::List(inner) => json!({ "type": "array", "items": of_shape(inner) }),
        Shape::Map(inner) => json!({ "type": "object", "additionalProperties": of_shape(inner) }),
        Shape::Object(fields) => object(fields),
        Shape::TextOr(fields) => json!({ "anyOf": [{ "type": "string" }, object(fields)] }),
        Shape::OrNull(inner) => json!({ "anyOf": [of_shape(inner), { "type": "null" }] }),
    }
}
