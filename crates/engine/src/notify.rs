//! What is done about agents of a crew that are silent: a warning to their inbox, a line in the epic.

use piton_dialect::crew::{self, Notice, Watch};
use piton_model::{Arg, Change, Id, Judgement, Refusal, Time, Unit};
use serde_json::Map;

use crate::Workspace;
use crate::crew::{Crew, agent_target, crews};
use crate::messages::PRIMARY;
use crate::record::{DiskFiles, RecordError, Recorded, Recorder, Session};

/// What is said and was done about the silent agents of one crew.
#[derive(Debug)]
pub struct Notified {
    /// The crew's directory; empty for the workspace itself.
    pub crew: String,
    /// What is said about each of them.
    pub notices: Vec<Notice>,
    /// What was written; nothing when all of it had been written before.
    pub recorded: Option<Recorded>,
}

/// Warns the silent agents of every crew, and marks those that are taken for crashed: once for each silence. Crews in
/// which nobody is silent are left out.
pub fn notify(workspace: &Workspace, recorder: &Recorder) -> Result<Vec<Notified>, RecordError> {
    let crews = crews(workspace, recorder.now);
    let are_several = crews.len() > 1;
    let mut all = Vec::new();
    for crew in &crews {
        let mut notified = notify_crew(workspace, crew, recorder)?;
        if notified.notices.is_empty() {
            continue;
        }
        if are_several {
            notified.notices.iter_mut().for_each(|notice| name_crew(notice, &crew.base));
        }
        all.push(notified);
    }
    Ok(all)
}

fn notify_crew(workspace: &Workspace, crew: &Crew, recorder: &Recorder) -> Result<Notified, RecordError> {
    let files = DiskFiles::new(&*workspace.disk, None);
    let Watch { notices, change } = decide(&files, crew, recorder.now).map_err(RecordError::Refused)?;
    let mut notified = Notified { crew: crew.base.clone(), notices, recorded: None };
    if change.effects.is_empty() {
        return Ok(notified);
    }
    let primary = Id::parse(PRIMARY).map_err(|error| RecordError::Failed { message: error.to_string() })?;
    let target = agent_target(workspace, &crew.base, &primary, recorder.now);
    let mut session = Session::open(workspace, target, recorder)?;
    // Whoever keeps watch is not the primary at work.
    session.is_no_sign_of_life();
    let attempt = session.unit.attempt();
    let watched = |files: &DiskFiles<'_>| -> Result<Change, Refusal> {
        decide(files, crew, recorder.now).map(|watch| watch.change)
    };
    notified.recorded = Some(session.change(recorder, "watched", Map::new(), attempt, &|_, _, files| watched(files))?);
    Ok(notified)
}

fn decide(files: &DiskFiles<'_>, crew: &Crew, now: Time) -> Result<Watch, Refusal> {
    let agents: Vec<(&Unit, &Judgement)> = crew.agents.iter().map(|found| (&found.unit, &found.judgement)).collect();
    crew::watch(files, &crew.base, PRIMARY, &agents, now)
}

/// Where there are several crews, an agent's name alone may mean several.
fn name_crew(notice: &mut Notice, base: &str) {
    if base.is_empty() || !base.split('/').all(|part| Id::parse(part).is_ok()) {
        return;
    }
    for command in &mut notice.commands {
        command.args[0] = Arg::unit(format!("crew:{base}/{}", notice.agent));
    }
}
