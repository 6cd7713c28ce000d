//! Crews: who is missing at a sync point, and what is said about agents that are silent.

use std::fmt::Write as _;

use piton_engine::{Notified, SyncPoint};

use super::clean;

/// Each crew in a line, and each agent that is missing below it.
pub fn sync(points: &[SyncPoint]) -> String {
    let mut out = String::new();
    for point in points {
        let crew = if point.crew.is_empty() { "." } else { &point.crew };
        let _ = match point.missing.len() {
            0 => writeln!(out, "{}  ready for sync", clean(crew)),
            missing => writeln!(out, "{}  not ready for sync: {missing} missing", clean(crew)),
        };
        for (agent, why) in &point.missing {
            let _ = writeln!(out, "  {}: {}", clean(agent), clean(why));
        }
    }
    out
}

/// What is said about silent agents, with the commands to choose from, and what was written about them.
pub fn notified(all: &[Notified]) -> String {
    let mut out = String::new();
    for notified in all {
        out.push('\n');
        for notice in &notified.notices {
            let _ = writeln!(out, "{}", clean(&notice.message));
            for command in &notice.commands {
                let _ = writeln!(out, "  {}", clean(&command.to_string()));
            }
        }
        if let Some(recorded) = &notified.recorded {
            let _ = writeln!(out, "{} {} @{}", clean(&recorded.unit), clean(&recorded.summary), recorded.seq);
        }
    }
    out
}
