use std::collections::{BTreeMap, HashMap, HashSet};

use piton_dialect::Reading;
use piton_dialect::codes::SECRET;
use piton_dialect::task::codes::TASK_ARCHIVE_SUPERSEDED;
use piton_dialect::task::conflict::is_active;
use piton_dialect::task::layout::{File, archive_number, live_stem};
use piton_dialect::task::{check_status_file, conflicts, read_checkpoint};
use piton_model::{Dialect, Finding, Place, Time, Unit};

use super::{Seen, Surveyed};
use crate::Workspace;
use crate::parallel::map_in_order;
use crate::workspace::{Documents, source};

/// Archived checkpoints.
#[derive(Default)]
struct Archives {
    /// By the task they belong to.
    by_task: BTreeMap<String, Vec<Archived>>,
    /// The task by the name that its current checkpoint would have, for one that cannot be read.
    by_stem: HashMap<String, String>,
}

impl Archives {
    /// The task of a checkpoint that cannot be read. Its archives know better than its name, because the names of
    /// agents and of tasks may hold a `-`.
    fn task_of(&self, path: &str) -> String {
        let stem = stem_of(path);
        self.by_stem.get(stem).cloned().unwrap_or_else(|| stem.replacen('-', "/", 1))
    }
}

/// An archived checkpoint.
struct Archived {
    /// When it was archived among those of its task.
    number: u64,
    unit: Unit,
    findings: Vec<Finding>,
}

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
    let current: Vec<&str> = paths(File::Checkpoint).collect();
    let mut archives = read_archives(workspace, paths(File::Archive), &current, now, see);
    let mut active = Vec::new();
    let mut path = current.iter();
    map_in_order(
        &current,
        || workspace.documents(),
        |documents, path| read(documents, path, now),
        |reading| {
            let path = path.next().expect("a reading for each path");
            let id = if reading.unit.is_none() { archives.task_of(path) } else { String::new() };
            match Seen::of_reading(base, Dialect::Task, path, &id, reading) {
                Seen::Unit(mut surveyed) => {
                    let older = archives.by_task.remove(&surveyed.unit.id).unwrap_or_default();
                    add_superseded(&mut surveyed, older);
                    if is_active(&surveyed.unit) {
                        active.push(*surveyed);
                    } else {
                        see(Seen::Unit(surveyed));
                    }
                }
                other => see(other),
            }
        },
    );
    for surveyed in with_conflicts(active) {
        see(surveyed.into());
    }
    for archived in archives.by_task.into_values() {
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
    current: &[&str],
    now: Time,
    see: &mut dyn FnMut(Seen),
) -> Archives {
    let mut archives = Archives::default();
    let mut unread = Vec::new();
    let mut documents = workspace.documents();
    for path in paths {
        let Reading { unit, findings } = read(&mut documents, path, now);
        match unit {
            Some(unit) => {
                archives.by_stem.insert(stem_of(path).to_owned(), unit.id.clone());
                let number = archive_number(name_of(path)).unwrap_or(0);
                archives.by_task.entry(unit.id.clone()).or_default().push(Archived { number, unit, findings });
            }
            None => unread.push((path, findings)),
        }
    }
    if !unread.is_empty() {
        let live: HashSet<&str> = current.iter().map(|path| stem_of(path)).collect();
        for (path, findings) in unread {
            let is_superseded = live.contains(stem_of(path));
            see(Seen::Loose(if is_superseded { findings_of_superseded(findings) } else { findings }));
        }
    }
    archives
}

fn name_of(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn stem_of(path: &str) -> &str {
    live_stem(name_of(path))
}

fn read(documents: &mut Documents<'_>, path: &str, now: Time) -> Reading {
    match documents.read(path) {
        Ok(content) => read_checkpoint(&source(path, content), now),
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
fn newest(base: &str, mut archived: Vec<Archived>) -> Surveyed {
    archived.sort_by_key(|archived| std::cmp::Reverse(archived.number));
    let older = archived.split_off(1);
    let Archived { unit, findings, .. } = archived.pop().expect("a task is listed with its first archive");
    let mut surveyed = Surveyed::new(base, unit, findings);
    add_superseded(&mut surveyed, older);
    surveyed
}

/// Lists archives that another document of their task has replaced.
fn add_superseded(surveyed: &mut Surveyed, older: Vec<Archived>) {
    for archived in older {
        surveyed.unit.documents.extend(archived.unit.documents);
        surveyed.findings.extend(findings_of_superseded(archived.findings));
    }
}

/// What is left to say about an archive that no longer counts: nobody corrects it, so its mistakes must not fail a
/// check for ever. A credential in it is as dangerous as anywhere.
fn findings_of_superseded(findings: Vec<Finding>) -> Vec<Finding> {
    let (mut kept, dropped): (Vec<_>, Vec<_>) =
        findings.into_iter().partition(|finding| finding.code.name == SECRET.name);
    if let Some(first) = dropped.first() {
        let message = match dropped.len() {
            1 => "a newer document of the task counts; 1 finding here is not listed".to_owned(),
            count => format!("a newer document of the task counts; {count} findings here are not listed"),
        };
        let place = Place { path: first.place.path.clone(), line: None };
        kept.push(Finding { code: &TASK_ARCHIVE_SUPERSEDED, place, message });
    }
    kept
}
