//! What is written down beside the protocol's own keys.

use piton_model::{Evidence, ExecutionNote, FixKind, Moment, NotePurpose, Refusal};
use serde_json::{Value as NewValue, json};

use super::draft::{Draft, brief};

/// The list of notes; each has a time, a writer, a purpose and a text.
pub(in super::super) const NOTES: &str = "execution_notes";

/// Adds a note, for whoever reads the checkpoint or for whoever resumes.
pub(super) fn noted(draft: &mut Draft, text: &str, purpose: NotePurpose, moment: &Moment) -> Result<String, Refusal> {
    if text.trim().is_empty() {
        return Err(Refusal::usage("the note is empty"));
    }
    let purpose = match purpose {
        NotePurpose::Note => "note",
        NotePurpose::ResumeInstruction => "resume",
    };
    add(draft, purpose, text, moment)?;
    Ok(format!("noted: {}", brief(text)))
}

/// Adds to the protocol's execution notes: `eslint_fixes`, `key_fixes`, `cleanup_done`.
pub(super) fn execution(draft: &mut Draft, note: &ExecutionNote) -> Result<String, Refusal> {
    match note {
        ExecutionNote::Fix { kind, file, change } => {
            let (file, change) = (file.trim(), change.trim());
            if file.is_empty() || file.starts_with('/') || file.split('/').any(|part| part == "..") {
                let message = format!("name the file relative to the workspace and inside of it, not {file:?}");
                return Err(Refusal::usage(message));
            }
            if change.is_empty() {
                return Err(Refusal::usage("say what was changed in the file: --message TEXT"));
            }
            let key = match kind {
                FixKind::Eslint => "eslint_fixes",
                FixKind::Key => "key_fixes",
            };
            draft.add_entry(key, json!({ "file": file, "change": change }))?;
            Ok(format!("{key}: {}: {}", brief(file), brief(change)))
        }
        ExecutionNote::Cleanup { text } => {
            let text = text.trim();
            if text.is_empty() {
                return Err(Refusal::usage("say what was cleaned up"));
            }
            draft.list(&["cleanup_done"])?;
            draft.editor.push_new(&["cleanup_done"], text);
            Ok(format!("cleanup_done: {}", brief(text)))
        }
    }
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

pub(super) fn add(draft: &mut Draft, purpose: &str, text: &str, moment: &Moment) -> Result<(), Refusal> {
    let time = moment.now.to_string();
    draft.add_entry(NOTES, json!({ "timestamp": time, "by": moment.by, "purpose": purpose, "text": text }))
}

/// Keeps what proves a step or gate, by its name; the newest proof counts.
pub(super) fn evidence(draft: &mut Draft, of: &str, evidence: &Evidence, moment: &Moment) -> Result<(), Refusal> {
    draft.expect_object("evidence")?;
    let entry: NewValue = json!({
        "command": evidence.command,
        "exit_code": evidence.exit_code,
        "digest": evidence.digest,
        "timestamp": moment.now.to_string(),
    });
    draft.editor.set(&["evidence", of], entry);
    Ok(())
}
