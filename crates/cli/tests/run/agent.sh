#!/bin/sh
# A scripted agent. It plans two tasks, validates, does them with commits, judges; BAD says how it misbehaves, once.
set -eu
unit=$PITON_UNIT
id=${unit##*[:/]}
once() { mkdir "$MARKS/$1-$id" 2>/dev/null; }
# Whoever lies calls done what it did not make: for ever, or until it is told what is not there.
lies() { [ "${BAD:-}" = lies ] || [ "${BAD:-}" = lied ] && [ ! -e "$MARKS/told-$id" ]; }
mend() {
  missing=$(sed -n 's/.*claimed done, not there: //p' | tr ',' ' ')
  if [ "${BAD:-}" = lied ] && [ -n "$missing" ]; then
    : > "$MARKS/told-$id"
    for file in $missing; do echo mended > "$file"; done
    commit mended
  fi
}
await() { while [ ! -e "$MARKS/$1" ]; do echo waiting; sleep 0.02; done; }
list() {
  awk -v key="\"$1\"" 'index($0, key) { p = 1 } p { print } p && /\]/ { exit }' "$PITON_CHECKPOINT" |
    grep -o '"[^"]*"' | tr -d '"' | grep -vx "$1" || true
}
commit() {
  git add -A
  git -c user.name=agent -c user.email=agent@localhost commit -qm "$1" || true
}
do_task() {
  if list tasksCompleted | grep -qx "$1"; then return 0; fi
  if [ "${BAD:-}" = records ]; then "$PITON" step "$unit" done "$1"; return 0; fi
  echo "$unit $1 $PITON_ATTEMPT" >> "$LEDGER"
  sleep "${PACE:-0}"
  if [ "${BAD:-}" = botches ]; then echo botched > "$1.txt"; else lies || echo "$1" > "$1.txt"; fi
  commit "$1"
  "$PITON" step "$unit" done "$1" --file "$1.txt"
}
misbehave() {
  case ${BAD:-} in
    quits) once quits && exit 0 || true ;;
    exits) once exits && exit 1 || true ;;
    always-exits) exit 1 ;;
    hangs) once hangs && exec sleep 1000 || true ;;
    babbles) once babbles && while :; do echo babble; sleep 0.05; done || true ;;
    deaf) once deaf && { trap '' TERM INT; while :; do sleep 0.1; done; } || true ;;
    daemon) once daemon && { setsid sleep 987654 > /dev/null 2>&1 & exit 1; } || true ;;
    pipe) once pipe && head -c 3000000 /dev/zero | tr '\0' x || true ;;
    gigabyte) once gigabyte && head -c 1000000000 /dev/zero || true ;;
    corrupts) once corrupts && { printf '{"storyId": ' > "$PITON_CHECKPOINT"; exit 1; } || true ;;
    parks) once parks && { echo "{\"limit_reset\": \"$(date -u -d '+2 seconds' +%Y-%m-%dT%H:%M:%SZ)\"}"; exit 75; } || true ;;
    parks-long) once parks && { echo "{\"limit_reset\": \"$(date -u -d '+3600 seconds' +%Y-%m-%dT%H:%M:%SZ)\"}"; exit 75; } || true ;;
    account) once account && {
      while ! [ -e "$MARKS/account-S-1" ] || ! [ -e "$MARKS/account-S-2" ]; do sleep 0.02; done
      echo "{\"scope\": \"account\", \"limit_reset\": \"$(date -u -d '+5 seconds' +%Y-%m-%dT%H:%M:%SZ)\"}"
      exit 75
    } || true ;;
    account-long) [ "$id" = S-1 ] && once account && {
      echo "{\"scope\": \"account\", \"limit_reset\": \"$(date -u -d '+3600 seconds' +%Y-%m-%dT%H:%M:%SZ)\"}"
      exit 75
    } || true ;;
    dawdles) once dawdles && sleep 3 || true ;;
    blocks) "$PITON" block "$unit" --message 'no key to the vault'; exit 0 ;;
    waits) if [ "$id" = "$WAITER" ]; then await go; fi ;;
    # Asks a person, once.
    asks) [ "${PITON_STEP:-$id}" = "${ASKER:-$id}" ] && once asks && { "$PITON" block "$unit" --message 'which port?'; exit 0; } || true ;;
    dirty) echo x > left-behind.txt ;;
    # Names a commit that nobody has, and dies.
    strays)
      once strays && {
        awk 'NR == 1 { print; print "  \"last_commit\": \"0123456789abcdef0123456789abcdef01234567\","; next } { print }' \
          "$PITON_CHECKPOINT" > "$MARKS/strayed"
        cat "$MARKS/strayed" > "$PITON_CHECKPOINT"
        exit 1
      } || true ;;
    # At one step: does something to the workspace, and dies.
    spoils) [ "${PITON_STEP:-}" = "$SPOILT" ] && once spoils && { (cd "$PITON_ROOT" && sh -c "$SPOIL"); exit 1; } || true ;;
    # Says who it is and is stopped; its successor, and who is to see that, wait for the other.
    sleeps)
      if [ "${PITON_STEP:-}" = "${SIBLING:-none}" ]; then
        await follows
      elif once sleeps; then
        env > "$MARKS/env.new"
        mv "$MARKS/env.new" "$MARKS/env"
        kill -STOP $$
      else
        : > "$MARKS/follows"
        await awake
      fi ;;
  esac
}
stage_of_story() {
  case $PITON_STAGE in
    0) "$PITON" step "$unit" begin "$id-a" "$id-b"; "$PITON" verdict "$unit" PLAN --score 3 ;;
    1)
      if [ "${BAD:-}" = no-go ] && once no-go; then
        "$PITON" verdict "$unit" NO-GO --score 3 --reason 'no port'
      else
        "$PITON" verdict "$unit" GO --score 8
      fi ;;
    2)
      if [ -n "${WAIT:-}" ]; then while ! [ -e "$MARKS/go" ]; do sleep 0.02; done; fi
      for task in $(list tasksRemaining); do do_task "$task"; done; misbehave ;;
    3)
      if [ "${BAD:-}" = fails ] && once fails; then
        "$PITON" verdict "$unit" FAIL --score 20 --issues 'too slow'
      elif [ "${BAD:-}" = takes-back ]; then
        "$PITON" verdict "$unit" FAIL --score 20 --issues 'too slow'
        echo "$unit review $PITON_ATTEMPT" >> "$LEDGER"
        "$PITON" stage "$unit" 2
      else
        "$PITON" verdict "$unit" PASS --score 90
      fi ;;
  esac
}
mend
case $unit in
  pipeline:*)
    if [ "$PITON_STAGE" = 2 ] && [ "${BAD:-}" != dirty ]; then misbehave; fi
    stage_of_story ;;
  build:* | plan:*)
    misbehave
    echo "$unit $PITON_STEP $PITON_ATTEMPT" >> "$LEDGER"
    lies || echo "$PITON_STEP" > "$PITON_STEP.txt"
    commit "$PITON_STEP"
    [ "${BAD:-}" = silent ] || "$PITON" step "$unit" done "$PITON_STEP" --output "$PITON_STEP.txt"
    # Judges a gate itself, as passed.
    if [ "${BAD:-}" = swears ]; then "$PITON" gate "$unit" pass $OATH; fi ;;
  task:*)
    misbehave
    for subtask in one two; do
      echo "$unit $subtask $PITON_ATTEMPT" >> "$LEDGER"
      lies || echo "$subtask" > "$id-$subtask.txt"
      commit "$id $subtask"
      "$PITON" step "$unit" done "$subtask" --output "$id-$subtask.txt"
    done
    "$PITON" gate "$unit" pass works
    "$PITON" finish "$unit" ;;
  crew:*)
    misbehave
    echo "$unit feature $PITON_ATTEMPT" >> "$LEDGER"
    lies || echo "$id" > "$id.txt"
    commit "$id"
    for stage in S2.P1 S2.P2 S2.P3; do
      "$PITON" stage "$unit" "$stage" || true
      list next_steps | while read -r step; do "$PITON" step "$unit" done "$step" --file "$id.txt"; done
    done
    "$PITON" finish "$unit" ;;
esac
