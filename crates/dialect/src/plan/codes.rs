//! Findings of `plan` documents.

use crate::codes::codes;

codes! { PLAN:
    /// There is a state file but no readable `plan.md`. What is done is shown from the last known state, and nothing can be ticked.
    PLAN_MISSING = Error "plan-missing", "restore plan.md from git or a backup";
    /// The plan has checkboxes, but none carries a TASK marker, so none is counted.
    PLAN_NO_MARKERS = Note "plan-no-markers", "give every box an id with" => PLAN_MARK "UNIT";
    /// The plan has no checkbox at all.
    PLAN_EMPTY = Note "plan-empty", "write tasks as `- [ ] text <!-- TASK: id -->`";
    /// Some checkboxes carry a marker and others do not. Those without are not counted.
    PLAN_UNMARKED_BOX = Note "plan-unmarked-box", "give every box an id with" => PLAN_MARK "UNIT";
    /// An id stands at two tasks, criteria or phases, in one file or in two files of the plan. The last one counts, once, so the other can never be ticked.
    PLAN_DUPLICATE_ID = Error "plan-duplicate-id", "give each task, criterion and phase an id of its own";
    /// A TASK or ACCEPT marker does not belong to a checkbox. It is not counted.
    PLAN_NO_BOX = Warning "plan-no-box", "put the marker behind a checkbox: `- [ ] text <!-- TASK: id -->`";
    /// An id holds something else than letters, digits, `_` and `-`. The marker is not counted.
    PLAN_BAD_ID = Error "plan-bad-id", "use letters, digits, `_` and `-` only";
    /// A box carries two TASK or two ACCEPT markers. The first one counts.
    PLAN_TWO_MARKERS = Warning "plan-two-markers", "split the line into two tasks";
    /// A marker or box is not in the form that the protocol shows: other bullets, `[X]`, other spacing, empty text. It is read.
    PLAN_NOT_CANONICAL = Note "plan-not-canonical", "write `- [x] text <!-- TASK: id -->`";
    /// A comment never ends, so everything after it is hidden, tasks included.
    PLAN_OPEN_COMMENT = Error "plan-open-comment", "close the comment with `-->`";
    /// A phase has neither tasks nor acceptance criteria. It counts as completed.
    PLAN_EMPTY_PHASE = Note "plan-empty-phase", "add tasks to the phase or remove its marker";
    /// A BLOCKER or DECISION marker has no text.
    PLAN_EMPTY_REMARK = Note "plan-empty-remark", "say what is decided or what blocks";
    /// `plan.md` has changed since the state was written. The plan is right; the state is brought up to date at the next write.
    PLAN_CHECKSUM = Note "plan-checksum", "nothing to do; any write brings the state up to date";
    /// A box that the state has as done is open in the plan: it was unticked, or an old plan came back.
    PLAN_BACKWARDS = Warning "plan-backwards", "look at the plan's history; tick again what is really done";
    /// The state's numbers do not follow from its own phases.
    PLAN_STATE_NUMBERS = Warning "plan-state-numbers", "nothing to do; any write corrects them";
    /// The state was written for this very plan, but says something else than follows from it: the position, how far a phase is, a blocker that the plan does not name. The plan is right.
    PLAN_STATE_DIFFERS = Warning "plan-state-differs", "nothing to do; any write corrects it";
    /// The state names a task that the plan does not have (any more).
    PLAN_STATE_UNKNOWN = Note "plan-state-unknown", "nothing to do; any write removes it";
    /// The state belongs to another plan than the directory it is in.
    PLAN_OTHER_ID = Warning "plan-other-id", "set `planId` to the name of the plan's directory";
    /// `planPath` leads elsewhere: the repository was moved or cloned. The path is not followed.
    PLAN_OTHER_PATH = Note "plan-other-path", "nothing to do; any write corrects it";
    /// `recovery.json` holds no usable state.
    PLAN_RECOVERY = Warning "plan-recovery", "nothing to do; the next backup replaces it";
    /// A line of `history.jsonl` is no JSON object. It is kept and passed over.
    PLAN_HISTORY_LINE = Warning "plan-history-line", "nothing to do; the line is kept";
    /// The last line of `history.jsonl` has no end: its write was torn.
    PLAN_HISTORY_TORN = Warning "plan-history-torn", "nothing to do; the next write begins a new line";
    /// The deprecated `.memory/progress.json` is there. It is recognised and not read.
    PLAN_LEGACY = Note "plan-legacy", "remove it once `.checkpoint/` exists";
}
