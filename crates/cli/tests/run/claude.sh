#!/bin/sh
# A scripted client: takes the arguments of Claude Code, writes a transcript where that does, and hardly prints.
# QUIET says where it writes while it works in silence at stage 2: main, subagent, nowhere.
set -eu
session=none
while [ $# -gt 0 ]; do
  case $1 in --session-id | --resume) session=$2; shift ;; esac
  shift
done
project=$HOME/.claude/projects/$(pwd -P | sed 's/[^A-Za-z0-9]/-/g')
mkdir -p "$project/$session/subagents"
echo begun >> "$project/$session.jsonl"
echo "{\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"$session\"}"
if [ "$PITON_STAGE" = 2 ] && mkdir "$MARKS/quiet" 2> /dev/null; then
  for tick in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do
    case $QUIET in
      main) echo "$tick" >> "$project/$session.jsonl" ;;
      subagent) echo "$tick" >> "$project/$session/subagents/agent-a1.jsonl" ;;
    esac
    sleep 0.25
  done
fi
sh "$AGENT" > /dev/null
echo '{"type":"result","subtype":"success","is_error":false,"result":"through","total_cost_usd":0.25}'
