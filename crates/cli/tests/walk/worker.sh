# A scripted worker. Its mood is line N of moods/KEY for the Nth worker of a step; without one, it does its work well.
set -u
unit=$PITON_UNIT
id=${unit##*[:/]}
case $unit in
  pipeline:*) key=$id.$PITON_STAGE ;;
  plan:* | build:*) key=$PITON_STEP ;;
  *) key=$id ;;
esac
n=1
while ! mkdir "$WALK/marks/$key-$n" 2> /dev/null; do n=$((n + 1)); done
mood=$(sed -n "${n}p" "$WALK/moods/$key" 2> /dev/null)
[ -e "$WALK/marks/settled" ] && mood=
mood=${mood:-good}
echo "$(date +%s%3N) $unit $key $n $mood ${PITON_ATTEMPT:-none}" >> "$WALK/ledger"
cat > "$WALK/prompts/$key-$n"
prompt=$WALK/prompts/$key-$n
told() { grep -q "$1" "$prompt"; }
now() { date -u +%Y-%m-%dT%H:%M:%SZ; }
commit() { git add -A && git diff --cached --quiet || git commit -qm "$1"; }

# The words that stand behind `piton step UNIT done` in the prompt; not those that stand for something.
items() { sed -n "s|^    piton step $unit done ||p" "$prompt" | tr -d "'" | grep -vx 'TASK\|NAME\|TEXT'; }

merge_told() {
  base=$(sed -n 's/^    git merge //p' "$prompt" | head -n 1 | tr -d "'")
  [ -n "$base" ] && git merge -q --no-edit "$base" && return 0
  for file in $(git diff --name-only --diff-filter=U); do sed -i '/^\(<<<<<<<\|=======\|>>>>>>>\||||||||\)/d' "$file"; done
  git add -A && git commit -q --no-edit
}

# Corrects what the prompt names first.
correct() {
  told 'Correct this first' || return 0
  told ' conflicts with ' && merge_told
  told 'create the file sign.txt' && echo signed > sign.txt
  if told 'so there is nothing to merge'; then echo "again $n" >> "$key.txt"; fi
  commit "correct $key"
}

make() {
  echo "$n" >> "$1"
  [ "$mood" = conflict ] && echo "$key $n" > shared.txt
  [ "$mood" = dirty ] || commit "$1"
  [ "$mood" = dies ] && kill -9 $$
  [ "$mood" = mute ] && exit 0
  return 0
}

limit() {
  echo "{\"limit_reset\": \"$(date -u -d '+1 second' +%Y-%m-%dT%H:%M:%SZ)\"}"
  exit 75
}

case $mood in
  fails) echo 'a crash'; exit 1 ;;
  nothing) echo 'everything is in order'; exit 0 ;;
  blocks) piton block "$unit" --message 'which port?'; exit 0 ;;
  killed) kill -9 $$ ;;
  limit) limit ;;
  slow) for i in 1 2 3 4 5 6 7 8; do echo "$i"; sleep 0.1; done ;;
esac
case $unit in
  pipeline:*) . "$WALK/pipeline.sh" ;;
  plan:*)
    correct
    make "$key.txt"
    if [ "$mood" = book ]; then
      sed -i "/<!-- TASK: $key -->/s/\[ \]/[x]/" "$PITON_CHECKPOINT"
    else
      piton step "$unit" done "$key" --output "$key.txt"
    fi ;;
  build:*)
    correct
    make "$key.txt"
    [ "$mood" = book ] || piton step "$unit" done "$key" --output "$key.txt" ;;
  task:*) . "$WALK/task.sh" ;;
  crew:*) . "$WALK/crew.sh" ;;
esac
