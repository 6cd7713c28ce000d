//! The same facts as text for people and as JSON for programs.

pub mod findings;
pub mod json;
pub mod report;
mod style;
pub mod unit;
pub mod why;

pub use style::Style;

/// A JSON document as it is printed.
pub fn json_text(document: &serde_json::Value) -> String {
    let mut text = serde_json::to_string_pretty(document).expect("a value always prints");
    text.push('\n');
    text
}
