//! Findings, one after the other.

use std::collections::HashSet;
use std::fmt::Write as _;

use piton_model::text::counted;
use piton_model::{Finding, Tally};

use super::{Style, clean};

/// Findings as `path:line: severity[code]: message`; what to do is said at the first of each kind.
pub fn text(findings: &[Finding], color: bool) -> String {
    let style = Style::new(color);
    let mut out = String::new();
    let mut explained = HashSet::new();
    for finding in findings {
        let severity = finding.code.severity;
        let line = finding.place.line.map(|line| format!(":{line}")).unwrap_or_default();
        let kind = style.severity(severity, &format!("{severity}[{}]", finding.code.name));
        let _ = writeln!(out, "{}{line}: {kind}: {}", clean(&finding.place.path), clean(&finding.message));
        if explained.insert(finding.code.name) {
            let _ = writeln!(out, "  {}", style.dim(&format!("help: {}", finding.code.hint())));
        }
    }
    out
}

/// `3 files: 1 error, 2 warnings`
pub fn summary(tally: Tally, files: usize) -> String {
    let count = |count: u32, one: &str, many: &str| (count > 0).then(|| counted(count as usize, one, many));
    let parts = [
        count(tally.error, "error", "errors"),
        count(tally.warning, "warning", "warnings"),
        count(tally.note, "note", "notes"),
    ];
    let parts: Vec<_> = parts.into_iter().flatten().collect();
    let found = if parts.is_empty() { "nothing found".to_owned() } else { parts.join(", ") };
    format!("{}: {found}", counted(files, "file", "files"))
}
