use piton_model::Time;

use super::checkpoint::{is_ours, take, take_gates};
use super::spec::SpecReading;
use super::{codes, rules, unit, wire};
use crate::{Reading, Source, open_json, shape};

/// The specification that a checkpoint belongs to.
#[derive(Debug)]
pub struct Wanted<'w> {
    /// The path that the checkpoint names.
    pub path: Option<&'w str>,
    /// The PRD's id.
    pub prd: &'w str,
}

/// What was found of it.
#[derive(Debug)]
pub enum FoundSpec {
    /// The specification.
    Read(Box<SpecReading>),
    /// There is none.
    Nothing,
}

/// Reads a build's checkpoint; `find_spec` is asked for its specification.
pub fn read_checkpoint(source: &Source<'_>, now: Time, find_spec: &mut dyn FnMut(&Wanted<'_>) -> FoundSpec) -> Reading {
    let (json, mut findings) = open_json(source);
    let Some(json) = json else { return Reading { unit: None, findings: findings.finish() } };
    let root = json.root();
    if !is_ours(root) {
        let message = "this is not a build's checkpoint: it lists no workstreams and has no `prd` with a `status`";
        return Reading { unit: None, findings: findings.foreign(message) };
    }
    shape::check(root, wire::CHECKPOINT, now, &mut findings);
    let mut checkpoint = take(root, source);
    let path = checkpoint.spec_path.as_ref().map(|(_, path)| path.as_str());
    let reading = match find_spec(&Wanted { path, prd: &checkpoint.id }) {
        FoundSpec::Read(reading) => Some(*reading),
        FoundSpec::Nothing => None,
    };
    let leads_there = |path: &str| reading.as_ref().is_some_and(|reading| reading.document.path.ends_with(path));
    if let Some((key, path)) = checkpoint.spec_path.as_ref().filter(|(_, path)| !leads_there(path)) {
        let at = root.get(key).unwrap_or(root).span().start;
        findings.at(at, &codes::BUILD_SPEC_MISSING, format!("`{key}` is {path:?}, which is not there"));
    }
    let spec = reading.as_ref().and_then(|reading| reading.spec.as_ref());
    take_gates(&mut checkpoint, root, spec);
    rules::check(root, &checkpoint, spec, source, &mut findings);
    let mut unit = unit::unit(root, &checkpoint, spec, source);
    let mut findings = findings.finish();
    if let Some(reading) = reading {
        unit.documents.push(reading.document);
        findings.extend(reading.findings);
    }
    Reading { unit: Some(unit), findings }
}
