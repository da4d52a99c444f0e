"""What a peer is: another program that does the rig's work on the same server, and what one run of either costs."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from acidtest.conductor.foreign import asking
from acidtest.conductor.rig import converse
from acidtest.engine.postgres.engine import SYSTEM
from acidtest.errors import CellFailed, MachineLacks
from acidtest.journal.models import Scalar
from acidtest.journal.protocol import Answered, AskPhase, Target, WorkloadMessage
from acidtest.place import Ledger


@dataclass(frozen=True)
class Figures:
    """Of one run of one client."""

    transactions: int
    cpu_s: float
    per_s: float

    @property
    def cpu_us(self) -> float:
        return self.cpu_s * 1e6 / self.transactions


def one_way(target: Target) -> Mapping[str, Target]:
    return {"": target}


def nothing(target: Target, directory: Path) -> None:
    """All that a peer needs is there."""


@dataclass(frozen=True)
class Peer:
    """``run`` is given the server, how many sessions, in how many threads, how many seconds, and a directory."""

    name: str
    engine: str
    durability: str  # a level that flushes nothing
    settings: Mapping[str, Scalar]
    workload: WorkloadMessage  # whose database is loaded, and checked at the end
    run: Callable[[Target, int, int, int, Path], Figures]
    measured: WorkloadMessage | None = None  # what the rig runs over that database, if not the workload itself
    prepare: Callable[[Target, Path], None] = nothing  # what else is to be there, with an empty directory to work in
    ways: Callable[[Target], Mapping[str, Target]] = one_way  # in which the rig works, each beside the peer
    has_threads: bool = True  # else each of its sessions has one, whatever the rig has
    # How a session of its was encrypted; None: it has no arm over TLS.
    encryption: Callable[[Target, Path], str] | None = None


def postgres_program(name: str) -> str:
    """The path of ``pgbench`` or ``psql``. Debian's in /usr/bin are Perl scripts that look for it."""
    programs = sorted(SYSTEM.glob(f"*/bin/{name}"))
    path = str(programs[-1]) if programs else shutil.which(name)
    if path is None:
        raise MachineLacks(f"{name} is missing", "apt-get install postgresql")
    return path


def asked(target: Target, question: str) -> str:
    """The answer's first value; "" where there is none."""
    with closing(Ledger()) as ledger:
        job = asking(target, phases=[AskPhase(questions=[question])])
        rows = next(event.rows for event in converse(job, ledger, {}) if isinstance(event, Answered))
    return str(rows[0][0]) if rows and rows[0][0] else ""


def timed(command: list[str], environment: Mapping[str, str]) -> tuple[str, float]:
    """What a program says, and its processor time in seconds. Raises CellFailed when it ends badly."""
    with tempfile.TemporaryFile("w+", encoding="utf-8") as output:
        process = subprocess.Popen(
            command,
            env={**os.environ, **environment},
            stdout=output,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
        )
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        text = output.read()
    if process.returncode != 0:
        raise CellFailed(f"{Path(command[0]).name} ended with {process.returncode}: {text.strip()[-300:]}")
    return text, usage.ru_utime + usage.ru_stime


def number(pattern: str, text: str) -> float:
    match = re.search(pattern, text)
    if match is None:
        raise CellFailed(f"no {pattern!r} in what the peer said: {text.strip()[-300:]}")
    return float(match[1])
