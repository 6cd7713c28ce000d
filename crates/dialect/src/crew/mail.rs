//! Messages that are sent, listed and marked as read.

use piton_model::hint::verbs;
use piton_model::{Arg, Change, Effect, Id, Moment, Refusal, Time};

use super::write::{Origin, Spot, commit, find, short};
use super::{Mark, Message, codes, layout, read_messages};
use crate::{Files, Source, time};

/// What stands before the further lines of a text, as in the protocol's examples. No line of a text begins a line of
/// the file, so none is taken for a heading.
const INDENT: &str = "         ";

/// A message that is to be sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Letter<'a> {
    /// The agent that sends it.
    pub from: &'a str,
    /// The agent that gets it.
    pub to: &'a str,
    /// What it is about.
    pub subject: &'a str,
    /// What is asked for.
    pub action: Option<&'a str>,
    /// All there is to say.
    pub details: Option<&'a str>,
    /// What comes next.
    pub next: Option<&'a str>,
    /// How it is to be acknowledged.
    pub acknowledge: Option<&'a str>,
}

/// A message in an agent's inbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mail {
    /// The file that holds it.
    pub file: String,
    /// Who sent it, as the file's name says.
    pub from: String,
    /// Its number within the file.
    pub number: Option<u64>,
    /// When it was sent, as written.
    pub time: Option<String>,
    /// Whether it is still to be read.
    pub is_unread: bool,
    /// What it is about.
    pub subject: Option<String>,
    /// All of it below the heading.
    pub body: String,
}

/// Sends a message: it is added at the end of `agent_comms/{from}_to_{to}.md` with the next number.
pub fn send(files: &dyn Files, base: &str, letter: &Letter<'_>, now: Time) -> Result<Change, Refusal> {
    let (from, to) = (party("sender", letter.from)?, party("receiver", letter.to)?);
    if from == to {
        return Err(Refusal::usage(format!("{} would write to itself", letter.from)));
    }
    if letter.subject.trim().is_empty() {
        return Err(Refusal::usage("a message has a subject").hint("--subject SUBJECT"));
    }
    let path = below(base, &format!("agent_comms/{from}_to_{to}.md"));
    let before = files.read(&path)?;
    let old = match &before {
        Some(bytes) => std::str::from_utf8(bytes)
            .map_err(|_| Refusal::document(format!("nothing is written into a file that is not UTF-8: {path}")))?,
        None => "",
    };
    let number = next_number(&path, old)?;
    let line_end = if old.contains("\r\n") { "\r\n" } else { "\n" };
    let mut new =
        if old.is_empty() { format!("# Messages: {} → {}\n", letter.from, letter.to) } else { old.to_owned() };
    if !new.ends_with('\n') {
        new.push_str(line_end);
    }
    let block = format!("\n{}", block(letter, number, now));
    new.push_str(&if line_end == "\n" { block } else { block.replace('\n', line_end) });
    let summary = format!("message {number} to {}: {}", letter.to, short(letter.subject));
    let effects = vec![Effect::Share { path, bytes: new.into_bytes(), before }];
    Ok(Change { summary, effects, ..Change::default() })
}

/// The messages to an agent, by file and in their order there.
pub fn inbox(files: &dyn Files, base: &str, agent: &str) -> Result<Vec<Mail>, Refusal> {
    let mut mails = Vec::new();
    for (path, from) in boxes(files, base, agent) {
        let Some(bytes) = files.read(&path)? else { continue };
        let source = Source { path: path.as_str().into(), bytes: &bytes, modified: None };
        let text = crate::open_text(&source).0.unwrap_or_default();
        let mail = |message: &Message<'_>| Mail {
            file: path.clone(),
            from: from.clone(),
            number: message.number,
            time: message.time.map(str::to_owned),
            is_unread: message.is_unread(),
            subject: message.subject().map(str::to_owned),
            body: text.get(message.body.clone()).unwrap_or_default().trim().to_owned(),
        };
        mails.extend(read_messages(&source).0.iter().map(mail));
    }
    Ok(mails)
}

/// Marks a message to an agent as read, and notes in the agent's checkpoint that it has looked.
///
/// The number alone is enough when only one sender has a message of that number.
pub fn mark_read(
    files: &dyn Files,
    base: &str,
    agent: &str,
    number: u64,
    from: Option<&str>,
    moment: &Moment,
) -> Result<Change, Refusal> {
    let mails = inbox(files, base, agent)?;
    let is_from = |mail: &Mail| from.is_none_or(|from| layout::agent_key(from) == layout::agent_key(&mail.from));
    let found: Vec<&Mail> = mails.iter().filter(|mail| mail.number == Some(number) && is_from(mail)).collect();
    let senders: std::collections::BTreeSet<&str> = found.iter().map(|mail| mail.from.as_str()).collect();
    let Some(mail) = found.iter().find(|mail| mail.is_unread).or(found.first()) else {
        let unread = mails.iter().filter(|mail| mail.is_unread).filter_map(|mail| mail.number);
        let unread = unread.map(|number| number.to_string()).collect::<Vec<_>>().join(", ");
        let unread = if unread.is_empty() { "none".to_owned() } else { unread };
        return Err(Refusal::missing(format!("{agent} has no message {number}; unread: {unread}"))
            .hint(verbs::INBOX.call().name(agent, "AGENT").to("list them")));
    };
    if senders.len() > 1 {
        let names = senders.into_iter().collect::<Vec<_>>().join(", ");
        return Err(Refusal::usage(format!("several agents sent {agent} a message {number}: {names}")).hint(
            verbs::INBOX_READ
                .call()
                .name(agent, "AGENT")
                .with("--read", number)
                .with("--from", Arg::name(&mail.from, "AGENT"))
                .to("say whose"),
        ));
    }
    let mut change = Change { summary: format!("message {number} from {} read", mail.from), ..Change::default() };
    let mut left = mails.iter().filter(|mail| mail.is_unread).count() as u64;
    if mail.is_unread {
        change.effects.push(marked(files, &mail.file, number)?);
        left -= 1;
    } else {
        change.summary = format!("message {number} from {} was read already", mail.from);
    }
    note_check(files, base, agent, left, moment, &mut change)?;
    Ok(change)
}

/// Notes in an agent's checkpoint that it looked into its inbox.
pub fn check_inbox(files: &dyn Files, base: &str, agent: &str, moment: &Moment) -> Result<Change, Refusal> {
    let left = unread(files, base, agent);
    let mut change = Change { summary: format!("{left} unread"), ..Change::default() };
    note_check(files, base, agent, left, moment, &mut change)?;
    Ok(change)
}

/// How many messages an agent has not read, as far as they can be read.
pub(super) fn unread(files: &dyn Files, base: &str, agent: &str) -> u64 {
    inbox(files, base, agent).map_or(0, |mails| mails.iter().filter(|mail| mail.is_unread).count() as u64)
}

/// When a message was sent; nothing when it does not say.
pub(super) fn sent_at(mail: &Mail) -> Option<Time> {
    mail.time.as_deref().and_then(|text| time::read(text).time())
}

fn block(letter: &Letter<'_>, number: u64, now: Time) -> String {
    let time = now.to_string();
    let minute = time.get(..16).unwrap_or(&time).replace('T', " ");
    let mut block = format!("## Message {number} ({minute}) ⏳ UNREAD\n");
    let fields = [
        ("Subject", Some(letter.subject)),
        ("Action", letter.action),
        ("Details", letter.details),
        ("Next", letter.next),
        ("Acknowledge", letter.acknowledge),
    ];
    for (key, value) in fields {
        if let Some(value) = value.map(str::trim).filter(|value| !value.is_empty()) {
            block.push_str(&format!("**{key}:** {}\n", harmless(value)));
        }
    }
    block
}

/// A text that can neither begin a message or a key, nor open a code block that hides the next message.
fn harmless(text: &str) -> String {
    let line = |(place, line): (usize, &str)| {
        let line: String = line.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        let bare = line.trim();
        if place == 0 {
            return bare.to_owned();
        }
        let item = ["- ", "* "].iter().find_map(|bullet| bare.strip_prefix(bullet)).unwrap_or(bare);
        let begins_something = item.starts_with("**") || bare.starts_with("```") || bare.starts_with("~~~");
        format!("{INDENT}{}{bare}", if begins_something { "\\" } else { "" })
    };
    text.split(['\n', '\r']).filter(|line| !line.trim().is_empty()).enumerate().map(line).collect::<Vec<_>>().join("\n")
}

/// The number after the highest.
fn next_number(path: &str, text: &str) -> Result<u64, Refusal> {
    let source = Source { path: path.into(), bytes: text.as_bytes(), modified: None };
    let (messages, findings) = read_messages(&source);
    let is_cut = findings.iter().any(|finding| finding.code.name == codes::CREW_MESSAGES_CUT.name);
    let highest = messages.iter().filter_map(|message| message.number).max().unwrap_or(0);
    let next = highest.checked_add(1).filter(|_| !is_cut);
    next.ok_or_else(|| {
        Refusal::document(format!("the file holds too many messages: {path}")).hint("move old messages to another file")
    })
}

/// The file with one message marked as read.
fn marked(files: &dyn Files, path: &str, number: u64) -> Result<Effect, Refusal> {
    let unmarkable = || {
        Refusal::document(format!("message {number} has no heading that can be marked: {path}"))
            .hint("write `✅ READ` behind it by hand")
    };
    let before = files.read(path)?.ok_or_else(unmarkable)?;
    let source = Source { path: path.into(), bytes: &before, modified: None };
    let text = crate::open_text(&source).0.ok_or_else(unmarkable)?;
    let skipped = before.len() - text.len();
    let (messages, _) = read_messages(&source);
    let message = messages.iter().find(|message| message.number == Some(number) && message.is_unread());
    let message = message.filter(|message| !message.heading.is_empty()).ok_or_else(unmarkable)?;
    let old = &text[message.heading.clone()];
    let new = match message.mark {
        Mark::Unread if old.contains("⏳ UNREAD") => old.replacen("⏳ UNREAD", "✅ READ", 1),
        Mark::Unread => old.replacen("UNREAD", "✅ READ", 1),
        Mark::Missing | Mark::Read => format!("{} ✅ READ", old.trim_end()),
    };
    let (from, to) = (message.heading.start + skipped, message.heading.end + skipped);
    let bytes = [&before[..from], new.as_bytes(), &before[to..]].concat();
    Ok(Effect::Share { path: path.to_owned(), bytes, before: Some(before) })
}

/// Sets in the agent's checkpoint when it looked and what is left, where it has one.
fn note_check(
    files: &dyn Files,
    base: &str,
    agent: &str,
    left: u64,
    moment: &Moment,
    change: &mut Change,
) -> Result<(), Refusal> {
    let standard = below(base, &layout::path_of(agent));
    let other = below(base, &format!("agent_comms/{}", layout::path_of(agent)));
    let path = if files.read(&standard)?.is_none() && files.read(&other)?.is_some() { other } else { standard };
    let crew = if base.is_empty() { "crew:".to_owned() } else { format!("crew:{base}/") };
    let unit = format!("{crew}{agent}");
    let spot = Spot { base: base.to_owned(), path, agent: agent.to_owned(), unit, crew };
    let found = match find(&spot, files, moment) {
        Ok(Some(found)) if found.origin == Origin::Document => found,
        Ok(None) => return Ok(()),
        Ok(Some(_)) | Err(_) => {
            change
                .warnings
                .push(format!("the checkpoint of {agent} cannot be read, so nothing was noted in it").into());
            return Ok(());
        }
    };
    let mut editor = found.editor.clone();
    editor.set(&["coordination_state", "last_inbox_check"], moment.now.to_string());
    editor.set(&["coordination_state", "unread_messages"], left);
    let noted = commit(&spot, files, &found, editor, moment, Change::default())?;
    change.warnings.extend(noted.warnings);
    change.effects.extend(noted.effects);
    Ok(())
}

/// The files with messages to an agent, and who wrote them.
fn boxes(files: &dyn Files, base: &str, agent: &str) -> Vec<(String, String)> {
    let directory = below(base, "agent_comms");
    let key = layout::agent_key(agent);
    let names = files.list(&directory);
    let addressed = names.iter().filter_map(|name| {
        let (from, to) = layout::parties(name)?;
        (layout::agent_key(to) == key).then(|| (format!("{directory}/{name}"), from.to_owned()))
    });
    addressed.collect()
}

/// An agent as part of a file's name.
fn party(what: &str, agent: &str) -> Result<String, Refusal> {
    Id::parse(agent).map_err(|why| Refusal::usage(format!("the {what} {agent:?} is not an id: {why}")))?;
    let stem = layout::stem_of(agent);
    if stem.contains("_to_") {
        return Err(Refusal::usage(format!("the {what} {agent:?} cannot be told from the other in a file's name")));
    }
    Ok(stem)
}

fn below(base: &str, path: &str) -> String {
    if base.is_empty() { path.to_owned() } else { format!("{base}/{path}") }
}

#[cfg(test)]
mod tests;
