use std::cell::OnceCell;
use std::collections::HashMap;

use piton_dialect::Reading;
use piton_dialect::build::{FoundSpec, Wanted, layout, prd_of, read_checkpoint, read_spec};
use piton_model::{Dialect, Finding, Id, Time};

use super::Seen;
use crate::Workspace;
use crate::workspace::source;

/// The specifications of a workspace. They are many and long, so they are told apart by their names where that
/// is enough.
#[derive(Default)]
pub(super) struct Specs {
    paths: Vec<String>,
    by_name: OnceCell<HashMap<String, Vec<usize>>>,
    by_prd: OnceCell<HashMap<String, Vec<usize>>>,
}

impl Specs {
    pub(super) fn add(&mut self, path: &str) {
        self.paths.push(path.to_owned());
    }

    pub(super) fn paths(&self) -> &[String] {
        &self.paths
    }

    /// The specification whose name holds the id, else the one whose front matter does. Of several one inside of the
    /// project, and then the one with the shortest path, which has no version or suffix.
    fn find(&self, workspace: &Workspace, base: &str, prd: &str) -> Option<&str> {
        let by_name = self.by_name.get_or_init(|| self.index(ids_in));
        let by_prd = || self.by_prd.get_or_init(|| self.index(|path| prd_in(workspace, path)));
        let places = by_name.get(prd).or_else(|| by_prd().get(prd))?;
        let is_below =
            |path: &str| path.strip_prefix(base).is_some_and(|rest| base.is_empty() || rest.starts_with('/'));
        let place = places.iter().find(|place| is_below(&self.paths[**place])).or_else(|| places.first())?;
        Some(&self.paths[*place])
    }

    fn index(&self, ids: impl Fn(&str) -> Vec<String>) -> HashMap<String, Vec<usize>> {
        let mut index: HashMap<String, Vec<usize>> = HashMap::new();
        let mut places: Vec<_> = (0..self.paths.len()).collect();
        places.sort_by_key(|place| (self.paths[*place].len(), *place));
        for place in places {
            for id in ids(&self.paths[place]) {
                index.entry(id).or_default().push(place);
            }
        }
        index
    }
}

/// Reads the checkpoints of one project's builds, each with its specification.
pub(super) fn survey(
    workspace: &Workspace,
    base: &str,
    files: &[(String, layout::File)],
    specs: &Specs,
    now: Time,
    see: &mut dyn FnMut(Seen),
) {
    let project = layout::project_of(base);
    let mut readings = Vec::new();
    for (path, _) in files {
        let mut unreadable = Vec::new();
        let mut reading = match workspace.read(path) {
            Ok(content) => read_checkpoint(&source(path, &content), now, &mut |wanted| {
                find_spec(workspace, project, specs, wanted, &mut unreadable)
            }),
            Err(finding) => Reading { unit: None, findings: finding.into_iter().collect() },
        };
        reading.findings.extend(unreadable);
        readings.push((path, reading));
    }
    name_by_file(&mut readings);
    for (path, reading) in readings {
        see(Seen::of_reading(base, Dialect::Build, path, stem(path), reading));
    }
}

/// Two documents of one directory with the same id are two units: the one whose file has another name goes by that.
fn name_by_file(readings: &mut [(&String, Reading)]) {
    let mut count: HashMap<String, usize> = HashMap::new();
    for (_, reading) in readings.iter() {
        *count.entry(reading.unit.as_ref().map_or_else(String::new, |unit| unit.id.clone())).or_default() += 1;
    }
    for (path, reading) in readings {
        let Some(unit) = &mut reading.unit else { continue };
        if count[&unit.id] > 1 && Id::check(stem(path)).is_ok() {
            unit.id = stem(path).to_owned();
        }
    }
}

fn stem(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path).trim_end_matches(".json")
}

fn find_spec(
    workspace: &Workspace,
    base: &str,
    specs: &Specs,
    wanted: &Wanted<'_>,
    unreadable: &mut Vec<Finding>,
) -> FoundSpec {
    let below_base = wanted.path.filter(|_| !base.is_empty()).map(|path| format!("{base}/{path}"));
    let named = below_base.into_iter().chain(wanted.path.map(str::to_owned)).filter(|path| is_inside(path));
    // Looked for only when no named path leads to it.
    let by_id = std::iter::once_with(|| specs.find(workspace, base, wanted.prd).map(str::to_owned)).flatten();
    for path in named.chain(by_id) {
        match workspace.read(&path) {
            Ok(content) => return FoundSpec::Read(Box::new(read_spec(&source(&path, &content)))),
            Err(finding) => unreadable.extend(finding),
        }
    }
    FoundSpec::Nothing
}

/// Whether a path stays in the workspace by its looks; links are judged when it is opened.
fn is_inside(path: &str) -> bool {
    !path.starts_with('/') && path.split('/').all(|part| part != "..")
}

fn ids_in(path: &str) -> Vec<String> {
    let name = path.rsplit('/').next().unwrap_or(path);
    layout::ids_in(name).into_iter().map(str::to_owned).collect()
}

fn prd_in(workspace: &Workspace, path: &str) -> Vec<String> {
    // What cannot be read here is reported when a checkpoint turns out to need it.
    workspace.disk.read(path).ok().and_then(|content| prd_of(&content.bytes)).into_iter().collect()
}
