//! How a unit was judged, as text.

use std::fmt::Write as _;

use piton_engine::{Found, why};
use piton_model::Time;
use piton_model::text::headline;

use super::{Style, clean};

/// The explanation, a line for each judgement, and what a person does next.
pub fn text(found: &Found, next: &str, color: bool, now: Time) -> String {
    let style = Style::new(color);
    let mut out = String::new();
    let _ = writeln!(out, "{}\n", style.bold(&clean(&found.name)));
    for reason in why(found, now) {
        let _ = writeln!(out, "{:<10} {}", reason.what, clean(headline(&reason.because)));
    }
    let _ = writeln!(out, "{:<10} {}", "next", clean(next));
    out
}
