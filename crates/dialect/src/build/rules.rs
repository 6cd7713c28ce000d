//! The rules between the keys of a checkpoint, and between it and its specification.

use std::collections::{HashMap, HashSet};

use piton_model::Code;
use piton_model::text::counted;

use super::checkpoint::{BUCKETS, Bucket, Checkpoint, ID_KEYS, Review};
use super::gates::{fold, shown, steps_of};
use super::spec::Spec;
use super::{codes, layout, lists};
use crate::content::Offsets;
use crate::json::Value;
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
    rules.gates_stand_once();
    rules.gates_are_due();
    if let Some(spec) = spec {
        rules.workstreams_of(spec);
        rules.dependencies_of(spec);
        rules.gates_of(spec);
        rules.gates_belong(spec);
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
        for (older, key) in lists::OLDER {
            if self.root.get(older).is_some() {
                let message = format!("`{older}` stands where the protocol has `{key}`");
                self.at(older, &codes::BUILD_KEY_INSTEAD, message);
            }
        }
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
        let done = self.checkpoint.count(Bucket::Completed);
        let Some(status) = self.checkpoint.status else { return };
        // Between a workstream's completion and its gate nothing is in progress, and that is right.
        if status == "in_progress" && running == 0 && (waiting == 0 || done == 0) {
            let missing = if waiting == 0 { "no gate is pending" } else { "no workstream is completed" };
            let message = format!("the status is in_progress, but nothing is in progress and {missing}");
            self.at("status", &codes::BUILD_IN_PROGRESS_EMPTY, message);
        }
        if status != "in_progress" && running > 0 {
            let running = counted(running, "workstream is", "workstreams are");
            let message = format!("the status is {status}, but {running} in progress");
            self.at("in_progress_workstreams", &codes::BUILD_IN_PROGRESS_UNEXPECTED, message);
        }
        if status == "complete" && open + waiting > 0 {
            let are = if open + waiting == 1 { "is" } else { "are" };
            let open = counted(open, "workstream", "workstreams");
            let waiting = counted(waiting, "gate", "gates");
            let message = format!("the status is complete, but {open} and {waiting} {are} pending");
            self.at("status", &codes::BUILD_COMPLETE_PENDING, message);
        }
        let phase = self.checkpoint.phase.unwrap_or(0);
        if status == "initialized" && (phase > 0 || done > 0) {
            let done = counted(done, "workstream is", "workstreams are");
            let message = format!("the status is {status}, but `current_phase` is {phase} and {done} completed");
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
        let Some(review) = self.checkpoint.review else { return };
        let reason = self.root.get("adversarial_review").and_then(|review| content::text(review, "override_reason"));
        if review.verdict == Some("overridden") && reason.is_none() {
            let message = "the verdict is overridden, but `override_reason` does not say why";
            self.at("adversarial_review", &codes::BUILD_OVERRIDE_REASON, message);
        }
        if review.blocks() {
            let message = not_shippable(review);
            self.at("adversarial_review", &codes::BUILD_NOT_SHIPPABLE, message);
        }
        if review.verdict == Some("ship") && review.blocking > 0 {
            let message = format!("the verdict is ship, but `p0_count` is {}", review.blocking);
            self.at("adversarial_review", &codes::BUILD_SHIP_BLOCKING, message);
        }
    }

    fn gates_stand_once(&mut self) {
        let lists = [("gates_passed", &self.checkpoint.passed), ("gates_pending", &self.checkpoint.waiting)];
        let mut before = HashSet::new();
        for (key, gates) in lists {
            let mut here = HashSet::new();
            for gate in gates {
                let identity = (fold(&gate.name), gate.step.as_deref(), gate.stage.as_deref());
                // A bare name may have passed for one workstream and be pending for another.
                let is_exact = gate.step.is_some() || gate.stage.is_some();
                let is_before = is_exact && before.contains(&identity);
                if !here.insert(identity) || is_before {
                    let message = format!("the gate {:?} in `{key}` is listed before", shown(gate));
                    self.at(key, &codes::BUILD_GATE_TWICE, message);
                }
            }
            before.extend(here);
        }
    }

    fn gates_are_due(&mut self) {
        for gate in self.checkpoint.passed.iter().filter(|gate| !gate.has_failed) {
            let pending = |step: &&str| self.checkpoint.bucket_of.get(*step) == Some(&Bucket::Pending);
            if let Some(step) = steps_of(gate).find(pending) {
                let message = format!("the gate {:?} has passed for {step:?}, which is pending", gate.name);
                self.at("gates_passed", &codes::BUILD_GATE_EARLY, message);
            }
        }
    }

    fn gates_belong(&mut self, spec: &Spec) {
        let mut owners: HashMap<String, HashSet<&str>> = HashMap::new();
        for stream in &spec.workstreams {
            if let Some(gate) = &stream.gate {
                owners.entry(fold(gate)).or_default().insert(&stream.id);
            }
        }
        for phase in &spec.phases {
            for gate in &phase.gates {
                owners.entry(fold(gate)).or_default().extend(phase.parallel.iter().map(String::as_str));
            }
        }
        let lists = [("gates_passed", &self.checkpoint.passed), ("gates_pending", &self.checkpoint.waiting)];
        for (key, gates) in lists {
            for gate in gates {
                let Some(owners) = owners.get(&fold(&gate.name)) else { continue };
                if let Some(step) = steps_of(gate).find(|step| !owners.contains(step)) {
                    let message = format!("the gate {:?} does not belong to {step:?} in the specification", gate.name);
                    self.at(key, &codes::BUILD_GATE_WORKSTREAM, message);
                }
            }
        }
    }

    fn dependencies_of(&mut self, spec: &Spec) {
        let bucket = |id: &str| self.checkpoint.bucket_of.get(id).copied();
        let is_open = |id: &&String| matches!(bucket(id), Some(Bucket::Pending | Bucket::InProgress | Bucket::Failed));
        for stream in spec.workstreams.iter().filter(|stream| bucket(&stream.id) == Some(Bucket::Completed)) {
            if let Some(open) = stream.depends_on.iter().find(is_open) {
                let message = format!("{:?} is completed, but depends on {open:?}, which is not", stream.id);
                self.at("completed_workstreams", &codes::BUILD_DEPENDENCY_OPEN, message);
            }
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
        let phases = spec.phases.len();
        let Some(phase) = self.checkpoint.phase.and_then(|phase| usize::try_from(phase).ok()) else { return };
        if phases > 0 && phase > phases {
            let phases = counted(phases, "phase", "phases");
            let message = format!("`current_phase` is {phase}, but the specification has {phases}");
            return self.at("current_phase", &codes::BUILD_PHASE_RANGE, message);
        }
        let is_pending = |id: &&String| self.checkpoint.bucket_of.get(*id) == Some(&Bucket::Pending);
        let before = spec.phases.iter().take(phase.saturating_sub(1)).enumerate();
        let mut left = before.filter_map(|(number, left)| Some((number + 1, left.parallel.iter().find(is_pending)?)));
        if let Some((number, id)) = left.next() {
            let message = format!("`current_phase` is {phase}, but {id:?} of phase {number} is pending");
            self.at("current_phase", &codes::BUILD_PHASE_PENDING, message);
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

/// The gates of a specification: those it defines, and those that a workstream or a phase names. One that is only named
/// has no command of its own: piton.toml names one, or a person judges it.
pub(super) fn gate_names(spec: &Spec) -> Vec<&str> {
    let defined = spec.gates.iter().map(|gate| gate.name.as_str());
    let by_streams = spec.workstreams.iter().filter_map(|stream| stream.gate.as_deref());
    let by_phases = spec.phases.iter().flat_map(|phase| phase.gates.iter().map(String::as_str));
    let mut seen = HashSet::new();
    defined.chain(by_streams).chain(by_phases).filter(|name| seen.insert(fold(name))).collect()
}

/// Why a review keeps the build from going on.
pub(super) fn not_shippable(review: Review) -> String {
    let blocking = usize::try_from(review.blocking).unwrap_or(usize::MAX);
    format!("the verdict is do_not_ship with {}", counted(blocking, "blocking finding", "blocking findings"))
}
