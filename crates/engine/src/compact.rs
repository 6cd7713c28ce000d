//! Makes the journal of a unit shorter.

use piton_dialect::pipeline;
use piton_model::hint::verbs;
use piton_model::{Dialect, Event, Refusal, UnitRef};
use piton_store::{CompactError, Keep};

use crate::Workspace;
use crate::record::{RecordError, Recorded, Recorder, Session};
use crate::target::Target;

/// Which versions stay when a journal is made shorter.
#[derive(Debug, Clone, Default)]
pub struct CompactRequest {
    /// So many of the newest.
    pub newest: u64,
    /// These, however old they are.
    pub named: Vec<u64>,
}

/// Leaves the oldest events of a unit out of its journal, and what only they knew. Numbers do not change. Nothing when
/// there is nothing to leave out.
pub fn compact(
    workspace: &Workspace,
    wanted: &UnitRef,
    request: &CompactRequest,
    recorder: &Recorder,
) -> Result<Option<Recorded>, RecordError> {
    let target = Target::find_with_journal(workspace, wanted, recorder.now)?;
    let mut session = Session::open(workspace, target, recorder)?;
    session.fence_writer(recorder, "compact")?;
    session.keep_plan(recorder);
    let attempt = session.unit.attempt();
    let entry = session.entry(recorder, "compacted", String::new(), attempt);
    let keep = Keep { newest: request.newest, named: request.named.iter().copied().collect() };
    let name = session.target.name.clone();
    let compacted = session.unit.compact(&keep, entry).map_err(|error| match error {
        CompactError::NoSuchVersion { seq } => RecordError::Refused(
            Refusal::missing(format!("{name} has no version @{seq}")).hint(verbs::LOG.on(&name).to("see them with")),
        ),
        CompactError::Broken { .. } | CompactError::Unequal { .. } => RecordError::Refused(
            Refusal::document(format!("the journal of {name} stays as it is: {error}"))
                .hint("nothing is left out of a journal that cannot be read as a whole"),
        ),
        CompactError::Disk(error) => error.into(),
    })?;
    Ok(compacted.map(|compacted| Recorded {
        unit: name,
        seq: compacted.seq,
        attempt,
        summary: compacted.to_string(),
        warnings: std::mem::take(&mut session.warnings),
        next: None,
        handoff: None,
    }))
}

impl Session<'_> {
    /// Writes a story's plan into its checkpoint before the versions go that alone know it.
    fn keep_plan(&mut self, recorder: &Recorder) {
        let moment = self.moment(&Event::Repaired, recorder);
        let is_story = self.target.dialect == Dialect::Pipeline;
        if is_story && pipeline::lacks_plan(&self.target.place, &self.files(), &moment) {
            // What cannot be repaired stays in the last version as it is.
            let _ = self.record(&Event::Repaired, recorder);
        }
    }
}
