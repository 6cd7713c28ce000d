//! The vocabulary of Piton and its rules, as values and pure functions.
//!
//! Nothing in this crate reads a file, a clock or the environment, and no type here knows how it
//! is written on disk: formats live in `piton-dialect`, effects in `piton-store`.

pub mod authorship;
mod change;
mod dialect;
mod event;
mod finding;
pub mod fleet;
mod gate_name;
pub mod hint;
mod id;
mod led;
mod lifecycle;
mod liveness;
mod names;
mod output;
mod percent;
mod permit;
pub mod proof;
mod report;
mod resume;
mod retry;
mod rework;
pub mod secret;
pub mod seek;
pub mod text;
mod ticket;
mod time;
mod unit;

pub use change::{Change, Digest, Edit, Effect, Refusal, RefusalKind};
pub use dialect::Dialect;
pub use event::{
    Event, Evidence, ExecutionNote, FixKind, GateJudgement, Moment, NotePurpose, PlannedTask, ResumeMode, Start,
    StepMove, StepTo, Verdict,
};
pub use finding::{Code, Finding, Place, Severity, Tally};
pub use gate_name::{fold_gate, is_gate, is_same_gate, meant_gate};
pub use hint::{Arg, Audience, Hint, Invocation};
pub use id::{BadId, BadUnit, Id, UnitRef};
pub use led::{LEFT_TO_SESSION, Led, LedWork, USED_UP, UnitLead};
pub use lifecycle::{Lifecycle, State};
pub use liveness::{Believed, Judgement, Liveness, PassedOver, Patience, Rule, Said, Sign, Source, judge};
pub use names::Names;
pub use output::Output;
pub use percent::Percent;
pub use permit::{BuildStatus, permit};
pub use report::{Report, Row, Summary, shortest_names};
pub use resume::{ResumeAction, ResumePlan, ResumeQuestion};
pub use retry::RetryLimits;
pub use rework::Rework;
pub use ticket::{Admission, BadTicket, Shift, Ticket, admit};
pub use time::{Age, Time};
pub use unit::{Claim, Decision, Document, Gate, GateState, Note, Progress, Role, Step, StepState, Trouble, Unit};
