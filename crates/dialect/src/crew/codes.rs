//! Findings of `crew` documents.

use crate::codes::codes;

codes! { CREW:
    /// The file's name is not the one that the protocol derives from `agent_id` (lower case, `-` to `_`; `Agent-Primary` is `primary.json`). Others look for the agent under the derived name.
    CREW_FILE_NAME = Warning "crew-file-name", "rename the file to the name that the protocol derives";
    /// A COMPLETE checkpoint still lists next steps, or one in progress lists none.
    CREW_NEXT_STEPS = Note "crew-next-steps", "update `next_steps` together with `status`";
    /// A step is listed as completed and as a next one. Whoever resumes would do it again, or leave it out.
    CREW_STEP_TWICE = Warning "crew-step-twice", "take the step out of one of the two lists";
    /// A BLOCKED checkpoint names no blocker, so nobody can know what to do about it.
    CREW_BLOCKED_WITHOUT_BLOCKER = Error "crew-blocked-without-blocker", "say in `blockers` what it waits for";
    /// A COMPLETE checkpoint or STATUS file still names blockers. It counts as blocked by them, not as done.
    CREW_BLOCKERS_LEFT = Warning "crew-blockers-left", "empty `blockers`, or correct `status`";
    /// `next_checkpoint_expected` is not 15 minutes after `last_checkpoint`.
    CREW_INTERVAL = Note "crew-interval", "checkpoint every 15 minutes and set both times";
    /// `agent_type` does not fit `agent_id`: one says that it is the primary, the other that it is not.
    CREW_AGENT_TYPE = Warning "crew-agent-type", "set `agent_type` to what `agent_id` says";
    /// `stage` does not begin with S2.P1, S2.P2 or S2.P3, the stages in which agents work in parallel.
    CREW_STAGE = Note "crew-stage", "write the stage as S2.P1, S2.P2 or S2.P3";
    /// `session_id` is blank. Two sessions of one agent cannot be told apart.
    CREW_SESSION = Warning "crew-session", "generate a `session_id` at every start and resume";
    /// An agent in progress says that its work cannot be resumed. If it crashes, the work is lost.
    CREW_NOT_RESUMABLE = Warning "crew-not-resumable", "set `can_resume`, and say in `recovery_instructions` how";
    /// An agent in progress leaves `recovery_instructions` blank. Whoever resumes has to guess.
    CREW_NO_INSTRUCTIONS = Warning "crew-no-instructions", "say in `recovery_instructions` how to go on";
    /// A checkpoint is written in Markdown. It is recognised and shown, but never written.
    CREW_MARKDOWN_CHECKPOINT = Warning "crew-markdown-checkpoint", "write the checkpoint as JSON: agent_checkpoints/{agent}.json";
    /// The heading of a message is not `## Message N (time) ⏳ UNREAD` or `✅ READ`. A message without a mark counts as unread.
    CREW_MESSAGE_HEADING = Note "crew-message-heading", "write the heading as `## Message N (YYYY-MM-DD HH:MM) ⏳ UNREAD`";
    /// A message has a number that an earlier one of the file has.
    CREW_MESSAGE_REPEATED = Warning "crew-message-repeated", "number the messages of a file from 1 on";
    /// A number between two messages is missing: one was removed, or the numbering is wrong.
    CREW_MESSAGE_GAP = Note "crew-message-gap", "number the messages of a file from 1 on";
    /// A file has so many messages that the rest was not read.
    CREW_MESSAGES_CUT = Warning "crew-messages-cut", "move old messages to another file";
    /// An agent without a checkpoint has messages that it has not read.
    CREW_UNREAD_MESSAGES = Note "crew-unread-messages", "let the agent read them" => INBOX "AGENT";
    /// A line of a STATUS file is not `KEY: value`.
    CREW_STATUS_LINE = Note "crew-status-line", "write one `KEY: value` a line";
    /// A STATUS file has a key twice. The last one counts.
    CREW_STATUS_REPEATED = Warning "crew-status-repeated", "remove one of the two";
    /// A feature's STATUS file contradicts the checkpoint of its agent. The checkpoint counts.
    CREW_STATUS_DISAGREES = Note "crew-status-disagrees", "update STATUS together with the checkpoint";
    /// A feature is in progress by its STATUS file, but no agent has a checkpoint for it. There is nothing to resume from.
    CREW_NO_CHECKPOINT = Warning "crew-no-checkpoint", "let its agent write agent_checkpoints/{agent}.json";
    /// A section of EPIC_README.md is not ended, or another one begins inside of it. It cannot be updated.
    CREW_SECTION_OPEN = Warning "crew-section-open", "end it with `<!-- END … PROGRESS -->`";
    /// A section of EPIC_README.md is ended, but not begun.
    CREW_SECTION_STRAY_END = Warning "crew-section-stray-end", "begin it with `<!-- BEGIN … PROGRESS -->`, or remove the comment";
    /// EPIC_README.md has two sections of one agent, so nobody can tell which one is current.
    CREW_SECTION_REPEATED = Warning "crew-section-repeated", "keep one of the two";
}
