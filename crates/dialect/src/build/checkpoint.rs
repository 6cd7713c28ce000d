use std::collections::HashMap;

use piton_model::Id;

use super::gates::{self, Listed};
use super::lists;
pub(super) use super::lists::{BUCKETS, Bucket};
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
    /// Whether a person approved of it.
    pub is_approved: bool,
}

impl Review {
    /// Whether the build must not go on: the verdict says so, and blocking findings are counted.
    pub(super) fn blocks(self) -> bool {
        self.verdict == Some("do_not_ship") && self.blocking > 0
    }

    /// Whether a person has to approve before work begins, and has not done so.
    fn asks(self) -> bool {
        self.verdict == Some("ship_with_gates") && !self.is_approved
    }
}

/// The key, in the review, with which a person's approval is written down.
pub(super) const APPROVED_AT: &str = "approved_at";

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
    /// What people call workstreams, where the lists say it.
    pub names: HashMap<String, String>,
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

    /// Whether work has begun: a workstream is completed or in progress, or a phase was reached.
    pub(super) fn has_begun(&self) -> bool {
        self.count(Bucket::Completed) + self.count(Bucket::InProgress) > 0 || self.phase.is_some_and(|phase| phase > 0)
    }

    /// Whether the review waits for a person before work begins.
    pub(super) fn waits_for_approval(&self) -> bool {
        self.status == Some("initialized") && !self.has_begun() && self.review.is_some_and(Review::asks)
    }
}

/// Whether an object is a build's checkpoint: it lists workstreams, or has a PRD and a status.
pub fn is_ours(object: Value<'_, '_>) -> bool {
    let is_text = |key: &str| object.get(key).is_some_and(|value| value.kind() == Kind::String);
    let keys = BUCKETS.iter().map(|(_, key)| *key).chain(lists::OLDER.iter().map(|(older, _)| *older));
    let lists = keys.into_iter().any(|key| object.get(key).is_some_and(|value| value.kind() == Kind::Array));
    lists || (is_text("status") && (is_text("prd") || is_text("prd_id")))
}

pub(super) fn take(root: Value<'_, '_>, source: &Source<'_>) -> Checkpoint {
    let status_text = content::text(root, "status").unwrap_or_default();
    let (mut listed, mut names, mut bucket_of) = (Vec::new(), HashMap::new(), HashMap::new());
    for (place, (bucket, key)) in BUCKETS.iter().enumerate() {
        for found in lists::listed(root, key) {
            bucket_of.entry(found.id.clone()).or_insert(*bucket);
            names.extend(found.name.map(|name| (found.id.clone(), name)));
            listed.push((found.id, place));
        }
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
        names,
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

/// Some files keep a status for each workstream instead of lists.
fn by_status(root: Value<'_, '_>) -> Vec<(String, Bucket)> {
    let bucket = |(id, stream): (Value<'_, '_>, Value<'_, '_>)| {
        Some((id.as_str()?.into_owned(), bucket_named(&content::text(stream, "status")?)?))
    };
    root.get("workstreams").into_iter().flat_map(Value::entries).filter_map(bucket).take(MOST).collect()
}

/// How far a workstream is, by a status of its own.
pub(super) fn bucket_named(status: &str) -> Option<Bucket> {
    if status.eq_ignore_ascii_case("dormant") {
        return Some(Bucket::Skipped);
    }
    Some(match wire::STATUS.read(status).word()? {
        "initialized" | "paused" => Bucket::Pending,
        "in_progress" => Bucket::InProgress,
        "failed" => Bucket::Failed,
        _ => Bucket::Completed,
    })
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
        is_approved: content::text(review, APPROVED_AT).is_some(),
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
