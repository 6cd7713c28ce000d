# One stage of a story.
quoted() { for word in "$@"; do printf '%s"%s"' "$comma" "$word"; comma=', '; done; }
list() { comma=; quoted "$@"; }
# Writes the whole checkpoint by hand: stage, completed, remaining, last action, more fields.
checkpoint() {
  cat > "$PITON_CHECKPOINT" << END
{"storyId": "$id", "stage": $1, "agentId": "agent-$$", "tasksCompleted": [$2], "tasksRemaining": [$3],
 "lastAction": "$4", "timestamp": "$(now)"$5}
END
}
has() { tr '\n' ' ' < "$PITON_CHECKPOINT" | sed -n "s/.*\"$1\": *\[\([^]]*\)\].*/\1/p" | tr -d '",'; }

case $PITON_STAGE in
  0)
    if [ "$mood" = book ]; then
      checkpoint 0 '' "$(list "$id-a" "$id-b")" '2 tasks created' ', "planScore": 4'
    else
      piton step "$unit" begin "$id-a" "$id-b"
      piton verdict "$unit" PLAN --score 3
    fi ;;
  1)
    if [ "$mood" = refuses ]; then piton verdict "$unit" NO-GO --score 3 --reason 'no port'
    elif [ "$mood" = book ]; then checkpoint 1 '' '' 'Validated: GO' ', "readiness": 8, "verdict": "GO"'
    else piton verdict "$unit" GO --score 8; fi ;;
  2)
    correct
    completed=$(has tasksCompleted)
    remaining=$(items)
    while [ -n "$remaining" ]; do
      set -- $remaining
      task=$1
      shift
      remaining=$*
      make "$task.txt"
      completed="$completed $task"
      if [ "$mood" = book ]; then
        checkpoint 2 "$(list $completed)" "$(list $remaining)" "Task $task completed" ''
      else
        piton step "$unit" done "$task" --file "$task.txt"
      fi
    done ;;
  3)
    if [ "$mood" = refuses ]; then piton verdict "$unit" FAIL --score 20 --issues 'too slow'
    elif [ "$mood" = book ]; then
      checkpoint 3 "$(list $(has tasksCompleted))" '' 'Quality gate completed, verdict: PASS' ', "verdict": "PASS", "qualityScore": 92'
    else piton verdict "$unit" PASS --score 90; fi ;;
esac
