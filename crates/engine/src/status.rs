use piton_dialect::Detail;
use piton_model::{Dialect, Liveness, Patience, Report, Row, Tally, Time, judge};

use crate::Workspace;
use crate::find::supersede;
use crate::survey::{Scope, Seen, Surveyed, survey};

/// Reports on every unit of the workspace. Nothing is written.
pub fn status(workspace: &Workspace, only: Option<Dialect>, now: Time) -> Report {
    let mut rows = Vec::new();
    let mut written = Vec::new();
    let mut loose = Tally::default();
    survey(workspace, &Scope { dialect: only, ..Scope::new(Detail::Line) }, now, &mut |seen| match seen {
        Seen::Unit(surveyed) => {
            written.push(surveyed.written());
            rows.push(row(*surveyed, now));
        }
        Seen::Loose(findings) => loose.add(Tally::of(&findings)),
    });
    let replaced = supersede(rows.iter().map(|row| (row.dialect, row.full_name.as_str())).zip(written));
    for winner in replaced.iter().flatten() {
        rows[*winner].findings.warning += 1;
    }
    let mut place = 0..;
    rows.retain(|_| replaced[place.next().expect("endless")].is_none());
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

fn row(surveyed: Surveyed, now: Time) -> Row {
    let unit = &surveyed.unit;
    let judgement = judge(&unit.claim, &unit.signs, Patience::of(unit.dialect), now);
    let tally = Tally::of(&surveyed.findings);
    Row::new(surveyed.unit, surveyed.full_name, judgement.liveness, judgement.believed, tally)
}
