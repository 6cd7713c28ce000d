//! Messages from one agent to another: `agent_comms/{from}_to_{to}.md`.

use std::collections::HashSet;
use std::ops::Range;

use piton_model::Finding;

use super::codes;
use super::fields::{Field, fields, find};
use super::lines::lines;
use crate::{Findings, Source, open_text, time};

/// How many messages of one file are read.
const MOST: usize = 20_000;

/// Whether a message was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// `⏳ UNREAD`
    Unread,
    /// `✅ READ`
    Read,
    /// Neither. It counts as unread: a message that is shown twice does less harm than one that is lost.
    Missing,
}

/// A message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message<'a> {
    /// Its number within the file.
    pub number: Option<u64>,
    /// When it was sent, as written.
    pub time: Option<&'a str>,
    /// Whether it was read.
    pub mark: Mark,
    /// The bytes of its heading, without the line's end; empty when the file as a whole is the message.
    pub heading: Range<usize>,
    /// The bytes of all that follows, up to the next message.
    pub body: Range<usize>,
    /// Subject, Action, Details, Next, Acknowledge and whatever else it holds.
    pub fields: Vec<Field<'a>>,
}

impl<'a> Message<'a> {
    /// What a key says, over all its lines.
    pub fn get(&self, key: &str) -> Option<&'a str> {
        find(&self.fields, &[key]).map(|field| field.value)
    }

    /// What it is about, in a line.
    pub fn subject(&self) -> Option<&'a str> {
        let subject = find(&self.fields, &["Subject"]).and_then(Field::line);
        subject.or_else(|| self.fields.first().map(|field| field.key))
    }

    /// Whether somebody still has to read it.
    pub fn is_unread(&self) -> bool {
        self.mark != Mark::Read
    }
}

/// Reads the messages of a file. One without headings of the protocol's form that still has a message's keys is a
/// single message.
pub fn read_messages<'a>(source: &Source<'a>) -> (Vec<Message<'a>>, Vec<Finding>) {
    let (text, mut findings) = open_text(source);
    let Some(text) = text else { return (Vec::new(), findings.finish()) };
    let mut messages: Vec<Message<'a>> = Vec::new();
    let mut cut = None;
    for line in lines(text).filter(|line| !line.fenced) {
        let Some(heading) = heading(line.text) else { continue };
        if messages.len() == MOST {
            cut = Some(line.at);
            break;
        }
        if let Some(odd) = heading.odd {
            findings.at(line.at, &codes::CREW_MESSAGE_HEADING, format!("{:?}: {odd}", line.text.trim()));
        }
        let span = line.at..line.at + line.text.len();
        let body = span.end..text.len();
        if let Some(last) = messages.last_mut() {
            last.body.end = line.at;
        }
        let Heading { number, time, mark, .. } = heading;
        messages.push(Message { number, time, mark, heading: span, body, fields: Vec::new() });
    }
    if let (Some(at), Some(last)) = (cut, messages.last_mut()) {
        last.body.end = at;
        findings.at(at, &codes::CREW_MESSAGES_CUT, format!("only the first {MOST} messages are read"));
    }
    for message in &mut messages {
        message.fields = fields(&text[message.body.clone()]);
    }
    if messages.is_empty() {
        messages.extend(whole_file(text, &mut findings));
    }
    check_numbers(&messages, &mut findings);
    (messages, findings.finish())
}

fn check_numbers(messages: &[Message<'_>], findings: &mut Findings<'_>) {
    let mut seen = HashSet::new();
    let mut last = 0;
    for message in messages {
        let Some(number) = message.number else { continue };
        let at = message.heading.start;
        if !seen.insert(number) {
            findings.at(at, &codes::CREW_MESSAGE_REPEATED, format!("there is an earlier message {number}"));
        } else if number != last + 1 {
            findings.at(at, &codes::CREW_MESSAGE_GAP, format!("message {number} follows message {last}"));
        }
        last = number.min(u64::MAX - 1);
    }
}

struct Heading<'a> {
    number: Option<u64>,
    time: Option<&'a str>,
    mark: Mark,
    odd: Option<&'static str>,
}

/// A heading that begins a message: it says `Message` with a number, or with a mark.
fn heading(line: &str) -> Option<Heading<'_>> {
    let level = line.bytes().take_while(|byte| *byte == b'#').count();
    if !(1..=6).contains(&level) {
        return None;
    }
    let title = line[level..].trim();
    let word = title.get(.."message".len()).filter(|word| word.eq_ignore_ascii_case("message"))?;
    let rest = title[word.len()..].trim_start_matches([' ', '\t', '#', ':']);
    if title[word.len()..].starts_with(char::is_alphanumeric) {
        return None;
    }
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let number = rest[..digits].parse().ok();
    let mark = mark(rest);
    if number.is_none() && mark == Mark::Missing {
        return None;
    }
    let time = rest.split_once('(').and_then(|(_, rest)| rest.split_once(')')).map(|(time, _)| time.trim());
    let has_mark = title.ends_with("⏳ UNREAD") || title.ends_with("✅ READ");
    let odd = match (number, time) {
        _ if level != 2 => Some("it is not of the second level"),
        (None, _) => Some("it has no number"),
        (_, None) => Some("it has no time in parentheses"),
        (_, Some(text)) if time::read(text).time().is_none() => Some("what stands in parentheses is no time"),
        _ if mark == Mark::Missing => Some("it has no mark"),
        _ if !has_mark => Some("its mark is not at the end, or not spelled as the protocol does"),
        _ => None,
    };
    Some(Heading { number, time, mark, odd })
}

/// A mark is a whole word: `READY` is none.
fn mark(text: &str) -> Mark {
    let mut words = text.split(|c: char| !c.is_alphanumeric());
    match words.find(|word| matches!(*word, "UNREAD" | "READ")) {
        Some("UNREAD") => Mark::Unread,
        Some(_) => Mark::Read,
        None => Mark::Missing,
    }
}

fn whole_file<'a>(text: &'a str, findings: &mut Findings<'_>) -> Option<Message<'a>> {
    let fields = fields(text);
    let is_message = ["From", "To", "Subject"].iter().filter(|key| find(&fields, &[key]).is_some()).nth(1).is_some();
    if !is_message {
        return None;
    }
    let said = find(&fields, &["Status", "Read"]).and_then(Field::line).map_or(Mark::Missing, mark);
    let first = text.lines().find(|line| !line.trim().is_empty()).map_or(Mark::Missing, mark);
    let mark = if said == Mark::Missing { first } else { said };
    let missing = if mark == Mark::Missing { ", and it has no mark" } else { "" };
    let message = format!("there is no heading `## Message N`; the file is read as one message{missing}");
    findings.whole(&codes::CREW_MESSAGE_HEADING, message);
    let time = find(&fields, &["Date", "Time", "Sent"]).and_then(Field::line);
    Some(Message { number: None, time, mark, heading: 0..0, body: 0..text.len(), fields })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (Vec<Message<'_>>, Vec<&'static str>) {
        let source = Source { path: "agent_comms/primary_to_b.md".into(), bytes: text.as_bytes(), modified: None };
        let (messages, findings) = read_messages(&source);
        (messages, findings.iter().map(|finding| finding.code.name).collect())
    }

    const TWO: &str = "# Messages: Primary → B\r\n\r\n## Message 1 (2026-01-15 14:00) ✅ READ\r\n**Subject:** welcome\r\n\r\n## Message 2 (2026-01-15 15:00) ⏳ UNREAD\n**Subject:** where are you\n**Action:** update\n**Details:** nothing since 14:30\n         are you there?\n```\n## Message 9 (2026-01-15 15:00) ⏳ UNREAD\n```\n**Next:** reply\n**Acknowledge:** at once\n**Urgency:** HIGH\n";

    #[test]
    fn messages_are_read_with_their_spans() {
        let (messages, codes) = read(TWO);
        assert_eq!(codes, [""; 0]);
        let [first, second] = &messages[..] else { panic!("two messages: {messages:?}") };
        assert_eq!((first.number, first.mark, first.subject()), (Some(1), Mark::Read, Some("welcome")));
        assert_eq!(&TWO[first.heading.clone()], "## Message 1 (2026-01-15 14:00) ✅ READ");
        assert_eq!((second.time, second.is_unread()), (Some("2026-01-15 15:00"), true));
        assert!(second.get("details").is_some_and(|text| text.starts_with("nothing") && text.ends_with("```")));
        let said = ["Action", "Next", "Acknowledge", "Urgency"].map(|key| second.get(key));
        assert_eq!(said, [Some("update"), Some("reply"), Some("at once"), Some("HIGH")]);
    }

    #[test]
    fn odd_numbers_and_headings_are_told() {
        let m = |n: u32| format!("## Message {n} (2026-01-15 14:00) ✅ READ\n");
        for (text, count, want) in [
            ([m(1), m(2)].concat(), 2, &[][..]),
            ([m(1), m(3)].concat(), 2, &["crew-message-gap"]),
            ([m(1), m(2), m(2), m(3)].concat(), 4, &["crew-message-repeated"]),
            ("### Message 1 (2026-01-15 14:00) ✅ READ".into(), 1, &["crew-message-heading"]),
            ("## Message X (2026-01-15 14:00) ⏳ UNREAD".into(), 1, &["crew-message-heading"]),
            ("## Message 1 ⏳ UNREAD".into(), 1, &["crew-message-heading"]),
            ("## Message 1 (noon) ⏳ UNREAD".into(), 1, &["crew-message-heading"]),
            ("## Message 1 (2026-01-15 14:00)".into(), 1, &["crew-message-heading"]),
            ("## Message 1 (2026-01-15 14:00) READ".into(), 1, &["crew-message-heading"]),
            ("## Message 99999999999999999999999 (2026-01-15)".into(), 0, &[]),
            ("# Messages: A → B\n## Message format\n".into(), 0, &[]),
        ] {
            let (messages, codes) = read(&text);
            assert_eq!((messages.len(), &codes[..]), (count, want), "{text}");
        }
        assert!(read("## Message 1 (2026-01-15 14:00)").0[0].is_unread());
        assert!(!read("## Message 1 (2026-01-15 14:00) READ").0[0].is_unread());
        assert_eq!(mark("READY to go"), Mark::Missing);
    }

    #[test]
    fn a_file_without_headings_may_be_one_message() {
        let text = "✅ READ (Primary, today)\n\n**From:** Secondary-B\n**To:** Primary Agent\n**Date:** 2026-02-18\n";
        let (messages, codes) = read(text);
        assert_eq!((messages[0].mark, messages[0].get("to")), (Mark::Read, Some("Primary Agent")));
        assert_eq!((codes, messages[0].heading.clone()), (vec!["crew-message-heading"], 0..0));
        let text = "# Done\n**From:** B\n**To:** Primary\n**Status:** ⏳ UNREAD\n## Message\n**Subject:** all done\n";
        let (messages, _) = read(text);
        assert_eq!((messages.len(), messages[0].mark, messages[0].subject()), (1, Mark::Unread, Some("all done")));
        assert_eq!(read("# Messages: A → B\n").0.len(), 0);
    }

    #[test]
    fn a_flood_of_messages_is_cut() {
        let text = "## Message 1\n".repeat(30_000);
        let (messages, codes) = read(&text);
        assert_eq!(messages.len(), MOST);
        assert!(codes.contains(&"more-findings") && codes.len() <= 201);
    }
}
