"""ext4: a flush that follows a failed one reports success, although nothing is durable.

A drive of our own (../fuse_disk.py: FUSE and a loop device) fails one flush. A file is appended to and flushed: EIO,
as it must be. Then it is flushed a second time, with or without writing the same bytes again. A second success
promises that the bytes are on the drive; the power is cut and the file looked at. Needs root and mkfs of the file
system.

    sudo python reproduce.py --trials 50
"""

from __future__ import annotations

import argparse
import errno
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))
from fuse_disk import Disk

SIZE = 64 << 20
BYTES = 4096


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--filesystem", default="ext4")
    options.add_argument("--trials", type=int, default=50)
    options.add_argument("--rewrite", action="store_true", help="write the same bytes again before the second flush")
    options.add_argument("--pause", type=float, default=0.0, metavar="SECONDS", help="between the two flushes")
    asked = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="second-flush-") as work:
        return measure(asked, Path(work))


def measure(asked: argparse.Namespace, work: Path) -> int:
    size = SIZE if asked.filesystem != "xfs" else 320 << 20
    empty = work / "empty.img"
    with empty.open("wb") as file:
        file.truncate(size)
    mkfs = ["mkfs." + asked.filesystem, *(["-f"] if asked.filesystem in ("xfs", "btrfs") else ["-q"]), str(empty)]
    subprocess.run(mkfs, check=True, capture_output=True)
    image = empty.read_bytes()
    first, second, after_success = Counter[str](), Counter[str](), Counter[str]()
    for _ in range(asked.trials):
        said, left = trial(work, image, asked.filesystem, asked.rewrite, asked.pause)
        first[said[0]] += 1
        second[said[1]] += 1
        if said[1] == "success":
            after_success["durable" if left == 2 * BYTES else "lost"] += 1
    empty.unlink()
    found = {"trials": asked.trials, "first_flush": first, "second_flush": second, "after_success": after_success}
    told = {"finding": "ext4-second-flush", "kernel": platform.release(), "filesystem": asked.filesystem}
    print(json.dumps({**told, "rewrite": asked.rewrite, "pause_s": asked.pause, **found}))
    return int(after_success["lost"] > 0)


def trial(work: Path, image: bytes, filesystem: str, rewrite: bool, pause: float) -> tuple[list[str], int]:
    """What the two flushes answered, and how long the file is after the cut."""
    mounted, after = work / "mounted", work / "after.img"
    mounted.mkdir(exist_ok=True)
    with Disk(work / "disk", len(image), image) as disk:
        subprocess.run(["mount", "-t", filesystem, disk.device, str(mounted)], check=True)
        try:
            file = os.open(mounted / "log", os.O_CREAT | os.O_WRONLY)
            os.pwrite(file, b"a" * BYTES, 0)
            os.fsync(file)
            os.sync()
            os.pwrite(file, b"b" * BYTES, BYTES)
            disk.fail_flushes(1)
            said = [flush(file)]
            time.sleep(pause)
            try:
                if rewrite:
                    os.pwrite(file, b"b" * BYTES, BYTES)
                said.append(flush(file))
            except OSError as error:  # of the write: the file system is read-only by now
                said.append(errno.errorcode[error.errno or 0])
            after.write_bytes(disk.cut())
            os.close(file)
        finally:
            unmount(mounted)
    subprocess.run(["mount", "-t", filesystem, "-o", "loop", str(after), str(mounted)], check=True)
    try:
        return said, (mounted / "log").stat().st_size
    finally:
        unmount(mounted)


def flush(file: int) -> str:
    try:
        os.fdatasync(file)
    except OSError as error:
        return errno.errorcode[error.errno or 0]
    return "success"


def unmount(mounted: Path) -> None:
    for _ in range(1200):
        if not subprocess.run(["umount", str(mounted)], check=False, capture_output=True).returncode:
            return
        time.sleep(0.05)


if __name__ == "__main__":
    sys.exit(main())
