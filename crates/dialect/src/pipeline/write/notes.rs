//! What is written down beside the protocol's own keys.

use piton_model::{Evidence, Moment, NotePurpose, Refusal};
use serde_json::json;

use super::draft::{Draft, brief};

/// Adds a note, for whoever reads the checkpoint or for whoever resumes.
pub(super) fn noted(draft: &mut Draft, text: &str, purpose: NotePurpose, moment: &Moment) -> Result<String, Refusal> {
    if text.trim().is_empty() {
        return Err(Refusal::usage("the note is empty"));
    }
    let purpose = match purpose {
        NotePurpose::Note => "note",
        NotePurpose::ResumeInstruction => "resume",
    };
    let time = moment.now.to_string();
    draft.add_entry("notes", json!({ "timestamp": time, "by": moment.by, "purpose": purpose, "text": text }))?;
    Ok(format!("noted: {}", brief(text)))
}

/// Adds a decision.
pub(super) fn decided(draft: &mut Draft, text: &str, reason: Option<&str>, moment: &Moment) -> Result<String, Refusal> {
    if text.trim().is_empty() {
        return Err(Refusal::usage("the decision is empty"));
    }
    let mut entry = json!({ "timestamp": moment.now.to_string(), "by": moment.by, "decision": text });
    if let Some(reason) = reason {
        entry["reason"] = reason.into();
    }
    draft.add_entry("decisions", entry)?;
    Ok(format!("decided: {}", brief(text)))
}

/// Keeps what proves a task; the newest proof counts.
pub(super) fn evidence(draft: &mut Draft, of: &str, evidence: &Evidence, moment: &Moment) -> Result<(), Refusal> {
    draft.expect_object("evidence")?;
    let entry = json!({
        "command": evidence.command,
        "exit_code": evidence.exit_code,
        "digest": evidence.digest,
        "timestamp": moment.now.to_string(),
    });
    draft.editor.set(&["evidence", of], entry);
    Ok(())
}
