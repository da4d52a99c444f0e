"""The file systems: how a place is made with each, how it is checked and repaired, what its flushes mean.

A new one is one entry, and nothing else of acidtest names it. Words in braces are filled in: {bytes} of a block,
{stride} and {width} of a stripe in blocks, {sectors} and {all_sectors} of it in 512 bytes, {kb} and {disks}, {mb} of a
journal, {device} of an external one, {label}. The table lies below every layer, so that reports of recordings may look
their file systems up.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from acidtest.files import kernel_text


@dataclass(frozen=True)
class Check:
    """Its own program that checks it, unmounted. Exit codes that are not named mean that the program itself failed."""

    look: tuple[str, ...]  # changes nothing
    clean: tuple[int, ...]
    errors: tuple[int, ...]
    repair: tuple[str, ...] = ()
    repaired: tuple[int, ...] = ()
    before_mount: bool = False  # there is no journal: what a restart does to one that was not unmounted
    silent: tuple[str, ...] = ()  # what lines begin with that say only that it is at work


@dataclass(frozen=True)
class FileSystem:
    """One file system. What is "" it cannot be told."""

    program: str  # makes it
    package: str  # Debian's
    fixed: str  # options that are always given
    label: str
    block: str = ""
    stripe: str = ""
    stripe_shown: str = ""  # mount options in which mountinfo shows it
    journal_size: str = ""
    no_journal: str = ""
    external: str = ""  # mkfs's option for a journal on a device of its own
    external_made: str = ""  # command that makes a device a journal, before mkfs
    external_mounted: str = ""  # mount option that names it
    joined: tuple[str, ...] = ()  # options whose values mkfs takes once, with commas: of two, the last would hold
    journal_read: Callable[[Path, Path | None], dict[str, str]] | None = None  # journal and journal_mb of a mounted one
    shown_as: Mapping[str, str] = field(default_factory=dict)  # mount option -> what mountinfo shows for it
    defaults: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # see mounts.in_force
    check: Check | None = None
    module: str = ""  # the kernel's, where it has another name
    # What its program says when it has written nothing, because a mount of somebody else did not answer at that moment.
    unsure: str = ""
    # Mount options with which it sends no flushes to its drive.
    without_flushes: tuple[str, ...] = ()
    in_place: bool = False  # a block that is overwritten and flushed is one write and one flush
    tells_places: bool = False  # what FIEMAP says of a file are bytes of its one device
    # Of one that may spread over several devices, and reads ahead for itself: where sysfs lists the {device} of one.
    devices: str = ""


def _ext_journal(device: Path, apart: Path | None) -> dict[str, str]:
    # A journal that is a file has its inode number, 8, in the name; see jbd2_journal_init_inode in the kernel's source.
    running = {entry.name for entry in Path("/proc/fs/jbd2").glob("*")}
    kind = "internal" if f"{device.name}-8" in running else "external" if apart and apart.name in running else "none"
    if apart:
        sectors = int(kernel_text(Path("/sys/class/block") / apart.name / "size"))  # it takes the whole device
        return {"journal": kind, "journal_mb": str(sectors * 512 >> 20)}
    size = re.search(r"^Total journal size:\s+(\d+)M", _said("dumpe2fs", "-h", str(device)), re.MULTILINE)
    return {"journal": kind, **({"journal_mb": size[1]} if size else {})}


def _xfs_journal(device: Path, apart: Path | None) -> dict[str, str]:
    output = _said("xfs_db", "-r", *(["-l", str(apart)] if apart else []), "-c", "sb 0", "-c", "p", str(device))
    fields = dict(line.split(" = ") for line in output.splitlines() if " = " in line)
    if not fields:
        return {}
    kind = "external" if fields["logstart"] == "0" else "internal"
    return {"journal": kind, "journal_mb": str(int(fields["logblocks"]) * int(fields["blocksize"]) >> 20)}


def _said(*command: str) -> str:
    try:
        return subprocess.run(command, capture_output=True, encoding="utf-8", errors="replace", check=False).stdout
    except OSError:
        return ""


def _ext(version: int) -> FileSystem:
    journalled = version > 2
    lazy = "lazy_itable_init=0" + (",lazy_journal_init=0" if journalled else "")
    return FileSystem(
        program=f"mkfs.ext{version}",
        package="e2fsprogs",
        fixed=f"-F -q -E nodiscard,{lazy}",  # lazily made tables would be written in the measurement
        label="-L {label}",
        block="-b {bytes}",
        stripe="-E stride={stride},stripe_width={width}",
        stripe_shown="stripe={width}",
        journal_size="-J size={mb}" if journalled else "",
        no_journal="-O ^has_journal" if journalled else "",
        external="-J device={device}" if journalled else "",
        external_made="mke2fs -F -q -O journal_dev -b {bytes} {device}" if journalled else "",
        joined=("-E", "-J", "-O"),
        journal_read=_ext_journal,
        shown_as={
            "barrier=0": "nobarrier",
            "noload": "norecovery",
            "bsdgroups": "grpid",
            "auto_da_alloc=0": "noauto_da_alloc",
        },
        defaults={
            "barrier": ("nobarrier",),
            "barrier=1": ("nobarrier",),
            "acl": ("noacl",),
            "user_xattr": ("nouser_xattr",),
            "nodiscard": ("discard",),
            "auto_da_alloc": ("noauto_da_alloc",),
            "block_validity": ("noblock_validity",),
            "nogrpid": ("grpid",),
            "bsddf": ("minixdf",),
            "errors=continue": ("errors=panic", "errors=remount-ro"),
            "min_batch_time=0": (),
            **({"commit=5": ()} if journalled else {}),
            **({"delalloc": ("nodelalloc",), "dioread_nolock": ("nodioread_nolock",)} if version == 4 else {}),
        },
        check=Check(
            look=("e2fsck", "-f", "-n"),
            clean=(0,),
            errors=(4,),
            repair=("e2fsck", "-f", "-y"),
            repaired=(0, 1, 2),
            before_mount=not journalled,
            silent=("e2fsck ", "Pass "),
        ),
        module="ext4",  # which has the older ones too
        without_flushes=("nobarrier", "barrier=0"),
        in_place=True,
        tells_places=True,
    )


FILESYSTEMS: dict[str, FileSystem] = {
    "ext2": _ext(2),
    "ext3": _ext(3),
    "ext4": _ext(4),
    "xfs": FileSystem(
        program="mkfs.xfs",
        package="xfsprogs",
        fixed="-f -q -K",
        label="-L {label}",
        block="-b size={bytes}",
        stripe="-d su={kb}k,sw={disks}",
        stripe_shown="sunit={sectors},swidth={all_sectors}",
        journal_size="-l size={mb}m",
        external="-l logdev={device}",
        external_mounted="logdev={device}",
        joined=("-l",),
        journal_read=_xfs_journal,
        shown_as={"bsdgroups": "grpid"},
        defaults={"nodiscard": ("discard",), "sysvgroups": ("grpid",), "noikeep": ("ikeep",)},
        check=Check(
            look=("xfs_repair", "-n"),
            clean=(0,),
            errors=(1, 2),
            repair=("xfs_repair", "-L"),  # which drops a log that cannot be replayed
            repaired=(0,),
            silent=("Phase ",),
        ),
        without_flushes=("nobarrier",),  # until Linux 4.18
        in_place=True,
        tells_places=True,
    ),
    "btrfs": FileSystem(
        program="mkfs.btrfs",
        package="btrfs-progs",
        fixed="-f -q -K",
        label="-L {label}",
        block="-s {bytes}",
        shown_as={"compress": "compress=zlib", "compress-force": "compress-force=zlib", "discard=sync": "discard"},
        defaults={
            "barrier": ("nobarrier",),
            "datacow": ("nodatacow",),
            "datasum": ("nodatasum",),
            "treelog": ("notreelog",),
            "nodiscard": ("discard", "discard=async"),
            "noautodefrag": ("autodefrag",),
            "noflushoncommit": ("flushoncommit",),
            "acl": ("noacl",),
            "commit=30": (),
        },
        check=Check(  # its --repair is for experts
            look=("btrfs", "check", "--readonly"), clean=(0,), errors=(1,), silent=("Opening ", "Checking ")
        ),
        # It looks at the mounts of the whole machine, and another lab's simulated disk may have just ended.
        unsure="cannot check mount status",
        without_flushes=("nobarrier",),
        devices="/sys/fs/btrfs/*/devices/{device}",
    ),
    "jfs": FileSystem(
        program="mkfs.jfs",
        package="jfsutils",
        fixed="-q",
        label="-L {label}",
        journal_size="-s {mb}",
        external="-J device={device}",
        external_made="mkfs.jfs -q -J journal_dev {device}",
        check=Check(  # its journal is replayed by its program: the kernel does not mount one that was not unmounted
            look=("jfs_fsck", "-n", "-f"),
            clean=(0,),
            errors=(4,),
            repair=("jfs_fsck", "-a"),
            repaired=(0, 1),
            before_mount=True,
            silent=("jfs_fsck ", "processing ", "The current ", "Block size", "Filesystem size", "**Phase "),
        ),
        in_place=True,
    ),
    "f2fs": FileSystem(
        program="mkfs.f2fs",
        package="f2fs-tools",
        fixed="-f -q -t 0",
        label="-l {label}",
        defaults={"barrier": ("nobarrier",)},
        without_flushes=("nobarrier",),
    ),
    "nilfs2": FileSystem(
        program="mkfs.nilfs2",
        package="nilfs-tools",
        fixed="-f -q -K",
        label="-L {label}",
        block="-b {bytes}",
        defaults={"barrier": ("nobarrier",), "order=relaxed": ("order=strict",)},
        without_flushes=("nobarrier",),
    ),
    "reiserfs": FileSystem(
        program="mkfs.reiserfs",
        package="reiserfsprogs",
        fixed="-f -f -q",
        label="-l {label}",
        block="-b {bytes}",
        external="-j {device}",
    ),
}
# Those that no place is made with, but that machines have.
IN_MEMORY = ("tmpfs", "ramfs", "devtmpfs")
NAMES = frozenset((*FILESYSTEMS, *IN_MEMORY, "zfs", "ntfs", "refs", "apfs"))
# Mount options with which nothing is flushed, on one file system or another; "volatile" is overlay's.
WITHOUT_FLUSHES = frozenset(
    (*(o for filesystem in FILESYSTEMS.values() for o in filesystem.without_flushes), "volatile")
)


def flushes_each_write(filesystem: str, mount_options: str) -> bool:
    """Whether a write has reached the drive when it returns (mount(8), sync). dirsync says that of directories alone,
    and of a file system that is not in the table nobody knows it."""
    options = set(mount_options.split(","))
    return filesystem in FILESYSTEMS and "sync" in options and not options & WITHOUT_FLUSHES


def listed(name: str, device: str) -> list[Path]:
    """Where sysfs lists the device of a mounted file system that may have several, beside the others."""
    where = FILESYSTEMS[name].devices.format(device=device) if name in FILESYSTEMS else ""
    return list(Path("/").glob(where.removeprefix("/"))) if where else []
