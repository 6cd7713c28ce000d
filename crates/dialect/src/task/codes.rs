//! Findings of `task` documents.

use crate::codes::codes;

codes! { TASK:
    /// A task claims to be complete although a criterion is unmet, a subtask failed or subtasks are left. It counts as blocked by exactly what is missing.
    TASK_PARTIAL_COMPLETION = Error "task-partial-completion", "correct the criteria, or open it again for what is missing" => REOPEN "UNIT";
    /// `progress_percent` is not 100 × completed / total, rounded down. 100 is only right when the task is complete.
    TASK_PROGRESS_PERCENT = Warning "task-progress-percent", "let `progress_percent` follow from `subtasks`";
    /// More subtasks are completed and failed than there are.
    TASK_COUNTERS = Error "task-counters", "correct the counters in `subtasks`";
    /// The counters in `subtasks` contradict `items`. When all subtasks are listed, the list counts.
    TASK_ITEMS_DISAGREE = Warning "task-items-disagree", "let the counters follow from `items`";
    /// Two subtasks have the same id, so nobody can tell which one is done.
    TASK_REPEATED_SUBTASK = Error "task-repeated-subtask", "give every subtask an id of its own";
    /// `checkpoint_id` does not begin with the agent and the task, joined by `-`.
    TASK_CHECKPOINT_ID = Warning "task-checkpoint-id", "write `{agent}-{task_id}-{date}-{time}`";
    /// The file's name is not `{agent}-{task_id}.json` (or an archive of that). Others look for the task under that name.
    TASK_FILE_NAME = Warning "task-file-name", "rename the file after `agent` and `task_id`";
    /// A complete task has no `completed_at`, or an unfinished one has it.
    TASK_COMPLETED_AT = Warning "task-completed-at", "set `completed_at` together with `status`";
    /// A complete task says that it can be resumed.
    TASK_COMPLETE_RESUMABLE = Warning "task-complete-resumable", "set `resumable` to false on completion";
    /// A task that is under way says that it cannot be resumed. If its agent dies, the work is lost.
    TASK_NOT_RESUMABLE = Note "task-not-resumable", "set `resumable` and say in `resume_instructions` how to go on";
    /// A blocked task lists no error, so nobody can know what to do about it.
    TASK_BLOCKED_WITHOUT_ERROR = Error "task-blocked-without-error", "say in `errors` what blocks it";
    /// An error is marked as blocking, but the task goes on.
    TASK_BLOCKING_ERROR = Warning "task-blocking-error", "set `status` to blocked, or `blocking` to false";
    /// A file is named as the archive of a completed task, but the task in it is not complete.
    TASK_ARCHIVE_NOT_COMPLETE = Warning "task-archive-not-complete", "rename it back, or remove the copy if a current one exists";
    /// An archive has findings, but a newer document of its task counts. They are listed when the archive itself is checked.
    TASK_ARCHIVE_SUPERSEDED = Note "task-archive-superseded", "nothing to do; check the archive by its path to see them";
    /// The heartbeat says something else than `alive`. When it says that the agent has stopped, its last beat is no sign of life.
    TASK_HEARTBEAT_STATUS = Note "task-heartbeat-status", "write `alive`, or leave the heartbeat out when the agent stops";
    /// A task was updated or completed before it was started.
    TASK_TIMES_REVERSED = Warning "task-times-reversed", "correct the times";
    /// `next_to_process` is what was processed last, so resuming would do it again.
    TASK_NEXT_IS_LAST = Warning "task-next-is-last", "set `context.next_to_process` to what comes next";
    /// Two tasks that are not finished name the same file. Their agents may overwrite each other.
    TASK_FILE_CONFLICT = Warning "task-file-conflict", "let one task finish first, or split the file";
    /// The managed block of STATUS.md has only one of its two marker comments, has them in the wrong order or twice. It is not updated.
    TASK_STATUS_BLOCK = Warning "task-status-block", "restore the marker comments, or remove both";
}
