"""How the file systems of the table are made: their programs on this machine, and the commands for what is asked.

None of them discards blocks: on a loop that would make holes in the image, on a drive it would start work that goes on
in the measurement.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import time
from collections.abc import Sequence
from pathlib import Path

from acidtest.errors import CellFailed, not_among
from acidtest.experiment import PlaceSpec
from acidtest.files import kernel_text
from acidtest.filesystems import FILESYSTEMS, FileSystem
from acidtest.place import mounts
from acidtest.place.facts import UNKNOWN
from acidtest.place.ledger import Ledger

DEFAULT_BLOCK = 4096
PATIENCE_S = 30.0  # with the mounts of others


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
    if name in kernel_text(Path("/proc/filesystems")).split():
        return True
    modules = Path("/lib/modules") / os.uname().release / "modules.dep"
    if not modules.exists():
        return False
    known = kernel_text(modules)
    return any(f"/{module}.ko" in known for module in (name, FILESYSTEMS[name].module) if module)


def can_be_made() -> list[str]:
    """The file systems that this kernel has, and whose programs are on this machine."""
    return [name for name in FILESYSTEMS if in_kernel(name) and shutil.which(FILESYSTEMS[name].program)]


def commands(name: str, spec: PlaceSpec, device: Path, label: str, journal: Path | None) -> list[list[str]]:
    """The commands that make ``name`` on ``device``, one after the other. Raises CellFailed for what it has not."""
    filesystem = find(name)
    filled = {**_stripe(spec), "mb": spec.journal_mb, "device": journal, "label": label}
    made: list[list[str]] = []
    options = [filesystem.fixed, filesystem.label]

    def ask(key: str, option: str) -> None:
        if not option:
            raise CellFailed(f"{name} cannot be told place.{key}")
        options.append(option)

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
    words = [word for option in options for word in shlex.split(option.format_map(filled))]
    return [*made, [filesystem.program, *_joined([*words, *shlex.split(spec.mkfs)], filesystem.joined), str(device)]]


def run(ledger: Ledger, commands: Sequence[Sequence[str]], output: Path, unsure: str = "") -> None:
    """Run them one after another, again while what one says in the file ``output`` has ``unsure`` in it. Raises
    CellFailed."""
    for command in commands:
        end = time.monotonic() + PATIENCE_S
        while ledger.run(command, output) != 0:
            words = _words(output)
            if not unsure or unsure not in words or time.monotonic() > end:
                raise mounts.failed(command, words)
            time.sleep(0.2)


def _words(output: Path) -> str:
    with contextlib.suppress(OSError):
        lines = map(str.strip, output.read_text(encoding="utf-8", errors="replace").splitlines())
        return " / ".join(line for line in lines if line and "dmesg(1)" not in line)[:500] or "it left no message"
    return UNKNOWN


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
    return [*(part for option, arguments in values.items() for part in (option, ",".join(arguments))), *rest]
