use piton_model::{Finding, Time};

use super::{codes, wire};
use crate::json::{self, Kind};
use crate::{Findings, Source, content, open_text, shape};

/// What a plan's log says.
#[derive(Debug, Default)]
pub struct HistoryReading {
    /// Lines that are events.
    pub events: usize,
    /// The last event: its time as written, and its name.
    pub last: Option<(String, String)>,
    /// Everything odd about it.
    pub findings: Vec<Finding>,
}

/// Reads `history.jsonl`. Lines that are no events are kept where they are and only reported.
pub fn read_history(source: &Source<'_>, now: Time) -> HistoryReading {
    let (text, mut findings) = open_text(source);
    let mut reading = HistoryReading::default();
    let mut start = 0;
    for line in text.unwrap_or("").split_inclusive('\n') {
        let is_torn = !line.ends_with('\n');
        match event(line.trim_ascii(), start, is_torn, now, &mut findings) {
            Some(event) => {
                reading.events += 1;
                reading.last = Some(event);
            }
            None if line.trim_ascii().is_empty() => {}
            None if is_torn => {
                findings.at(start, &codes::PLAN_HISTORY_TORN, "the last line has no end; it was torn");
            }
            None => findings.at(start, &codes::PLAN_HISTORY_LINE, "the line is not an event"),
        }
        start += line.len();
    }
    reading.findings = findings.finish();
    reading
}

fn event(line: &str, start: usize, is_torn: bool, now: Time, findings: &mut Findings<'_>) -> Option<(String, String)> {
    let json = json::parse(line).ok().filter(|json| json.root().kind() == Kind::Object)?;
    let name = content::text(json.root(), "event")?;
    if is_torn {
        findings.at(
            start,
            &codes::PLAN_HISTORY_TORN,
            "the last line has no line break; the next event must not be glued to it",
        );
    }
    let mut odd = Findings::new("".into(), line);
    shape::check(json.root(), wire::HISTORY, now, &mut odd);
    for finding in odd.finish() {
        findings.at(start, finding.code, finding.message);
    }
    Some((content::text(json.root(), "ts").unwrap_or_default(), name))
}
