use piton_model::Time;

use super::find_spec::find_spec;
use super::{FoundSpec, Wanted, layout, read_checkpoint};
use crate::{Files, Place, Source};

/// The shell command that a build's specification names for a gate; nothing when there is none.
///
/// It comes from the repository: whoever runs it has to ask a person first.
pub fn gate_command(place: &Place, files: &dyn Files, gate: &str, now: Time) -> Option<String> {
    let id = place.id.first()?.as_str();
    let path = place.document.clone().unwrap_or_else(|| place.path(&layout::path_of(id)));
    let bytes = files.read(&path).ok().flatten()?;
    let source = Source { path: path.as_str().into(), bytes: &bytes, modified: None };
    let mut command = None;
    read_checkpoint(&source, now, &mut |wanted: &Wanted<'_>| {
        let found = find_spec(place, files, wanted);
        if let FoundSpec::Read(reading) = &found {
            let gates = reading.spec.iter().flat_map(|spec| &spec.gates);
            command = gates.into_iter().find(|rule| rule.name == gate).and_then(|rule| rule.command.clone());
        }
        found
    });
    command
}
