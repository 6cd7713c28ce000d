//! Which runs a lead's end finishes: its own, and earlier ones all of whose units are done by now.

use std::collections::BTreeSet;

use piton_model::fleet::Outcome;
use piton_model::{Lifecycle, Row, UnitRef};

use super::lead::Lead;
use super::runs::{self, RunRecord};
use super::{RunError, work};

impl Lead<'_> {
    /// Writes down how this lead ended the run. It is finished when everything that it was ever about is done.
    pub(super) fn close_record(&mut self, outcome: Outcome) -> Result<(), RunError> {
        let now = self.time();
        let own = self.work.units();
        let others: Vec<&String> = self.run.units.difference(&own).collect();
        let older: Vec<RunRecord> = runs::all(self.workspace)
            .filter(|run| run.number != self.run.number && !run.is_finished && !run.units.is_disjoint(&own))
            .collect();
        let is_alone = others.is_empty() && older.is_empty();
        let rows = if is_alone { Vec::new() } else { crate::status(self.workspace, None, now).rows };
        // What was named for it lists units that have not begun, and no longer those that the user took out.
        let wanted: Vec<String> = self.run.wanted.iter().map(|wanted| wanted.opened(self.workspace.root())).collect();
        let listed = work::read_work(self.workspace, &self.settings, &wanted, now).map(|work| work.units());
        let is_done = |name: &&String| match (&listed, self.called_done(&rows, name)) {
            (_, Some(CalledDone::Unmerged)) => false,
            (Ok(listed), _) if !listed.contains(*name) => true,
            (_, Some(called)) => called == CalledDone::Yes,
            // A file that is gone lists nothing; one that cannot be read may list it.
            (_, None) => listed.is_err() && !wanted.iter().any(|file| std::path::Path::new(file).is_file()),
        };
        let is_finished = outcome == Outcome::Done && others.iter().all(is_done);
        let older = self.finished(older, &rows);
        (self.run.ended, self.run.waiting, self.run.is_finished) =
            (Some((outcome, now)), self.left_waiting(), is_finished);
        self.persist(|lead| lead.run.save(lead.workspace))?;
        // A run that is called paused after another one did its units asks for a retry of nothing.
        for run in older {
            self.persist(|lead| run.save(lead.workspace))?;
        }
        Ok(())
    }

    /// Those of other runs all of whose units are done, as finished ones.
    fn finished(&self, runs: Vec<RunRecord>, rows: &[Row]) -> Vec<RunRecord> {
        let are_done =
            |units: &BTreeSet<String>| units.iter().all(|unit| self.called_done(rows, unit) == Some(CalledDone::Yes));
        let finished = runs.into_iter().filter(|run| are_done(&run.units));
        finished.map(|run| RunRecord { is_finished: true, waiting: Vec::new(), ..run }).collect()
    }

    /// What the documents say about a unit; nothing when it has none.
    fn called_done(&self, rows: &[Row], name: &str) -> Option<CalledDone> {
        let unit = UnitRef::parse(name).ok()?;
        let row = rows.iter().find(|row| unit.means(row.dialect, &row.full_name))?;
        Some(match row.state.lifecycle() {
            // Documents say everything about a run that is finished: one that calls done what was refused says too much.
            Lifecycle::Done if self.memory.is_unmerged(name, self.origin_of(&unit)) => CalledDone::Unmerged,
            Lifecycle::Done => CalledDone::Yes,
            _ => CalledDone::No,
        })
    }
}

/// Whether a unit's documents call it done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CalledDone {
    Yes,
    No,
    /// They do, and its work did not reach the base.
    Unmerged,
}
