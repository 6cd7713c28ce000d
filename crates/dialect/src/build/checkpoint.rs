use std::collections::HashMap;

use piton_model::Id;

use super::gates::{self, Listed};
use super::spec::{Phase, Spec};
use super::wire;
use crate::json::{Kind, Value};
use crate::{Source, content};

/// How many phases and workstreams with a status of their own are read from a checkpoint.
const MOST: usize = 10_000;

/// Keys that hold the PRD's id; the first is the protocol's.
pub(super) const ID_KEYS: [&str; 4] = ["prd", "prd_id", "id", "spec_id"];

/// Keys that hold the path of the specification.
const SPEC_KEYS: [&str; 5] = ["exec_spec", "exec_spec_path", "spec_path", "execution_spec_path", "execution_spec"];

/// The lists of workstreams, the one that decides first when a workstream is in several: what may not be done counts
/// as not done.
pub(super) const BUCKETS: [(Bucket, &str); 6] = [
    (Bucket::Failed, "failed_workstreams"),
    (Bucket::InProgress, "in_progress_workstreams"),
    (Bucket::Pending, "pending_workstreams"),
    (Bucket::Skipped, "dormant_workstreams"),
    (Bucket::Skipped, "deferred_workstreams"),
    (Bucket::Completed, "completed_workstreams"),
];

/// How far a workstream is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bucket {
    Failed,
    InProgress,
    Pending,
    Skipped,
    Completed,
}

/// What failed.
#[derive(Debug)]
pub(super) struct Failure {
    pub workstream: Option<String>,
    pub message: String,
    pub file: Option<String>,
    pub line: Option<i64>,
}

/// What the review before the first phase says.
#[derive(Debug, Clone, Copy)]
pub(super) struct Review {
    pub verdict: Option<&'static str>,
    pub blocking: i64,
}

impl Review {
    /// Whether the build must not go on: the verdict says so, and blocking findings are counted.
    pub(super) fn blocks(self) -> bool {
        self.verdict == Some("do_not_ship") && self.blocking > 0
    }
}

/// A build's checkpoint, as it is written.
#[derive(Debug)]
pub(super) struct Checkpoint {
    pub id: String,
    pub status_text: String,
    pub status: Option<&'static str>,
    pub phase: Option<i64>,
    /// Every listed workstream, in the order of the lists, with the place of the list in [`BUCKETS`].
    pub listed: Vec<(String, usize)>,
    pub bucket_of: HashMap<String, Bucket>,
    pub passed: Vec<Listed>,
    pub waiting: Vec<Listed>,
    pub failure: Option<Failure>,
    pub review: Option<Review>,
    /// Why it is paused.
    pub pause_reason: Option<String>,
    /// What somebody said that keeps it from going on.
    pub blocked_by: Vec<String>,
    /// The phases that the checkpoint itself holds; the specification's count more.
    pub phases: Vec<Phase>,
    /// The key and path that name the specification.
    pub spec_path: Option<(&'static str, String)>,
}

impl Checkpoint {
    pub(super) fn count(&self, bucket: Bucket) -> usize {
        self.bucket_of.values().filter(|found| **found == bucket).count()
    }
}

/// Whether an object is a build's checkpoint: it lists workstreams, or has a PRD and a status.
pub fn is_ours(object: Value<'_, '_>) -> bool {
    let is_text = |key: &str| object.get(key).is_some_and(|value| value.kind() == Kind::String);
    let lists = BUCKETS.iter().any(|(_, key)| object.get(key).is_some_and(|value| value.kind() == Kind::Array));
    lists || (is_text("status") && (is_text("prd") || is_text("prd_id")))
}

pub(super) fn take(root: Value<'_, '_>, source: &Source<'_>) -> Checkpoint {
    let status_text = content::text(root, "status").unwrap_or_default();
    let listed = listed(root);
    let mut bucket_of = HashMap::with_capacity(listed.len());
    for (id, place) in &listed {
        let bucket = BUCKETS[*place].0;
        bucket_of.entry(id.clone()).or_insert(bucket);
    }
    if listed.is_empty() {
        bucket_of.extend(by_status(root));
    }
    let spec_path = SPEC_KEYS.iter().find_map(|key| Some((*key, content::text(root, key)?)));
    Checkpoint {
        id: id(root, source),
        status: wire::STATUS.read(&status_text).word(),
        status_text,
        phase: root.get("current_phase").and_then(Value::as_int),
        listed,
        bucket_of,
        passed: Vec::new(),
        waiting: Vec::new(),
        failure: root.get("error").and_then(failure),
        review: root.get("adversarial_review").and_then(review),
        pause_reason: content::text(root, "pause_reason"),
        blocked_by: content::texts(root, "blocked_by"),
        phases: phases(root),
        spec_path,
    }
}

/// Reads the gates, which needs to know what the workstreams are called.
pub(super) fn take_gates(checkpoint: &mut Checkpoint, root: Value<'_, '_>, spec: Option<&Spec>) {
    let by_spec: std::collections::HashSet<_> =
        spec.into_iter().flat_map(|spec| spec.workstreams.iter().map(|stream| stream.id.as_str())).collect();
    let is_step = |text: &str| checkpoint.bucket_of.contains_key(text) || by_spec.contains(text);
    let passed = gates::listed(root.get("gates_passed"), &is_step);
    let waiting = gates::listed(root.get("gates_pending"), &is_step);
    (checkpoint.passed, checkpoint.waiting) = (passed, waiting);
}

/// The PRD's id: the first of the keys that holds one, else the file's name.
fn id(root: Value<'_, '_>, source: &Source<'_>) -> String {
    let stem = source.file_name().trim_end_matches(".json");
    let written: Vec<_> = ID_KEYS.iter().filter_map(|key| content::text(root, key)).collect();
    let is_id = |text: &str| Id::parse(text).is_ok();
    let good = written.iter().find(|text| is_id(text)).cloned();
    good.or_else(|| Some(stem).filter(|stem| is_id(stem)).map(str::to_owned))
        .or_else(|| written.into_iter().next())
        .unwrap_or_else(|| stem.to_owned())
}

fn listed(root: Value<'_, '_>) -> Vec<(String, usize)> {
    let bucket = |(place, (_, key)): (usize, &(Bucket, &str))| {
        content::texts(root, key).into_iter().map(move |id| (id, place)).collect::<Vec<_>>()
    };
    BUCKETS.iter().enumerate().flat_map(bucket).collect()
}

/// Some files keep a status for each workstream instead of lists.
fn by_status(root: Value<'_, '_>) -> Vec<(String, Bucket)> {
    let bucket = |(id, stream): (Value<'_, '_>, Value<'_, '_>)| {
        let status = content::text(stream, "status")?;
        let bucket = match wire::STATUS.read(&status).word()? {
            "initialized" | "paused" => Bucket::Pending,
            "in_progress" => Bucket::InProgress,
            "failed" => Bucket::Failed,
            _ => Bucket::Completed,
        };
        Some((id.as_str()?.into_owned(), bucket))
    };
    root.get("workstreams").into_iter().flat_map(Value::entries).filter_map(bucket).take(MOST).collect()
}

fn failure(error: Value<'_, '_>) -> Option<Failure> {
    match error.kind() {
        Kind::Object => Some(Failure {
            workstream: content::text(error, "workstream"),
            message: content::text(error, "message").unwrap_or_else(|| "no message".to_owned()),
            file: content::text(error, "file"),
            line: error.get("line").and_then(Value::as_int),
        }),
        _ => {
            let message = content::as_text(error).filter(|text| !content::is_nothing(text))?;
            Some(Failure { workstream: None, message, file: None, line: None })
        }
    }
}

fn review(review: Value<'_, '_>) -> Option<Review> {
    (review.kind() == Kind::Object).then(|| Review {
        verdict: content::text(review, "verdict").and_then(|text| wire::VERDICT.read(&text).word()),
        blocking: review.get("p0_count").and_then(Value::as_int).unwrap_or(0),
    })
}

fn phases(root: Value<'_, '_>) -> Vec<Phase> {
    let list = root.get("execution_phases").or_else(|| root.get("phases"));
    let phase = |phase: Value<'_, '_>| {
        let by_list = content::texts(phase, "workstreams");
        Phase {
            name: content::text(phase, "name").or_else(|| content::text(phase, "label")),
            parallel: if by_list.is_empty() { content::texts(phase, "parallel") } else { by_list },
            gates: content::texts(phase, "gates"),
            line: 0,
        }
    };
    list.into_iter().flat_map(Value::items).map(phase).take(MOST).collect()
}
