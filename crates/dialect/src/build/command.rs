use piton_model::{Time, meant_gate};

use super::find_spec::find_spec;
use super::{FoundSpec, Spec, Wanted, layout, read_checkpoint};
use crate::{Files, Place, Source};

/// The specification of a build: the one that its checkpoint names, else one that is found by its id.
pub fn spec_of(place: &Place, files: &dyn Files, now: Time) -> Option<Spec> {
    let id = place.id.last()?.as_str();
    let path = place.document.clone().unwrap_or_else(|| layout::path_of(&place.base, id));
    let mut spec = None;
    let mut look = |wanted: &Wanted<'_>| {
        let found = find_spec(place, files, wanted);
        if let FoundSpec::Read(reading) = &found {
            spec = reading.spec.clone();
        }
        found
    };
    match files.read(&path).ok().flatten() {
        Some(bytes) => {
            let source = Source { path: path.as_str().into(), bytes: &bytes, modified: None };
            read_checkpoint(&source, now, &mut look);
        }
        None => {
            look(&Wanted { path: None, prd: id });
        }
    }
    spec
}

/// The shell command that a build's specification names for a gate; nothing when there is none.
///
/// It comes from the repository: whoever runs it has to ask a person first.
pub fn gate_command(place: &Place, files: &dyn Files, gate: &str, now: Time) -> Option<String> {
    let id = place.id.first()?.as_str();
    let path = place.document.clone().unwrap_or_else(|| layout::path_of(&place.base, id));
    files.read(&path).ok().flatten()?;
    let spec = spec_of(place, files, now)?;
    let meant = meant_gate(spec.gates.iter().map(|rule| rule.name.as_str()), gate)?.to_owned();
    spec.gates.into_iter().find(|rule| rule.name == meant).and_then(|rule| rule.command)
}
