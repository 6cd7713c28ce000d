use std::collections::BTreeMap;

use piton_model::hint::verbs;
use piton_model::{
    BuildStatus, Change, Dialect, Effect, Event, Hint, Lifecycle, Moment, Refusal, Severity, State, StepState, Unit,
    text,
};
use serde_json::Value as NewValue;

use super::super::checkpoint::{BUCKETS, Bucket, bucket_named, is_ours, take, take_gates};
use super::super::find_spec::find_spec;
use super::super::gates::Listed;
use super::super::lists::{self, older_name};
use super::super::spec::Spec;
use super::super::{FoundSpec, Wanted, codes, read_checkpoint};
use crate::json::{Editor, Value};
use crate::{Files, Place, Reading, Source, content};

/// A checkpoint that is being changed, with what is known about it.
#[derive(Clone)]
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
    /// Whether the review waits for a person before work begins.
    pub waits_for_approval: bool,
    /// Whether one of several workers records the change, and not the lead or a person.
    pub is_of_worker: bool,
    /// What has to be said loudly.
    pub warnings: Vec<Hint>,
    /// What else happens to files, before the checkpoint is written.
    pub effects: Vec<Effect>,
    /// The statuses that the build passes through, the one that it had first.
    trail: Vec<BuildStatus>,
    /// The lists of workstreams, in the order of [`BUCKETS`].
    lists: Vec<Vec<lists::Listed>>,
    old_lists: Vec<Vec<lists::Listed>>,
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
        let name = place.unit(Dialect::Build);
        if !editor.look(is_ours) {
            return Err(Refusal::document(format!("this is not a build's checkpoint, and is not written: {path}")));
        }
        let mut spec = None;
        let reading = read(place, files, path, bytes, moment, &mut spec);
        let broken = broken(&reading, path);
        let Some(unit) = reading.unit else {
            return Err(Refusal::document(format!("this checkpoint cannot be read: {path}")));
        };
        let unwritable = editor.look(|root| BUCKETS.iter().find(|(_, key)| !lists::is_writable(root, key)));
        if let Some((_, key)) = unwritable {
            return Err(in_another_form(path, key));
        }
        let mut lists: Vec<Vec<_>> = editor.look(|root| BUCKETS.map(|(_, key)| lists::listed(root, key))).into();
        let checkpoint = editor.look(|root| {
            let source = Source { path: path.into(), bytes, modified: None };
            let mut checkpoint = take(root, &source);
            take_gates(&mut checkpoint, root, spec.as_ref());
            checkpoint
        });
        let old_lists = lists.clone();
        if checkpoint.listed.is_empty() {
            // Only a status stands for each workstream; the protocol's lists are made of them.
            for step in &unit.steps {
                let bucket = checkpoint.bucket_of.get(&step.id);
                let place = BUCKETS.iter().position(|(known, _)| Some(known) == bucket);
                place.into_iter().for_each(|place| lists[place].push(lists::Listed::plain(&step.id)));
            }
        }
        let trail = effective(checkpoint.status, checkpoint.has_begun(), &unit).into_iter().collect();
        Ok(Draft {
            name,
            path: path.to_owned(),
            editor,
            spec,
            unit,
            status: checkpoint.status,
            waits_for_approval: checkpoint.waits_for_approval(),
            is_blocked_by_review: checkpoint.review.is_some_and(super::super::checkpoint::Review::blocks),
            is_of_worker: moment.is_of_fleet_worker(),
            trail,
            passed: checkpoint.passed,
            waiting: checkpoint.waiting,
            warnings: Vec::new(),
            effects: Vec::new(),
            old_lists,
            lists,
            now: moment.now.to_string(),
            moment: moment.clone(),
            archived: files.list(&format!("{}/archive", path.rsplit_once('/').map_or("", |(directory, _)| directory))),
            broken,
        })
    }

    /// The change that writes the checkpoint. A rule that would be broken by it, and is not yet, refuses it, and so does
    /// an arrow between statuses that the protocol does not have.
    pub(in super::super) fn close(
        mut self,
        place: &Place,
        files: &dyn Files,
        summary: String,
    ) -> Result<Change, Refusal> {
        if let Some(pair) = self.trail.windows(2).find(|pair| !pair[0].leads_to(pair[1])) {
            let (from, to) = (pair[0].word(), pair[1].word());
            return Err(Refusal::rule(format!("a build that is {from} cannot become {to}"))
                .hint(verbs::WHY.on(&self.name).to("see where it stands")));
        }
        for (number, (_, key)) in BUCKETS.iter().enumerate() {
            let older = older_name(key).filter(|older| self.editor.get(&[older]).is_some());
            if self.lists[number] != self.old_lists[number] || older.is_some() {
                let items = self.lists[number].iter().map(|each| each.written.clone());
                self.editor.set(&[key], NewValue::Array(items.collect()));
            }
            // The list has one name from now on, the protocol's.
            older.into_iter().for_each(|older| {
                self.editor.remove(&[older]);
            });
        }
        self.follow_statuses();
        self.editor.set(&["timestamp"], self.now.as_str());
        if self.editor.get(&["updated_at"]).is_some() {
            self.editor.set(&["updated_at"], self.now.as_str());
        }
        let bytes = self.editor.into_bytes();
        guard(place, files, &self.path, &bytes, &self.moment, &self.broken)?;
        self.effects.push(Effect::Write { path: self.path, bytes });
        Ok(Change { summary, warnings: self.warnings, effects: self.effects, next: None })
    }

    /// Lets the statuses of single workstreams, which some files keep beside the lists, say what the lists say.
    fn follow_statuses(&mut self) {
        let stale = self.editor.look(|root| {
            let streams = root.get("workstreams").into_iter().flat_map(Value::entries);
            let stale = streams.filter_map(|(id, stream)| {
                let (id, status) = (id.as_str()?, content::text(stream, "status")?);
                let bucket = self.bucket_of(&id)?;
                (bucket_named(&status) != Some(bucket)).then(|| (id.into_owned(), bucket))
            });
            stale.collect::<Vec<_>>()
        });
        for (id, bucket) in stale {
            let word = match bucket {
                Bucket::Failed => "failed",
                Bucket::InProgress => "in_progress",
                Bucket::Pending => "pending",
                Bucket::Skipped => "dormant",
                Bucket::Completed => "complete",
            };
            self.editor.set(&["workstreams", &id, "status"], word);
        }
    }

    /// Adds to a refusal what is legal instead.
    pub(super) fn explain(&self, refusal: Refusal, event: &Event) -> Refusal {
        let name = &self.name;
        let says_it =
            refusal.hints.iter().any(|hint| hint.commands.iter().any(|command| command.verb == &verbs::RESUME));
        match (event, self.unit.state.lifecycle()) {
            (Event::Started(_), Lifecycle::Done) => refusal,
            (Event::Started(_), _) if !says_it => refusal.hint(verbs::RESUME.on(name).to("go on with it")),
            _ => refusal,
        }
    }

    /// The workstreams in a bucket.
    pub(super) fn ids(&self, bucket: Bucket) -> Vec<String> {
        let lists = BUCKETS.iter().zip(&self.lists).filter(|((found, _), _)| *found == bucket);
        let ids = lists.flat_map(|(_, list)| list.iter().map(|each| each.id.clone()));
        ids.filter(|id| self.bucket_of(id) == Some(bucket)).collect()
    }

    /// How far a workstream is; of several lists the one that says least is believed.
    pub(in super::super) fn bucket_of(&self, id: &str) -> Option<Bucket> {
        let holds = |(_, list): &(_, &Vec<lists::Listed>)| list.iter().any(|known| known.id == id);
        BUCKETS.iter().zip(&self.lists).find(holds).map(|((bucket, _), _)| *bucket)
    }

    /// How many workstreams are done, and how many there are without those left out.
    pub(super) fn progress(&self) -> (usize, usize) {
        let done = self.ids(Bucket::Completed).len();
        let open =
            [Bucket::Failed, Bucket::InProgress, Bucket::Pending].into_iter().map(|bucket| self.ids(bucket).len());
        (done, done + open.sum::<usize>())
    }

    /// Moves a workstream into the first list of a bucket, and out of all others. It stays as it is written.
    pub(super) fn put(&mut self, id: &str, bucket: Bucket) {
        let mut moved = None;
        for list in &mut self.lists {
            let found = list.iter().position(|known| known.id == id).map(|at| list[at].clone());
            moved = moved.or(found);
            list.retain(|known| known.id != id);
        }
        let Some(to) = BUCKETS.iter().position(|(found, _)| *found == bucket) else { return };
        let before = |known: &lists::Listed| order(self.spec.as_ref(), &known.id) > order(self.spec.as_ref(), id);
        let at = match bucket {
            // What is to be done keeps the order of the specification; the others keep the order of events.
            Bucket::Pending => self.lists[to].iter().position(before),
            Bucket::Failed | Bucket::InProgress | Bucket::Skipped | Bucket::Completed => None,
        };
        let at = at.unwrap_or(self.lists[to].len());
        self.lists[to].insert(at, moved.unwrap_or_else(|| lists::Listed::plain(id)));
    }

    /// Takes a workstream out of every list.
    pub(super) fn take_out(&mut self, id: &str) {
        self.lists.iter_mut().for_each(|list| list.retain(|known| known.id != id));
    }

    /// Keeps a workstream in one list of its bucket, where it is listed, and nowhere else.
    pub(super) fn tidy(&mut self, id: &str, bucket: Bucket) {
        let places = self.lists.iter().map(|list| list.iter().filter(|known| known.id == id).count());
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

    /// Takes a workstream into the lists that its specification has got since the build began.
    pub(super) fn learn(&mut self, id: &str) {
        let is_specified = self.spec.iter().flat_map(|spec| &spec.workstreams).any(|stream| stream.id == id);
        if is_specified && self.bucket_of(id).is_none() {
            self.put(id, Bucket::Pending);
        }
    }

    /// Refuses a workstream that is in none of the lists.
    pub(super) fn known(&self, id: &str) -> Result<Bucket, Refusal> {
        self.bucket_of(id).ok_or_else(|| {
            let all: Vec<_> = self.lists.iter().flatten().map(|each| each.id.as_str()).collect();
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

    /// Goes to a status, and clears what belongs to another one. Where it may go is decided when the draft is closed.
    pub(super) fn set_status(&mut self, status: BuildStatus) {
        if self.trail.last() != Some(&status) {
            self.trail.push(status);
        }
        self.status = Some(status.word());
        self.editor.set(&["status"], status.word());
        if status != BuildStatus::Paused {
            self.editor.remove(&["pause_reason"]);
        }
    }

    /// Completes the build; a paused one by way of `in_progress`.
    pub(super) fn set_complete(&mut self) {
        if self.trail.last() == Some(&BuildStatus::Paused) {
            self.set_status(BuildStatus::InProgress);
        }
        self.set_status(BuildStatus::Complete);
    }

    /// Takes a complete build for one that is only called so, which is continued as a paused one is.
    pub(super) fn doubt_completion(&mut self) {
        self.trail = vec![BuildStatus::Paused];
        self.set_status(BuildStatus::InProgress);
    }

    /// Begins a new checkpoint: no arrow leads there.
    pub(super) fn begin_anew(&mut self) {
        self.trail.clear();
        self.set_status(BuildStatus::Initialized);
    }

    /// The statuses that the build passes through, the one that it had first.
    pub(super) fn trail(&self) -> &[BuildStatus] {
        &self.trail
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

/// The status that a build really has. `initialized` with work behind it is a pause, and a `complete` that is not true
/// is what its lists say.
fn effective(status: Option<&str>, has_begun: bool, unit: &Unit) -> Option<BuildStatus> {
    let running = unit.steps.iter().any(|step| step.state == StepState::Running);
    match BuildStatus::of(status?)? {
        BuildStatus::Initialized if has_begun => Some(BuildStatus::Paused),
        BuildStatus::Complete if unit.state == State::Done => Some(BuildStatus::Complete),
        BuildStatus::Complete if running => Some(BuildStatus::InProgress),
        BuildStatus::Complete => Some(BuildStatus::Paused),
        status => Some(status),
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
            .hint(finding.code.hint())
            .hint(format!("the rule is {}", finding.code.name))),
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
        .hint(verbs::CHECK.call().path(path).to("see what is wrong with"))
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
