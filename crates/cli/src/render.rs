//! The same facts as text for people and as JSON for programs.

pub mod crew;
pub mod findings;
pub mod history;
pub mod live;
pub mod messages;
pub mod report;
pub mod run;
mod style;
pub mod told;
pub mod unit;
pub mod why;
pub mod worktrees;

pub use piton_engine::json;
pub use style::Style;

use piton_model::secret;
use piton_model::text::{columns, printable};

/// A JSON document as it is printed.
pub fn json_text(document: &serde_json::Value) -> String {
    let mut text = serde_json::to_string_pretty(document).expect("a value always prints");
    text.push('\n');
    text
}

/// Text that others wrote, as it may reach a terminal: one line, nothing it would obey, no credentials.
pub fn clean(text: &str) -> String {
    secret::mask(&printable(text)).into_owned()
}

/// Breaks a text at spaces so that each line fits.
fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.last_mut().expect("there is always a line");
        if !line.is_empty() && columns(line) + 1 + columns(word) > width {
            lines.push(word.to_owned());
        } else {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines
}
