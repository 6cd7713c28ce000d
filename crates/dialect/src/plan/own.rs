//! Our own key in a plan's state: what the protocol has no place for.

use serde_json::{Value as NewValue, json};

use crate::content;
use crate::json::{Kind, Value};

/// What Piton keeps in a state's `piton` key, since the protocol has no key for it.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Own {
    /// Blockers that were recorded, and do not stand in the plan.
    pub blockers: Vec<String>,
    /// What was left to say to whoever resumes.
    pub instructions: Vec<String>,
    /// Since when and why the plan is paused.
    pub paused: Option<(String, Option<String>)>,
    /// When the plan was finished.
    pub finished: Option<String>,
    /// What a session said last, as it stands at the end of the notes.
    pub session_note: Option<String>,
    /// Checkpoints since the last copy was kept.
    pub since_backup: u64,
}

impl Own {
    /// Reads the key of a state.
    pub fn read(state: Value<'_, '_>) -> Own {
        let Some(own) = state.get("piton").filter(|own| own.kind() == Kind::Object) else { return Own::default() };
        let paused = own.get("paused").filter(|paused| paused.kind() == Kind::Object);
        Own {
            blockers: content::texts(own, "blockers"),
            instructions: content::texts(own, "resumeInstructions"),
            paused: paused
                .map(|paused| (content::text(paused, "time").unwrap_or_default(), content::text(paused, "reason"))),
            finished: content::text(own, "finishedAt"),
            session_note: own.get("sessionNote").and_then(|note| note.as_str()).map(|note| note.into_owned()),
            since_backup: own
                .get("sinceBackup")
                .and_then(Value::as_int)
                .and_then(|n| u64::try_from(n).ok())
                .unwrap_or(0),
        }
    }

    /// Its keys, each with a value or with none.
    pub fn keys(&self) -> Vec<(&'static str, Option<NewValue>)> {
        let list = |texts: &[String]| (!texts.is_empty()).then(|| json!(texts));
        let paused = self.paused.as_ref().map(|(time, reason)| match reason {
            Some(reason) => json!({"time": time, "reason": reason}),
            None => json!({"time": time}),
        });
        vec![
            ("blockers", list(&self.blockers)),
            ("resumeInstructions", list(&self.instructions)),
            ("paused", paused),
            ("finishedAt", self.finished.clone().map(NewValue::from)),
            ("sessionNote", self.session_note.clone().map(NewValue::from)),
            ("sinceBackup", Some(self.since_backup.into())),
        ]
    }
}
