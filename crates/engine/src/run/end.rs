//! How a run ended, for the door that shows it, and as the last line of the run's log.

use piton_model::Time;
use piton_model::fleet::Outcome;
use serde_json::{Value, json};

/// How a run ended.
#[derive(Debug, Clone, PartialEq)]
pub struct RunEnd {
    /// The number of the run.
    pub run: u64,
    /// Done, paused, stopped.
    pub outcome: Outcome,
    /// For how many seconds its last lead was at work.
    pub seconds: u64,
    /// What all workers cost, in US dollars; nothing when none said.
    pub cost: Option<f64>,
    /// The lanes as they were left.
    pub lanes: Vec<EndedLane>,
    /// Reports that were written, relative to the workspace.
    pub reports: Vec<String>,
    /// What a person does next.
    pub next: Vec<String>,
}

/// A lane as it was left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndedLane {
    /// Its name.
    pub name: String,
    /// The word of its state.
    pub state: String,
    /// Why it is paused.
    pub reason: Option<String>,
}

impl RunEnd {
    /// The word of the event in the log, which has no name.
    pub const EVENT: &'static str = "ended";

    /// As a line of the log.
    pub fn to_json(&self, at: Time) -> Value {
        let lane = |lane: &EndedLane| json!({ "name": lane.name, "state": lane.state, "reason": lane.reason });
        json!({
            "at": at.to_string(),
            "event": RunEnd::EVENT,
            "run": self.run,
            "outcome": self.outcome.word(),
            "seconds": self.seconds,
            "cost_usd": self.cost,
            "lanes": self.lanes.iter().map(lane).collect::<Vec<_>>(),
            "reports": self.reports,
            "next": self.next,
        })
    }

    /// Reads a line of the log; nothing when it is another event.
    pub(super) fn from_json(value: &Value) -> Option<RunEnd> {
        if value["event"] != RunEnd::EVENT || !value["name"].is_null() {
            return None;
        }
        let list = |key: &str| value[key].as_array().map(Vec::as_slice).unwrap_or_default().iter();
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let lane = |lane: &Value| {
            Some(EndedLane { name: text(&lane["name"])?, state: text(&lane["state"])?, reason: text(&lane["reason"]) })
        };
        Some(RunEnd {
            run: value["run"].as_u64()?,
            outcome: Outcome::parse(value["outcome"].as_str()?)?,
            seconds: value["seconds"].as_u64().unwrap_or(0),
            cost: value["cost_usd"].as_f64(),
            lanes: list("lanes").filter_map(lane).collect(),
            reports: list("reports").filter_map(text).collect(),
            next: list("next").filter_map(text).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_reads_back_and_nothing_else_is_one() {
        let end = RunEnd {
            run: 4,
            outcome: Outcome::Paused,
            seconds: 61,
            cost: Some(0.5),
            lanes: vec![EndedLane {
                name: "build:A WS1".to_owned(),
                state: "paused".to_owned(),
                reason: Some("x".to_owned()),
            }],
            reports: vec![".piton/run/report.md".to_owned()],
            next: vec!["see why: piton why build:A".to_owned()],
        };
        let at = Time::from_unix_seconds(9);
        assert_eq!(RunEnd::from_json(&end.to_json(at)), Some(end));
        // A worker's end has the name of its lane.
        let other = super::super::told::event_json(at, Some("build:A WS1"), "ended", "its worker ended: signal 9");
        assert_eq!(RunEnd::from_json(&other), None);
    }
}
