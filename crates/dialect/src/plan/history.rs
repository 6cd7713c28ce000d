use piton_model::{Finding, Time};

use super::{codes, wire};
use crate::json::{self, Kind};
use crate::{Findings, Source, content, open_text, shape, time};

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

/// Whether a phase was complete once, with its criteria, as a plan's log says.
pub fn was_complete(log: &str, phase: &str) -> bool {
    log.lines().filter_map(|line| json::parse(line).ok()).any(|json| {
        let text = |key: &str| content::text(json.root(), key);
        text("event").as_deref() == Some("phase_completed") && text("phaseId").as_deref() == Some(phase)
    })
}

/// When a lead last began a task, as a plan's log says; nothing when the task was not completed since.
pub fn led_since(log: &str, task: &str) -> Option<Time> {
    let mut since = None;
    let mut is_completed = false;
    for line in log.lines() {
        let Ok(json) = json::parse(line) else { continue };
        let text = |key: &str| content::text(json.root(), key);
        if text("taskId").as_deref() != Some(task) {
            continue;
        }
        match text("event").as_deref() {
            Some("task_started") => {
                let is_led = text("by").as_deref() == Some("lead");
                since = text("ts").filter(|_| is_led).and_then(|ts| time::read(&ts).time());
                is_completed = false;
            }
            Some("task_completed") => is_completed = true,
            _ => {}
        }
    }
    since.filter(|_| is_completed)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn task_that_a_lead_began_and_that_was_completed_since_is_known() {
        let started = |by: &str| {
            format!("{{\"ts\":\"2026-01-15T14:00:00Z\",\"event\":\"task_started\",\"taskId\":\"a\",\"by\":{by:?}}}\n")
        };
        let completed = |task: &str| {
            format!(
                "{{\"ts\":\"2026-01-15T15:00:00Z\",\"event\":\"task_completed\",\"taskId\":{task:?},\"by\":\"main\"}}\n"
            )
        };
        let began = time::read("2026-01-15T14:00:00Z").time();
        for (log, want) in [
            (String::new(), None),
            (started("lead"), None),
            (completed("a"), None),
            (started("lead") + &completed("a"), began),
            (started("lead") + &completed("b"), None),
            (started("main") + &completed("a"), None),
            (started("lead") + &completed("a") + &started("lead"), None),
            (started("lead") + &completed("a") + &started("main") + &completed("a"), None),
            (started("lead") + "torn\n" + &completed("a"), began),
        ] {
            assert_eq!(led_since(&log, "a"), want, "{log}");
        }
    }
}
