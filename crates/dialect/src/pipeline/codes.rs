//! Findings of `pipeline` documents.

use crate::codes::codes;

codes! { PIPELINE:
    /// A checkpoint lacks what its stage requires: `planScore` at 0; `readiness` and `verdict` at 1, with `reason` when NO-GO; `verdict` and `qualityScore` at 3, with `issues` when FAIL.
    PIPELINE_STAGE_FIELD = Error "pipeline-stage-field", "add the key that the stage requires";
    /// The verdict is not one of the stage's: GO and NO-GO belong to stage 1, PASS, CONCERNS, WAIVED and FAIL to stage 3.
    PIPELINE_VERDICT_STAGE = Error "pipeline-verdict-stage", "correct `stage` or `verdict`";
    /// Stages 0 and 2 give no verdict, and the checkpoint has one. It is left over from another stage and decides nothing.
    PIPELINE_VERDICT_LEFT = Warning "pipeline-verdict-left", "remove `verdict`, or correct `stage`";
    /// The plan's score is below 2: the tasks are not good enough to be validated.
    PIPELINE_PLAN_SCORE = Error "pipeline-plan-score", "plan the story again";
    /// The verdict is GO, but the readiness is below 5.
    PIPELINE_READINESS = Error "pipeline-readiness", "validate the story again; GO needs a readiness of 5";
    /// A story has no task: stage 0 created none, or a checkpoint of stage 2 or 3 lists none and none is known to be planned. Such a story does not reach the quality gate.
    PIPELINE_NO_TASKS = Error "pipeline-no-tasks", "list its tasks, or plan it again" => RESTART "UNIT";
    /// Stage 0 created more than 8 tasks.
    PIPELINE_TASK_COUNT = Warning "pipeline-task-count", "plan 1 to 8 tasks; split a larger story";
    /// A task is listed twice: as completed and as remaining, or twice in one list. Nobody can tell whether it is done.
    PIPELINE_TASK_TWICE = Error "pipeline-task-twice", "keep the task in one list only";
    /// Tasks remain at stage 3, which judges a story whose tasks are all done: in its checkpoint there, or in that of stage 2 while the state says STAGE_3. A planned task that stands in neither list remains.
    PIPELINE_TASKS_LEFT = Error "pipeline-tasks-left", "finish the tasks at stage 2, or move them to `tasksCompleted`";
    /// Stages 0 and 1 have no completed tasks, and stage 1 no remaining ones: nothing has been executed yet.
    PIPELINE_TASK_LISTS = Warning "pipeline-task-lists", "empty the list, or correct `stage`";
    /// The story in the file's name is not the one in `storyId`. The lead looks for it under the name.
    PIPELINE_FILE_NAME = Error "pipeline-file-name", "rename the file to checkpoint-{storyId}.json";
    /// The checkpoint's stage does not fit `story_state`, or does not exist. It may be equal or one behind; after a FAIL it is 3 while the story is back at 2. Until they fit, the story counts as paused.
    PIPELINE_STAGE_MISMATCH = Error "pipeline-stage-mismatch", "find out which of the two is right; the story is not resumed until they fit";
    /// The story is DONE, but its checkpoint says that the quality gate failed. It counts as blocked.
    PIPELINE_DONE_FAILED = Error "pipeline-done-failed", "return the story to STAGE_2, or judge it again";
    /// A counter in the state does not fit its maps.
    PIPELINE_COUNT = Warning "pipeline-count", "let the lead write the state again; the maps are believed";
    /// A story was retried more often than is granted, and is not PAUSED. The protocol grants 2 reworks, 1 validation and 1 respawn; `[run]` in piton.toml may grant others.
    PIPELINE_LIMIT = Warning "pipeline-limit", "look at the story yourself; more retries will hardly help";
    /// Stories wait for each other in a circle, so none of them can ever start. Each of them says so.
    PIPELINE_CYCLE = Error "pipeline-cycle", "remove one of the dependencies in `depends_on`";
    /// A story depends on one that the pipeline does not know, so it can never start.
    PIPELINE_UNKNOWN_DEPENDENCY = Error "pipeline-unknown-dependency", "correct the id, or add the story";
    /// Nothing runs, and every queued story waits for another one.
    PIPELINE_DEADLOCK = Error "pipeline-deadlock", "continue a paused story, or remove a dependency";
    /// A story is at work although a story it depends on is not DONE.
    PIPELINE_EARLY_START = Error "pipeline-early-start", "pause it until its dependencies are DONE";
    /// A checkpoint belongs to a story that the state does not know.
    PIPELINE_NOT_IN_STATE = Warning "pipeline-not-in-state", "add the story to the state, or archive the checkpoint";
    /// There are checkpoints, but no state that could be read. What the lead knew is lost; what the workers wrote is not.
    PIPELINE_NO_STATE = Warning "pipeline-no-state", "restore state.json from a backup or git, or start the pipeline again";
    /// A worker wrote its checkpoint inside of its worktree, where the lead never looks and where it is deleted with the worktree.
    PIPELINE_STRAY = Warning "pipeline-stray", "move it to the project's own .pipeline directory, and give workers an absolute path";
    /// `complete` is true, but stories are neither DONE nor PAUSED.
    PIPELINE_COMPLETE_EARLY = Error "pipeline-complete-early", "set `complete` to false, or finish the stories";
    /// The queue of remaining stories holds a story that is DONE or at a stage, or one twice.
    PIPELINE_QUEUE = Warning "pipeline-queue", "remove it from `priority_queue_ids`";
    /// More than 3 stories are at a stage. A pipeline may be told to run more workers; the protocol's own number is 3.
    PIPELINE_WORKERS = Note "pipeline-workers", "make sure that so many workers are wanted";
    /// One worker is assigned to two stories that are not settled. A worker has one story.
    PIPELINE_WORKER_TWICE = Warning "pipeline-worker-twice", "correct `worker_map`; a worker is named for its story";
    /// The lead recorded an issue of the infrastructure.
    PIPELINE_INFRA_ISSUE = Note "pipeline-infra-issue", "look whether it still troubles the workers";
    /// The state has more stories than can be read.
    PIPELINE_TOO_MANY = Error "pipeline-too-many", "move finished stories elsewhere";
}
