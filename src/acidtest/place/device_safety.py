"""Real block devices: what is on one, who uses it, and when it may be written to.

A device that is mounted, open, swapped to, or part of something else is never written to. One that holds anything at
all only when the user has named it as to be erased.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import stat
import subprocess
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from acidtest.errors import AcidtestError, BadInput, CellFailed
from acidtest.files import kernel_text, opened_by, processes
from acidtest.place.facts import device_bytes, mounts_now

BLKRRPART = 0x125F  # read the partition table again; see linux/fs.h
PATIENCE_S = 2.0  # udev looks into every device that was written to
EDGE_BYTES = 16 << 20  # at the beginning and the end, where whatever uses a device leaves something


@dataclass(frozen=True)
class Found:
    """A block device as it is now."""

    device: Path
    size_bytes: int
    model: str
    holds: tuple[str, ...]  # "ext4 \"label\"", "gpt", "data of no known kind"; empty: nothing
    used: str  # by whom; "": by nobody

    def __str__(self) -> str:
        holds = ", ".join(self.holds) or "nothing"
        used = f"; {self.used}" if self.used else ""
        return f"{self.device}: {self.model}, {self.size_bytes / 1e9:,.1f} GB, holds {holds}{used}"


def look(name: str) -> Found:
    """What ``name`` is, what it holds and who uses it; nothing is written. Raises BadInput when it is no block device
    or may not be read."""
    device = Path(name).resolve()
    try:
        if not stat.S_ISBLK(device.stat().st_mode):
            raise BadInput(f"{name}: is not a block device", "name one as lsblk lists it")
        block = _block(device)
        return Found(device, device_bytes(device), _model(block), tuple(_holds(device, block)), _used(device, block))
    except OSError as error:
        raise BadInput(f"{name}: cannot be read: {error.strerror}", "name a block device that you may use") from None


def refuse(state: Found, *, erase: bool = False) -> None:
    """Raise BadInput unless ``state`` may be written to: used by nobody and, without ``erase``, empty."""
    if state.used:
        raise BadInput(f"{state}: a device in use is never touched", "release it, or name another device")
    if state.holds and not erase:
        raise BadInput(
            f"{state}: what is on a device is never overwritten unasked",
            f"name another device, or give --erase {state.device} if all that is on it may be destroyed",
        )


def admit(names: Sequence[str], erase: Collection[Path], show: Callable[[list[str]], None]) -> None:
    """Check devices before a run: show what is on them, and destroy it on those to ``erase``.

    Raises BadInput when one may not be written to; then nothing has been destroyed on any.
    """
    states = [look(name) for name in names]
    if states:
        show([str(state) for state in states])
    for state in states:
        refuse(state, erase=state.device in erase)
    for state in states:
        if state.holds:
            empty(state.device)
            left = look(str(state.device))
            if left.holds or left.used:
                raise BadInput(f"{left}: could not be erased", "name another device")


def empty(device: Path) -> None:
    """Destroy what says that ``device`` holds anything: signatures, and its first and last 16 MiB. Raises OSError."""
    opened = os.open(device, os.O_RDWR | os.O_EXCL | os.O_CLOEXEC)  # EBUSY: somebody uses it
    try:
        _run(["wipefs", "--all", "--force", "--quiet", str(device)])  # btrfs and others keep copies in the middle
        size = os.lseek(opened, 0, os.SEEK_END)
        edge = min(EDGE_BYTES, size)
        for start in {0, size - edge}:
            zeros = bytes(1 << 20)
            for at in range(start, start + edge, len(zeros)):
                os.pwrite(opened, zeros[: start + edge - at], at)
        os.fsync(opened)
        with contextlib.suppress(OSError):  # a device that cannot have partitions
            fcntl.ioctl(opened, BLKRRPART)
    finally:
        os.close(opened)


def labels(device: Path) -> set[str]:
    """Labels of the file systems on ``device``."""
    return {str(signature["label"]) for signature in _signatures(device) if signature.get("label")}


def _holds(device: Path, block: Path) -> list[str]:
    contents = [
        f'{signature["type"]} "{signature["label"]}"' if signature.get("label") else str(signature["type"])
        for signature in _signatures(device)
    ]
    contents += [f"partition {entry.name}" for entry in sorted(block.iterdir()) if (entry / "partition").exists()]
    if not contents and _has_data(device):
        contents.append("data of no known kind")
    return list(dict.fromkeys(contents))


def _signatures(device: Path) -> list[dict[str, str | None]]:
    # wipefs without --all only looks; it knows what libblkid knows: file systems, partition tables, LVM, RAID, LUKS.
    output = _run(["wipefs", "--json", "--output", "TYPE,LABEL", str(device)])
    signatures: list[dict[str, str | None]] = json.loads(output or "{}").get("signatures", [])
    return signatures


def _has_data(device: Path) -> bool:
    with device.open("rb", buffering=0) as file:
        size = file.seek(0, os.SEEK_END)
        for start in (0, max(0, size - EDGE_BYTES)):
            file.seek(start)
            for _ in range(EDGE_BYTES >> 20):
                if any(file.read(1 << 20)):
                    return True
    return False


def _used(device: Path, block: Path) -> str:
    """Who uses the device, a partition of it, or the disk that it is a partition of; "" for nobody."""
    partitions = [entry for entry in block.iterdir() if (entry / "partition").exists()]
    members = {device, *(Path("/dev") / entry.name for entry in partitions)}
    numbers = {kernel_text(entry / "dev").strip() for entry in (block, *partitions)}
    for mount in mounts_now():
        if mount.device_number in numbers or Path(mount.source) in members:
            return f"mounted at {mount.point}"
    for line in kernel_text(Path("/proc/swaps")).splitlines()[1:]:
        if Path(line.split()[0]) in members:
            return "swapped to"
    for entry in (block, *partitions):
        if holders := sorted(holder.name for holder in (entry / "holders").glob("*")):
            return f"a part of {', '.join(holders)}"
    for backing in Path("/sys/block").glob("loop*/loop/backing_file"):
        with contextlib.suppress(OSError):
            if Path(kernel_text(backing).strip()) in members:
                return f"behind /dev/{backing.parts[3]}"
    end = time.monotonic() + PATIENCE_S
    while user := _opened(numbers):
        if time.monotonic() > end:
            return user
        time.sleep(0.1)
    for member in members:
        try:
            os.close(os.open(member, os.O_RDONLY | os.O_EXCL | os.O_CLOEXEC))
        except OSError as error:
            if error.errno == errno.EBUSY:  # mounted where we cannot see it, or held by the kernel
                return "in use"
            raise
    return ""


def _opened(numbers: set[str]) -> str:
    """A process that has one of these devices open. O_EXCL does not notice those that opened it as a plain file."""
    for process in processes():
        for opened in opened_by(process):
            number = f"{os.major(opened.st_rdev)}:{os.minor(opened.st_rdev)}"
            if stat.S_ISBLK(opened.st_mode) and number in numbers:
                with contextlib.suppress(OSError):  # it has ended since
                    return f"open in process {process.name} ({kernel_text(process / 'comm').strip()})"
    return ""


def _model(block: Path) -> str:
    for parent in (block, block.parent):
        with contextlib.suppress(OSError):
            words = [
                kernel_text(parent / "device" / part).strip()
                for part in ("vendor", "model")
                if (parent / "device" / part).exists()
            ]
            if words:
                return " ".join(words)
    with contextlib.suppress(OSError):
        return f"loop over {kernel_text(block / 'loop' / 'backing_file').strip()}"
    return "of no known model"


def _block(device: Path) -> Path:
    number = device.stat().st_rdev
    return Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}").resolve()


def _run(command: list[str]) -> str:
    try:
        ended = subprocess.run(command, capture_output=True, encoding="utf-8", errors="replace", check=False)
    except FileNotFoundError:
        raise AcidtestError(f"{command[0]} is not installed", "apt-get install util-linux (Debian)") from None
    if ended.returncode != 0:
        words = ended.stderr.strip().splitlines()[-1:] or [f"ended with code {ended.returncode}"]
        raise CellFailed(words[0])
    return ended.stdout
