use std::collections::BTreeMap;

use piton_model::{Change, Effect, Event, Lifecycle, Moment, Refusal, Severity, Unit, text};
use serde_json::Value as NewValue;

use super::super::checkpoint::{BUCKETS, Bucket, is_ours, take, take_gates};
use super::super::find_spec::find_spec;
use super::super::gates::Listed;
use super::super::spec::Spec;
use super::super::{FoundSpec, Wanted, codes, read_checkpoint};
use crate::json::Editor;
use crate::{Files, Place, Reading, Source};

/// A checkpoint that is being changed, with what is known about it.
pub(in super::super) struct Draft {
    /// The unit's name: `build:PRD-009`.
    pub name: String,
    pub path: String,
    pub editor: Editor,
    pub spec: Option<Spec>,
    /// The unit as it was read, before any change.
    pub unit: Unit,
    /// The protocol's word for its status; nothing when no rule understands it.
    pub status: Option<&'static str>,
    pub passed: Vec<Listed>,
    pub waiting: Vec<Listed>,
    /// Whether the review keeps it from going on.
    pub is_blocked_by_review: bool,
    /// What has to be said loudly.
    pub warnings: Vec<String>,
    /// What else happens to files, before the checkpoint is written.
    pub effects: Vec<Effect>,
    /// The lists of workstreams, in the order of [`BUCKETS`].
    lists: Vec<Vec<String>>,
    old_lists: Vec<Vec<String>>,
    now: String,
    moment: Moment,
    /// The names of copies that were kept before.
    archived: Vec<String>,
    /// How often each rule was broken before.
    broken: BTreeMap<&'static str, usize>,
}

impl Draft {
    /// Opens a checkpoint to be changed. One that is not ours, or keeps its workstreams in another form than lists of
    /// ids, is left to a person.
    pub(in super::super) fn open(
        place: &Place,
        files: &dyn Files,
        path: &str,
        bytes: &[u8],
        moment: &Moment,
    ) -> Result<Draft, Refusal> {
        let editor = Editor::open(path, bytes)?;
        let name = format!("build:{}", super::id(place));
        if !editor.look(is_ours) {
            return Err(Refusal::document(format!("this is not a build's checkpoint, and is not written: {path}")));
        }
        let mut spec = None;
        let reading = read(place, files, path, bytes, moment, &mut spec);
        let broken = broken(&reading, path);
        let Some(unit) = reading.unit else {
            return Err(Refusal::document(format!("this checkpoint cannot be read: {path}")));
        };
        let lists = BUCKETS.iter().map(|(_, key)| list(&editor, path, &[key])).collect::<Result<Vec<_>, _>>()?;
        let (checkpoint, is_otherwise) = editor.look(|root| {
            let source = Source { path: path.into(), bytes, modified: None };
            let mut checkpoint = take(root, &source);
            take_gates(&mut checkpoint, root, spec.as_ref());
            let is_otherwise = checkpoint.listed.is_empty() && !checkpoint.bucket_of.is_empty();
            (checkpoint, is_otherwise)
        });
        if is_otherwise {
            return Err(in_another_form(path, "workstreams"));
        }
        Ok(Draft {
            name,
            path: path.to_owned(),
            editor,
            spec,
            unit,
            status: checkpoint.status,
            is_blocked_by_review: checkpoint.review.is_some_and(super::super::checkpoint::Review::blocks),
            passed: checkpoint.passed,
            waiting: checkpoint.waiting,
            warnings: Vec::new(),
            effects: Vec::new(),
            old_lists: lists.clone(),
            lists,
            now: moment.now.to_string(),
            moment: moment.clone(),
            archived: files.list(&format!("{}/archive", path.rsplit_once('/').map_or("", |(directory, _)| directory))),
            broken,
        })
    }

    /// The change that writes the checkpoint. A rule that would be broken by it, and is not yet, refuses it.
    pub(in super::super) fn close(
        mut self,
        place: &Place,
        files: &dyn Files,
        summary: String,
    ) -> Result<Change, Refusal> {
        for (number, (_, key)) in BUCKETS.iter().enumerate() {
            if self.lists[number] != self.old_lists[number] {
                self.editor.set(&[key], self.lists[number].clone());
            }
        }
        self.editor.set(&["timestamp"], self.now.as_str());
        if self.editor.get(&["updated_at"]).is_some() {
            self.editor.set(&["updated_at"], self.now.as_str());
        }
        let bytes = self.editor.into_bytes();
        guard(place, files, &self.path, &bytes, &self.moment, &self.broken)?;
        self.effects.push(Effect::Write { path: self.path, bytes });
        Ok(Change { summary, warnings: self.warnings, effects: self.effects })
    }

    /// Adds to a refusal what is legal instead.
    pub(super) fn explain(&self, refusal: Refusal, event: &Event) -> Refusal {
        let name = &self.name;
        let says_it = refusal.hints.iter().any(|hint| hint.contains("piton resume"));
        match (event, self.unit.state.lifecycle()) {
            (Event::Started(_), Lifecycle::Done) => refusal,
            (Event::Started(_), _) if !says_it => refusal.hint(format!("go on with it: piton resume {name}")),
            _ => refusal,
        }
    }

    /// The workstreams in a bucket.
    pub(super) fn ids(&self, bucket: Bucket) -> Vec<String> {
        let ids = BUCKETS.iter().zip(&self.lists).filter(|((found, _), _)| *found == bucket);
        ids.flat_map(|(_, ids)| ids.iter().cloned()).filter(|id| self.bucket_of(id) == Some(bucket)).collect()
    }

    /// How far a workstream is; of several lists the one that says least is believed.
    pub(super) fn bucket_of(&self, id: &str) -> Option<Bucket> {
        let holds = |(_, ids): &(_, &Vec<String>)| ids.iter().any(|known| known == id);
        BUCKETS.iter().zip(&self.lists).find(holds).map(|((bucket, _), _)| *bucket)
    }

    /// How many workstreams are done, and how many there are without those left out.
    pub(super) fn progress(&self) -> (usize, usize) {
        let done = self.ids(Bucket::Completed).len();
        let open =
            [Bucket::Failed, Bucket::InProgress, Bucket::Pending].into_iter().map(|bucket| self.ids(bucket).len());
        (done, done + open.sum::<usize>())
    }

    /// Moves a workstream into the first list of a bucket, and out of all others.
    pub(super) fn put(&mut self, id: &str, bucket: Bucket) {
        for list in &mut self.lists {
            list.retain(|known| known != id);
        }
        let Some(to) = BUCKETS.iter().position(|(found, _)| *found == bucket) else { return };
        let before = |known: &&String| order(self.spec.as_ref(), known) > order(self.spec.as_ref(), id);
        let at = match bucket {
            // What is to be done keeps the order of the specification; the others keep the order of events.
            Bucket::Pending => self.lists[to].iter().position(|known| before(&known)),
            Bucket::Failed | Bucket::InProgress | Bucket::Skipped | Bucket::Completed => None,
        };
        let at = at.unwrap_or(self.lists[to].len());
        self.lists[to].insert(at, id.to_owned());
    }

    /// Keeps a workstream in one list of its bucket, where it is listed, and nowhere else.
    pub(super) fn tidy(&mut self, id: &str, bucket: Bucket) {
        let places = self.lists.iter().map(|list| list.iter().filter(|known| *known == id).count());
        if places.sum::<usize>() != 1 {
            self.put(id, bucket);
        }
    }

    /// A free name for a copy of the checkpoint: with the time, and a number when that is taken.
    pub(super) fn archive_name(&self) -> String {
        let stem = self.path.rsplit('/').next().unwrap_or(&self.path).trim_end_matches(".json");
        let at = self.moment.now.unix_seconds();
        let name = |number: usize| match number {
            1 => format!("{stem}-{at}.json"),
            number => format!("{stem}-{at}-{number}.json"),
        };
        (1..).map(name).find(|name| !self.archived.contains(name)).unwrap_or_default()
    }

    /// Refuses a workstream that is in none of the lists.
    pub(super) fn known(&self, id: &str) -> Result<Bucket, Refusal> {
        self.bucket_of(id).ok_or_else(|| {
            let all: Vec<_> = self.lists.iter().flatten().map(String::as_str).collect();
            Refusal::missing(format!("there is no workstream {id:?} in {}", self.name)).hint(near(&all, id))
        })
    }

    /// What a workstream depends on and is not completed.
    pub(super) fn missing_for(&self, id: &str) -> Vec<String> {
        let stream = self.spec.iter().flat_map(|spec| &spec.workstreams).find(|stream| stream.id == id);
        let needed = stream.into_iter().flat_map(|stream| &stream.depends_on);
        let is_open = |needed: &&String| !matches!(self.bucket_of(needed), Some(Bucket::Completed | Bucket::Skipped));
        needed.filter(is_open).cloned().collect()
    }

    /// Whether nothing that a workstream depends on is missing.
    pub(in super::super) fn can_begin(&self, id: &str) -> bool {
        self.missing_for(id).is_empty()
    }

    /// The phase of a workstream in the specification; the first is 1.
    pub(in super::super) fn phase_of(&self, id: &str) -> Option<usize> {
        phase_of(self.spec.as_ref(), id)
    }

    /// Sets the status, and clears what belongs to another one.
    pub(super) fn set_status(&mut self, status: &'static str) {
        self.status = Some(status);
        self.editor.set(&["status"], status);
        if status != "paused" {
            self.editor.remove(&["pause_reason"]);
        }
    }

    /// Takes the error away. What the failed workstream had made is kept beside the artifacts, which are those of
    /// completed workstreams.
    pub(super) fn clear_error(&mut self) -> Result<(), Refusal> {
        let failed = self.editor.string(&["error", "workstream"]);
        self.editor.remove(&["error"]);
        let Some(failed) = failed.filter(|id| self.bucket_of(id) != Some(Bucket::Completed)) else { return Ok(()) };
        self.set_artifacts_aside(&failed)
    }

    pub(super) fn set_artifacts_aside(&mut self, id: &str) -> Result<(), Refusal> {
        if self.editor.get(&["artifacts", id]).is_none() {
            return Ok(());
        }
        self.expect_object("kept_artifacts")?;
        list(&self.editor, &self.path, &["kept_artifacts", id])?;
        for file in list(&self.editor, &self.path, &["artifacts", id])? {
            self.editor.push_new(&["kept_artifacts", id], &file);
        }
        self.editor.remove(&["artifacts", id]);
        Ok(())
    }

    /// A list of texts at a path; anything else there is left to a person.
    pub(super) fn list(&self, path: &[&str]) -> Result<Vec<String>, Refusal> {
        list(&self.editor, &self.path, path)
    }

    /// Refuses what is there in another form than an object, before something is put into it.
    pub(super) fn expect_object(&self, key: &str) -> Result<(), Refusal> {
        match self.editor.get(&[key]) {
            None | Some(NewValue::Null | NewValue::Object(_)) => Ok(()),
            Some(_) => Err(in_another_form(&self.path, key)),
        }
    }

    /// Adds an entry to a list of ours.
    pub(super) fn add_entry(&mut self, key: &str, entry: NewValue) -> Result<(), Refusal> {
        match self.editor.get(&[key]) {
            None | Some(NewValue::Null | NewValue::Array(_)) => {
                self.editor.push(&[key], entry);
                Ok(())
            }
            Some(_) => Err(in_another_form(&self.path, key)),
        }
    }
}

/// A workstream's phase in the specification; the first is 1.
pub(in super::super) fn phase_of(spec: Option<&Spec>, id: &str) -> Option<usize> {
    spec?.phases.iter().position(|phase| phase.parallel.iter().any(|known| known == id)).map(|phase| phase + 1)
}

/// Refuses what breaks a rule that was not broken before. A review that blocks is a result, not a mistake.
pub(super) fn guard(
    place: &Place,
    files: &dyn Files,
    path: &str,
    bytes: &[u8],
    moment: &Moment,
    before: &BTreeMap<&'static str, usize>,
) -> Result<(), Refusal> {
    let reading = read(place, files, path, bytes, moment, &mut None);
    let after = broken(&reading, path);
    let is_new = |name: &str| after.get(name).unwrap_or(&0) > before.get(name).unwrap_or(&0);
    let worse = reading.findings.iter().find(|finding| {
        &*finding.place.path == path && finding.code.severity == Severity::Error && is_new(finding.code.name)
    });
    match worse.filter(|finding| finding.code.name != codes::BUILD_NOT_SHIPPABLE.name) {
        Some(finding) => Err(Refusal::rule(format!("the checkpoint would break a rule: {}", finding.message))
            .hint(format!("{} ({})", finding.code.help, finding.code.name))),
        None => Ok(()),
    }
}

fn read(
    place: &Place,
    files: &dyn Files,
    path: &str,
    bytes: &[u8],
    moment: &Moment,
    spec: &mut Option<Spec>,
) -> Reading {
    let source = Source { path: path.into(), bytes, modified: None };
    read_checkpoint(&source, moment.now, &mut |wanted: &Wanted<'_>| {
        let found = find_spec(place, files, wanted);
        if let FoundSpec::Read(reading) = &found {
            *spec = reading.spec.clone();
        }
        found
    })
}

fn broken(reading: &Reading, path: &str) -> BTreeMap<&'static str, usize> {
    let mut broken = BTreeMap::new();
    let own = reading.findings.iter().filter(|finding| &*finding.place.path == path);
    for finding in own.filter(|finding| finding.code.severity == Severity::Error) {
        *broken.entry(finding.code.name).or_default() += 1;
    }
    broken
}

fn list(editor: &Editor, document: &str, path: &[&str]) -> Result<Vec<String>, Refusal> {
    let texts = editor.strings(path);
    match editor.get(path) {
        None | Some(NewValue::Null) => Ok(texts),
        Some(NewValue::Array(items)) if items.len() == texts.len() => Ok(texts),
        Some(_) => Err(in_another_form(document, &path.join("."))),
    }
}

fn in_another_form(path: &str, key: &str) -> Refusal {
    Refusal::document(format!("`{key}` has another form than the protocol's, and is not written: {path}"))
        .hint(format!("see what is wrong with: piton check {path}"))
}

/// The order of workstreams: that of the specification, then that of their names with their numbers.
fn order(spec: Option<&Spec>, id: &str) -> (usize, String, u64) {
    let place = spec.and_then(|spec| spec.workstreams.iter().position(|stream| stream.id == id));
    let name = id.trim_end_matches(|c: char| c.is_ascii_digit());
    let number = id[name.len()..].parse().unwrap_or(u64::MAX);
    (place.unwrap_or(usize::MAX), name.to_owned(), number)
}

/// A hint with the names that come near, or with all when none does.
pub(super) fn near(known: &[&str], wanted: &str) -> String {
    let wanted = wanted.to_lowercase();
    let is_near = |name: &&&str| {
        let name = name.to_lowercase();
        name.contains(&wanted) || wanted.contains(&name) || name.chars().next() == wanted.chars().next()
    };
    let close: Vec<&str> = known.iter().filter(is_near).copied().collect();
    let shown = if close.is_empty() { known } else { &close };
    match shown {
        [] => "there are none".to_owned(),
        shown => format!("there are: {}", shown[..shown.len().min(12)].join(", ")),
    }
}

/// A text of somebody as a part of a summary: one line, not too long.
pub(super) fn brief(message: &str) -> String {
    text::fit(&text::printable(message.trim()), 100).into_owned()
}
