"""A program of a user's whose check or load is no witness: each durability level has another fault, "sound" and "grouped" have
none."""

TEXT = r"""
name = "faults"
[program]
name = "faults"
items = 12
room_mb = 20
command_limit_s = 60
load = '''
[ "$FAULT" != elsewhere ] || ACIDTEST_DATA=$OUTSIDE
write_items() {
  n=0 names=
  while [ $n -lt $ACIDTEST_COUNT ]; do
    n=$((n + 1))
    echo "item-$n" >>$ACIDTEST_DATA/file
    [ "$FAULT" != buffered ] || echo "item-$n"
    names="$names item-$n"
    [ "$FAULT" != grouped ] || [ $((n % 3)) -eq 0 ] || continue
    [ "$FAULT" = unflushed ] || sync $ACIDTEST_DATA/file $ACIDTEST_DATA
    for name in $names; do [ "$FAULT" = buffered ] || echo "$name"; done
    names=
  done
}
if [ "$FAULT" = buffered ]; then write_items | dd obs=60 status=none; else write_items; fi
'''
check = '''
[ "$FAULT" != elsewhere ] || ACIDTEST_DATA=$OUTSIDE
while read -r item; do
  if [ "$FAULT" = credulous ] || grep -qx "$item" $ACIDTEST_DATA/file 2>$ACIDTEST_RUN/said
  then echo "present $item"; else echo "missing $item"; fi
done <$ACIDTEST_ITEMS
[ "$FAULT" != unhelpful ] || { echo "no client is here" >&2; exit 7; }
'''
setup = '[ "$FAULT" != unprepared ] || { echo "no room" >&2; exit 3; }'
environment = { OUTSIDE = "@OUTSIDE@" }
[program.durability.sound]
environment = { FAULT = "none" }
[program.durability.grouped]
environment = { FAULT = "grouped" }
[program.durability.buffered]
environment = { FAULT = "buffered" }
[program.durability.credulous]
environment = { FAULT = "credulous" }
[program.durability.elsewhere]
environment = { FAULT = "elsewhere" }
[program.durability.unhelpful]
environment = { FAULT = "unhelpful" }
[program.durability.unprepared]
environment = { FAULT = "unprepared" }
[program.durability.unflushed]
environment = { FAULT = "unflushed" }
"""
