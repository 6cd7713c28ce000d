#!/bin/sh
# The demo's worker: a script in place of a coding agent. It is started for one stage of one story, finds out from its
# environment which, does real work in its own git worktree, and records every step.
set -eu
story=${PITON_UNIT#pipeline:}

# The names in a list of the story's checkpoint.
list() {
  awk -v key="\"$1\"" 'index($0, key) { p = 1 } p { print } p && /\]/ { exit }' "$PITON_CHECKPOINT" |
    grep -o '"[^"]*"' | tr -d '"' | grep -vx "$1" || true
}

# Whether something has not happened yet in this demo.
first_time() { mkdir "$PITON_ROOT/.piton/demo-$1" 2> /dev/null; }

plan() {
  "$PITON" step "$PITON_UNIT" begin "$story-notes" "$story-chapter"
  "$PITON" verdict "$PITON_UNIT" PLAN --score 3
}

write_task() {
  echo "$story: writing $1"
  sleep 0.4
  mkdir -p guide
  printf '# %s\n\nWritten for %s, attempt %s.\n' "$1" "$story" "$PITON_ATTEMPT" > "guide/$1.md"
  if [ "$1" = TRAIL-4-chapter ] && first_time worker; then
    echo 'this worker is killed in the middle of a step'
    kill -9 $$
  fi
  git add -A
  git commit -qm "$1"
  "$PITON" step "$PITON_UNIT" done "$1" --file "guide/$1.md"
}

case $PITON_STAGE in
  0) plan ;;
  1) "$PITON" verdict "$PITON_UNIT" GO --score 8 ;;
  2)
    for task in $(list tasksRemaining); do write_task "$task"; done
    if [ "$story" = TRAIL-2 ] && first_time lead; then
      echo 'this worker makes the lead die'
      kill -9 "$(cut -d ' ' -f 1 "$PITON_ROOT/.piton/run/lock")"
      sleep 1.5
    fi ;;
  3) "$PITON" verdict "$PITON_UNIT" PASS --score 92 ;;
esac
