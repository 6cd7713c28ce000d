//! Where a writer looks for the specification of a build.

use std::collections::VecDeque;

use super::layout::{self, File};
use super::{FoundSpec, Wanted, prd_of, read_spec};
use crate::{Files, Place, Source};

/// How many directories are looked into for a specification that nothing names, and how deep.
const MOST_DIRECTORIES: usize = 200;
const DEEPEST: usize = 4;

/// Finds the specification: the one that the checkpoint names, else one whose file name holds the id, else one whose
/// front matter does. Where nothing names it, directories with a dot in their names and those of built or foreign code
/// are left out.
pub(super) fn find_spec(place: &Place, files: &dyn Files, wanted: &Wanted<'_>) -> FoundSpec {
    let named = wanted.path.filter(|path| is_inside(path));
    let project = layout::project_of(&place.base);
    let below = named.map(|path| if project.is_empty() { path.to_owned() } else { format!("{project}/{path}") });
    let by_name = below.into_iter().chain(named.map(str::to_owned));
    let found = by_name.into_iter().find_map(|path| Some((read(files, &path)?, path)));
    let found = found.or_else(|| {
        let path = by_id(project, files, wanted.prd)?;
        Some((read(files, &path)?, path))
    });
    match found {
        Some((bytes, path)) => {
            let source = Source { path: path.as_str().into(), bytes: &bytes, modified: None };
            FoundSpec::Read(Box::new(read_spec(&source)))
        }
        None => FoundSpec::Nothing,
    }
}

/// What cannot be read is no specification here; the survey reports it.
fn read(files: &dyn Files, path: &str) -> Option<Vec<u8>> {
    files.read(path).ok().flatten()
}

/// Whether a path stays in the workspace by its looks; links are judged when it is opened.
pub(super) fn is_inside(path: &str) -> bool {
    !path.starts_with('/') && path.split('/').all(|part| part != "..")
}

fn by_id(base: &str, files: &dyn Files, prd: &str) -> Option<String> {
    let mut queue = VecDeque::from([(base.to_owned(), 0)]);
    let (mut named, mut others) = (Vec::new(), Vec::new());
    for _ in 0..MOST_DIRECTORIES {
        let Some((directory, depth)) = queue.pop_front() else { break };
        for name in files.list(&directory) {
            let path = if directory.is_empty() { name.clone() } else { format!("{directory}/{name}") };
            match layout::recognise(&path) {
                Some((_, File::Spec)) if layout::ids_in(&name).contains(&prd) => named.push(path),
                Some((_, File::Spec)) => others.push(path),
                Some((_, File::Checkpoint)) => {}
                None if depth < DEEPEST && may_hold_specs(&name) => queue.push_back((path, depth + 1)),
                None => {}
            }
        }
    }
    // The shortest has no version or suffix.
    let shortest = |paths: Vec<String>| paths.into_iter().min_by_key(|path| (path.len(), path.clone()));
    others
        .retain(|path| named.is_empty() && read(files, path).and_then(|bytes| prd_of(&bytes)).as_deref() == Some(prd));
    shortest(named).or_else(|| shortest(others))
}

/// Whether a name is probably that of a directory with texts of people in it.
fn may_hold_specs(name: &str) -> bool {
    !name.contains('.') && !["node_modules", "target", "vendor", "dist"].contains(&name)
}
