use std::fmt;

/// Where a unit stands, with what there is to say about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// Nobody has begun.
    Queued,
    /// Work is under way, or claimed to be.
    Running,
    /// An agent has finished its part and waits for others.
    Waiting,
    /// Somebody stopped it on purpose; a person continues it.
    Paused {
        /// Why, when that is recorded.
        reason: Option<String>,
    },
    /// It cannot go on until something else happens; the unit's blockers say what.
    Blocked,
    /// Something broke.
    Failed {
        /// What broke, as recorded.
        error: String,
    },
    /// Nothing is left to do.
    Done,
    /// The document says something that no rule understands; it is never resumed without a person.
    Unknown,
}

/// The name of a [`State`], for tables and programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Lifecycle {
    /// See [`State::Failed`].
    Failed,
    /// See [`State::Blocked`].
    Blocked,
    /// See [`State::Unknown`].
    Unknown,
    /// See [`State::Running`].
    Running,
    /// See [`State::Waiting`].
    Waiting,
    /// See [`State::Paused`].
    Paused,
    /// See [`State::Queued`].
    Queued,
    /// See [`State::Done`].
    Done,
}

impl State {
    /// The name of this state.
    pub fn lifecycle(&self) -> Lifecycle {
        match self {
            State::Queued => Lifecycle::Queued,
            State::Running => Lifecycle::Running,
            State::Waiting => Lifecycle::Waiting,
            State::Paused { .. } => Lifecycle::Paused,
            State::Blocked => Lifecycle::Blocked,
            State::Failed { .. } => Lifecycle::Failed,
            State::Done => Lifecycle::Done,
            State::Unknown => Lifecycle::Unknown,
        }
    }
}

impl Lifecycle {
    /// All lifecycles, the ones that need somebody first.
    pub const ALL: [Lifecycle; 8] = [
        Lifecycle::Failed,
        Lifecycle::Blocked,
        Lifecycle::Unknown,
        Lifecycle::Running,
        Lifecycle::Waiting,
        Lifecycle::Paused,
        Lifecycle::Queued,
        Lifecycle::Done,
    ];

    /// The word that programs rely on.
    pub fn word(self) -> &'static str {
        match self {
            Lifecycle::Queued => "queued",
            Lifecycle::Running => "running",
            Lifecycle::Waiting => "waiting",
            Lifecycle::Paused => "paused",
            Lifecycle::Blocked => "blocked",
            Lifecycle::Failed => "failed",
            Lifecycle::Done => "done",
            Lifecycle::Unknown => "unknown",
        }
    }
}

impl fmt::Display for Lifecycle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}
