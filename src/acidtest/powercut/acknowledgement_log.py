"""The acknowledgement log: which commits the engine acknowledged, read from a pipe outside everything that is cut.

A terminal writes each line by one write(2) with its own time, after the engine's answer and before it goes on
(rig/terminal/src/acknowledgements.rs); the pipe is emptied right before the cut. So lines of engines are never late,
also where there is a replica, and on each host of a fleet. A line that has not left a guest, or a machine with a real
plug, when its power fails does not count: a commit that is lost within that time (milliseconds) after its
acknowledgement is not noticed. Lines of a program have no time of their own: ``items`` says which can be relied on.
"""

from __future__ import annotations

import dataclasses
import os
import select
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from acidtest.errors import CellFailed

PIPE_BYTES = 1 << 20  # terminals never wait for the lab
NUMBERS = 6  # of a line, before a program's item
NS_OF_MS = 1e6


@dataclass(frozen=True)
class Acknowledgement:
    """One line of the log; see ``RunPlan.acknowledge_to`` in the rig's protocol."""

    terminal: int
    count: int  # rises by one within a terminal
    kind: int
    number: int
    began_ns: int
    acknowledged_ns: int
    item: str = ""  # of a program, its name; a program has no terminals and no kinds

    def as_list(self) -> list[int | str]:
        """For files; what ``Acknowledgement(*line)`` reads."""
        return list(dataclasses.astuple(self))[: None if self.item else -1]

    def as_line(self) -> bytes:
        """What ``parse`` reads."""
        return " ".join(map(str, self.as_list())).encode()


def parse(lines: Iterable[bytes]) -> list[Acknowledgement]:
    """The log's lines in the order in which they were drained. Raises ValueError for what is no line."""
    log: list[Acknowledgement] = []
    for line in lines:
        fields = line.split(b" ", NUMBERS)
        terminal, count, kind, number, began_ns, acknowledged_ns = map(int, fields[:NUMBERS])
        item = fields[NUMBERS].decode() if len(fields) > NUMBERS else ""
        log.append(Acknowledgement(terminal, count, kind, number, began_ns, acknowledged_ns, item))
    return log


def missing_lines(log: Sequence[Acknowledgement]) -> int:
    """How many lines were written and not drained although later ones were: with any, the log cannot be relied on.

    A line that is there twice counts as well.
    """
    counts: dict[int, list[int]] = defaultdict(list)
    for line in log:
        counts[line.terminal].append(line.count)
    return sum(len(set(range(1, max(of) + 1)) ^ set(of)) + len(of) - len(set(of)) for of in counts.values())


def commit_ms(log: Sequence[Acknowledgement]) -> float | None:
    """Median of the transactions that were acknowledged, from their begin to the acknowledgement; None of none."""
    took = [line.acknowledged_ns - line.began_ns for line in log]
    return median(took) / NS_OF_MS if took else None


def kinds(log: Sequence[Acknowledgement]) -> list[int]:
    """Acknowledged commits of each kind of transaction."""
    commits = [0] * (max((line.kind for line in log), default=0) + 1)
    for line in log:
        commits[line.kind] += 1
    return commits


class AcknowledgementLog:
    """A named pipe in ``directory``, or ``pipe``, which is there already and is fed by a guest.

    What was read counts; what is still on its way when power fails does not.
    """

    def __init__(self, directory: Path, pipe: Path | None = None) -> None:
        self.path = pipe or directory / "acknowledgements"
        self._own = pipe is None
        if self._own:
            os.mkfifo(self.path, 0o600)
        self._handle = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        self._lines: list[bytes] = []
        self._pending = b""
        self._poll = select.poll()
        self._poll.register(self._handle, select.POLLIN)

    def __len__(self) -> int:
        return len(self._lines)

    def wait(self, seconds: float) -> bool:
        """Read what has come, after waiting for it at most so long; False once every writer has gone."""
        events = self._poll.poll(max(seconds, 0) * 1e3)
        self.drain()
        return not any(event & select.POLLHUP and not event & select.POLLIN for _, event in events)

    def drain(self) -> None:
        """Read everything that has been written."""
        while True:
            try:
                chunk = os.read(self._handle, PIPE_BYTES)
            except BlockingIOError:
                return
            if not chunk:
                return
            self._take(chunk)

    def _take(self, chunk: bytes) -> None:
        """Add what one read has given."""
        *lines, self._pending = (self._pending + chunk).split(b"\n")
        self._lines += lines

    def lines(self, start: int) -> list[bytes]:
        """As they were drained, without the first ``start``."""
        return self._lines[start:]

    def to_keep(self, start: int) -> list[bytes]:
        """As a witness elsewhere keeps them, and ``parse`` reads them, without the first ``start``. Raises CellFailed
        for what is no acknowledgement, where that can be seen."""
        return self.lines(start)

    def times_ns(self, start: int) -> list[int]:
        """When commits were acknowledged, of CLOCK_MONOTONIC, without the first ``start`` that were drained."""
        try:
            return [int(line.rpartition(b" ")[2]) for line in self._lines[start:]]
        except ValueError:
            raise CellFailed("the acknowledgement log holds a line that is no acknowledgement") from None

    def read(self) -> list[Acknowledgement]:
        """All that was drained. Raises CellFailed for what is no acknowledgement."""
        try:
            return parse(self._lines)
        except (ValueError, TypeError):
            raise CellFailed("the acknowledgement log holds a line that is no acknowledgement") from None

    def close(self) -> None:
        os.close(self._handle)
        if self._own:
            self.path.unlink()
