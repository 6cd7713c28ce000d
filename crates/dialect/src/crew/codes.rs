//! Findings of `crew` documents.

use crate::codes::codes;

codes! { CREW:
    /// The file's name is not the one that the protocol derives from `agent_id` (lower case, `-` to `_`; `Agent-Primary` is `primary.json`). Others look for the agent under the derived name.
    CREW_FILE_NAME = Warning "crew-file-name", "rename the file to the name that the protocol derives";
    /// A COMPLETE checkpoint still lists next steps, or an unfinished one lists none.
    CREW_NEXT_STEPS = Note "crew-next-steps", "update `next_steps` together with `status`";
    /// A BLOCKED checkpoint names no blocker, so nobody can know what to do about it.
    CREW_BLOCKED_WITHOUT_BLOCKER = Error "crew-blocked-without-blocker", "say in `blockers` what it waits for";
    /// `next_checkpoint_expected` is not 15 minutes after `last_checkpoint`.
    CREW_INTERVAL = Note "crew-interval", "checkpoint every 15 minutes; `piton beat` sets both times";
    /// `agent_type` is neither `primary` nor `secondary`, or does not fit `agent_id`.
    CREW_AGENT_TYPE = Warning "crew-agent-type", "set `agent_type` to what `agent_id` says";
}
