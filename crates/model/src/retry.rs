//! How often the work on a story is retried before a person has to look at it.

/// The retries that are granted to a story. A limit of n grants n; the next one pauses the story.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryLimits {
    /// Reworks after a failed quality gate.
    pub reworks: u32,
    /// Validations after a NO-GO.
    pub validations: u32,
    /// New workers after a crash.
    pub respawns: u32,
}

impl RetryLimits {
    /// For a document whose settings are not known: nothing is ever over the limit.
    pub const UNKNOWN: RetryLimits = RetryLimits { reworks: u32::MAX, validations: u32::MAX, respawns: u32::MAX };
}

impl Default for RetryLimits {
    /// What the pipeline protocol grants.
    fn default() -> RetryLimits {
        RetryLimits { reworks: 2, validations: 1, respawns: 1 }
    }
}
