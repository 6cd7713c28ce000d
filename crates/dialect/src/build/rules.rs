//! The rules between the keys of a checkpoint, and between it and its specification.

use std::collections::HashSet;

use piton_model::Code;

use super::checkpoint::{BUCKETS, Bucket, Checkpoint, ID_KEYS};
use super::gates::fold;
use super::spec::Spec;
use super::{codes, layout, wire};
use crate::content::Offsets;
use crate::json::{Kind, Value};
use crate::{Findings, Source, content};

/// Checks the rules.
pub(super) fn check(
    root: Value<'_, '_>,
    checkpoint: &Checkpoint,
    spec: Option<&Spec>,
    source: &Source<'_>,
    findings: &mut Findings<'_>,
) {
    let mut rules = Rules { root, offsets: Offsets::new(root), checkpoint, findings };
    rules.names(source);
    rules.buckets();
    rules.status();
    rules.artifacts();
    rules.error();
    rules.review();
    if let Some(spec) = spec {
        rules.workstreams_of(spec);
        rules.gates_of(spec);
        rules.phase_of(spec);
        rules.prd_of(spec);
    }
}

struct Rules<'a, 'j, 'c, 'f> {
    root: Value<'a, 'j>,
    offsets: Offsets<'a, 'j>,
    checkpoint: &'c Checkpoint,
    findings: &'c mut Findings<'f>,
}

impl Rules<'_, '_, '_, '_> {
    fn names(&mut self, source: &Source<'_>) {
        let id = &self.checkpoint.id;
        let digits = id.strip_prefix("PRD-").filter(|rest| rest.len() == 3);
        if !digits.is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_digit())) {
            self.at("prd", &codes::BUILD_PRD_PATTERN, format!("{id:?} is not `PRD-` and three digits"));
        }
        let expected = layout::file_name(id);
        if source.file_name() != expected {
            let message = format!("{id} is kept in {}, not in {expected}", source.file_name());
            self.findings.whole(&codes::BUILD_FILE_NAME, message);
        }
        let instead = [("prd", &ID_KEYS[1..]), ("timestamp", &["updated_at"]), ("prd_title", &["title"])];
        for (key, others) in instead {
            let other = others.iter().find(|other| content::text(self.root, other).is_some());
            if let (None, Some(other)) = (self.root.get(key), other) {
                let message = format!("`{other}` stands where the protocol has `{key}`");
                self.at(other, &codes::BUILD_KEY_INSTEAD, message);
            }
        }
    }

    fn buckets(&mut self) {
        let mut seen = HashSet::new();
        for (id, place) in &self.checkpoint.listed {
            if !seen.insert(id.as_str()) {
                let key = BUCKETS[*place].1;
                self.at(key, &codes::BUILD_BUCKETS_OVERLAP, format!("{id:?} in `{key}` is listed before"));
            }
        }
    }

    fn status(&mut self) {
        let running = self.checkpoint.count(Bucket::InProgress);
        let open = self.checkpoint.count(Bucket::Pending) + self.checkpoint.count(Bucket::Failed) + running;
        let waiting = self.checkpoint.waiting.len();
        let Some(status) = self.checkpoint.status else { return };
        if status == "in_progress" && running == 0 && waiting == 0 {
            let message = "the status is in_progress, but nothing is in progress and no gate is pending";
            self.at("status", &codes::BUILD_IN_PROGRESS_EMPTY, message);
        }
        if status != "in_progress" && running > 0 {
            let message = format!("the status is {status}, but {running} workstreams are in progress");
            self.at("in_progress_workstreams", &codes::BUILD_IN_PROGRESS_UNEXPECTED, message);
        }
        if status == "complete" && open + waiting > 0 {
            let message = format!("the status is complete, but {open} workstreams and {waiting} gates are pending");
            self.at("status", &codes::BUILD_COMPLETE_PENDING, message);
        }
        let phase = self.checkpoint.phase.unwrap_or(0);
        let done = self.checkpoint.count(Bucket::Completed);
        if status == "initialized" && (phase > 0 || done > 0) {
            let message =
                format!("the status is {status}, but `current_phase` is {phase} and {done} workstreams are completed");
            self.at("status", &codes::BUILD_INITIALIZED_BEGUN, message);
        }
    }

    fn artifacts(&mut self) {
        let failed = self.checkpoint.failure.as_ref().and_then(|failure| failure.workstream.as_deref());
        for (key, _) in self.root.get("artifacts").into_iter().flat_map(Value::entries) {
            let id = key.as_str().expect("a key is a string");
            let bucket = self.checkpoint.bucket_of.get(&*id);
            if bucket != Some(&Bucket::Completed) && Some(&*id) != failed {
                let message = format!("`artifacts` has {id:?}, which is no completed workstream");
                self.findings.at(key.span().start, &codes::BUILD_ARTIFACTS, message);
            }
        }
    }

    fn error(&mut self) {
        match (self.checkpoint.status, &self.checkpoint.failure) {
            (Some("failed"), None) => {
                let message = "the status is failed, but `error` does not say what failed";
                self.at("status", &codes::BUILD_FAILED_WITHOUT_ERROR, message);
            }
            (Some(status), Some(_)) if status != "failed" => {
                let message = format!("there is an `error`, but the status is {status}");
                self.at("error", &codes::BUILD_ERROR_UNEXPECTED, message);
            }
            _ => {}
        }
        let named = self.checkpoint.failure.as_ref().and_then(|failure| failure.workstream.as_deref());
        if let Some(named) = named.filter(|named| !self.checkpoint.bucket_of.contains_key(*named)) {
            let message = format!("`error.workstream` is {named:?}, which is in none of the lists");
            self.at("error", &codes::BUILD_ERROR_WORKSTREAM, message);
        }
    }

    fn review(&mut self) {
        let Some(review) = self.root.get("adversarial_review").filter(|review| review.kind() == Kind::Object) else {
            return;
        };
        let verdict = content::text(review, "verdict").and_then(|text| wire::VERDICT.read(&text).word());
        let blocking = review.get("p0_count").and_then(Value::as_int).unwrap_or(0);
        if verdict == Some("overridden") && content::text(review, "override_reason").is_none() {
            let message = "the verdict is overridden, but `override_reason` does not say why";
            self.at("adversarial_review", &codes::BUILD_OVERRIDE_REASON, message);
        }
        if verdict == Some("do_not_ship") && blocking > 0 && self.checkpoint.status == Some("in_progress") {
            let message = format!("the verdict is do_not_ship with {blocking} blocking findings");
            self.at("adversarial_review", &codes::BUILD_NOT_SHIPPABLE, message);
        }
    }

    fn workstreams_of(&mut self, spec: &Spec) {
        if spec.workstreams.is_empty() || self.checkpoint.bucket_of.is_empty() {
            return;
        }
        let ids: HashSet<_> = spec.workstreams.iter().map(|stream| stream.id.as_str()).collect();
        for stream in &spec.workstreams {
            if !self.checkpoint.bucket_of.contains_key(&stream.id) {
                let message = format!("{:?} of the specification is in none of the lists", stream.id);
                self.at("pending_workstreams", &codes::BUILD_WORKSTREAM_MISSING, message);
            }
        }
        let mut told = HashSet::new();
        for (id, place) in &self.checkpoint.listed {
            if !ids.contains(id.as_str()) && told.insert(id) {
                let key = BUCKETS[*place].1;
                let message = format!("{id:?} in `{key}` is not in the specification");
                self.at(key, &codes::BUILD_WORKSTREAM_UNKNOWN, message);
            }
        }
    }

    fn gates_of(&mut self, spec: &Spec) {
        let lists = ["gates_passed", "gates_pending"];
        if lists.iter().all(|key| self.root.get(key).is_none()) {
            return;
        }
        let names = gate_names(spec);
        let known: HashSet<_> = names.iter().map(|name| fold(name)).collect();
        if known.is_empty() {
            return;
        }
        let mut listed = HashSet::new();
        let both = [&self.checkpoint.passed, &self.checkpoint.waiting];
        for (key, gates) in lists.into_iter().zip(both) {
            for gate in gates {
                let name = fold(&gate.name);
                if listed.insert(name.clone()) && !known.contains(&name) {
                    let message = format!("the gate {:?} in `{key}` is not in the specification", gate.name);
                    self.at(key, &codes::BUILD_GATE_UNKNOWN, message);
                }
            }
        }
        for name in names.iter().filter(|name| !listed.contains(&fold(name))) {
            let message = format!("the gate {name:?} of the specification is neither passed nor pending");
            self.at("gates_pending", &codes::BUILD_GATE_MISSING, message);
        }
    }

    fn phase_of(&mut self, spec: &Spec) {
        let phases = spec.phases.len() as i64;
        if let Some(phase) = self.checkpoint.phase.filter(|phase| phases > 0 && *phase > phases) {
            let message = format!("`current_phase` is {phase}, but the specification has {phases} phases");
            self.at("current_phase", &codes::BUILD_PHASE_RANGE, message);
        }
    }

    fn prd_of(&mut self, spec: &Spec) {
        let known = |prd: &str| ID_KEYS.iter().any(|key| content::text(self.root, key).is_some_and(|id| id == prd));
        if let Some(prd) = spec.prd.as_deref().filter(|prd| *prd != self.checkpoint.id && !known(prd)) {
            let message = format!("the specification belongs to {prd:?}, not to {:?}", self.checkpoint.id);
            self.at("prd", &codes::BUILD_SPEC_PRD, message);
        }
    }

    fn at(&mut self, key: &'static str, code: &'static Code, message: impl Into<String>) {
        self.findings.at(self.offsets.of(key), code, message);
    }
}

/// The gates of a specification: those it defines, else those it names.
fn gate_names(spec: &Spec) -> Vec<&str> {
    if !spec.gates.is_empty() {
        return spec.gates.iter().map(|gate| gate.name.as_str()).collect();
    }
    let by_streams = spec.workstreams.iter().filter_map(|stream| stream.gate.as_deref());
    let by_phases = spec.phases.iter().flat_map(|phase| phase.gates.iter().map(String::as_str));
    let mut seen = HashSet::new();
    by_streams.chain(by_phases).filter(|name| seen.insert(*name)).collect()
}
