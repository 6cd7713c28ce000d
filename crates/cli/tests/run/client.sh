#!/bin/sh
# A scripted client of a coding agent: `claude` or `codex`, by the name it is called by. It takes their arguments, prints
# lines in their shape, and lets the scripted agent do the work. ODD says what is odd about it.
set -eu
name=${0##*/}
printf '%s\n' "$*" >> "$MARKS/$name.calls"
session=none
resumed=no
previous=
for word in "$@"; do
  case $previous in
    --session-id) session=$word ;;
    --resume | resume) session=$word; resumed=yes ;;
  esac
  previous=$word
done
mkdir -p "$MARKS/sessions"
result() {
  case $name in
    claude) echo "{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":$1,\"result\":\"$2\",\"total_cost_usd\":$cost,\"permission_denials\":[${3:-}]}" ;;
    codex) echo "{\"type\":\"turn.completed\",\"usage\":{\"input_tokens\":${tokens}00,\"output_tokens\":$tokens}}" ;;
  esac
}
# What a session costs is counted on when it is resumed.
spend() {
  echo x >> "$MARKS/sessions/$session"
  tokens=$(wc -l < "$MARKS/sessions/$session" | tr -d ' ')
  cost=$(awk "BEGIN { print $tokens * 0.25 }")
}
begin() {
  case $name in
    claude) echo "{\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"$session\"}" ;;
    codex)
      if [ "$session" = none ]; then session=thread-$$; fi
      echo "{\"type\":\"thread.started\",\"thread_id\":\"$session\"}" ;;
  esac
  if [ "$resumed" = yes ] && [ ! -e "$MARKS/sessions/$session" ]; then
    echo "resumed a session that is not there: $session" >> "$MARKS/mixed"
  fi
  spend
}
case ${ODD:-} in
  logged-out)
    begin
    cost=0
    result true 'Not logged in · Please run /login'
    exit 1 ;;
  unknown-session)
    echo "No conversation found with session ID: $session" >&2
    exit 1 ;;
  old)
    echo "error: unknown option '--session-id'" >&2
    exit 1 ;;
  denied)
    case "$*" in
      *'Bash(npm ci --silent)'*) ;;
      *)
        begin
        result false 'I could not install.' '{"tool_name":"Bash","tool_input":{"command":"npm ci --silent"}}'
        exit 0 ;;
    esac ;;
  limited)
    if [ "$name" = claude ] && [ "$PITON_STAGE" = 1 ]; then
      begin
      echo '{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":'"$RESETS"',"rateLimitType":"five_hour"}}'
      result true 'You have hit your limit'
      exit 1
    fi ;;
  dies)
    if [ "$PITON_STAGE" = 2 ] && mkdir "$MARKS/died" 2> /dev/null; then
      begin
      result false 'half of it'
      exit 1
    fi ;;
esac
begin
sh "$AGENT" > /dev/null
result false through
