//! What whoever resumes a unit would be told. Nothing is locked, recorded or begun.

use piton_dialect::brief::{BriefFacts, brief};
use piton_model::{Audience, Moment, ResumeAction, Time, UnitRef};

use crate::find::find;
use crate::record::{DiskFiles, RecordError, fresh_id, resume_plan};
use crate::resume::{glance, lost_outputs};
use crate::target::Target;
use crate::{Resumption, Workspace};

/// Plans a resume and writes its brief as things stand, for the attempt that would begin.
///
/// It is no promise: when the unit is really resumed, somebody may have been at it, or be at it still.
pub fn preview(
    workspace: &Workspace,
    wanted: &UnitRef,
    budget: usize,
    audience: Audience,
    now: Time,
) -> Result<Resumption, RecordError> {
    let target = Target::find(workspace, wanted, now)?;
    let (_, ahead) = glance(workspace, &target)?;
    let workspace = ahead.as_ref().unwrap_or(workspace);
    let found = find(workspace, wanted, now).map_err(RecordError::NotFound)?;
    let attempt = found.unit.attempt.unwrap_or(0) + 1;
    let moment = Moment { now, by: "main".to_owned(), attempt, session: None, fresh_id: fresh_id(), ticket: None };
    let files = DiskFiles::new(&*workspace.disk, None);
    let plan = resume_plan(target.dialect, &target.place, &files, None, &moment).map_err(RecordError::Refused)?;
    let alarms = lost_outputs(workspace, &plan, None);
    let facts = BriefFacts {
        name: &target.name,
        attempt,
        plan: &plan,
        unit: &found.unit,
        alarms: &alarms,
        fence: &fresh_id(),
        budget,
        has_attempt: false,
        audience,
    };
    let brief = if plan.action == ResumeAction::Refuse { String::new() } else { brief(&facts) };
    Ok(Resumption { unit: target.name, attempt, seq: None, plan, brief, alarms, warnings: Vec::new(), question: None })
}
