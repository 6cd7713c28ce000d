# A task: its open subtasks, then its criteria.
correct
for part in $(items); do
  make "$id-$part.txt"
  piton step "$unit" done "$part" --output "$id-$part.txt"
done
sed -n "s|^    piton gate $unit pass ||p" "$prompt" | tr -d "'" | while read -r criterion; do
  piton gate "$unit" pass "$criterion"
done
if grep -q "^    piton finish $unit" "$prompt"; then piton finish "$unit"; fi
