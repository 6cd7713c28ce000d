//! Finds every document of a workspace and reads it, one unit at a time.

mod build;
mod crew;
mod pipeline;
mod plan;
mod task;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use piton_dialect::{Detail, Reading};
use piton_model::{
    Dialect, Document, Finding, Patience, Role, Row, Said, Severity, Source as SignSource, Tally, Time, Unit, judge,
};

use crate::Workspace;
use crate::journals::Journals;

/// A unit as one set of documents describes it.
#[derive(Debug)]
pub(crate) struct Surveyed {
    pub unit: Unit,
    /// The directories that hold it and its id.
    pub full_name: String,
    pub findings: Vec<Finding>,
}

impl Surveyed {
    pub(crate) fn new(base: &str, unit: Unit, findings: Vec<Finding>) -> Surveyed {
        let id = part_of_name(unit.dialect, &unit.id);
        let full_name = if base.is_empty() { id.into_owned() } else { format!("{base}/{id}") };
        Surveyed { unit, full_name, findings }
    }

    /// The unit of a document, or findings without one. A document of the dialect that cannot be read still stands for
    /// its unit, which has the name that the file's name gives it; a foreign one does not.
    pub(crate) fn of_reading(
        base: &str,
        dialect: Dialect,
        path: &str,
        id: &str,
        reading: Reading,
    ) -> Result<Surveyed, Vec<Finding>> {
        let Reading { unit, findings } = reading;
        let unit = match unit {
            Some(unit) => unit,
            None if findings.iter().any(|finding| finding.code.severity == Severity::Error) => {
                Unit::unreadable(dialect, id, Document { path: path.into(), role: Role::Main, modified: None })
            }
            None => return Err(findings),
        };
        Ok(Surveyed::new(base, unit, findings))
    }

    /// No more of it than a line.
    pub(crate) fn into_line(self, now: Time) -> Line {
        let Surveyed { unit, full_name, findings } = self;
        let written = written(&unit);
        let judgement = judge(&unit.claim, &unit.signs, Patience::of(unit.dialect), now);
        let row = Row::new(unit, full_name, judgement.liveness, judgement.believed, Tally::of(&findings));
        Line { row, written }
    }
}

/// An id as the last part of a full name. A slash in it, which only a task's id may have, must not look like a
/// directory: `../../etc/x` is not the unit `x` of some directory.
fn part_of_name(dialect: Dialect, id: &str) -> Cow<'_, str> {
    let allowed = usize::from(dialect == Dialect::Task);
    if id.bytes().filter(|byte| *byte == b'/').count() <= allowed {
        Cow::Borrowed(id)
    } else {
        Cow::Owned(id.replace('/', "%2F"))
    }
}

/// When a unit's main document was written, as far as can be told: what it says itself, else its file's time.
pub(crate) fn written(unit: &Unit) -> Option<Time> {
    let said = |sign: &piton_model::Sign| match (&sign.source, &sign.said) {
        (SignSource::Field(_), Said::At(at)) => Some(*at),
        _ => None,
    };
    let own = unit.signs.iter().filter_map(said).max();
    own.or_else(|| unit.documents.first().and_then(|document| document.modified))
}

/// What a survey finds, as it finds it.
#[expect(
    clippy::large_enum_variant,
    reason = "lines are what there are thousands of, and a box from another thread is dear"
)]
pub(crate) enum Seen {
    Unit(Box<Surveyed>),
    /// A unit of which only a line is wanted. Large surveys make it where the document was read, so that the rest of
    /// the unit never leaves that thread.
    Line(Line),
    /// Findings about documents that belong to no unit.
    Loose(Vec<Finding>),
}

/// A unit as a row, and when its main document was written.
pub(crate) struct Line {
    pub row: Row,
    pub written: Option<Time>,
}

impl Seen {
    /// The same with no more of a unit than a line about it.
    pub(crate) fn into_line(self, now: Time) -> Seen {
        match self {
            Seen::Unit(surveyed) => Seen::Line(surveyed.into_line(now)),
            other => other,
        }
    }

    /// What a document gave.
    pub(crate) fn of_reading(base: &str, dialect: Dialect, path: &str, id: &str, reading: Reading) -> Seen {
        Surveyed::of_reading(base, dialect, path, id, reading).map_or_else(Seen::Loose, Seen::from)
    }
}

impl From<Surveyed> for Seen {
    fn from(surveyed: Surveyed) -> Seen {
        Seen::Unit(Box::new(surveyed))
    }
}

/// What a survey looks at, and how closely.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scope<'a> {
    /// Only this dialect.
    pub dialect: Option<Dialect>,
    /// Only documents below this directory.
    pub below: Option<&'a str>,
    /// How much of each unit is wanted.
    pub detail: Detail,
}

impl Scope<'_> {
    /// The whole workspace.
    pub fn new(detail: Detail) -> Self {
        Scope { dialect: None, below: None, detail }
    }

    fn holds(&self, path: &str) -> bool {
        let is_below = |below: &str| {
            let rest = path.strip_prefix(below);
            rest.is_some_and(|rest| below.is_empty() || rest.is_empty() || rest.starts_with('/'))
        };
        self.below.is_none_or(is_below)
    }
}

/// Reads every document in the scope and hands over what it finds.
pub(crate) fn survey(workspace: &Workspace, scope: &Scope<'_>, now: Time, see: &mut dyn FnMut(Seen)) {
    let mut journals = Journals::look(workspace, scope.dialect);
    let ahead = journals.ahead_of(workspace);
    let workspace = ahead.as_ref().unwrap_or(workspace);
    let see = &mut |mut seen: Seen| {
        if let Seen::Unit(surveyed) = &mut seen {
            let Surveyed { unit, full_name, .. } = &mut **surveyed;
            journals.add_to(unit, full_name);
        }
        see(seen);
    };
    let wanted = |dialect| scope.dialect.is_none_or(|only| only == dialect);
    let mut places = find_places(workspace, scope);
    if wanted(Dialect::Pipeline) {
        if scope.below.is_none() && !places.pipeline.contains_key("") && pipeline::has_strays(workspace, "") {
            places.pipeline.insert(String::new(), Vec::new());
        }
        for (base, files) in &places.pipeline {
            pipeline::survey(workspace, base, files, now, see);
        }
    }
    if wanted(Dialect::Build) {
        for (base, files) in &places.build {
            build::survey(workspace, base, files, &places.specs, now, see);
        }
    }
    if wanted(Dialect::Plan) {
        for (directory, files) in &places.plan {
            plan::survey(workspace, directory, files, now, see);
        }
    }
    if wanted(Dialect::Task) {
        for (base, files) in &places.task {
            task::survey(workspace, base, files, now, see);
        }
    }
    if wanted(Dialect::Crew) {
        for (base, files) in &places.crew {
            crew::survey(workspace, base, files, scope.detail, &journals, now, see);
        }
    }
}

/// The directory of the only plan, where nothing else is that could be a unit. Nothing is read.
pub(crate) fn only_plan(workspace: &Workspace) -> Option<String> {
    let places = find_places(workspace, &Scope::new(Detail::Line));
    let Places { pipeline, build, specs: _, plan, task, crew } = places;
    let is_alone = pipeline.is_empty() && build.is_empty() && task.is_empty() && crew.is_empty();
    let only = plan.keys().next().filter(|_| is_alone && plan.len() == 1)?;
    (!self::pipeline::has_strays(workspace, "")).then(|| only.clone())
}

/// Every specification of a build, by its path. Nothing is read.
pub(crate) fn specifications(workspace: &Workspace) -> Vec<String> {
    find_places(workspace, &Scope::new(Detail::Line)).specs.paths().to_vec()
}

/// Reads one plan, and nothing else.
pub(crate) fn read_plan(workspace: &Workspace, directory: &str, now: Time) -> Option<Unit> {
    let names = ["", ".checkpoint"].into_iter().flat_map(|inner| {
        let directory = if inner.is_empty() { directory.to_owned() } else { format!("{directory}/{inner}") };
        workspace.disk.list(&directory).into_iter().map(move |name| format!("{directory}/{name}"))
    });
    // The log only adds findings, and may be long.
    let wanted = |file: &piton_dialect::plan::layout::File| *file != piton_dialect::plan::layout::File::History;
    let files = names.filter_map(|path| {
        let (_, file) = piton_dialect::plan::layout::recognise(&path).filter(|(_, file)| wanted(file))?;
        Some((path, file))
    });
    let mut found = None;
    plan::survey(workspace, directory, &files.collect::<Vec<_>>(), now, &mut |seen| {
        if let Seen::Unit(surveyed) = seen {
            found = Some(surveyed.unit);
        }
    });
    found
}

/// Where each dialect's files are, by the directory that holds the dialect's own.
#[derive(Default)]
struct Places {
    pipeline: BTreeMap<String, Vec<(String, piton_dialect::pipeline::layout::File)>>,
    build: BTreeMap<String, Vec<(String, piton_dialect::build::layout::File)>>,
    specs: build::Specs,
    plan: BTreeMap<String, Vec<(String, piton_dialect::plan::layout::File)>>,
    task: BTreeMap<String, Vec<(String, piton_dialect::task::layout::File)>>,
    crew: BTreeMap<String, Vec<(Arc<str>, piton_dialect::crew::layout::File)>>,
}

fn find_places(workspace: &Workspace, scope: &Scope<'_>) -> Places {
    use piton_dialect::{build, crew, pipeline, plan, task};
    let mut places = Places::default();
    workspace.disk.walk(&mut |path| {
        if !scope.holds(path) {
            return;
        }
        // A path belongs to one dialect at most.
        if let Some((base, file)) = crew::layout::recognise(path) {
            add(&mut places.crew, base, path, file);
        } else if let Some((base, file)) = task::layout::recognise(path) {
            add(&mut places.task, base, path, file);
        } else if let Some((base, file)) = plan::layout::recognise(path) {
            add(&mut places.plan, base, path, file);
        } else if let Some((base, file)) = pipeline::layout::recognise(path) {
            add(&mut places.pipeline, base, path, file);
        } else if let Some((base, file)) = build::layout::recognise(path) {
            match file {
                build::layout::File::Checkpoint => add(&mut places.build, base, path, file),
                build::layout::File::Spec => places.specs.add(path),
            }
        }
    });
    places
}

fn add<P: for<'p> From<&'p str>, F>(places: &mut BTreeMap<String, Vec<(P, F)>>, base: &str, path: &str, file: F) {
    match places.get_mut(base) {
        Some(files) => files.push((path.into(), file)),
        None => {
            places.insert(base.to_owned(), vec![(path.into(), file)]);
        }
    }
}
