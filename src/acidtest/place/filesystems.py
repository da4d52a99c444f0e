"""The file systems that a place can be made with: how each is told what an experiment asks.

A new one is one entry. Words in braces are filled in: {bytes} of a block, {stride} and {width} of a stripe in blocks,
{sectors} and {all_sectors} of it in 512 bytes, {kb} and {disks}, {mb} of a journal, {device} of an external one,
{label}. None of them discards blocks: on a loop that would make holes in the image, on a drive it would start work
that goes on in the measurement.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from acidtest.errors import CellFailed, not_among
from acidtest.experiment import PlaceSpec
from acidtest.place.facts import device_bytes

DEFAULT_BLOCK = 4096


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


def _ext_journal(device: Path, apart: Path | None) -> dict[str, str]:
    # A journal that is a file has its inode number, 8, in the name; see jbd2_journal_init_inode in the kernel's source.
    running = {entry.name for entry in Path("/proc/fs/jbd2").glob("*")}
    kind = "internal" if f"{device.name}-8" in running else "external" if apart and apart.name in running else "none"
    if apart:
        return {"journal": kind, "journal_mb": str(device_bytes(apart) >> 20)}  # it takes the whole device
    size = re.search(r"^Total journal size:\s+(\d+)M", _said("dumpe2fs", "-h", str(device)), re.MULTILINE)
    return {"journal": kind, **({"journal_mb": size[1]} if size else {})}


def _xfs_journal(device: Path, apart: Path | None) -> dict[str, str]:
    said = _said("xfs_db", "-r", *(["-l", str(apart)] if apart else []), "-c", "sb 0", "-c", "p", str(device))
    told = dict(line.split(" = ") for line in said.splitlines() if " = " in line)
    if not told:
        return {}
    kind = "external" if told["logstart"] == "0" else "internal"
    return {"journal": kind, "journal_mb": str(int(told["logblocks"]) * int(told["blocksize"]) >> 20)}


def _said(*command: str) -> str:
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout
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
    ),
    "jfs": FileSystem(
        program="mkfs.jfs",
        package="jfsutils",
        fixed="-q",
        label="-L {label}",
        journal_size="-s {mb}",
        external="-J device={device}",
        external_made="mkfs.jfs -q -J journal_dev {device}",
    ),
    "f2fs": FileSystem(
        program="mkfs.f2fs",
        package="f2fs-tools",
        fixed="-f -q -t 0",
        label="-l {label}",
        defaults={"barrier": ("nobarrier",)},
    ),
    "nilfs2": FileSystem(
        program="mkfs.nilfs2",
        package="nilfs-tools",
        fixed="-f -q -K",
        label="-L {label}",
        block="-b {bytes}",
        defaults={"barrier": ("nobarrier",), "order=relaxed": ("order=strict",)},
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


def find(name: str) -> FileSystem:
    """Raises CellFailed for one that is not in the table, or whose program is not on this machine."""
    if name not in FILESYSTEMS:
        raise CellFailed(not_among("place.filesystem", name, FILESYSTEMS))
    filesystem = FILESYSTEMS[name]
    if not shutil.which(filesystem.program):
        raise CellFailed(
            f"{name}: {filesystem.program} is not installed: apt-get install {filesystem.package} (Debian)"
        )
    return filesystem


def in_kernel(name: str) -> bool:
    """Whether the kernel has this file system, or a module that it would load for it."""
    if name in Path("/proc/filesystems").read_text().split():
        return True
    modules = Path("/lib/modules") / os.uname().release / "modules.dep"
    return modules.exists() and f"/{name}.ko" in modules.read_text()


def commands(name: str, spec: PlaceSpec, device: Path, label: str, journal: Path | None) -> list[list[str]]:
    """The commands that make ``name`` on ``device``, one after the other. Raises CellFailed for what it has not."""
    filesystem = find(name)
    filled = {**_stripe(spec), "mb": spec.journal_mb, "device": journal, "label": label}
    made: list[list[str]] = []
    asked = [filesystem.fixed, filesystem.label]

    def ask(key: str, option: str) -> None:
        if not option:
            raise CellFailed(f"{name} cannot be told place.{key}")
        asked.append(option)

    if spec.block_size is not None or (filesystem.block and (journal or spec.stripe_kb is not None)):
        ask("block_size", filesystem.block)
    if spec.stripe_kb is not None:
        ask("stripe_kb", filesystem.stripe)
    if spec.journal == "none":
        ask("journal", filesystem.no_journal)
    if journal:
        ask("journal", filesystem.external)
        if filesystem.external_made:
            made.append(shlex.split(filesystem.external_made.format_map(filled)))
    elif spec.journal_mb is not None:
        ask("journal_mb", filesystem.journal_size)
    words = [word for option in asked for word in shlex.split(option.format_map(filled))]
    return [*made, [filesystem.program, *_joined([*words, *shlex.split(spec.mkfs)], filesystem.joined), str(device)]]


def stripe_shown(name: str, spec: PlaceSpec) -> list[str]:
    """How mountinfo shows the stripe that ``spec`` asks for."""
    if spec.stripe_kb is None:
        return []
    return FILESYSTEMS[name].stripe_shown.format_map(_stripe(spec)).split(",")


def _stripe(spec: PlaceSpec) -> dict[str, object]:
    block, kb = spec.block_size or DEFAULT_BLOCK, spec.stripe_kb or 0
    return {
        "bytes": block,
        "stride": kb * 1024 // block,
        "width": kb * 1024 // block * spec.stripe_disks,
        "sectors": kb * 2,
        "all_sectors": kb * 2 * spec.stripe_disks,
        "kb": kb,
        "disks": spec.stripe_disks,
    }


def _joined(words: list[str], joined: tuple[str, ...]) -> list[str]:
    values: dict[str, list[str]] = {}
    rest: list[str] = []
    queue = list(words)
    while queue:
        word = queue.pop(0)
        if word in joined and queue:
            values.setdefault(word, []).append(queue.pop(0))
        else:
            rest.append(word)
    return [*(part for option, found in values.items() for part in (option, ",".join(found))), *rest]
