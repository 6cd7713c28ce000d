use std::collections::HashMap;
use std::sync::Arc;

use crate::{Believed, Dialect, Led, Lifecycle, Liveness, Percent, Progress, State, Tally, Time, Unit};

/// What is going on in a workspace.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// The moment it speaks of.
    pub as_of: Time,
    /// The workspace's root.
    pub workspace: String,
    /// A row for each unit, by dialect, then the ones that need somebody first.
    pub rows: Vec<Row>,
    /// The same in numbers.
    pub summary: Summary,
}

/// A unit in a line.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// The protocol it follows.
    pub dialect: Dialect,
    /// The directories that hold it and its id: what tells it from all others of its dialect.
    pub full_name: String,
    /// As much of that from its end as is needed to tell it apart.
    pub id: String,
    /// What a person calls it.
    pub title: Option<String>,
    /// The document that counts.
    pub path: Arc<str>,
    /// Where it stands.
    pub state: State,
    /// The status as the document words it.
    pub status_text: String,
    /// Stage and current step.
    pub position: Option<String>,
    /// How much is done.
    pub progress: Progress,
    /// Who works on it.
    pub agent: Option<String>,
    /// The number of its current incarnation.
    pub attempt: Option<u64>,
    /// Whether somebody really does.
    pub liveness: Liveness,
    /// The newest believable sign of that.
    pub seen: Option<Believed>,
    /// What keeps it from going on.
    pub blockers: Vec<String>,
    /// Whether its document allows it to be resumed.
    pub resumable: bool,
    /// What a lead knows about it.
    pub led: Option<Led>,
    /// How many findings there are in its documents.
    pub findings: Tally,
}

/// A report in numbers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Summary {
    /// All units.
    pub units: u32,
    /// How many there are of each lifecycle, in the order of [`Lifecycle::ALL`].
    pub lifecycles: [u32; 8],
    /// Units whose worker is late.
    pub late: u32,
    /// Units whose worker is stale or dead.
    pub stale: u32,
    /// All findings, those about no unit included.
    pub findings: Tally,
}

impl Row {
    /// The row of a unit; its `id` is as short as it can be until the report as a whole finds others of that name.
    pub fn new(unit: Unit, full_name: String, liveness: Liveness, seen: Option<Believed>, findings: Tally) -> Row {
        let position = unit.position();
        let path = unit.documents.first().map(|document| Arc::clone(&document.path)).unwrap_or_default();
        Row {
            dialect: unit.dialect,
            id: tail(&full_name, least(unit.dialect)).to_owned(),
            full_name,
            title: unit.title,
            path,
            state: unit.state,
            status_text: unit.status_text,
            position,
            progress: unit.progress,
            agent: unit.agent,
            attempt: unit.attempt,
            liveness,
            seen,
            blockers: unit.blockers,
            resumable: unit.resumable,
            led: None,
            findings,
        }
    }

    /// The same with what a lead knows about it.
    pub fn led(mut self, led: Led) -> Row {
        self.liveness = led.liveness(self.state.lifecycle()).unwrap_or(self.liveness);
        self.state = led.state(self.state);
        self.led = Some(led);
        self
    }

    /// `dialect:id`, as it can be typed.
    pub fn unit(&self) -> String {
        format!("{}:{}", self.dialect, self.id)
    }

    /// How much is done, in per cent; a unit that is done without counting anything is done wholly.
    pub fn percent(&self) -> Percent {
        match (&self.state, self.progress.total) {
            (State::Done, 0) => Percent::of(1, 1),
            _ => Percent::of(self.progress.done, self.progress.total),
        }
    }
}

impl Report {
    /// Puts rows in order, shortens their names and counts them.
    pub fn new(as_of: Time, workspace: String, mut rows: Vec<Row>, loose: Tally) -> Report {
        if !are_alone(rows.iter().map(|row| (row.dialect, row.id.as_str()))) {
            let names = shortest_names(rows.iter().map(|row| (row.dialect, row.full_name.as_str())));
            for (row, name) in rows.iter_mut().zip(names) {
                row.id = name;
            }
        }
        rows.sort_by(|a, b| {
            (a.dialect, a.state.lifecycle(), a.liveness)
                .cmp(&(b.dialect, b.state.lifecycle(), b.liveness))
                .then_with(|| natural(&a.id, &b.id))
        });
        let mut summary = Summary { units: rows.len() as u32, findings: loose, ..Summary::default() };
        for row in &rows {
            let lifecycle = row.state.lifecycle();
            let slot = Lifecycle::ALL.iter().position(|each| *each == lifecycle).expect("ALL holds every lifecycle");
            summary.lifecycles[slot] += 1;
            match row.liveness {
                Liveness::Late => summary.late += 1,
                Liveness::Stale | Liveness::Dead => summary.stale += 1,
                Liveness::Alive | Liveness::Unknown | Liveness::Idle => {}
            }
            summary.findings.add(row.findings);
        }
        Report { as_of, workspace, rows, summary }
    }
}

/// Shortens names to as many of their last parts as tell them from all others of the same dialect; the id
/// of a task always keeps its two parts.
pub fn shortest_names<'a>(names: impl Iterator<Item = (Dialect, &'a str)> + Clone) -> Vec<String> {
    let ends = names.clone().map(|(dialect, name)| (dialect, tail(name, least(dialect))));
    let all_alone = are_alone(ends.clone());
    let mut rivals: HashMap<(Dialect, &str), Vec<&str>> = HashMap::new();
    if !all_alone {
        for (end, (_, name)) in ends.zip(names.clone()) {
            rivals.entry(end).or_default().push(name);
        }
    }
    names
        .map(|(dialect, name)| {
            let rivals = if all_alone { None } else { rivals.get(&(dialect, tail(name, least(dialect)))) };
            let most = name.matches('/').count() + 1;
            let is_enough = |parts: &usize| {
                let end = tail(name, *parts);
                let is_other = |rival: &&str| *rival != name && tail(rival, *parts) == end;
                rivals.is_none_or(|rivals| !rivals.iter().any(is_other))
            };
            match (least(dialect)..=most).find(is_enough) {
                Some(enough) => tail(name, enough).to_owned(),
                // All of it is the end of another one's name.
                None => format!("./{name}"),
            }
        })
        .collect()
}

/// Whether it is plain that no two names are alike: units mostly come by their names.
fn are_alone<'a>(names: impl Iterator<Item = (Dialect, &'a str)> + Clone) -> bool {
    names.clone().zip(names.skip(1)).all(|(a, b)| a < b)
}

/// How many parts the id of a unit has.
fn least(dialect: Dialect) -> usize {
    if dialect == Dialect::Task { 2 } else { 1 }
}

/// That many last parts of a name.
fn tail(name: &str, parts: usize) -> &str {
    let start = name.rmatch_indices('/').nth(parts - 1).map_or(0, |(at, _)| at + 1);
    &name[start..]
}

/// Compares as a person would: `T2` before `T10`.
fn natural(a: &str, b: &str) -> std::cmp::Ordering {
    let (mut rest_a, mut rest_b) = (a.as_bytes(), b.as_bytes());
    loop {
        match (rest_a.first(), rest_b.first()) {
            (Some(x), Some(y)) if x.is_ascii_digit() && y.is_ascii_digit() => {
                let (number_a, after_a) = split_number(rest_a);
                let (number_b, after_b) = split_number(rest_b);
                let order = number_a.len().cmp(&number_b.len()).then_with(|| number_a.cmp(number_b));
                if order.is_ne() {
                    return order;
                }
                (rest_a, rest_b) = (after_a, after_b);
            }
            (Some(x), Some(y)) if x == y => (rest_a, rest_b) = (&rest_a[1..], &rest_b[1..]),
            (x, y) => return x.cmp(&y).then_with(|| a.cmp(b)),
        }
    }
}

/// Splits off the leading digits, without leading zeros.
fn split_number(text: &[u8]) -> (&[u8], &[u8]) {
    let end = text.iter().position(|c| !c.is_ascii_digit()).unwrap_or(text.len());
    let start = text[..end].iter().position(|c| *c != b'0').unwrap_or(end);
    (&text[start..end], &text[end..])
}

#[cfg(test)]
mod tests {
    use std::cmp::Ordering;

    use super::*;

    #[test]
    fn names_are_as_short_as_they_can_be() {
        let check = |names: &[(Dialect, &str)], want: &[&str]| {
            assert_eq!(shortest_names(names.iter().copied()), want);
        };
        use Dialect::{Crew, Plan, Task};
        check(&[(Crew, "epic-7/Secondary-A"), (Crew, "epic-7/Secondary-B")], &["Secondary-A", "Secondary-B"]);
        check(
            &[(Crew, "epic-7/Secondary-A"), (Crew, "epic-8/Secondary-A")],
            &["epic-7/Secondary-A", "epic-8/Secondary-A"],
        );
        check(&[(Crew, "a/x/P"), (Crew, "b/x/P"), (Crew, "P")], &["a/x/P", "b/x/P", "./P"]);
        check(&[(Plan, "one/x"), (Crew, "two/x")], &["x", "x"]);
        check(&[(Task, "docs/migration/T1"), (Task, "docs/content/T1")], &["migration/T1", "content/T1"]);
        check(&[(Plan, "same"), (Plan, "same")], &["same", "same"]);
    }

    #[test]
    fn numbers_in_names_count_as_numbers() {
        for (a, b, want) in [
            ("T2", "T10", Ordering::Less),
            ("T010", "T9", Ordering::Greater),
            ("WS1", "WS1", Ordering::Equal),
            ("a", "b", Ordering::Less),
            ("a", "a1", Ordering::Less),
            ("T01", "T1", Ordering::Less),
        ] {
            assert_eq!(natural(a, b), want, "{a} and {b}");
            assert_eq!(natural(b, a), want.reverse(), "{b} and {a}");
        }
    }
}
