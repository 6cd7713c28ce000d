//! Following a run that another process leads: what it told and tells, where it stands, how it ends. Nothing is written,
//! and the lead does not notice.

use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;

use piton_model::Time;
use piton_supervisor::Identity;
use serde_json::Value;

use super::end::RunEnd;
use super::runs::{self, RunRecord};
use super::told::EventReader;
use super::view::{Published, View};
use super::{LOCK, RunError, RunRequest, plan_run};
use crate::Workspace;

/// What a person asks for that a lead at work does not do.
#[derive(Debug)]
pub enum OtherWork {
    /// Units that it does not have.
    Units(Vec<String>),
    /// It would have to try again what is paused.
    Retry,
    /// It would have to go on without approvals.
    Yes,
}

/// A lead at work, to be followed.
#[derive(Debug)]
pub struct Attached {
    lead: Identity,
    run: RunRecord,
    units: BTreeSet<String>,
    /// The file that it holds locked.
    lock: PathBuf,
    events: EventReader,
    has_ended: bool,
}

/// Something new about a run that is followed.
#[derive(Debug)]
pub enum Followed {
    /// Something happened: an event as the lead logged it.
    Happened(Value),
    /// It has ended.
    Ended(RunEnd),
    /// Its lead is gone and did not end it.
    Gone,
}

/// The lead that is at work in a workspace: the process that holds its lock, and nothing when that is gone.
pub(super) fn lead_at_work(workspace: &Workspace) -> Option<Identity> {
    let content = workspace.disk.read(LOCK).ok()?;
    let lead: Identity = std::str::from_utf8(&content.bytes).ok()?.trim().parse().ok()?;
    lead.holds(&workspace.root().join(LOCK)).then_some(lead)
}

/// Whether a process is the lead that is at work in a workspace.
pub(super) fn is_at_work(workspace: &Workspace, lead: &Identity) -> bool {
    match lead.is_foreign() {
        true => lead_at_work(workspace).as_ref() == Some(lead),
        false => lead.is_alive(),
    }
}

impl Attached {
    /// Attaches to the lead that is at work; nothing when there is none. So many of the last events come first.
    pub fn to(workspace: &Workspace, earlier: usize, now: Time) -> Option<Attached> {
        let lead = lead_at_work(workspace)?;
        let published = Published::read(workspace, now).filter(|published| published.lead == lead)?;
        let run = runs::load(&*workspace.disk, published.run)?;
        let events = EventReader::open(&workspace.root().join(run.directory()), earlier).ok()?;
        let lock = workspace.root().join(LOCK);
        Some(Attached { lead, run, units: published.units, lock, events, has_ended: false })
    }

    /// The lead's process.
    pub fn pid(&self) -> u32 {
        self.lead.pid
    }

    /// The run.
    pub fn run(&self) -> &RunRecord {
        &self.run
    }

    /// The units that it leads.
    pub fn units(&self) -> &BTreeSet<String> {
        &self.units
    }

    /// What a person asks for that this lead does not do; nothing when following it is all that is needed.
    pub fn other_work(
        &self,
        workspace: &Workspace,
        request: &RunRequest,
        now: Time,
    ) -> Result<Option<OtherWork>, RunError> {
        let units = match request.wanted.as_slice() {
            [] => BTreeSet::new(),
            _ => plan_run(workspace, request, now)?.work.units(),
        };
        let missing: Vec<String> = units.difference(&self.units).cloned().collect();
        Ok(match request {
            _ if !missing.is_empty() => Some(OtherWork::Units(missing)),
            RunRequest { retry: true, .. } => Some(OtherWork::Retry),
            RunRequest { yes: true, .. } if !self.run.yes => Some(OtherWork::Yes),
            _ => None,
        })
    }

    /// Where the run stands.
    pub fn view(&self, workspace: &Workspace, now: Time) -> Option<View> {
        let published = Published::read(workspace, now)?;
        (published.lead == self.lead).then_some(published.view)
    }

    /// What is new. Nothing more follows after the end.
    pub fn news(&mut self) -> io::Result<Vec<Followed>> {
        if self.has_ended {
            return Ok(Vec::new());
        }
        // In this order: a lead that is gone has told everything.
        let is_gone = !self.lead.holds(&self.lock);
        let mut news = Vec::new();
        for event in self.events.next()? {
            match RunEnd::from_json(&event) {
                // An earlier lead of this run ended it, and it was taken up again.
                Some(_) if event["lead"].as_str().is_some_and(|lead| lead != self.lead.to_string()) => {}
                Some(end) => {
                    self.has_ended = true;
                    news.push(Followed::Ended(end));
                }
                None => news.push(Followed::Happened(event)),
            }
        }
        if is_gone && !self.has_ended {
            self.has_ended = true;
            news.push(Followed::Gone);
        }
        Ok(news)
    }
}
