//! Usage limits and overload, as workers report them.

/// Something that a worker cannot get on against, and that passes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limit {
    /// Whom it concerns.
    pub scope: LimitScope,
    /// When it is over, in seconds since 1970; nothing when that was not said.
    pub resets_at: Option<i64>,
    /// The words in which it was reported, shortened.
    pub message: String,
}

/// Whom a limit concerns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitScope {
    /// The account: all workers of this kind run into it.
    Account,
    /// The service, for now: too many requests, or overloaded.
    Service,
    /// This worker alone.
    Worker,
}
