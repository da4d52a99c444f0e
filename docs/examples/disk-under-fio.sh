#!/bin/sh
# A disk by itself under fio: what was flushed is there after a power cut, what was not is lost, and a drive that lies about flushes is
# found out. Needs root, FUSE, loop devices, and fio (apt-get install fio):
#
#     sudo env PATH="$PATH" sh docs/examples/disk-under-fio.sh [ENGINE...]      # psync libaio io_uring
#
# fio writes blocks with a checksum and its place in each (verify=crc32c). Its trigger notes which writes were answered (the verify state),
# then cuts the power; after the restart fio reads these writes back. Every job has a part of the device of its own, which was never
# written before, so that no block of an earlier job passes for one that is lost.
set -u
for program in acidtest fio; do
  command -v "$program" >/dev/null || { echo "$program is not on the PATH" >&2; exit 4; }
done
disk=fio-$$
work=$(mktemp -d)
ended() {
  acidtest disk list --json | grep -q "\"name\": \"$disk\"" && acidtest disk remove "$disk" >"$work/said"
  rm -rf "$work"
}
trap ended EXIT
trap 'exit 130' INT TERM
wrong=0
seconds=1

create() {
  # The drive keeps in its cache what nobody flushes, for a minute, and ext4 writes its journal when it is asked to.
  acidtest disk create "$disk" --disk-parameters destage_ms=60000 "$@" >"$work/said" || exit
  device=$(sed -n 's/^device *//p' "$work/said")
  at=$(sed -n 's/^mounted at *\(.*\) (.*/\1/p' "$work/said")
}

# fio_ JOB OPTIONS...: one job by this engine; its state is kept in the work directory.
fio_() {
  name=$1
  shift
  (cd "$work" && fio --name="$name" --ioengine="$engine" --iodepth=8 --bs=4k --size=16m --verify=crc32c --verify_fatal=1 "$@") >"$work/fio" 2>&1
}

# until_cut JOB OPTIONS...: writes until the power fails, seconds before it would have written all.
until_cut() {
  rm -f "$work/was-cut"
  fio_ "$@" --rw=randwrite --rate_iops=500 --trigger-timeout="$seconds" \
    --trigger="acidtest disk cut $disk --json >$work/was-cut"
  if [ ! -s "$work/was-cut" ] || [ ! -s "$work/local-$1-0-verify.state" ]; then
    sed 's/^/  /' "$work/fio"
    echo "the power was not cut while fio wrote" >&2
    exit 1
  fi
  if ! grep -q 'write: IOPS' "$work/fio" && [ "$seconds" -lt 4 ]; then
    seconds=$((seconds * 2)) # too busy a machine: fio had written nothing yet
    restored
    until_cut "$@"
  fi
  lost=$(sed -n 's/.*"lost_bytes": \([0-9]*\).*/\1/p' "$work/was-cut")
}

restored() {
  acidtest disk restore "$disk" >"$work/said" || exit
  device=$(sed -n 's/.*attached again: //p' "$work/said")
}

# told WHAT EXPECTED CODE: a line of what fio found, against what a sound disk makes it find.
told() {
  if [ "$3" -eq 0 ]; then found=intact; elif grep -q '^verify: bad' "$work/fio"; then found=lost; else found=failed; fi
  if [ "$found" = "$2" ]; then verdict=ok; else verdict=WRONG wrong=1; fi
  printf '%-9s %-58s %-7s %s\n' "$engine" "$1" "$found" "$verdict"
  if [ "$verdict" = WRONG ]; then grep -E 'verify|err=|fio:' "$work/fio" | head -n 3; fi
}

[ $# -gt 0 ] || set -- psync libaio io_uring
create --size 256M --filesystem raw
part=0
for engine in "$@"; do
  fio_ mixed --filename="$device" --offset="$((part * 16))m" --direct=1 --rw=randrw --fsync=32 --end_fsync=1
  told "mixed reads and writes, with fsync" intact $?
  until_cut written-through --filename="$device" --offset="$((part * 16 + 16))m" --direct=1 --sync=dsync
  restored
  fio_ mixed --filename="$device" --offset="$((part * 16))m" --direct=1 --rw=randrw --verify_only
  told "the same after a cut: all was flushed" intact $?
  fio_ written-through --filename="$device" --offset="$((part * 16 + 16))m" --direct=1 --rw=randwrite --verify_only --verify_state_load=1
  told "written through (O_DSYNC) until a cut that lost $lost bytes" intact $?
  until_cut unflushed --filename="$device" --offset="$((part * 16 + 32))m" --direct=1
  restored
  fio_ unflushed --filename="$device" --offset="$((part * 16 + 32))m" --direct=1 --rw=randwrite --verify_only --verify_state_load=1
  told "not flushed until a cut that lost $lost bytes" lost $?
  part=$((part + 3))
done

engine=$1
acidtest disk faults "$disk" lie-about-flush >"$work/said" || exit
until_cut lied-to --filename="$device" --offset="$((part * 16))m" --direct=1 --sync=dsync
restored
fio_ lied-to --filename="$device" --offset="$((part * 16))m" --direct=1 --rw=randwrite --verify_only --verify_state_load=1
told "written through to a drive that lies, $lost bytes lost" lost $?
acidtest disk remove "$disk" >"$work/said" || exit

create --size 64M --filesystem ext4 --mount commit=3600
until_cut synced --filename="$at/synced" --sync=sync
restored
fio_ synced --filename="$at/synced" --rw=randwrite --verify_only --verify_state_load=1
told "a file on ext4, O_SYNC, until a cut that lost $lost bytes" intact $?
until_cut cached --filename="$at/cached"
restored
fio_ cached --filename="$at/cached" --rw=randwrite --verify_only --verify_state_load=1
told "a file on ext4, not synced, until a cut" lost $?

exit "$wrong"
