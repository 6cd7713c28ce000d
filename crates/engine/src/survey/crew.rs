mod companions;

use std::sync::{Arc, Mutex, PoisonError};

use piton_dialect::crew::layout::File;
use piton_dialect::crew::{read_checkpoint, read_markdown, unit_of_status};
use piton_dialect::{Detail, Reading, Source};
use piton_model::{Dialect, Time};

use self::companions::Companions;
use super::{Seen, Surveyed};
use crate::Workspace;
use crate::journals::Journals;
use crate::parallel::map_in_order;
use crate::workspace::{Documents, shared_source};

/// Reads the checkpoints of one epic, with what the files beside them add.
///
/// Those files are read once for the epic, and only where a crew is at work: a lone STATUS file is anybody's.
pub(super) fn survey(
    workspace: &Workspace,
    base: &str,
    files: &[(Arc<str>, File)],
    detail: Detail,
    journals: &Journals,
    now: Time,
    see: &mut dyn FnMut(Seen),
) {
    if files.iter().all(|(_, file)| *file == File::Status) {
        return;
    }
    let has_companions = files.iter().any(|(_, file)| !matches!(file, File::Checkpoint | File::Markdown));
    let companions = Mutex::new(Companions::read(workspace, files, see));
    let live: Vec<_> = files.iter().filter(|(_, file)| matches!(file, File::Checkpoint | File::Markdown)).collect();
    let read_one = |documents: &mut Documents<'_>, (path, file): &&(Arc<str>, File)| {
        let reading = match file {
            File::Markdown => read(documents, path, |source| read_markdown(source, now)),
            _ => read(documents, path, |source| read_checkpoint(source, detail, now)),
        };
        let stem = if reading.unit.is_none() { stem_of(path) } else { "" };
        let mut surveyed = match Surveyed::of_reading(base, Dialect::Crew, path, stem, reading) {
            Ok(surveyed) => surveyed,
            Err(findings) => return Seen::Loose(findings),
        };
        // A checkpoint that cannot be read needs its backup most, so its unit is made first.
        if has_companions {
            let mut companions = companions.lock().unwrap_or_else(PoisonError::into_inner);
            companions.add_to(&mut surveyed.unit, &mut surveyed.findings, workspace);
        }
        if detail == Detail::Full {
            return surveyed.into();
        }
        journals.add_to(&mut surveyed.unit, &surveyed.full_name);
        Seen::Line(surveyed.into_line(now))
    };
    map_in_order(&live, || workspace.documents(), read_one, &mut *see);
    let mut companions = companions.into_inner().unwrap_or_else(PoisonError::into_inner);
    let is_crew = files.iter().any(|(_, file)| matches!(file, File::EpicReadme | File::Messages | File::Inbox));
    for feature in companions.unclaimed() {
        let mut findings = feature.findings;
        if is_crew && feature.file.describes_a_feature() {
            let source = Source { path: feature.document.path, bytes: &[], modified: feature.document.modified };
            let (mut unit, odd) = unit_of_status(&feature.file, &feature.name, &source, now);
            findings.extend(odd);
            companions.add_to(&mut unit, &mut findings, workspace);
            see(Surveyed::new(base, unit, findings).into());
        } else {
            see(Seen::Loose(findings));
        }
    }
    see(Seen::Loose(companions.loose()));
}

fn read(documents: &mut Documents<'_>, path: &Arc<str>, then: impl FnOnce(&Source<'_>) -> Reading) -> Reading {
    match documents.read(path) {
        Ok(content) => then(&shared_source(Arc::clone(path), content)),
        Err(finding) => Reading { unit: None, findings: finding.into_iter().collect() },
    }
}

fn stem_of(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.strip_suffix(".json").or_else(|| name.strip_suffix(".md")).unwrap_or(name)
}
