//! Which events are legal where: one lifecycle, with each dialect's own arrows.

use crate::hint::verbs;
use crate::{Dialect, Event, Hint, Lifecycle, NotePurpose, Refusal};

/// What is asked of a unit, as far as its lifecycle is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Act {
    /// Start it: there is no unit yet, or the one there is does not run.
    Start,
    /// Move its work: steps, stages, gates, verdicts.
    Work,
    /// Judge a gate where nobody works: a person's answer to what a lead paused for.
    Judge,
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

use Act::{Beat, Block, Fail, Finish, Judge, Note, Pause, Reopen, Replace, Resume, Start, Unblock, Work};

/// Refuses an event that the unit's lifecycle does not allow, and says what it does allow.
///
/// What a dialect asks beyond that (a gate before the next phase, a criterion before the end) is its own affair.
pub fn permit(dialect: Dialect, unit: &str, lifecycle: Lifecycle, event: &Event) -> Result<(), Refusal> {
    let legal = legal(dialect, lifecycle);
    let Some(act) = act_of(event) else { return Ok(()) };
    // Whoever may move the work may judge it.
    if legal.contains(&act) || (act == Judge && legal.contains(&Work)) {
        return Ok(());
    }
    let verbs: Vec<&str> = legal.iter().flat_map(|act| verbs_of(dialect, *act)).copied().collect();
    let article = if lifecycle == Lifecycle::Unknown { "an" } else { "a" };
    let refusal = Refusal::rule(format!("{article} {lifecycle} unit cannot be {}", deed(act)));
    let refusal = match legal.first() {
        Some(first) => refusal.hint(first_aid(dialect, lifecycle, *first, unit)),
        None => refusal,
    };
    Err(refusal.hint(format!("legal from here: {}", verbs.join(", "))))
}

/// The five statuses of a build's checkpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BuildStatus {
    /// The checkpoint was created; nothing is executed yet.
    Initialized,
    /// Workstreams are executed.
    InProgress,
    /// A person reviews it at a gate.
    Paused,
    /// A workstream or a gate failed.
    Failed,
    /// Every workstream is done and every gate has passed.
    Complete,
}

impl BuildStatus {
    /// All statuses, in the protocol's order.
    pub const ALL: [BuildStatus; 5] = [
        BuildStatus::Initialized,
        BuildStatus::InProgress,
        BuildStatus::Paused,
        BuildStatus::Failed,
        BuildStatus::Complete,
    ];

    /// The protocol's word.
    pub fn word(self) -> &'static str {
        match self {
            BuildStatus::Initialized => "initialized",
            BuildStatus::InProgress => "in_progress",
            BuildStatus::Paused => "paused",
            BuildStatus::Failed => "failed",
            BuildStatus::Complete => "complete",
        }
    }

    /// The status that a word of the protocol names.
    pub fn of(word: &str) -> Option<BuildStatus> {
        BuildStatus::ALL.into_iter().find(|status| status.word() == word)
    }

    /// Whether a build may go from this status to another one in a single step. These are all the arrows; every verb,
    /// `resume` and `run` obey them.
    ///
    /// An arrow out of `Failed` needs a fix, which somebody has to state. A restart makes a new checkpoint, and is none.
    pub fn leads_to(self, other: BuildStatus) -> bool {
        match self {
            BuildStatus::Initialized => other == BuildStatus::InProgress,
            BuildStatus::InProgress => {
                matches!(other, BuildStatus::Paused | BuildStatus::Failed | BuildStatus::Complete)
            }
            BuildStatus::Paused => other == BuildStatus::InProgress,
            BuildStatus::Failed => matches!(other, BuildStatus::InProgress | BuildStatus::Paused),
            BuildStatus::Complete => false,
        }
    }
}

/// The arrows. A list is what is legal, most likely first. A person may finish what is paused, once its work is complete; a
/// worker may not, which is the engine's affair.
fn legal(dialect: Dialect, lifecycle: Lifecycle) -> &'static [Act] {
    match (dialect, lifecycle) {
        // A plan's text decides whether it is done, so work goes on by unticking a box.
        (Dialect::Plan, Lifecycle::Done) => &[Reopen, Finish, Note, Work, Beat, Unblock, Start],
        (Dialect::Plan, Lifecycle::Queued) => &[Start, Work, Note, Beat, Block, Unblock, Pause, Fail, Resume, Finish],
        // A plan's blocker is a remark: it says that something is in the way, and other tasks may still be done.
        (Dialect::Plan, Lifecycle::Blocked) => &[Unblock, Work, Resume, Note, Beat, Block, Pause, Fail, Finish, Start],
        (Dialect::Plan, Lifecycle::Running) => &[Work, Beat, Note, Block, Unblock, Pause, Fail, Finish, Resume, Start],
        (Dialect::Plan, Lifecycle::Paused) => &[Resume, Unblock, Judge, Note, Beat, Pause, Finish, Start],
        (Dialect::Plan, Lifecycle::Unknown) => &[Note, Beat, Block, Unblock],
        // Nothing of it is executed yet, so there is nothing to pause and nothing to fail: see `BuildStatus::leads_to`.
        (Dialect::Build, Lifecycle::Queued) => &[Work, Resume, Note, Beat, Block, Unblock, Finish, Replace],
        (Dialect::Build, Lifecycle::Done) => &[Replace, Note, Finish],
        // Approval of a pause is what continues a build.
        (Dialect::Build, Lifecycle::Paused) => &[Resume, Work, Unblock, Note, Beat, Pause, Block, Finish, Replace],
        (Dialect::Build, Lifecycle::Failed) => &[Resume, Unblock, Note, Replace],
        // A review that blocks is answered by another verdict; a build that is called complete and is not is opened again.
        (Dialect::Build, Lifecycle::Blocked) => {
            &[Unblock, Work, Note, Beat, Block, Pause, Fail, Resume, Finish, Replace, Reopen]
        }
        (Dialect::Pipeline, Lifecycle::Done) => &[Reopen, Finish, Note, Start],
        // A story that is called DONE and is not finished is opened again.
        (Dialect::Pipeline, Lifecycle::Blocked) => &[Unblock, Resume, Note, Beat, Block, Pause, Fail, Replace, Reopen],
        (Dialect::Pipeline, Lifecycle::Paused) => &[Resume, Unblock, Note, Beat, Pause, Finish, Replace],
        // A person who unblocks a story says that its checkpoint counts.
        (Dialect::Pipeline, Lifecycle::Unknown) => &[Unblock, Note, Replace],
        // An agent that is complete goes on giving signs of life until the others are.
        (Dialect::Crew, Lifecycle::Done) => &[Reopen, Finish, Note, Beat, Start],
        (Dialect::Crew, Lifecycle::Paused) => &[Resume, Unblock, Note, Beat, Pause, Finish, Replace],
        // A claim of completion that is not true counts as blocked, and is opened again.
        (Dialect::Task, Lifecycle::Blocked) => &[Unblock, Resume, Note, Beat, Block, Fail, Replace, Reopen],
        // A checkpoint that its agent completed by hand is archived by finishing it.
        (Dialect::Task, Lifecycle::Done) => &[Reopen, Finish, Note, Start],
        (_, Lifecycle::Queued) => &[Start, Work, Resume, Note, Beat, Block, Pause, Fail, Replace],
        (_, Lifecycle::Running) => &[Work, Beat, Note, Block, Unblock, Pause, Fail, Finish, Resume, Replace],
        (_, Lifecycle::Waiting) => &[Work, Beat, Note, Block, Unblock, Pause, Finish, Resume, Replace],
        // A criterion may be what its lead paused it for.
        (_, Lifecycle::Paused) => &[Resume, Unblock, Judge, Note, Beat, Finish, Replace],
        (_, Lifecycle::Blocked) => &[Unblock, Resume, Note, Beat, Block, Fail, Replace],
        (_, Lifecycle::Failed) => &[Resume, Unblock, Note, Replace],
        // A status that nobody understands is a person's business.
        (_, Lifecycle::Unknown) => &[Note, Replace],
    }
}

fn act_of(event: &Event) -> Option<Act> {
    Some(match event {
        Event::Started(_) => Start,
        Event::StepMoved(_) | Event::StageEntered { .. } | Event::VerdictGiven(_) => Work,
        Event::GateJudged(_) | Event::CriteriaDropped { .. } => Judge,
        Event::Blocked { .. } => Block,
        Event::Unblocked { .. } => Unblock,
        Event::Paused { .. } => Pause,
        Event::Failed { .. } => Fail,
        Event::Noted { purpose: NotePurpose::Note | NotePurpose::ResumeInstruction, .. }
        | Event::ExecutionNoted(_)
        | Event::Decided { .. } => Note,
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
        Judge => "judged",
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

/// The next command, as it is typed. An act that needs more words than the unit's name is left to whoever reads.
fn first_aid(dialect: Dialect, lifecycle: Lifecycle, act: Act, unit: &str) -> Hint {
    match act {
        Start => verbs::START.on(unit).to("start it"),
        Unblock => verbs::UNBLOCK.on(unit).to("when what blocks it is gone"),
        Resume if dialect == Dialect::Build && lifecycle == Lifecycle::Failed => {
            verbs::RESUME.on(unit).flag("--fixed").to("when what failed is fixed")
        }
        Resume => verbs::RESUME.on(unit).to("continue it"),
        Replace => verbs::RESTART.on(unit).to("begin it again from nothing"),
        Reopen => verbs::REOPEN.on(unit).to("open it again"),
        Work | Judge | Block | Pause | Fail | Note | Beat | Finish => verbs::WHY.on(unit).to("see where it stands"),
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
        Judge => &["gate"],
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The protocol's picture, as it is drawn, and nothing else.
    #[test]
    fn a_build_has_the_arrows_of_its_picture() {
        let drawn = [
            ("initialized", "in_progress"),
            ("in_progress", "paused"),
            ("in_progress", "failed"),
            ("in_progress", "complete"),
            ("paused", "in_progress"),
            ("failed", "paused"),
            ("failed", "in_progress"),
        ];
        for from in BuildStatus::ALL {
            assert_eq!(BuildStatus::of(from.word()), Some(from));
            for to in BuildStatus::ALL {
                assert_eq!(from.leads_to(to), drawn.contains(&(from.word(), to.word())), "{from:?} to {to:?}");
            }
        }
    }

    /// What pauses and what fails a build is legal only where the picture has the arrow.
    #[test]
    fn acts_of_a_build_follow_its_arrows() {
        for (lifecycle, status) in [
            (Lifecycle::Queued, BuildStatus::Initialized),
            (Lifecycle::Running, BuildStatus::InProgress),
            (Lifecycle::Paused, BuildStatus::Paused),
            (Lifecycle::Failed, BuildStatus::Failed),
            (Lifecycle::Done, BuildStatus::Complete),
        ] {
            let legal = legal(Dialect::Build, lifecycle);
            let reaches = |to: BuildStatus| status == to || status.leads_to(to);
            assert!(!legal.contains(&Pause) || reaches(BuildStatus::Paused), "{status:?} is paused");
            assert!(!legal.contains(&Fail) || reaches(BuildStatus::Failed), "{status:?} fails");
            assert_eq!(legal.contains(&Work), reaches(BuildStatus::InProgress) && status != BuildStatus::Failed);
        }
    }

    #[test]
    fn a_refusal_names_a_command_without_blanks_to_fill_in() {
        let dialects = [Dialect::Pipeline, Dialect::Plan, Dialect::Build, Dialect::Task, Dialect::Crew];
        for (dialect, lifecycle) in dialects.into_iter().flat_map(|it| Lifecycle::ALL.map(|each| (it, each))) {
            let act = legal(dialect, lifecycle)[0];
            let hint = first_aid(dialect, lifecycle, act, "build:X");
            assert!(hint.commands.iter().all(|command| command.args.len() == 1), "{hint}");
        }
    }
}
