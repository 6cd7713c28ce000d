use std::collections::BTreeMap;

use piton_dialect::Reading;
use piton_dialect::task::conflict::is_active;
use piton_dialect::task::layout::{File, archive_number, live_stem};
use piton_dialect::task::{check_status_file, conflicts, read_checkpoint};
use piton_model::{Dialect, Finding, Time, Unit};

use super::{Seen, Surveyed};
use crate::Workspace;
use crate::parallel::map_in_order;
use crate::workspace::source;

/// Archived checkpoints by the task they belong to: when each was archived among its task's, and what it says.
type Archives = BTreeMap<String, Vec<(u64, Unit, Vec<Finding>)>>;

/// Reads the checkpoints of one directory: each task once, with its archives listed.
///
/// Archives are read first, so that a current checkpoint is handed over complete. Only tasks that may conflict
/// are held back until all of them are known.
pub(super) fn survey(
    workspace: &Workspace,
    base: &str,
    files: &[(String, File)],
    now: Time,
    see: &mut dyn FnMut(Seen),
) {
    let paths = |wanted| files.iter().filter(move |(_, file)| *file == wanted).map(|(path, _)| path.as_str());
    let mut archives = read_archives(workspace, paths(File::Archive), now, see);
    let mut active = Vec::new();
    let current: Vec<&str> = paths(File::Checkpoint).collect();
    let mut path = current.iter();
    map_in_order(
        &current,
        |path| read(workspace, path, now),
        |reading| {
            let path = path.next().expect("a reading for each path");
            let Some(mut unit) = reading.unit else {
                let stem = live_stem(path.rsplit('/').next().unwrap_or(path)).replacen('-', "/", 1);
                see(Seen::of_reading(base, Dialect::Task, path, &stem, reading));
                return;
            };
            let mut findings = reading.findings;
            for (_, archived, odd) in archives.remove(&unit.id).into_iter().flatten() {
                unit.documents.extend(archived.documents);
                findings.extend(odd);
            }
            let surveyed = Surveyed::new(base, unit, findings);
            if is_active(&surveyed.unit) {
                active.push(surveyed);
            } else {
                see(surveyed.into());
            }
        },
    );
    for surveyed in with_conflicts(active) {
        see(surveyed.into());
    }
    for (_, archived) in archives {
        see(newest(base, archived).into());
    }
    // Without checkpoints beside it, STATUS.md is somebody else's file.
    let is_managed = files.iter().any(|(_, file)| *file != File::Status);
    for path in paths(File::Status).filter(|_| is_managed) {
        match workspace.read(path) {
            Ok(content) => see(Seen::Loose(check_status_file(&source(path, &content)))),
            Err(finding) => see(Seen::Loose(finding.into_iter().collect())),
        }
    }
}

fn read_archives<'a>(
    workspace: &Workspace,
    paths: impl Iterator<Item = &'a str>,
    now: Time,
    see: &mut dyn FnMut(Seen),
) -> Archives {
    let mut archives = Archives::new();
    for path in paths {
        let reading = read(workspace, path, now);
        match reading.unit {
            Some(unit) => {
                let number = archive_number(path.rsplit('/').next().unwrap_or(path)).unwrap_or(0);
                archives.entry(unit.id.clone()).or_default().push((number, unit, reading.findings));
            }
            None => see(Seen::Loose(reading.findings)),
        }
    }
    archives
}

fn read(workspace: &Workspace, path: &str, now: Time) -> Reading {
    match workspace.read(path) {
        Ok(content) => read_checkpoint(&source(path, &content), now),
        Err(finding) => Reading { unit: None, findings: finding.into_iter().collect() },
    }
}

fn with_conflicts(mut active: Vec<Surveyed>) -> Vec<Surveyed> {
    let found = conflicts(&active.iter().map(|surveyed| &surveyed.unit).collect::<Vec<_>>());
    for (place, finding) in found {
        active[place].findings.push(finding);
    }
    active
}

/// A task of which only archives are left: the last one counts, the others are listed.
fn newest(base: &str, mut archived: Vec<(u64, Unit, Vec<Finding>)>) -> Surveyed {
    archived.sort_by_key(|(number, ..)| std::cmp::Reverse(*number));
    let mut archived = archived.into_iter();
    let (_, mut unit, mut findings) = archived.next().expect("a task is listed with its first archive");
    for (_, older, odd) in archived {
        unit.documents.extend(older.documents);
        findings.extend(odd);
    }
    Surveyed::new(base, unit, findings)
}
