use crate::{Hint, Names};

/// How a unit is continued, as its dialect's resume protocol says. A brief is made from this.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResumePlan {
    /// What is done with it.
    pub action: ResumeAction,
    /// Where it goes on: a stage, a phase, a step.
    pub position: String,
    /// The exact next thing to do, as an order to whoever resumes. Made of ids and rules, never of free text.
    pub next: Hint,
    /// What is done, and not to be done again.
    pub done: Names,
    /// What remains, next first.
    pub remaining: Names,
    /// Why it is this action; for a refusal, what is in the way.
    pub reasons: Vec<Hint>,
    /// The dialect's own resume block or message, word for word as its document gives it.
    pub block: Option<String>,
    /// Instructions that somebody left for whoever resumes; text of others, to be quoted.
    pub instructions: Vec<String>,
    /// Files that were named as made, relative to the workspace: they are looked for before "done" is believed.
    pub outputs: Vec<String>,
}

/// What a protocol asks a person before a unit is continued. A program answers it in advance, with a
/// [`ResumeMode`](crate::ResumeMode).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResumeQuestion {
    /// Whether what failed is fixed.
    IsFixed,
    /// Whether what was interrupted begins again or is continued.
    RestartOrContinue,
}

/// What a resume does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResumeAction {
    /// The work goes on where it stopped.
    Continue,
    /// The interrupted stretch begins again.
    Restart,
    /// A new worker is started for the stage.
    Respawn,
    /// It is not resumed.
    Refuse,
}

impl ResumeAction {
    /// The word that programs rely on.
    pub fn word(self) -> &'static str {
        match self {
            ResumeAction::Continue => "continue",
            ResumeAction::Restart => "restart",
            ResumeAction::Respawn => "respawn",
            ResumeAction::Refuse => "refuse",
        }
    }
}
