//! What the primary does about agents that are silent, and whether a sync point is reached.

use piton_model::hint::verbs;
use piton_model::{Arg, Change, Effect, Id, Invocation, Judgement, Liveness, Refusal, State, Time, Unit, text};

use super::mail::{self, Letter};
use super::resume::ago;
use super::write::section_with;
use super::{layout, standing};
use crate::Files;

/// The subject of a warning, by which it is known again.
const WARNING: &str = "CHECKPOINT WARNING - No Update in 30 Minutes";

/// What is done about silent agents.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Watch {
    /// What is said about each of them.
    pub notices: Vec<Notice>,
    /// Warnings to their inboxes, and lines in `EPIC_README.md`; empty when all of that was done before.
    pub change: Change,
}

/// A silent agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// The agent.
    pub agent: String,
    /// Whether it is taken for crashed; else it is warned.
    pub is_stale: bool,
    /// What there is to tell a person.
    pub message: String,
    /// How it can be recovered, as commands: the same agent, another one, from nothing. None for a mere warning.
    pub commands: Vec<Invocation>,
}

/// Decides what is done about the silent agents of a crew: from 30 minutes on a warning, once for each silence; from
/// 60 on a line in the epic and the choice of recoveries.
pub fn watch(
    files: &dyn Files,
    base: &str,
    primary: &str,
    crew: &[(&Unit, &Judgement)],
    now: Time,
) -> Result<Watch, Refusal> {
    let mut watch = Watch::default();
    let path = if base.is_empty() { "EPIC_README.md".to_owned() } else { format!("{base}/EPIC_README.md") };
    let before = files.read(&path)?;
    let mut epic = before.clone();
    for (unit, judgement) in crew {
        let Some(last) = judgement.believed.as_ref().map(|believed| believed.at) else { continue };
        let agent = unit.id.as_str();
        match judgement.liveness {
            Liveness::Late => {
                let minutes = ago(last.age(now));
                let message = format!("{agent} updated its checkpoint {minutes}; it may be slow");
                if let Some(sent) = warn(files, base, primary, agent, last, now)? {
                    watch.change.effects.extend(sent.effects);
                }
                watch.notices.push(Notice { agent: agent.into(), is_stale: false, message, commands: Vec::new() });
            }
            Liveness::Stale | Liveness::Dead => {
                if let Some(old) = &epic {
                    match section_with(&path, old, agent, "STALE (likely crashed)") {
                        Ok(Some(new)) => epic = Some(new),
                        Ok(None) => {}
                        Err(why) => watch.change.warnings.push(format!("{why}, so it was not updated: {path}").into()),
                    }
                }
                watch.notices.push(stale(agent, last, crew, now));
            }
            Liveness::Alive | Liveness::Idle | Liveness::Unknown => {}
        }
    }
    if let Some(bytes) = epic.filter(|epic| Some(epic) != before.as_ref()) {
        watch.change.effects.push(Effect::Share { path, bytes, before });
    }
    let count = |is_stale: bool| watch.notices.iter().filter(|notice| notice.is_stale == is_stale).count();
    watch.change.summary = format!("{} late, {} stale", count(false), count(true));
    Ok(watch)
}

/// An agent before a sync point.
#[derive(Debug, Clone, Copy)]
pub struct AtSync<'a> {
    /// Its unit.
    pub unit: &'a Unit,
    /// Who works on it, by its signs.
    pub judgement: &'a Judgement,
    /// Whether a lead brought it to its end. Its worker has left, so that nothing is heard of it any more.
    pub is_led: bool,
}

/// Who is missing at a sync point, and why: every secondary has to be complete, ready and fresh. Nobody is missing
/// when the list is empty and there is a secondary at all.
pub fn sync_ready(crew: &[AtSync<'_>], stale: std::time::Duration, now: Time) -> Vec<(String, String)> {
    let secondaries: Vec<_> = crew.iter().filter(|agent| layout::agent_key(&agent.unit.id) != "primary").collect();
    if secondaries.is_empty() {
        return vec![("the crew".into(), "no secondary has a checkpoint".into())];
    }
    let why = |AtSync { unit, judgement, is_led }: &AtSync<'_>| -> Option<String> {
        let ready = unit.notes.iter().find(|note| note.label == "ready for sync");
        if !unit.blockers.is_empty() {
            return Some(format!("it is blocked by {:?}", unit.blockers[0]));
        }
        if unit.state != State::Done || !standing::claims_completion(unit) {
            return Some(format!("its status is {:?}, not COMPLETE", unit.status_text));
        }
        if ready.is_some_and(|note| !note.text.eq_ignore_ascii_case("true")) {
            return Some("its STATUS file does not say that it is ready for sync".into());
        }
        match &judgement.believed {
            _ if *is_led => None,
            None => Some("nothing says when it was last heard of".into()),
            Some(believed) if believed.at.age(now).0 >= stale => {
                Some(format!("it was last heard of {}", ago(believed.at.age(now))))
            }
            Some(_) => None,
        }
    };
    secondaries.into_iter().filter_map(|agent| why(agent).map(|why| (agent.unit.id.clone(), why))).collect()
}

/// Warns an agent, unless it was warned since it was last heard of.
fn warn(
    files: &dyn Files,
    base: &str,
    primary: &str,
    agent: &str,
    last: Time,
    now: Time,
) -> Result<Option<Change>, Refusal> {
    if layout::agent_key(primary) == layout::agent_key(agent) || Id::parse(agent).is_err() {
        return Ok(None);
    }
    let is_known = |mail: &mail::Mail| {
        mail.subject.as_deref() == Some(WARNING) && mail::sent_at(mail).is_some_and(|sent| sent >= last)
    };
    if mail::inbox(files, base, agent)?.iter().any(is_known) {
        return Ok(None);
    }
    let clock = last.to_string();
    let details = format!(
        "Your last checkpoint was at {} ({})\nExpected checkpoint every 15 minutes\nAre you still actively working?",
        clock.get(11..16).unwrap_or(&clock),
        ago(last.age(now))
    );
    let letter = Letter {
        from: primary,
        to: agent,
        subject: WARNING,
        action: Some("Please update your checkpoint and confirm you're still working"),
        details: Some(&details),
        next: Some("Reply \"Still working\" and update checkpoint ASAP"),
        acknowledge: Some("Reply immediately"),
    };
    mail::send(files, base, &letter, now).map(Some)
}

fn stale(agent: &str, last: Time, crew: &[(&Unit, &Judgement)], now: Time) -> Notice {
    let minutes = usize::try_from(last.age(now).0.as_secs() / 60).unwrap_or(usize::MAX);
    let minutes = text::counted(minutes, "minute", "minutes");
    let is_taken = |name: &str| crew.iter().any(|(unit, _)| layout::agent_key(&unit.id) == layout::agent_key(name));
    let free = ('A'..='Z').map(|letter| format!("Secondary-{letter}")).find(|name| !is_taken(name));
    let other = free.unwrap_or_else(|| agent.to_owned());
    let name = format!("crew:{agent}");
    let commands = vec![
        verbs::RESUME.on(&name),
        verbs::TAKEOVER.on(&name).with("--as", Arg::name(&other, "AGENT")),
        // An agent that recorded half an hour of work is not given up by mistake.
        verbs::RESTART.on(&name).flag("--force"),
    ];
    // A name from a document that is no id is nothing to be run.
    let commands = if Id::parse(agent).is_ok() { commands } else { Vec::new() };
    let message = format!("{agent} hasn't updated checkpoint in {minutes}");
    Notice { agent: agent.to_owned(), is_stale: true, message, commands }
}

#[cfg(test)]
mod tests;
