use piton_dialect::crew::layout::File;
use piton_dialect::crew::read_checkpoint;
use piton_model::Time;

use super::{Seen, Surveyed};
use crate::Workspace;
use crate::workspace::source;

/// Reads the checkpoints of one epic.
pub(super) fn survey(
    workspace: &Workspace,
    base: &str,
    files: &[(String, File)],
    now: Time,
    see: &mut dyn FnMut(Seen),
) {
    for (path, _) in files.iter().filter(|(_, file)| *file == File::Checkpoint) {
        let content = match workspace.read(path) {
            Ok(content) => content,
            Err(finding) => {
                see(Seen::Loose(finding.into_iter().collect()));
                continue;
            }
        };
        let reading = read_checkpoint(&source(path, &content), now);
        see(match reading.unit {
            Some(unit) => Seen::Unit(Box::new(Surveyed::new(base, unit, reading.findings))),
            None => Seen::Loose(reading.findings),
        });
    }
}
