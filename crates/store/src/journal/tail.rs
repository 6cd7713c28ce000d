use super::{Entry, FileChange, Hash, Line, Reader, parse_line};
use crate::disk::{DiskError, Handle};

/// The last event of a journal, and where its line is.
pub(crate) struct FoundTail {
    pub entry: Entry,
    pub sum: Hash,
    pub start: u64,
    pub end: u64,
}

/// Finds the last event that is whole. Only the end of the journal is read.
///
/// An event is written with the snapshots before it. When the machine may have lost power, those are looked at too:
/// the end of a write may have reached the disk without its beginning.
pub(crate) fn last_event(journal: &dyn Handle, size: u64, same_boot: bool) -> Result<Option<FoundTail>, DiskError> {
    let mut length = 8 * 1024;
    // Lines that end behind this place were looked at in vain.
    let mut end = size;
    loop {
        let from = size.saturating_sub(length);
        let bytes = journal.read_at(from, usize::try_from(end - from).unwrap_or(usize::MAX))?;
        let mut rest = &bytes[..];
        while let Some((start, line)) = last_line(rest, from == 0) {
            let line_start = from + start as u64;
            if let Some(parsed) = parse_line(line)
                && let Line::Event(entry) = parsed.line
                && (same_boot || is_whole(journal, &entry)?)
            {
                let end = line_start + line.len() as u64 + 1;
                return Ok(Some(FoundTail { entry: *entry, sum: parsed.sum, start: line_start, end }));
            }
            rest = &rest[..start];
        }
        end = from + rest.len() as u64;
        if from == 0 {
            return Ok(None);
        }
        length *= 8;
    }
}

/// The last line that has its end, and where it begins. Without the end of the line before it may be a part of one.
fn last_line(bytes: &[u8], is_all: bool) -> Option<(usize, &[u8])> {
    let end = bytes.iter().rposition(|byte| *byte == b'\n')?;
    let before = bytes[..end].iter().rposition(|byte| *byte == b'\n');
    let start = match before {
        Some(before) => before + 1,
        None if is_all => 0,
        None => return None,
    };
    Some((start, &bytes[start..end]))
}

/// Whether everything is there that was written together with an event: each snapshot, and before the first event the
/// head. Lines of earlier events do not count: they were durable before, and damage to them is no reason to forget
/// this one.
fn is_whole(journal: &dyn Handle, entry: &Entry) -> Result<bool, DiskError> {
    if entry.seq == 1 && !matches!(line_at(journal, 0)?, Some(Line::Head(_))) {
        return Ok(false);
    }
    for change in &entry.files {
        let FileChange::Write { path, after: Some(after), splice: None, .. } = change else { continue };
        let Some(state) = entry.document(path) else { return Ok(false) };
        match line_at(journal, state.base)? {
            Some(Line::Snapshot { path: found, bytes }) if found == *path && Hash::of(&bytes) == *after => {}
            _ => return Ok(false),
        }
    }
    Ok(true)
}

fn line_at(journal: &dyn Handle, at: u64) -> Result<Option<Line>, DiskError> {
    Ok(Reader::new(journal, at).next()?.flatten().map(|parsed| parsed.line))
}
