//! What the files beside a checkpoint add to its unit.

use std::sync::Arc;

use piton_model::{Document, Finding, Note, Place, Role, Unit};

use super::status_file::{StatusFile, compare_status};
use super::{Message, codes};
use crate::Source;

/// How many subjects of unread messages a note names.
const MOST_SUBJECTS: usize = 5;

/// How much of a section or subject a note holds, in characters.
const LONGEST_NOTE: usize = 2_000;
const LONGEST_SUBJECT: usize = 120;

/// What others wrote to one agent.
#[derive(Debug, Default)]
pub struct Mailbox {
    unread: usize,
    subjects: Vec<String>,
    documents: Vec<Document>,
    findings: Vec<Finding>,
    /// The first file with a message that was not read.
    first_unread: Option<Arc<str>>,
    /// Whether a unit tells what is unread.
    is_told: bool,
}

impl Mailbox {
    /// Adds the messages of a file.
    pub fn add<'a, 'm>(&mut self, source: &Source<'_>, messages: impl Iterator<Item = &'m Message<'a>>)
    where
        'a: 'm,
    {
        self.documents.push(source.document(Role::Companion));
        for message in messages.filter(|message| message.is_unread()) {
            self.unread += 1;
            self.first_unread.get_or_insert_with(|| Arc::clone(&source.path));
            if self.subjects.len() < MOST_SUBJECTS {
                self.subjects.extend(message.subject().map(|subject| cut(subject, LONGEST_SUBJECT)));
            }
        }
    }

    /// Adds what is odd about a file.
    pub fn add_findings(&mut self, findings: Vec<Finding>) {
        self.findings.extend(findings);
    }

    /// How many messages the agent has not read.
    pub fn unread(&self) -> usize {
        self.unread
    }

    /// Takes what is odd about the files; they are told once.
    pub fn take_findings(&mut self) -> Vec<Finding> {
        std::mem::take(&mut self.findings)
    }

    /// What is unread by an agent that has no unit to tell it: often the primary, who needs no checkpoint.
    pub fn untold(&self, agent: &str) -> Option<Finding> {
        let path = self.first_unread.clone().filter(|_| !self.is_told)?;
        let messages = if self.unread == 1 { "message" } else { "messages" };
        let message = format!("{agent} has {} unread {messages}", self.unread);
        Some(Finding { code: &codes::CREW_UNREAD_MESSAGES, place: Place { path, line: None }, message })
    }

    /// Lists the files with the agent's unit, and tells what is unread.
    pub fn add_to(&mut self, unit: &mut Unit) {
        self.is_told = true;
        unit.documents.extend(self.documents.iter().cloned());
        if self.unread == 0 {
            return;
        }
        let mut text = self.unread.to_string();
        for (place, subject) in self.subjects.iter().enumerate() {
            text.push_str(if place == 0 { ": " } else { "; " });
            text.push_str(subject);
        }
        if self.unread > self.subjects.len() && !self.subjects.is_empty() {
            text.push_str("; …");
        }
        unit.notes.push(Note { label: "unread messages", text });
    }
}

/// Adds an agent's section of `EPIC_README.md` to its unit.
pub fn add_section(unit: &mut Unit, body: &str, epic: Document) {
    let body = body.trim();
    if !body.is_empty() {
        unit.notes.push(Note { label: "epic progress", text: cut(body, LONGEST_NOTE) });
    }
    unit.documents.push(epic);
}

/// Adds the STATUS file of an agent's feature to its unit; returns where the two disagree.
pub fn add_status(unit: &mut Unit, file: &StatusFile, document: Document) -> Vec<Finding> {
    let path: Arc<str> = Arc::clone(&document.path);
    unit.documents.push(document);
    if let Some(ready) = file.get("READY_FOR_SYNC") {
        unit.notes.push(Note { label: "ready for sync", text: ready.to_owned() });
    }
    compare_status(unit, file, &path)
}

fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use piton_model::Dialect;

    use super::*;
    use crate::crew::read_messages;

    #[test]
    fn unread_messages_are_counted_and_the_first_ones_named() {
        let text: String = (1..=8)
            .map(|n| {
                let mark = if n == 2 { "✅ READ" } else { "⏳ UNREAD" };
                format!("## Message {n} (2026-01-15 14:00) {mark}\n**Subject:** s{n}\n")
            })
            .collect();
        let source = Source { path: "agent_comms/a_to_b.md".into(), bytes: text.as_bytes(), modified: None };
        let (messages, findings) = read_messages(&source);
        let mut mailbox = Mailbox::default();
        mailbox.add(&source, messages.iter());
        mailbox.add_findings(findings);
        let mut unit = Unit::new(Dialect::Crew, "b", source.document(Role::Main));
        let untold = mailbox.untold("b").map(|finding| finding.message);
        assert_eq!(untold.as_deref(), Some("b has 7 unread messages"));
        mailbox.add_to(&mut unit);
        assert_eq!((mailbox.unread(), mailbox.untold("b")), (7, None));
        assert_eq!(unit.notes, [Note { label: "unread messages", text: "7: s1; s3; s4; s5; s6; …".into() }]);
        assert_eq!((unit.documents.len(), mailbox.take_findings().len()), (2, 0));
        assert_eq!(cut("äöü", 2), "äö…");
    }
}
