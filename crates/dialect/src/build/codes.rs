//! Findings of `build` documents.

use crate::codes::codes;

codes! { BUILD:
    /// The PRD's id is not `PRD-` and three digits. It is accepted.
    BUILD_PRD_PATTERN = Warning "build-prd-pattern", "name PRDs like PRD-003";
    /// Another key stands where the protocol has its own, and is read in its place.
    BUILD_KEY_INSTEAD = Note "build-key-instead", "use the protocol's key";
    /// The file is not named for its PRD. A build is looked up by the name.
    BUILD_FILE_NAME = Warning "build-file-name", "rename the file to {PRD}.json";
    /// A workstream is in two of the lists, or twice in one. Nobody can tell how far it is; it counts as not done.
    BUILD_BUCKETS_OVERLAP = Error "build-buckets-overlap", "keep the workstream in one list only";
    /// A workstream of the EXECUTION-SPEC is in none of the lists. It counts as pending.
    BUILD_WORKSTREAM_MISSING = Error "build-workstream-missing", "add it to `pending_workstreams`";
    /// A listed workstream is not in the EXECUTION-SPEC.
    BUILD_WORKSTREAM_UNKNOWN = Error "build-workstream-unknown", "correct the id, or add it to the specification";
    /// A gate of the EXECUTION-SPEC is neither passed nor pending.
    BUILD_GATE_MISSING = Error "build-gate-missing", "add it to `gates_pending`";
    /// A listed gate is not in the EXECUTION-SPEC.
    BUILD_GATE_UNKNOWN = Error "build-gate-unknown", "correct the name, or add it to the specification";
    /// `artifacts` has files for something that is not a completed workstream. Those of the failed one are kept and fine.
    BUILD_ARTIFACTS = Error "build-artifacts", "key artifacts by completed workstreams";
    /// The status is `failed`, but `error` does not say what failed.
    BUILD_FAILED_WITHOUT_ERROR = Error "build-failed-without-error", "say in `error` what failed";
    /// There is an `error`, but the status is not `failed`.
    BUILD_ERROR_UNEXPECTED = Error "build-error-unexpected", "remove `error`, or set the status to failed";
    /// `error` names a workstream that is in none of the lists.
    BUILD_ERROR_WORKSTREAM = Warning "build-error-workstream", "name the workstream that failed";
    /// Workstreams are in progress, but the status says that nothing is executed.
    BUILD_IN_PROGRESS_UNEXPECTED = Error "build-in-progress-unexpected", "move them to another list, or set the status to in_progress";
    /// The status is `in_progress`, but no workstream is. That is fine only between a workstream's completion and its gate: one is completed, and a gate is pending.
    BUILD_IN_PROGRESS_EMPTY = Warning "build-in-progress-empty", "list what is being executed, or set the status to paused";
    /// The status is `complete`, but workstreams or gates are pending. The build counts as blocked by them.
    BUILD_COMPLETE_PENDING = Error "build-complete-pending", "finish what is pending, or set the status to paused";
    /// The status says that nothing has begun, but there is work that has.
    BUILD_INITIALIZED_BEGUN = Warning "build-initialized-begun", "set the status to paused or in_progress";
    /// `current_phase` is beyond the last phase of the EXECUTION-SPEC.
    BUILD_PHASE_RANGE = Error "build-phase-range", "set `current_phase` to a phase of the specification";
    /// The review was overridden without a reason.
    BUILD_OVERRIDE_REASON = Error "build-override-reason", "say in `override_reason` why";
    /// The review says that the build must not be shipped and counts blocking findings. The build counts as blocked until it is reviewed again or overridden.
    BUILD_NOT_SHIPPABLE = Error "build-not-shippable", "revise and review again, override with a reason, or abort";
    /// The verdict is `ship`, but the review counts blocking findings.
    BUILD_SHIP_BLOCKING = Warning "build-ship-blocking", "correct the verdict or `p0_count`";
    /// A gate is listed for a workstream to which the EXECUTION-SPEC does not give it.
    BUILD_GATE_WORKSTREAM = Warning "build-gate-workstream", "name the workstream that the gate belongs to";
    /// A gate has passed for a workstream that is still pending.
    BUILD_GATE_EARLY = Warning "build-gate-early", "complete the workstream, or move the gate to `gates_pending`";
    /// A gate of one workstream is both passed and pending, or an entry stands twice in one list.
    BUILD_GATE_TWICE = Warning "build-gate-twice", "keep one of the entries";
    /// A workstream is completed although one that it depends on is not.
    BUILD_DEPENDENCY_OPEN = Warning "build-dependency-open", "look whether it was completed on an old ground";
    /// `current_phase` is beyond a phase that still has pending workstreams.
    BUILD_PHASE_PENDING = Warning "build-phase-pending", "set `current_phase` to the phase with the pending workstreams";
    /// The EXECUTION-SPEC that the checkpoint names is not there.
    BUILD_SPEC_MISSING = Warning "build-spec-missing", "correct the path";
    /// The EXECUTION-SPEC belongs to another PRD.
    BUILD_SPEC_PRD = Warning "build-spec-prd", "correct the path, or `prd` in the specification";
    /// The specification has no front matter, so nothing is known of its workstreams.
    BUILD_SPEC_FRONT_MATTER = Warning "build-spec-front-matter", "begin the file with `---`, the YAML, and `---`";
    /// The front matter is not YAML.
    BUILD_SPEC_YAML = Error "build-spec-yaml", "correct the YAML; texts with `: ` need quotes";
    /// The front matter has no workstreams.
    BUILD_SPEC_EMPTY = Warning "build-spec-empty", "list the workstreams";
    /// A value in the front matter is an alias, which is not followed.
    BUILD_SPEC_ALIAS = Warning "build-spec-alias", "write the value itself";
    /// A workstream is in no phase, so it would never be executed.
    BUILD_SPEC_UNPHASED = Error "build-spec-unphased", "add it to a phase";
    /// A workstream is in two phases, or twice in one.
    BUILD_SPEC_PHASED_TWICE = Warning "build-spec-phased-twice", "keep it in one phase";
    /// A phase names a workstream that is not there.
    BUILD_SPEC_UNKNOWN_WORKSTREAM = Error "build-spec-unknown-workstream", "correct the id, or add the workstream";
    /// A gate has no command, so it cannot be run.
    BUILD_SPEC_GATE_COMMAND = Warning "build-spec-gate-command", "add a `command` that exits with 0 on success";
    /// A phase or workstream names a gate that is not defined.
    BUILD_SPEC_UNKNOWN_GATE = Warning "build-spec-unknown-gate", "define it in `gates`";
    /// A workstream depends on one that is not there.
    BUILD_SPEC_UNKNOWN_DEPENDENCY = Error "build-spec-unknown-dependency", "correct the id, or add the workstream";
    /// Workstreams depend on each other in a circle.
    BUILD_SPEC_CYCLE = Error "build-spec-cycle", "remove one of the dependencies";
    /// A workstream depends on one in the same phase, though the workstreams of a phase are executed in parallel.
    BUILD_SPEC_SAME_PHASE = Warning "build-spec-same-phase", "move it to a later phase";
    /// A workstream depends on one in a later phase, so it would be executed too early.
    BUILD_SPEC_ORDER = Error "build-spec-order", "move it to a later phase";
}
