//! Tasks that change the same files.

use std::collections::{BTreeMap, HashMap};

use piton_model::{Finding, Place, State, Unit};

use super::codes;

/// How many other tasks are named per task; with more than that, the first ones are enough to act on.
const MOST: usize = 20;

/// Whether a task may still change files.
pub fn is_active(unit: &Unit) -> bool {
    matches!(unit.state, State::Running | State::Blocked)
}

/// Finds active tasks that name the same file, with a finding for each side: the place of the unit in `units`,
/// and the finding about it.
///
/// Of several others that name a file the first one is told, so that the work is linear in the names.
pub fn conflicts(units: &[&Unit]) -> Vec<(usize, Finding)> {
    let mut owners: HashMap<&str, Vec<usize>> = HashMap::new();
    for (place, unit) in units.iter().enumerate().filter(|(_, unit)| is_active(unit)) {
        for file in &unit.files {
            let list = owners.entry(normal(file)).or_default();
            if list.last() != Some(&place) {
                list.push(place);
            }
        }
    }
    let mut findings = Vec::new();
    for (place, unit) in units.iter().enumerate().filter(|(_, unit)| is_active(unit)) {
        let mut shared: BTreeMap<usize, (&str, usize)> = BTreeMap::new();
        for file in &unit.files {
            let list = &owners[normal(file)];
            // Two documents of one task are no conflict; what is wrong with them is told elsewhere.
            let Some(other) = list.iter().take(4).find(|other| units[**other].id != unit.id) else { continue };
            shared.entry(*other).or_insert((file, 0)).1 += 1;
        }
        for (other, (file, count)) in shared.into_iter().take(MOST) {
            findings.push((place, finding(unit, units[other], file, count)));
        }
    }
    findings
}

fn finding(unit: &Unit, other: &Unit, file: &str, count: usize) -> Finding {
    let named = if count > 1 { format!("{file:?} and {} more are", count - 1) } else { format!("{file:?} is") };
    let path = unit.documents.first().map_or_else(|| "".into(), |document| document.path.clone());
    Finding {
        code: &codes::TASK_FILE_CONFLICT,
        place: Place { path, line: None },
        message: format!("{named} also named by {}, which is not finished either", other.id),
    }
}

fn normal(file: &str) -> &str {
    file.strip_prefix("./").unwrap_or(file)
}

#[cfg(test)]
mod tests {
    use piton_model::{Dialect, Document, Role};

    use super::*;

    fn unit(id: &str, state: State, files: &[&str]) -> Unit {
        let document = Document { path: format!("{id}.json").into(), role: Role::Main, modified: None };
        let mut unit = Unit::new(Dialect::Task, id, document);
        unit.state = state;
        unit.files = files.iter().map(|file| (*file).to_owned()).collect();
        unit
    }

    #[test]
    fn only_active_tasks_conflict_and_both_are_told() {
        let units = [
            unit("a/1", State::Running, &["x.md", "y.md"]),
            unit("b/2", State::Blocked, &["./x.md", "y.md"]),
            unit("c/3", State::Done, &["x.md"]),
            unit("d/4", State::Running, &["z.md"]),
            unit("e/5", State::Running, &["y.md"]),
        ];
        let found = conflicts(&units.iter().collect::<Vec<_>>());
        let told: Vec<_> = found.iter().map(|(place, finding)| (*place, finding.message.as_str())).collect();
        assert_eq!(
            told,
            [
                (0, "\"x.md\" and 1 more are also named by b/2, which is not finished either"),
                (1, "\"./x.md\" and 1 more are also named by a/1, which is not finished either"),
                (4, "\"y.md\" is also named by a/1, which is not finished either"),
            ]
        );
        assert_eq!(&*found[0].1.place.path, "a/1.json");
    }

    #[test]
    fn many_tasks_on_one_file_stay_linear() {
        let units: Vec<_> = (0..20_000).map(|n| unit(&format!("a/{n}"), State::Running, &["x.md"])).collect();
        assert_eq!(conflicts(&units.iter().collect::<Vec<_>>()).len(), 20_000);
    }
}
