# What the crew's protocol prescribes for an update: keep a backup and the last ten of them, write the checkpoint anew
# with what it says already, check it.
CHECKPOINT=agent_checkpoints/secondary_a.json
BACKUPS=agent_checkpoints/backups

mkdir -p "$BACKUPS"
STAMP=$(date +%Y%m%d_%H%M%S)
cp "$CHECKPOINT" "$BACKUPS/$(basename $CHECKPOINT .json)_$STAMP.json"
ls -t "$BACKUPS"/$(basename $CHECKPOINT .json)_*.json | tail -n +11 | xargs rm -f

CURRENT=$(cat "$CHECKPOINT")
cat > "$CHECKPOINT" <<END
{
  "agent_id": "Secondary-A",
  "agent_type": "secondary",
  "session_id": "$(echo "$CURRENT" | jq -r '.session_id')",
  "feature": "feature_02_search",
  "stage": "S2.P2",
  "phase": "Specification - In Progress",
  "last_checkpoint": "$(date -u +"%Y-%m-%dT%H:%M:%SZ")",
  "next_checkpoint_expected": "$(date -u -d "+15 minutes" +"%Y-%m-%dT%H:%M:%SZ")",
  "status": "IN_PROGRESS",
  "can_resume": true,
  "blockers": [],
  "files_modified": [
    "feature_02_search/spec.md",
    "feature_02_search/checklist.md"
  ],
  "recovery_instructions": "Go on with the specification: the section about ranking is half written.",
  "current_step": "Writing the section about ranking",
  "completed_steps": [
    "Read the guide for this stage",
    "Wrote the requirements",
    "Wrote the section about indexing"
  ],
  "next_steps": [
    "Finish the section about ranking",
    "Ask for the review"
  ],
  "coordination_state": {
    "last_inbox_check": "$(date -u +"%Y-%m-%dT%H:%M:%SZ")",
    "unread_messages": 0,
    "last_epic_readme_update": "$(date -u -d "-15 minutes" +"%Y-%m-%dT%H:%M:%SZ")",
    "last_status_update": "$(date -u -d "-15 minutes" +"%Y-%m-%dT%H:%M:%SZ")"
  }
}
END
jq '.' "$CHECKPOINT" >/dev/null

# What it takes to make that durable, which the protocol does not ask for.
if [ -n "$1" ]; then
  sync "$CHECKPOINT" agent_checkpoints "$BACKUPS" "$BACKUPS/$(basename $CHECKPOINT .json)_$STAMP.json"
fi
