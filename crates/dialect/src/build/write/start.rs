//! Operation 1: the checkpoint comes into being.

use std::collections::{BTreeMap, HashSet};

use piton_model::hint::verbs;
use piton_model::text::counted;
use piton_model::{Arg, Change, Dialect, Effect, Hint, Id, Moment, Refusal, Severity, Start};
use serde_json::json;

use super::super::find_spec::{find_spec, is_inside};
use super::super::rules::gate_names;
use super::super::spec::{Spec, SpecReading, read_spec};
use super::super::{FoundSpec, Wanted};
use super::draft::guard;
use crate::json::Editor;
use crate::{Files, Place, Source};

/// How many oddities of a specification are told when a build starts.
const MOST_WARNINGS: usize = 5;

/// What a build consists of, and where that is written.
struct Outline {
    title: Option<String>,
    steps: Vec<String>,
    gates: Vec<String>,
    spec_path: Option<String>,
}

/// Makes the checkpoint of a build that has none.
pub(super) fn start(place: &Place, files: &dyn Files, start: &Start, moment: &Moment) -> Result<Change, Refusal> {
    refuse_what_is_unknown(start)?;
    let id = super::id(place);
    let mut warnings = Vec::new();
    if !is_prd(id) {
        warnings.push(format!("the protocol names PRDs like PRD-003, not {id}").into());
    }
    let outline = outline(place, files, start, &mut warnings)?;
    let title = start.title.as_deref().or(outline.title.as_deref()).unwrap_or(id);
    let mut document = json!({
        "prd": id,
        "prd_title": title,
        "current_phase": 0,
        "status": "initialized",
        "completed_workstreams": [],
        "in_progress_workstreams": [],
        "pending_workstreams": outline.steps,
        "artifacts": {},
        "gates_passed": [],
        "gates_pending": outline.gates,
        "timestamp": moment.now.to_string(),
    });
    if let Some(path) = outline.spec_path {
        document["exec_spec"] = path.into();
    }
    let (path, bytes) = (super::path(place), Editor::create(&document).into_bytes());
    // A specification that was not named may say something else.
    guard(place, files, &path, &bytes, moment, &BTreeMap::new())?;
    let steps = counted(outline.steps.len(), "workstream", "workstreams");
    let gates = counted(outline.gates.len(), "gate", "gates");
    Ok(Change {
        summary: format!("initialized with {steps} and {gates}"),
        warnings,
        effects: vec![Effect::Write { path, bytes }],
        next: None,
    })
}

fn refuse_what_is_unknown(start: &Start) -> Result<(), Refusal> {
    let given = [
        (!start.criteria.is_empty(), "acceptance criteria"),
        (start.total.is_some(), "total"),
        (start.agent_name.is_some(), "agent"),
        (start.feature.is_some(), "feature"),
        (start.stage.is_some(), "stage to start in"),
        (start.agent_type.is_some(), "agent type"),
        (start.estimate_minutes.is_some(), "estimate"),
    ];
    match given.iter().find(|(is_given, _)| *is_given) {
        Some((_, what)) => {
            Err(Refusal::usage(format!("a build has no {what}"))
                .hint("it takes --title, and --spec or --step and --gate"))
        }
        None => Ok(()),
    }
}

fn is_prd(id: &str) -> bool {
    let digits = id.strip_prefix("PRD-").filter(|digits| digits.len() == 3);
    digits.is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))
}

fn outline(place: &Place, files: &dyn Files, start: &Start, warnings: &mut Vec<Hint>) -> Result<Outline, Refusal> {
    let (id, name) = (super::id(place), place.unit(Dialect::Build));
    if let Some((path, text)) = &start.spec {
        if !start.steps.is_empty() || !start.gates.is_empty() {
            return Err(Refusal::usage("a specification names the workstreams and gates; give one or the other"));
        }
        let reading = read_spec(&Source { path: path.as_str().into(), bytes: text.as_bytes(), modified: None });
        let outline = from_spec(id, path, reading, warnings)?;
        if outline.spec_path.is_none() {
            warnings.push(
                format!("the specification lies outside of the workspace and is not looked at again: {path}").into(),
            );
        }
        return Ok(outline);
    }
    if start.steps.is_empty() {
        return match find_spec(place, files, &Wanted { path: None, prd: id }) {
            FoundSpec::Read(reading) => {
                let path = reading.document.path.to_string();
                from_spec(id, &path, *reading, warnings)
            }
            FoundSpec::Nothing => Err(Refusal::usage("a build needs a specification, or its workstreams")
                .hint(verbs::START.on(&name).filled("--title", "TITLE").filled("--spec", "FILE"))
                .hint(
                    verbs::START
                        .on(name)
                        .filled("--title", "TITLE")
                        .with("--step", Arg::Word("WS1"))
                        .with("--step", Arg::Word("WS2"))
                        .with("--gate", Arg::Word("lint")),
                )),
        };
    }
    let steps = ids("workstream", &start.steps)?;
    let gates = ids("gate", &start.gates)?;
    Ok(Outline { title: None, steps, gates, spec_path: None })
}

fn from_spec(id: &str, path: &str, reading: SpecReading, warnings: &mut Vec<Hint>) -> Result<Outline, Refusal> {
    let errors: Vec<_> = reading
        .findings
        .iter()
        .filter(|found| found.code.severity == Severity::Error)
        .map(|found| &found.message)
        .collect();
    let Some(spec) = reading.spec.filter(|spec| !spec.workstreams.is_empty()) else {
        let why = errors.first().map_or("its front matter names no workstreams", |why| why.as_str());
        return Err(Refusal::document(format!("the specification cannot be used: {why}: {path}"))
            .hint(verbs::CHECK.call().path(path).to("see what is wrong with")));
    };
    warnings.extend(errors.into_iter().take(MOST_WARNINGS).map(|why| format!("in the specification: {why}").into()));
    if let Some(prd) = spec.prd.as_deref().filter(|prd| *prd != id) {
        warnings.push(format!("the specification belongs to {prd}, not to {id}").into());
    }
    let steps = steps_of(&spec, path)?;
    let mut seen = HashSet::new();
    let gates = gate_names(&spec).into_iter().filter(|name| !name.trim().is_empty() && seen.insert(*name));
    let gates = gates.map(str::to_owned).collect();
    let spec_path = is_inside(path).then(|| path.to_owned());
    Ok(Outline { title: spec.title, steps, gates, spec_path })
}

fn steps_of(spec: &Spec, path: &str) -> Result<Vec<String>, Refusal> {
    let mut seen = HashSet::new();
    let mut steps = Vec::new();
    for stream in &spec.workstreams {
        if let Err(why) = Id::parse(&stream.id) {
            let message = format!("the specification has a workstream {:?}, which is no id: {why}: {path}", stream.id);
            return Err(Refusal::document(message));
        }
        if seen.insert(stream.id.as_str()) {
            steps.push(stream.id.clone());
        }
    }
    Ok(steps)
}

/// Names that were typed: each an id, none twice.
fn ids(what: &str, names: &[String]) -> Result<Vec<String>, Refusal> {
    let mut seen = HashSet::new();
    for name in names {
        if let Err(why) = Id::parse(name) {
            return Err(Refusal::usage(format!("{name:?} cannot be the name of a {what}: {why}")));
        }
        if !seen.insert(name) {
            return Err(Refusal::usage(format!("the {what} {name} is named twice")));
        }
    }
    Ok(names.to_vec())
}
