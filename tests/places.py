"""The places that the contract suite runs over. A new one joins with one line; a new file system with its entry in the
lab's table of file systems."""

from __future__ import annotations

from typing import Any

from acidtest.filesystems import FILESYSTEMS

IN_GUESTS = ("jfs", "f2fs", "nilfs2", "reiserfs")  # what kernels of today lack: tests/guest makes them
LOCAL = [name for name in FILESYSTEMS if name not in IN_GUESTS]

SMALLEST_MB = {"xfs": 300, "btrfs": 128}  # others can be made on less


def smallest_mb(filesystem: str) -> int:
    """The size of a simulated disk for one: all of it is memory, which is filled before it starts."""
    return SMALLEST_MB.get(filesystem, 64)


# A member with "device" in its name gets a block device of the test's own.
MEMBERS: dict[str, dict[str, Any]] = {
    "directory": {"kind": "directory"},
    **{f"loop {name}": {"kind": "loop", "filesystem": name} for name in LOCAL},
    "device": {"kind": "device", "filesystem": "xfs"},
    **{f"disk {name}": {"kind": "disk", "filesystem": name, "size_mb": smallest_mb(name)} for name in LOCAL},
    "disk raw": {"kind": "disk", "filesystem": "raw", "size_mb": 64},
    "disk rotating": {
        "kind": "disk", "filesystem": "ext4", "size_mb": 64, "disk": "rotating", "disk_faults": "tear every  3rd, reorder",
    },
    "raw": {"kind": "raw"},
    "raw device": {"kind": "raw"},
}  # fmt: skip
