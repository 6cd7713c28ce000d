# An agent of a crew: its feature, from its stage to the last one.
correct
make "$id.txt"
next() { awk '/"next_steps"/ { p = 1 } p { print } p && /\]/ { exit }' "$PITON_CHECKPOINT" |
  grep -o '"[^"]*"' | tr -d '"' | grep -vx next_steps; }
for stage in S2.P1 S2.P2 S2.P3; do
  piton stage "$unit" "$stage" || true
  next | while read -r step; do piton step "$unit" done "$step" --file "$id.txt"; done
done
piton finish "$unit"
