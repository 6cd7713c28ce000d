//! A unit's life as a list of steps, run on a crash disk, with a dumb model of what has to be there after each.

use std::collections::BTreeMap;
use std::time::Duration;

use piton_model::{Effect, Time};
use piton_store::journal::Splice;
use piton_store::{CommitError, Contact, Key, LockedUnit, NewEntry, seal};
use piton_testkit::CrashDisk;

/// The unit's documents.
pub const PLAN: &str = "docs/plan.md";
pub const STATE: &str = "docs/.state/state.json";
pub const LOG: &str = "docs/.state/history.jsonl";
pub const TABLE: &str = "STATUS.md";

pub fn documents() -> Vec<String> {
    vec![PLAN.to_owned(), STATE.to_owned()]
}

pub fn key() -> Key {
    Key {
        dialect: "plan".to_owned(),
        base: String::new(),
        id: "docs".to_owned(),
        folded_id: "docs".to_owned(),
        document: String::new(),
    }
}

/// Something that our process does to a file.
#[derive(Debug, Clone)]
pub enum Do {
    Write(&'static str, String),
    Share(&'static str, String),
    Append(&'static str, String),
    Keep(&'static str, &'static str),
    Remove(&'static str),
}

/// Something that somebody else does.
#[derive(Debug, Clone)]
pub enum Edit {
    InPlace(&'static str, String),
    Replace(&'static str, String),
    Delete(&'static str),
}

#[derive(Debug, Clone)]
pub enum Step {
    Commit(Vec<Do>),
    Outside(Edit),
    /// A process that holds the unit for a while and writes documents later than events; it goes without a last word.
    Stay(Vec<Staying>),
}

#[derive(Debug, Clone)]
pub enum Staying {
    Commit(Vec<Do>),
    /// The documents are written.
    Flush,
}

/// What every file holds that the script is about.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct World {
    pub files: BTreeMap<&'static str, Vec<u8>>,
}

impl World {
    pub fn read(&self, path: &str) -> Option<Vec<u8>> {
        self.files.get(path).cloned()
    }

    pub fn apply(&mut self, doing: &[Do]) {
        let before = self.files.clone();
        for each in doing {
            match each {
                Do::Write(path, text) | Do::Share(path, text) => {
                    self.files.insert(path, text.clone().into_bytes());
                }
                Do::Append(path, line) => self.files.entry(path).or_default().extend_from_slice(line.as_bytes()),
                Do::Keep(from, to) => drop(self.files.insert(to, before[from].clone())),
                Do::Remove(path) => drop(self.files.remove(path)),
            }
        }
    }

    pub fn edit(&mut self, edit: &Edit) {
        match edit {
            Edit::InPlace(path, text) | Edit::Replace(path, text) => {
                self.files.insert(path, text.clone().into_bytes());
            }
            Edit::Delete(path) => drop(self.files.remove(path)),
        }
    }
}

/// What is known about a run, by somebody who only saw the answers.
#[derive(Debug, Clone, Default)]
pub struct Run {
    /// The number and the world of every commit that was acknowledged.
    pub acknowledged: Vec<(u64, World)>,
    /// The journal as it was when the last one was.
    pub journal: Vec<u8>,
    /// How many steps were begun.
    pub begun: usize,
    /// The world before the step that was begun last, and after it.
    pub before: World,
    pub after: World,
    /// Whether somebody wrote a file, did not sync it, and nothing of ours was acknowledged since.
    pub is_loose: bool,
}

/// Whether others sync what they write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manners {
    Syncing,
    Careless,
}

/// Runs the steps until the end, or until the process dies.
pub fn run(disk: &CrashDisk, steps: &[Step], manners: Manners) -> Run {
    let mut run = Run::default();
    for step in steps {
        run.begun += 1;
        run.before = run.after.clone();
        match step {
            Step::Outside(edit) => {
                edit_outside(disk, edit);
                run.after.edit(edit);
                run.is_loose = manners == Manners::Careless;
                if manners == Manners::Syncing {
                    disk.sync_outside();
                }
            }
            Step::Stay(staying) => match stay(disk, staying, &mut run) {
                Ok(()) => {}
                Err(_) if disk.is_dead() => return run,
                Err(error) => panic!("step {}: {error}", run.begun),
            },
            Step::Commit(doing) => {
                run.after.apply(doing);
                match commit(disk, doing, &run.before, run.begun) {
                    Ok(seq) => {
                        run.acknowledged.push((seq, run.after.clone()));
                        run.journal = disk.bytes(&key().journal()).expect("there is a journal");
                        run.is_loose = false;
                    }
                    Err(_) if disk.is_dead() => return run,
                    Err(error) => panic!("step {}: {error}", run.begun),
                }
            }
        }
        if disk.is_dead() {
            return run;
        }
    }
    run.before = run.after.clone();
    run
}

/// What a process does that stays.
fn stay(disk: &CrashDisk, staying: &[Staying], run: &mut Run) -> Result<(), String> {
    let (mut unit, mut contact) = open(disk)?;
    for each in staying {
        match each {
            Staying::Flush => {
                unit.flush(&contact.documents).map_err(|error| error.to_string())?;
                contact = unit.contact(&documents(), now()).map_err(|error| error.to_string())?;
            }
            Staying::Commit(doing) => {
                run.begun += 1;
                run.before = run.after.clone();
                run.after.apply(doing);
                let effects: Vec<Effect> = doing.iter().map(|each| effect(each, &run.before, &contact)).collect();
                let seq = loop {
                    match unit.commit_deferred(new_entry(run.begun), &effects, &mut contact.documents) {
                        Ok(seq) => break seq,
                        // Documents were behind and have been written first.
                        Err(CommitError::Raced { .. }) => {
                            contact = unit.contact(&documents(), now()).map_err(|error| error.to_string())?;
                        }
                        Err(error) => return Err(error.to_string()),
                    }
                };
                run.acknowledged.push((seq, run.after.clone()));
                run.journal = disk.bytes(&key().journal()).expect("there is a journal");
                run.is_loose = false;
                if !unit.is_behind() {
                    contact = unit.contact(&documents(), now()).map_err(|error| error.to_string())?;
                }
            }
        }
    }
    Ok(())
}

pub fn edit_outside(disk: &CrashDisk, edit: &Edit) {
    match edit {
        Edit::InPlace(path, text) => disk.write_outside(path, text.as_bytes()),
        Edit::Replace(path, text) => disk.replace_outside(path, text.as_bytes()),
        Edit::Delete(path) => disk.remove_outside(path),
    }
}

pub fn now() -> Time {
    Time::from_unix_seconds(1_771_588_140)
}

/// Locks the unit and looks at its documents.
pub fn open(disk: &CrashDisk) -> Result<(LockedUnit<'_>, Contact), String> {
    seal::prepare(disk).map_err(|error| error.to_string())?;
    let mut unit = LockedUnit::lock(disk, key(), Duration::ZERO, "test").map_err(|error| format!("{error:?}"))?;
    let contact = unit.contact(&documents(), now()).map_err(|error| error.to_string())?;
    Ok((unit, contact))
}

/// One commit, as a process of its own does it.
pub fn commit(disk: &CrashDisk, doing: &[Do], before: &World, step: usize) -> Result<u64, String> {
    let (mut unit, contact) = open(disk)?;
    try_commit(&mut unit, &contact, doing, before, step).map_err(|error| error.to_string())
}

pub fn try_commit(
    unit: &mut LockedUnit<'_>,
    contact: &Contact,
    doing: &[Do],
    before: &World,
    step: usize,
) -> Result<u64, CommitError> {
    let effects: Vec<Effect> = doing.iter().map(|each| effect(each, before, contact)).collect();
    unit.commit(new_entry(step), &effects, &contact.documents)
}

pub fn new_entry(step: usize) -> NewEntry {
    NewEntry {
        at: now(),
        attempt: 1,
        by: "test".to_owned(),
        event: "step_done".to_owned(),
        summary: format!("step {step}"),
        data: serde_json::Map::new(),
        carried: serde_json::Map::new(),
    }
}

fn effect(doing: &Do, before: &World, contact: &Contact) -> Effect {
    let path = |path: &&str| (*path).to_owned();
    match doing {
        Do::Write(at, text) => match contact.documents.get(*at).and_then(|seen| seen.content.as_ref()) {
            // Of what is there every other text is reached by edits.
            Some(seen) if text.len() % 2 == 0 => {
                let edits = Splice::between(&seen.bytes, text.as_bytes()).pieces;
                // Of every other document the digest is known before.
                let digest = Some(seen.digest_with(&edits).expect("they fit")).filter(|_| *at == PLAN);
                Effect::Edit { path: path(at), edits, digest }
            }
            _ => Effect::Write { path: path(at), bytes: text.clone().into_bytes() },
        },
        Do::Share(at, text) => {
            Effect::Share { path: path(at), bytes: text.clone().into_bytes(), before: before.read(at) }
        }
        Do::Append(at, line) => Effect::Append { path: path(at), line: line.clone() },
        Do::Keep(from, to) => Effect::Keep { from: path(from), to: path(to) },
        Do::Remove(at) => Effect::Remove { path: path(at) },
    }
}
