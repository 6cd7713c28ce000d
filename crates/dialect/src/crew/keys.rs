use crate::json::Value;

/// The keys that are looked up, in the order in which documents hold them: that is where the next one is looked for.
const KEYS: [&str; 17] = [
    "agent_id",
    "agent_type",
    "session_id",
    "feature",
    "stage",
    "phase",
    "last_checkpoint",
    "next_checkpoint_expected",
    "status",
    "can_resume",
    "blockers",
    "recovery_instructions",
    "current_step",
    "completed_steps",
    "next_steps",
    "timestamp",
    "next_action",
];

/// The values of a checkpoint that its unit and the rules are made of, each looked up once.
pub(super) struct Keys<'a, 'j> {
    pub root: Value<'a, 'j>,
    pub agent_id: Option<Value<'a, 'j>>,
    pub agent_type: Option<Value<'a, 'j>>,
    pub session_id: Option<Value<'a, 'j>>,
    pub feature: Option<Value<'a, 'j>>,
    pub stage: Option<Value<'a, 'j>>,
    pub phase: Option<Value<'a, 'j>>,
    pub last_checkpoint: Option<Value<'a, 'j>>,
    pub next_checkpoint_expected: Option<Value<'a, 'j>>,
    pub status: Option<Value<'a, 'j>>,
    pub can_resume: Option<Value<'a, 'j>>,
    pub blockers: Option<Value<'a, 'j>>,
    pub recovery_instructions: Option<Value<'a, 'j>>,
    pub current_step: Option<Value<'a, 'j>>,
    pub completed_steps: Option<Value<'a, 'j>>,
    pub next_steps: Option<Value<'a, 'j>>,
    /// What real files hold for `last_checkpoint`.
    pub timestamp: Option<Value<'a, 'j>>,
    /// What real files hold for `current_step`.
    pub next_action: Option<Value<'a, 'j>>,
}

impl<'a, 'j> Keys<'a, 'j> {
    /// Finds the keys of an object.
    pub fn of(root: Value<'a, 'j>) -> Keys<'a, 'j> {
        let [
            agent_id,
            agent_type,
            session_id,
            feature,
            stage,
            phase,
            last_checkpoint,
            next_checkpoint_expected,
            status,
            can_resume,
            blockers,
            recovery_instructions,
            current_step,
            completed_steps,
            next_steps,
            timestamp,
            next_action,
        ] = root.pick(KEYS);
        Keys {
            root,
            agent_id,
            agent_type,
            session_id,
            feature,
            stage,
            phase,
            last_checkpoint,
            next_checkpoint_expected,
            status,
            can_resume,
            blockers,
            recovery_instructions,
            current_step,
            completed_steps,
            next_steps,
            timestamp,
            next_action,
        }
    }
}
