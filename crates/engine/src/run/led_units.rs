//! What the leads of unfinished runs know about units, laid over what their documents say.

use std::collections::BTreeMap;

use piton_model::{Dialect, Led, LedWork, Liveness, Time, UnitLead, UnitRef};
use piton_supervisor::Identity;

use super::approvals::{is_asked, is_given};
use super::attach::is_at_work;
use super::ended_workers::EndedWorkers;
use super::runs::{self, RunRecord};
use super::status::{last_sign, since, written};
use super::view::{Published, Waiting, kept};
use crate::Workspace;

/// What the leads of unfinished runs know about units, to be laid over what their documents say.
#[derive(Debug, Default)]
pub struct LedUnits {
    units: Vec<LedUnit>,
    /// The workers of units that no lead has any more; nothing where documents alone are believed.
    ended: Option<EndedWorkers>,
}

#[derive(Debug)]
struct LedUnit {
    unit: UnitRef,
    attempt: u64,
    led: Led,
    /// When the lead gave its last sign.
    seen: Option<Time>,
}

impl LedUnits {
    /// Looks at what the last lead of each unfinished run published. A lead itself believes the documents alone.
    pub fn look(workspace: &Workspace, now: Time) -> LedUnits {
        let last = Published::read(workspace, now);
        let is_own =
            |last: &Published| last.lead.pid == std::process::id() && Identity::current().as_ref() == Some(&last.lead);
        if last.as_ref().is_some_and(is_own) {
            return LedUnits::default();
        }
        let mut leads = LedUnits { ended: Some(EndedWorkers::default()), ..LedUnits::default() };
        if let Some(last) = last {
            let run = runs::load(&*workspace.disk, last.run);
            // When all of its units are done, their documents say everything.
            if is_at_work(workspace, &last.lead) || run.as_ref().is_none_or(|run| !run.is_finished) {
                leads.add(workspace, last, run.as_ref(), last_sign(workspace));
            }
        }
        for run in runs::all(workspace).filter(|run| !run.is_finished) {
            if let Some(published) = Published::read_kept(workspace, run.number, now) {
                let ended = run.ended.map(|(_, at)| at);
                let seen = written(workspace, &kept(run.number)).max(ended);
                leads.add(workspace, published, Some(&run), seen);
            }
        }
        leads
    }

    /// Adds the units of a lead. What is known from a later one stays.
    fn add(&mut self, workspace: &Workspace, published: Published, run: Option<&RunRecord>, seen: Option<Time>) {
        let is_at_work = is_at_work(workspace, &published.lead);
        let ended = run.is_some_and(|run| run.ended.is_some() && run.lead.as_ref() == Some(&published.lead));
        let lead = UnitLead {
            run: published.run,
            pid: published.lead.pid,
            since: published.view.began,
            is_at_work,
            has_ended: ended && !is_at_work,
        };
        let mut units: Vec<(String, u64, LedWork)> = Vec::new();
        let mut pauses: BTreeMap<String, Vec<(String, String)>> = BTreeMap::new();
        for lane in published.view.lanes {
            let now = published.view.as_of;
            let work = if is_at_work { lane.work.clone() } else { since(workspace, run, &lane, now) };
            if let (LedWork::Paused { why }, Some(step)) = (&work, lane.step()) {
                pauses.entry(lane.unit.clone()).or_default().push((why.clone(), step.to_owned()));
            }
            match units.iter_mut().find(|(unit, _, _)| *unit == lane.unit) {
                Some((_, attempt, known)) => {
                    *attempt = lane.attempt.max(*attempt);
                    *known = std::mem::replace(known, LedWork::Settled).and(work);
                }
                None => units.push((lane.unit, lane.attempt, work)),
            }
        }
        for (unit, _, work) in &mut units {
            if let (LedWork::Paused { why }, Some(pauses)) = (work, pauses.get(unit)) {
                *why = named_pauses(pauses);
            }
        }
        let now = published.view.as_of;
        let is_open = |it: &Waiting| !is_given(workspace, it, now) && is_asked(workspace, it, now);
        let waiting = published.view.waiting.into_iter().filter(is_open);
        for Waiting { unit, what, .. } in waiting {
            if let Some((_, _, known)) = units.iter_mut().find(|(name, _, _)| *name == unit) {
                *known = std::mem::replace(known, LedWork::Settled).and(LedWork::Approval { what });
            }
        }
        self.units.extend(units.into_iter().filter_map(|(unit, attempt, work)| {
            Some(LedUnit { unit: UnitRef::parse(&unit).ok()?, attempt, led: Led { lead: lead.clone(), work }, seen })
        }));
    }

    /// What processes tell about a unit that no lead has, and at which its documents claim a worker: how that worker of this
    /// attempt ended. Nothing while it runs, and when none is known.
    pub fn ended(
        &self,
        workspace: &Workspace,
        (dialect, full_name): (Dialect, &str),
        attempt: Option<u64>,
        liveness: Liveness,
    ) -> Option<String> {
        let ended = self.ended.as_ref().filter(|_| liveness != Liveness::Idle)?;
        ended.fact(workspace, dialect, full_name, attempt)
    }

    /// The unit that a name means, that a lead has and no worker has begun, with what the lead knows about it; nothing
    /// when several are meant.
    pub fn named(&self, wanted: &UnitRef) -> Option<(UnitRef, Led)> {
        let means = |unit: &UnitRef| unit.dialect.is_some_and(|dialect| wanted.means(dialect, &unit.full_name()));
        // What a worker has begun has a document, or had one.
        let mut meant = self.units.iter().filter(|known| known.attempt == 0 && means(&known.unit));
        let known = meant.next()?;
        meant.all(|other| other.unit == known.unit).then(|| (known.unit.clone(), known.led.clone()))
    }

    /// What the last lead knows about a unit whose attempt is this one and whose document was written then; nothing when
    /// another took the unit since.
    pub fn of(&self, dialect: Dialect, full_name: &str, attempt: Option<u64>, written: Option<Time>) -> Option<Led> {
        let LedUnit { attempt: known, led, seen, .. } =
            self.units.iter().find(|known| known.unit.means(dialect, full_name))?;
        // A document of this name without a journal is a copy: a worker begins nothing before the journal says so.
        if *known > 0 && attempt.is_none() {
            return None;
        }
        // The lead itself, or a session before it, may have begun an attempt that is later than that of its last worker.
        let is_untouched = !led.lead.is_at_work && written <= *seen;
        let is_current = attempt.unwrap_or(0) <= *known || is_untouched;
        // What a person began and no worker of the run has touched is theirs when the lead is gone.
        if *known == 0
            && !led.lead.is_at_work
            && attempt.is_some_and(|attempt| attempt > 0)
            && led.work == LedWork::Turn
        {
            return None;
        }
        // What no worker of the run has begun is the lead's as long as it is at work.
        let is_waiting = *known == 0 && led.lead.is_at_work;
        if !is_current && !is_waiting {
            return None;
        }
        let is_past = !led.lead.is_at_work && matches!(led.work, LedWork::Paused { .. });
        // What a person began, and perhaps finished, before its turn is what its document says.
        let is_by_hand = !is_current && led.work == LedWork::Turn;
        match is_past && written > *seen || is_by_hand {
            true => Some(Led { work: LedWork::Changed, ..led.clone() }),
            false => Some(led.clone()),
        }
    }
}

/// Why steps of a unit are paused: each reason once, with the steps that it is about.
fn named_pauses(pauses: &[(String, String)]) -> String {
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for (why, step) in pauses {
        match reasons.iter_mut().find(|(known, _)| known == why) {
            Some((_, steps)) => steps.push(step),
            None => reasons.push((why, vec![step])),
        }
    }
    let texts: Vec<String> = reasons.into_iter().map(|(why, steps)| format!("{}: {why}", steps.join(", "))).collect();
    texts.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paused_steps_are_named_with_their_reasons() {
        let pause = |why: &str, step: &str| (why.to_owned(), step.to_owned());
        for (pauses, want) in [
            (vec![pause("died", "a")], "a: died"),
            (vec![pause("died", "a"), pause("conflict", "b")], "a: died; b: conflict"),
            (vec![pause("died", "a"), pause("conflict", "b"), pause("died", "c")], "a, c: died; b: conflict"),
        ] {
            assert_eq!(named_pauses(&pauses), want);
        }
    }
}
