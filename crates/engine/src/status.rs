use piton_dialect::Detail;
use piton_model::{Dialect, Liveness, Report, Row, Tally, Time};

use crate::Workspace;
use crate::find::supersede;
use crate::run::LedUnits;
use crate::survey::{Scope, Seen, survey};

/// Reports on every unit of the workspace. Nothing is written.
pub fn status(workspace: &Workspace, only: Option<Dialect>, now: Time) -> Report {
    report(workspace, only, now, &LedUnits::look(workspace, now))
}

/// Every unit as its documents have it, without what the last lead said about its run.
pub(crate) fn recorded(workspace: &Workspace, now: Time) -> Vec<Row> {
    report(workspace, None, now, &LedUnits::default()).rows
}

fn report(workspace: &Workspace, only: Option<Dialect>, now: Time, leads: &LedUnits) -> Report {
    let mut rows = Vec::new();
    let mut written = Vec::new();
    let mut loose = Tally::default();
    let scope = Scope { dialect: only, ..Scope::new(Detail::Line) };
    survey(workspace, &scope, now, &mut |seen| match seen.into_line(now) {
        Seen::Line(line) => {
            written.push(line.written);
            rows.push(line.row);
        }
        Seen::Unit(_) => unreachable!("every unit becomes a line"),
        Seen::Loose(findings) => loose.add(Tally::of(&findings)),
    });
    let replaced = supersede(rows.iter().map(|row| (row.dialect, row.full_name.as_str())).zip(written.iter().copied()));
    for winner in replaced.iter().flatten() {
        rows[*winner].findings.warning += 1;
    }
    let led = |(row, written): (Row, Option<Time>)| match leads.of(row.dialect, &row.full_name, row.attempt, written) {
        Some(led) => row.led(led),
        None => match leads.ended(workspace, (row.dialect, &row.full_name), row.attempt, row.liveness) {
            Some(_) => Row { liveness: Liveness::Idle, ..row },
            None => row,
        },
    };
    let kept = rows.into_iter().zip(written).zip(replaced).filter(|(_, replaced)| replaced.is_none());
    let rows = kept.map(|(row, _)| led(row)).collect();
    Report::new(now, workspace.root().display().to_string(), rows, loose)
}

/// Lists workers that should be at work and give no sign of it.
pub fn stale(workspace: &Workspace, now: Time) -> Vec<Row> {
    let missing = |row: &Row| matches!(row.liveness, Liveness::Late | Liveness::Stale | Liveness::Dead);
    let mut rows = status(workspace, None, now).rows;
    rows.retain(missing);
    rows.sort_by_key(|row| row.liveness);
    rows
}
