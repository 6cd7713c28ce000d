//! Messages between the agents of a crew, in the files that its protocol has for them.
//!
//! A message is recorded in its sender's journal, and that it was read in its receiver's. So whoever is killed in
//! between is finished by the next record of the same agent, and the numbers of a mailbox come from one writer.

use piton_dialect::crew::layout::agent_key;
use piton_dialect::crew::{self, Letter, Mail};
use piton_model::{Id, Moment, Refusal, Time};
use serde_json::{Map, Value};

use crate::Workspace;
use crate::crew::{Named, agent_target};
use crate::record::{DiskFiles, RecordError, Recorded, Recorder, Session, fresh_id};

/// A message that is to be sent.
#[derive(Debug, Clone, Default)]
pub struct NewMessage {
    /// Who sends it; the crew's primary when nobody says.
    pub from: Option<String>,
    /// Who gets it, with the directory of its crew where that is needed.
    pub to: String,
    /// What it is about.
    pub subject: String,
    /// All there is to say.
    pub body: Option<String>,
    /// What is asked for.
    pub action: Option<String>,
    /// What comes next.
    pub next: Option<String>,
    /// How it is to be acknowledged.
    pub acknowledge: Option<String>,
}

/// The messages to an agent.
#[derive(Debug)]
pub struct Inbox {
    /// The agent.
    pub agent: String,
    /// The directory of its crew; empty for the workspace itself.
    pub crew: String,
    /// How many of all its messages are still to be read.
    pub unread: usize,
    /// The messages, by sender and in their order.
    pub mails: Vec<Mail>,
}

impl Inbox {
    /// Leaves the messages of other senders out.
    pub fn keep_from(&mut self, sender: &str) {
        self.mails.retain(|mail| agent_key(sender) == agent_key(&mail.from));
    }

    /// Leaves out what was read.
    pub fn keep_unread(&mut self) {
        self.mails.retain(|mail| mail.is_unread);
    }
}

/// Which of an agent's messages was read.
#[derive(Debug, Clone)]
pub struct ReadMessage {
    /// Its number.
    pub number: u64,
    /// Who sent it, where several senders have one of that number.
    pub from: Option<String>,
}

/// Who sends what nobody else sends.
pub const PRIMARY: &str = "Agent-Primary";

/// Sends a message. When this returns, it is in the receiver's mailbox, and durable.
pub fn send(workspace: &Workspace, message: &NewMessage, recorder: &Recorder) -> Result<Recorded, RecordError> {
    let to = Named::parse(&message.to).map_err(RecordError::Refused)?;
    let from = Named::parse(message.from.as_deref().unwrap_or(PRIMARY)).map_err(RecordError::Refused)?;
    let base = to.base(workspace).map_err(RecordError::Refused)?;
    if from.crew.is_some() && from.base(workspace).map_err(RecordError::Refused)? != base {
        let refusal = Refusal::usage(format!("{} and {} are of different crews", from.agent, to.agent));
        return Err(RecordError::Refused(refusal));
    }
    let (from, to) = (from.agent, to.agent);
    let target = agent_target(workspace, &base, &from, recorder.now);
    let mut session = Session::open(workspace, target, recorder)?;
    session.fence_writer(recorder, "send")?;
    let sender = session.target.key.id.clone();
    // An agent that sends a message is the one who records it, unless somebody does that for it.
    let recorder = match recorder.by.as_str() {
        "main" => &Recorder { by: sender.clone(), ..recorder.clone() },
        _ => recorder,
    };
    let letter = Letter {
        from: &sender,
        to: to.as_str(),
        subject: &message.subject,
        action: message.action.as_deref(),
        details: message.body.as_deref(),
        next: message.next.as_deref(),
        acknowledge: message.acknowledge.as_deref(),
    };
    let data = named([("to", to.as_str().into()), ("subject", message.subject.as_str().into())]);
    let attempt = session.unit.attempt();
    session
        .change(recorder, "message_sent", data, attempt, &|_, _, files| crew::send(files, &base, &letter, recorder.now))
}

/// Lists the messages to an agent. Nothing is written.
pub fn inbox(workspace: &Workspace, agent: &str, now: Time) -> Result<Inbox, RecordError> {
    let (base, agent) = receiver(workspace, agent)?;
    let files = DiskFiles::new(&*workspace.disk, None);
    let mails = crew::inbox(&files, &base, agent.as_str()).map_err(RecordError::Refused)?;
    let agent = agent_target(workspace, &base, &agent, now).key.id;
    let unread = mails.iter().filter(|mail| mail.is_unread).count();
    Ok(Inbox { agent, crew: base, unread, mails })
}

/// Marks a message as read, and notes in the receiver's checkpoint that it looked.
pub fn mark_read(
    workspace: &Workspace,
    agent: &str,
    read: &ReadMessage,
    recorder: &Recorder,
) -> Result<Recorded, RecordError> {
    let mut data = named([("number", read.number.into())]);
    data.extend(read.from.as_deref().map(|from| ("from".to_owned(), from.into())));
    let from = read.from.as_deref();
    look(workspace, agent, recorder, "message_read", data, &|files, base, agent, moment| {
        crew::mark_read(files, base, agent, read.number, from, moment)
    })
}

/// Notes in an agent's checkpoint that it looked into its inbox.
pub fn check_inbox(workspace: &Workspace, agent: &str, recorder: &Recorder) -> Result<Recorded, RecordError> {
    look(workspace, agent, recorder, "inbox_checked", Map::new(), &|files, base, agent, moment| {
        crew::check_inbox(files, base, agent, moment)
    })
}

/// Decides what a look into an inbox changes: files, the crew's directory, the agent, the moment.
type Look<'a> = dyn Fn(&DiskFiles<'_>, &str, &str, &Moment) -> Result<piton_model::Change, Refusal> + 'a;

fn look(
    workspace: &Workspace,
    agent: &str,
    recorder: &Recorder,
    name: &str,
    data: Map<String, Value>,
    decide: &Look<'_>,
) -> Result<Recorded, RecordError> {
    let (base, agent) = receiver(workspace, agent)?;
    let target = agent_target(workspace, &base, &agent, recorder.now);
    let mut session = Session::open(workspace, target, recorder)?;
    session.fence_writer(recorder, "inbox")?;
    let (agent, attempt) = (session.target.key.id.clone(), session.unit.attempt());
    let moment = Moment {
        now: recorder.now,
        by: recorder.by.clone(),
        attempt,
        session: recorder.session.clone(),
        fresh_id: fresh_id(),
        ticket: recorder.attempt,
    };
    session.change(recorder, name, data, attempt, &|_, _, files| decide(files, &base, &agent, &moment))
}

/// The crew and the agent that an inbox belongs to.
fn receiver(workspace: &Workspace, typed: &str) -> Result<(String, Id), RecordError> {
    let named = Named::parse(typed).map_err(RecordError::Refused)?;
    let base = named.base(workspace).map_err(RecordError::Refused)?;
    Ok((base, named.agent))
}

fn named<const N: usize>(data: [(&str, Value); N]) -> Map<String, Value> {
    data.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}
