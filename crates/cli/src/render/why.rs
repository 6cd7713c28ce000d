//! How a unit was judged, as text.

use std::fmt::Write as _;

use piton_engine::{Found, why};

use super::{Style, clean};

/// The explanation, a line for each judgement.
pub fn text(found: &Found, color: bool) -> String {
    let style = Style::new(color);
    let mut out = String::new();
    let _ = writeln!(out, "{}\n", style.bold(&clean(&found.name)));
    for reason in why(found) {
        let _ = writeln!(out, "{:<10} {}", reason.what, clean(&reason.because));
    }
    out
}
