//! Which events are legal where: one lifecycle, with each dialect's own arrows.

use crate::{Dialect, Event, Lifecycle, NotePurpose, Refusal};

/// What is asked of a unit, as far as its lifecycle is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Act {
    /// Start it: there is no unit yet, or the one there is does not run.
    Start,
    /// Move its work: steps, stages, gates, verdicts.
    Work,
    Block,
    Unblock,
    Pause,
    Fail,
    /// Write something down; it changes nothing about where the unit stands.
    Note,
    Beat,
    Finish,
    Resume,
    /// Take it over or begin it again.
    Replace,
    Reopen,
}

use Act::{Beat, Block, Fail, Finish, Note, Pause, Reopen, Replace, Resume, Start, Unblock, Work};

/// Refuses an event that the unit's lifecycle does not allow, and says what it does allow.
///
/// What a dialect asks beyond that (a gate before the next phase, a criterion before the end) is its own affair.
pub fn permit(dialect: Dialect, unit: &str, lifecycle: Lifecycle, event: &Event) -> Result<(), Refusal> {
    let legal = legal(dialect, lifecycle);
    let Some(act) = act_of(event) else { return Ok(()) };
    if legal.contains(&act) {
        return Ok(());
    }
    let verbs: Vec<&str> = legal.iter().flat_map(|act| verbs_of(dialect, *act)).copied().collect();
    let article = if lifecycle == Lifecycle::Unknown { "an" } else { "a" };
    let refusal = Refusal::rule(format!("{article} {lifecycle} unit cannot be {}", deed(act)));
    let refusal = match legal.first() {
        Some(first) => refusal.hint(format!("{}: piton {}", first_aid(*first), example(*first, unit))),
        None => refusal,
    };
    Err(refusal.hint(format!("legal from here: {}", verbs.join(", "))))
}

/// The arrows. A list is what is legal, most likely first.
fn legal(dialect: Dialect, lifecycle: Lifecycle) -> &'static [Act] {
    match (dialect, lifecycle) {
        // A plan's text decides whether it is done, so work goes on by unticking a box.
        (Dialect::Plan, Lifecycle::Done) => &[Reopen, Finish, Note, Work, Beat, Unblock, Start],
        (Dialect::Plan, Lifecycle::Queued) => &[Start, Work, Note, Beat, Block, Unblock, Pause, Fail, Resume, Finish],
        // A plan's blocker is a remark: it says that something is in the way, and other tasks may still be done.
        (Dialect::Plan, Lifecycle::Blocked) => &[Unblock, Work, Resume, Note, Beat, Block, Pause, Fail, Finish, Start],
        (Dialect::Plan, Lifecycle::Running) => &[Work, Beat, Note, Block, Unblock, Pause, Fail, Finish, Resume, Start],
        (Dialect::Plan, Lifecycle::Paused) => &[Resume, Unblock, Note, Beat, Pause, Start],
        (Dialect::Plan, Lifecycle::Unknown) => &[Note, Beat, Block, Unblock],
        (Dialect::Build, Lifecycle::Queued) => {
            &[Work, Resume, Note, Beat, Pause, Block, Unblock, Fail, Finish, Replace]
        }
        (Dialect::Build, Lifecycle::Done) => &[Replace, Note, Finish],
        // Approval of a pause is what continues a build.
        (Dialect::Build, Lifecycle::Paused) => &[Resume, Work, Unblock, Note, Pause, Block, Finish, Fail, Replace],
        (Dialect::Build, Lifecycle::Failed) => &[Resume, Unblock, Note, Replace],
        // A review that blocks is answered by another verdict; a build that is called complete and is not is opened again.
        (Dialect::Build, Lifecycle::Blocked) => {
            &[Unblock, Work, Note, Beat, Block, Pause, Fail, Resume, Finish, Replace, Reopen]
        }
        (Dialect::Pipeline, Lifecycle::Done) => &[Reopen, Finish, Note, Start],
        // A story that is called DONE and is not finished is opened again.
        (Dialect::Pipeline, Lifecycle::Blocked) => &[Unblock, Resume, Note, Beat, Block, Pause, Fail, Replace, Reopen],
        (Dialect::Pipeline, Lifecycle::Paused) => &[Resume, Unblock, Note, Beat, Pause, Replace],
        // An agent that is complete goes on giving signs of life until the others are.
        (Dialect::Crew, Lifecycle::Done) => &[Reopen, Note, Beat, Start],
        // A claim of completion that is not true counts as blocked, and is opened again.
        (Dialect::Task, Lifecycle::Blocked) => &[Unblock, Resume, Note, Beat, Block, Fail, Replace, Reopen],
        (_, Lifecycle::Queued) => &[Start, Work, Resume, Note, Beat, Block, Pause, Fail, Replace],
        (_, Lifecycle::Running) => &[Work, Beat, Note, Block, Unblock, Pause, Fail, Finish, Resume, Replace],
        (_, Lifecycle::Waiting) => &[Work, Beat, Note, Block, Unblock, Pause, Finish, Resume, Replace],
        (_, Lifecycle::Paused) => &[Resume, Unblock, Note, Beat, Replace],
        (_, Lifecycle::Blocked) => &[Unblock, Resume, Note, Beat, Block, Fail, Replace],
        (_, Lifecycle::Failed) => &[Resume, Unblock, Note, Replace],
        (_, Lifecycle::Done) => &[Reopen, Note, Start],
        // A status that nobody understands is a person's business.
        (_, Lifecycle::Unknown) => &[Note, Replace],
    }
}

fn act_of(event: &Event) -> Option<Act> {
    Some(match event {
        Event::Started(_) => Start,
        Event::StepMoved(_) | Event::StageEntered { .. } | Event::GateJudged(_) | Event::VerdictGiven(_) => Work,
        Event::Blocked { .. } => Block,
        Event::Unblocked { .. } => Unblock,
        Event::Paused { .. } => Pause,
        Event::Failed { .. } => Fail,
        Event::Noted { purpose: NotePurpose::Note | NotePurpose::ResumeInstruction, .. } | Event::Decided { .. } => {
            Note
        }
        Event::Beat => Beat,
        Event::Finished => Finish,
        Event::Resumed { .. } => Resume,
        Event::TakenOver { .. } | Event::Restarted { .. } => Replace,
        Event::Reopened => Reopen,
        // Housekeeping is legal wherever there is something to keep.
        Event::Repaired
        | Event::BackedUp { .. }
        | Event::HelperStarted { .. }
        | Event::HelperStopped { .. }
        | Event::Marked
        | Event::Checkpointed { .. }
        | Event::Crashed { .. }
        | Event::FilesTouched { .. }
        | Event::ToolFailed { .. } => return None,
    })
}

fn deed(act: Act) -> &'static str {
    match act {
        Start => "started",
        Work => "worked on",
        Block => "blocked",
        Unblock => "unblocked",
        Pause => "paused",
        Fail => "failed",
        Note => "annotated",
        Beat => "kept alive by a beat",
        Finish => "finished",
        Resume => "resumed",
        Replace => "taken over or restarted",
        Reopen => "reopened",
    }
}

/// When the example of an act is the thing to do.
fn first_aid(act: Act) -> &'static str {
    match act {
        Start | Work | Block | Pause | Fail | Note | Beat | Finish => "what is possible",
        Unblock => "when what blocks it is gone",
        Resume => "go on with it",
        Replace => "begin it again from nothing",
        Reopen => "open it again",
    }
}

/// An act as it is typed.
fn example(act: Act, unit: &str) -> String {
    match act {
        Start => format!("start {unit}"),
        Work => format!("step {unit} begin STEP"),
        Block => format!("block {unit} --message TEXT"),
        Unblock => format!("unblock {unit}"),
        Pause => format!("pause {unit}"),
        Fail => format!("fail {unit} --message TEXT"),
        Note => format!("note {unit} TEXT"),
        Beat => format!("beat {unit}"),
        Finish => format!("finish {unit}"),
        Resume => format!("resume {unit}"),
        Replace => format!("restart {unit}"),
        Reopen => format!("reopen {unit}"),
    }
}

fn verbs_of(dialect: Dialect, act: Act) -> &'static [&'static str] {
    match act {
        Start => &["start"],
        Work => match dialect {
            Dialect::Pipeline => &["step", "stage", "verdict"],
            Dialect::Plan => &["step", "stage", "gate"],
            Dialect::Build => &["step", "stage", "gate", "verdict"],
            Dialect::Task => &["step", "gate", "verdict"],
            Dialect::Crew => &["step", "stage"],
        },
        Block => &["block"],
        Unblock => &["unblock"],
        Pause => &["pause"],
        Fail => &["fail"],
        Note => &["note", "decide"],
        Beat => &["beat"],
        Finish => &["finish"],
        Resume => &["resume"],
        // A build has no agent of its own that another could replace.
        Replace if dialect == Dialect::Build => &["restart"],
        Replace => &["takeover", "restart"],
        Reopen => &["reopen"],
    }
}
