//! A unit's journal: its events, its versions, and what is different between two of them.

use piton_engine::{Log, UnitLog, Version};
use similar::{ChangeTag, TextDiff};

use super::{Style, clean};

/// The events, one a line, oldest first.
pub fn text(found: &UnitLog) -> String {
    let events = &found.log.events;
    let width = events.last().map_or(1, |entry| entry.seq.to_string().len());
    let by = events.iter().map(|entry| clean(&entry.by).chars().count()).max().unwrap_or(0).min(LONGEST_WRITER);
    let mut text = compacted(&found.log);
    for entry in events {
        text.push_str(&format!(
            "@{:<width$}  {}  attempt {}  {:<by$}  {}\n",
            entry.seq,
            entry.at,
            entry.attempt,
            clean(&entry.by),
            clean(&told(&entry.event, &entry.summary)),
        ));
    }
    text
}

/// What is not there any more.
fn compacted(log: &Log) -> String {
    let up_to = log.compacted_up_to();
    if up_to == 0 {
        return String::new();
    }
    let kept: Vec<_> = log.older().map(|entry| format!("@{}", entry.seq)).collect();
    let except = if kept.is_empty() { String::new() } else { format!(", except {}", kept.join(", ")) };
    format!("(compacted: events up to @{up_to} were left out{except})\n")
}

/// Beyond this length a writer's name moves what follows instead of the whole column.
const LONGEST_WRITER: usize = 24;

/// What happened, in words. Most summaries say it themselves.
fn told(event: &str, summary: &str) -> String {
    let event = event.replace('_', " ");
    let deed = event.rsplit(' ').next().unwrap_or_default();
    let says_it = summary.split(|c: char| !c.is_alphanumeric()).any(|word| word == deed);
    match summary {
        "" => event,
        summary if says_it => summary.to_owned(),
        summary => format!("{event}: {summary}"),
    }
}

/// What is different between two versions, in the usual form.
pub fn diff(old: &Version, new: &Version, color: bool) -> String {
    let style = Style::new(color);
    let mut paths: Vec<&String> = new.documents.iter().chain(&old.documents).map(|(path, _)| path).collect();
    paths.sort();
    paths.dedup();
    let of = |version: &Version, path: &str| {
        let found = version.documents.iter().find(|(found, _)| found == path);
        found.map_or_else(String::new, |(_, bytes)| String::from_utf8_lossy(bytes).into_owned())
    };
    let mut text = String::new();
    for path in paths {
        let (before, after) = (of(old, path), of(new, path));
        if before == after {
            continue;
        }
        text.push_str(&format!("--- {path} @{}\n+++ {path} @{}\n", old.seq, new.seq));
        let diff = TextDiff::from_lines(&before, &after);
        for hunk in diff.unified_diff().context_radius(3).iter_hunks() {
            text.push_str(&format!("{}\n", hunk.header()));
            for change in hunk.iter_changes() {
                let line = clean(change.value().trim_end_matches(['\n', '\r']));
                text.push_str(&match change.tag() {
                    ChangeTag::Delete => style.bad(&format!("-{line}")),
                    ChangeTag::Insert => style.good(&format!("+{line}")),
                    ChangeTag::Equal => format!(" {line}"),
                });
                text.push('\n');
            }
        }
    }
    text
}
