//! No bytes make the readers of `crew` panic.

use piton_dialect::crew::{
    compare_status, layout, read_checkpoint, read_epic, read_markdown, read_messages, read_status_file, unit_of_status,
};
use piton_dialect::{Detail, Source};
use piton_model::Time;

fn source(bytes: &[u8]) -> Source<'_> {
    Source { path: "agent_checkpoints/secondary_b.json".into(), bytes, modified: None }
}

fn now() -> Time {
    Time::from_unix_seconds(1_771_588_140)
}

#[test]
fn checkpoint() {
    bolero::check!().for_each(|bytes: &[u8]| {
        read_checkpoint(&source(bytes), Detail::Full, now());
        read_checkpoint(&source(bytes), Detail::Line, now());
    });
}

#[test]
fn markdown() {
    bolero::check!().for_each(|bytes: &[u8]| {
        let text = format!("**Agent ID:** B\n**Stage:** S2.P1\n{}", String::from_utf8_lossy(bytes));
        read_markdown(&source(bytes), now());
        read_markdown(&source(text.as_bytes()), now());
    });
}

#[test]
fn messages() {
    bolero::check!().for_each(|bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes).replace('a', "\n## Message 1 (").replace('b', ") ⏳ UNREAD\n**");
        for bytes in [bytes, text.as_bytes()] {
            let (messages, _) = read_messages(&source(bytes));
            let text = std::str::from_utf8(bytes).unwrap_or_default();
            let text = text.strip_prefix('\u{feff}').unwrap_or(text);
            for message in &messages {
                assert!(text.get(message.heading.clone()).is_some() && text.get(message.body.clone()).is_some());
            }
        }
    });
}

#[test]
fn status_file() {
    bolero::check!().for_each(|bytes: &[u8]| {
        let (file, _) = read_status_file(&source(bytes));
        let (unit, _) = unit_of_status(&file, "feature_01_x", &source(bytes), now());
        compare_status(&unit, &file, &"STATUS".into());
    });
}

#[test]
fn epic() {
    bolero::check!().for_each(|bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes)
            .replace('a', "<!-- BEGIN A PROGRESS -->")
            .replace('b', "<!-- END A PROGRESS -->");
        read_epic(&source(bytes));
        let (sections, _) = read_epic(&source(text.as_bytes()));
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        for section in sections {
            assert_eq!(&text[section.span], section.body);
        }
    });
}

#[test]
fn paths() {
    bolero::check!().for_each(|bytes: &[u8]| {
        let path = String::from_utf8_lossy(bytes);
        layout::recognise(&path);
        layout::recognise(&format!("agent_comms/inboxes/{path}.md"));
        layout::backup_owner(&path);
        layout::agent_key(&path);
    });
}
