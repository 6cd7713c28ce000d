use piton_dialect::plan::layout::{self, File};
use piton_dialect::plan::{PlanFiles, read};
use piton_model::Time;
use piton_store::Content;

use super::{Seen, Surveyed};
use crate::Workspace;
use crate::workspace::source;

/// Reads the files of one plan.
pub(super) fn survey(
    workspace: &Workspace,
    directory: &str,
    files: &[(String, File)],
    now: Time,
    see: &mut dyn FnMut(Seen),
) {
    let mut unreadable = Vec::new();
    let mut contents: Vec<(&str, File, Content)> = Vec::new();
    for (path, file) in files {
        match workspace.read(path) {
            Ok(content) => contents.push((path, *file, content)),
            Err(finding) => unreadable.extend(finding),
        }
    }
    let mut plan = PlanFiles { directory: directory.to_owned(), ..PlanFiles::default() };
    for (path, file, content) in &contents {
        let source = source(path, content);
        match file {
            File::Plan => plan.plan = Some(source),
            File::Phase => plan.phases.push(source),
            File::State => plan.state = Some(source),
            File::History => plan.history = Some(source),
            File::Recovery => plan.recovery = Some(source),
            File::Legacy => plan.legacy = Some(source),
        }
    }
    let mut reading = read(&plan, now);
    reading.findings.extend(unreadable);
    let (base, _) = layout::id(directory);
    see(match reading.unit {
        Some(unit) => Surveyed::new(base, unit, reading.findings).into(),
        None => Seen::Loose(reading.findings),
    });
}
