"""The items of a program: acknowledged by its ``load``, answered for by its ``check``; pure but for the pipe.

An item counts from the moment at which its line arrives. Where ``load`` buffers its output, that is later than the
moment at which it was printed: power then never fails between the two, and a program that prints before it flushes
loses nothing. So a cut shows that items survive only if each line has come by a write(2) of its own. How much is
written at once, how fast, or whether it ends at a line's end distinguishes nothing: a buffer may have any size, and a
group commit may acknowledge many items in a moment, each by its own write. A load that writes a group of lines at once
cannot be distinguished from one that buffers them.

Not seen are a program earlier in a shell's pipe that buffers what the last one prints line by line, and a buffer that
one line fills exactly. A loss needs none of this: what was acknowledged late was acknowledged.
"""

from __future__ import annotations

import fcntl
import os
import re
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO

from acidtest.errors import CellFailed
from acidtest.journal.models import Fate
from acidtest.powercut.acknowledgement_log import PIPE_BYTES, Acknowledgement, AcknowledgementLog
from acidtest.powercut.commit_accounting import EXAMPLES_MAX
from acidtest.words import counted, harmless

PRESENT, MISSING, TORN, DAMAGED = "present", "missing", "torn", "damaged"
STATES = (PRESENT, MISSING, TORN)
ITEM_MAX = 1000  # bytes
CLOSED_S = 0.02  # between two looks at a pipe that nobody has open
SHOWN_MAX = 80  # characters of an item


def named(item: str) -> str:
    """An item as messages show it."""
    return f'"{harmless(item, SHOWN_MAX)}"'


class ItemLog(AcknowledgementLog):
    """The named pipe on which ``load`` acknowledges: each line is an item, which begins and is acknowledged when the
    writes with its first and its last byte have arrived. No two writes have the same time."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self._arrived_ns: list[tuple[int, int]] = []
        self._now_ns = self._began_ns = 0  # of the last write, and of the line that has not ended
        self._log: list[Acknowledgement] = []  # of the lines that were looked at
        self._seen: set[str] = set()
        with suppress(OSError):  # a smaller one makes load wait for the lab more often
            fcntl.fcntl(self._handle, fcntl.F_SETPIPE_SZ, PIPE_BYTES)

    def writer(self) -> BinaryIO:
        """The end for ``load``: what it writes is read as it was written, and no two writes(2) in one; see O_DIRECT in
        pipe(2). Who opens /dev/stdout again writes without that."""
        file = self.path.open("wb", buffering=0)
        try:
            fcntl.fcntl(file, fcntl.F_SETFL, os.O_DIRECT)
        except OSError:
            file.close()
            raise
        return file

    def _take(self, chunk: bytes) -> None:
        # Read after it came, so that none is taken for older than it is.
        self._now_ns = now_ns = max(time.monotonic_ns(), self._now_ns + 1)
        for _ in range(chunk.count(b"\n")):
            self._arrived_ns.append((self._began_ns or now_ns, now_ns))
            self._began_ns = 0
        super()._take(chunk)
        self._began_ns = (self._began_ns or now_ns) if self._pending else 0

    def wait(self, seconds: float) -> bool:
        """As of engines; whether the load has ended its process tells, for it may close its output and go on."""
        if not super().wait(seconds):
            time.sleep(CLOSED_S)
        return True

    def times_ns(self, start: int) -> list[int]:
        return [acknowledged_ns for _, acknowledged_ns in self._arrived_ns[start:]]

    def read(self) -> list[Acknowledgement]:
        """All that was drained. Raises CellFailed for a line that can be no item, and for one that came twice."""
        self._look()
        return list(self._log)

    def to_keep(self, start: int) -> list[bytes]:
        self._look()
        return [published.as_line() for published in self._log[start:]]

    def _look(self) -> None:
        while (known := len(self._log)) < len(self._lines):
            self._log.append(_taken(self._lines[known], *self._arrived_ns[known], self._seen))


def buffered(log: Sequence[Acknowledgement]) -> str:
    """Why items of a program may have been acknowledged later than they were printed: one began to arrive by the write
    that ended another. "" where each came by itself."""
    together = sum(after.began_ns <= before.acknowledged_ns for before, after in pairwise(log))
    if not together:
        return ""
    return (
        f"program.load acknowledged {together:,} of {counted(len(log), 'item')} in one write with the next: does it "
        "buffer its output? Flush it after each item (Python: flush=True, C: stdbuf -oL)"
    )


def _taken(line: bytes, began_ns: int, at_ns: int, seen: set[str]) -> Acknowledgement:
    """The next item after those that were ``seen``, which it joins. Raises CellFailed as in ``ItemLog.read``."""
    number = len(seen) + 1
    try:
        item = line.decode().strip()
    except UnicodeDecodeError:
        raise CellFailed(f"program.load: line {number} that it acknowledged is no UTF-8 text") from None
    if not item or len(line) > ITEM_MAX:
        what = "is empty" if not item else f"has more than {ITEM_MAX:,} bytes"
        raise CellFailed(f"program.load: line {number} that it acknowledged {what}: print one item a line")
    if item in seen:
        raise CellFailed(f"program.load: acknowledged {named(item)} twice: give each item a name of its own")
    seen.add(item)
    return Acknowledgement(0, number, 0, number, began_ns, at_ns, item)


def planted(among: Sequence[str]) -> str:
    """An item of the same look as these, at least one, that was never written: their last number, made larger."""
    longest = max(among, key=len)
    digits = list(re.finditer(r"\d+", longest))
    if not digits:
        return f"{longest}-planted"
    at = digits[-1].start()
    made = f"{longest[:at]}9{longest[at:]}"
    while made in among:
        made = f"{made[:at]}9{made[at:]}"
    return made


def answers(said: str, asked: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    """What ``check`` says of each item that it was asked for, and what it says of damage beside them.

    Raises CellFailed for a line that is no answer, an item that was not asked for, one that is answered in two ways,
    and where an answer lacks.
    """
    wanted, found = set(asked), dict[str, str]()
    damage: list[str] = []
    for line in said.splitlines():
        state, _, item = line.strip().partition(" ")
        item = item.strip()
        if not line.strip():
            continue
        if state == DAMAGED:
            damage.append(harmless(item, 300) or "it did not say what")
        elif state not in STATES or not item:
            raise CellFailed(
                f"program.check printed {named(line)}, which is no answer: print {PRESENT}, {MISSING} or {TORN}, "
                "a space, and the item"
            )
        elif item not in wanted:
            raise CellFailed(f"program.check answered for {named(item)}, which $ACIDTEST_ITEMS does not have")
        elif found.setdefault(item, state) != state:
            raise CellFailed(f"program.check answered {found[item]} and {state} for {named(item)}")
    if lacks := [item for item in asked if item not in found]:
        many = f"{counted(len(lacks), 'item')} of {len(asked):,}"
        raise CellFailed(f"program.check gave no answer for {many}, the first {named(lacks[0])}")
    return found, damage


def first_missing_ns(log: Sequence[Acknowledgement], found: Mapping[str, str]) -> int | None:
    """When the line of the first acknowledged item came that is not there, of CLOCK_MONOTONIC; None without one."""
    return min((line.acknowledged_ns for line in log if found[line.item] == MISSING), default=None)


def fate(log: Sequence[Acknowledgement], found: Mapping[str, str]) -> Fate:
    """What became of the acknowledged items. An item that is there in parts is no lost one, but torn.

    Of those that were not acknowledged nothing is known, and nothing of the order: items may be written side by side.
    """
    lost = [line.item for line in log if found[line.item] == MISSING]
    torn = [line.item for line in log if found[line.item] == TORN]
    examples = [f"item {named(item)} was acknowledged and is not there" for item in lost[:EXAMPLES_MAX]]
    examples += [f"item {named(item)} is there in parts" for item in torn[:EXAMPLES_MAX]]
    return Fate(
        acknowledged=len(log),
        present=len(log) - len(lost) - len(torn),
        lost=len(lost),
        loaded_lost=0,
        unacknowledged=0,
        torn=len(torn),
        order_broken=False,
        examples=examples,
    )
