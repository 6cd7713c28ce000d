#!/bin/sh
# A worker that does what a script says: it sources SCRIPTS/UNIT, or SCRIPTS/default. What it can do besides all of sh:
#
#   record VERB ...    piton VERB $PITON_UNIT ...; its refusal ends the script
#   save FILE TEXT     writes a file and commits it
#   once NAME COMMAND  only the first time that this unit comes here, whoever works on it
#   wait_for FILE      until it is there
#   hang               prints nothing and does nothing, for ever
#   chatter            the same, but prints
#   deaf COMMAND       with signals ignored
#   die                is gone at once, and does not clean up
#   daemon             leaves something behind that runs for ever
#   flood BYTES        prints so much
#   ruin               makes its checkpoint unreadable
#   limit [TIME]       says that it has to wait until then, and ends
#
# An end without `record finish` is a lie or a crash, as the exit code says. Each thing done is written to SCRIPTS/log.

set -u
scripts=@SCRIPTS@
piton=@PITON@
name=$(printf %s "${PITON_UNIT:-unit}" | tr ':/' '--')

note() { printf '%s %s %s\n' "${PITON_UNIT:-unit}" "${PITON_ATTEMPT:-0}" "$*" >> "$scripts/log"; }
record() { verb=$1; shift; "$piton" "$verb" "$PITON_UNIT" "$@" || exit 1; note "$verb $*"; }
save() {
    mkdir -p "$(dirname "$1")" && printf '%s\n' "$2" > "$1" && git add -- "$1" || exit 1
    git -c user.name=worker -c user.email=worker@localhost commit --quiet --message "$1" || exit 1
    note "save $1"
}
once() { mark=$scripts/once-$name-$1; shift; if [ ! -e "$mark" ]; then : > "$mark"; "$@"; fi; }
wait_for() { while [ ! -e "$1" ]; do sleep 0.01; done; }
hang() { note hang; while :; do sleep 1000; done; }
chatter() { note chatter; while :; do echo still here; sleep 0.05; done; }
deaf() { trap '' TERM INT HUP; "$@"; }
die() { note die; kill -9 $$; }
daemon() { setsid sh -c 'while :; do sleep 1000; done' & note daemon; }
flood() { head -c "$1" /dev/zero | tr '\0' x; echo; note "flood $1"; }
ruin() { printf '{"half": ' > "$PITON_CHECKPOINT"; note ruin; }
limit() { if [ $# -gt 0 ]; then printf '{"limit_reset": "%s"}\n' "$1"; fi; note limit; exit 75; }

if [ -e "$scripts/$name" ]; then script=$scripts/$name; else script=$scripts/default; fi
note start
. "$script"
