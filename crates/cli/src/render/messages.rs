//! The messages to an agent of a crew.

use std::fmt::Write as _;

use piton_engine::Inbox;

use super::clean;

/// The messages with all they say, one after another.
pub fn text(inbox: &Inbox) -> String {
    let mut out = String::new();
    if inbox.mails.is_empty() {
        let _ = writeln!(out, "no messages to {}", clean(&inbox.agent));
    }
    for (place, mail) in inbox.mails.iter().enumerate() {
        let number = mail.number.map_or_else(|| "message".to_owned(), |number| format!("message {number}"));
        let time = mail.time.as_deref().map(|time| format!("  {}", clean(time))).unwrap_or_default();
        let mark = if mail.is_unread { "unread" } else { "read" };
        let _ =
            writeln!(out, "{}{number}  from {}{time}  {mark}", if place == 0 { "" } else { "\n" }, clean(&mail.from));
        for line in mail.body.lines() {
            let _ = writeln!(out, "  {}", clean(line.trim()));
        }
    }
    out
}
