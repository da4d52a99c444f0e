"""The rig as a process: finds the binary, hands it a job, yields its events."""

from __future__ import annotations

import contextlib
import os
import selectors
import subprocess
import tempfile
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Protocol

from pydantic import ValidationError

from acidtest.engine import Instance
from acidtest.engine.base import ProcessStarter
from acidtest.errors import CellFailed
from acidtest.files import find_rig
from acidtest.journal.protocol import (
    EVENT,
    PROTOCOL,
    Answered,
    Done,
    Event,
    Failed,
    Go,
    Hello,
    Job,
    LoadPhase,
    MeasureFrom,
    PagesJob,
    Phase,
    ProbeJob,
)
from acidtest.plan import Cell
from acidtest.workload import WorkloadSpec

SILENCE_S = 900.0  # building an index over a large table is one call without news


class Refused(CellFailed):
    """The rig could not go on, in the engine's or the system's own words."""


class DiskFull(Refused):
    """The place ran out of space; going on would fail every further cell."""


class Working(Protocol):
    """A rig at work, here or in a guest."""

    def lines(self, silence_s: float) -> Iterator[bytes]:
        """Its output, line by line, up to its end. Raises CellFailed when nothing comes for ``silence_s``."""

    def ended(self, limit_s: float) -> tuple[int, str]:
        """Its exit code (below zero: the signal that killed it) and the end of its standard error.

        Raises CellFailed when it does not end within ``limit_s``."""

    def stop(self) -> None:
        """End it if it still runs, and let go of it."""


Start = Callable[[bytes, Mapping[str, str]], Working]  # over a job and the variables that it needs


def converse(
    job: Job | ProbeJob | PagesJob,
    launcher: ProcessStarter,
    environment: Mapping[str, str],
    start: Start | None = None,
    *,
    silence_s: float = SILENCE_S,
) -> Generator[Event]:
    """Run one rig process over ``job`` and yield its events up to and including ``Done``.

    ``start`` starts it elsewhere, with ``environment`` alone; here ``environment`` is laid over the lab's own. Raises
    CellFailed when the rig reports a failure, dies, writes something that is no event, or is silent for ``silence_s``.
    The process is gone when the generator is closed: who may leave it before its end has to close it.
    """
    command = {ProbeJob: "probe", PagesJob: "pages"}.get(type(job), "job")
    rig = (start or partial(Process, launcher, command))(job.model_dump_json(by_alias=True).encode(), environment)
    try:
        yield from _events(rig, silence_s)
        code, words = rig.ended(60.0)
        if code != 0:
            raise CellFailed(f"the rig ended with code {code} after its work: {_last(words)}")
    except _Ended:
        code, words = rig.ended(60.0)
        raise CellFailed(f"the rig {_ending(code)}: {_last(words)}") from None
    finally:
        rig.stop()


def job_for(
    cell: Cell,
    instance: Instance,
    phases: Sequence[Phase],
    *,
    workload: WorkloadSpec | None = None,
    inspected: bool = False,
) -> Job:
    """What the rig is to do with ``instance`` for ``cell``.

    ``workload`` is the one in force, where it is not the cell's. With ``inspected`` settings in force are asked for.
    """
    return Job(
        seed=cell.seed,
        target=instance.target(),
        workload=(workload or cell.workload).message(),
        inspect=instance.inspections() if inspected else [],
        phases=list(phases),
    )


def load_phase(loaded: int = 0) -> LoadPhase:
    """A load by as many sessions as this machine has processors, on top of ``loaded`` units of the workload's size."""
    return LoadPhase(sessions=os.cpu_count() or 1, from_units=loaded)


def answered(events: Iterable[Event]) -> list[list[str | None]]:
    """The rows of a conversation's one question, when it has ended."""
    answers = [event for event in events if isinstance(event, Answered)]
    return answers[0].rows


class Process:
    """The rig as a process of this machine, which the ledger knows of. Without ``job`` it waits for ``send``."""

    def __init__(
        self,
        launcher: ProcessStarter,
        command: str,
        job: bytes | None,
        environment: Mapping[str, str],
        options: Iterable[str] = (),
    ) -> None:
        self._launcher = launcher
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 - closed by stop
        try:
            self._id, self._process = launcher.start_process(
                [str(find_rig()), command, *options], environment={**os.environ, **environment}, stderr=self._stderr
            )
        except BaseException:
            self._stderr.close()
            raise
        if job is not None:
            self.send(job)
            self.end_input()

    def send(self, job: bytes) -> None:
        """Give it a job."""
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # it ended: its output shows why
            self._process.stdin.write(job)
            self._process.stdin.flush()

    def end_input(self) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()

    def lines(self, silence_s: float) -> Iterator[bytes]:
        assert self._process.stdout is not None
        descriptor = self._process.stdout.fileno()
        pending = b""
        heard = time.monotonic()
        with selectors.DefaultSelector() as selector:
            selector.register(descriptor, selectors.EVENT_READ)
            while True:
                if not selector.select(timeout=1.0):
                    if time.monotonic() - heard > silence_s:
                        raise CellFailed(f"the rig was silent for {silence_s:.0f} s and was ended")
                    continue
                heard = time.monotonic()
                chunk = os.read(descriptor, 1 << 20)
                if not chunk:
                    return
                *lines, pending = (pending + chunk).split(b"\n")
                yield from lines

    def ended(self, limit_s: float) -> tuple[int, str]:
        try:
            code = self._process.wait(timeout=limit_s)
        except subprocess.TimeoutExpired:
            raise CellFailed(f"the rig finished its work but did not end within {limit_s:.0f} s") from None
        self._stderr.seek(0)
        return code, self._stderr.read()[-2000:].decode(errors="replace")

    def stop(self) -> None:
        self._launcher.end_process(self._id, self._process)
        self._stderr.close()


class Listening(Process):
    """One rig process over one job, which hears more while it is at work: its input stays open."""

    def __init__(self, launcher: ProcessStarter, job: bytes, environment: Mapping[str, str]) -> None:
        super().__init__(launcher, "jobs", None, environment)
        self.send(job + b"\n")


class Gated(Listening):
    """Over a job with a share: when it is ready it waits for ``go``."""

    def go(self, at_ns: int) -> None:
        """Its load begins then, in ns since 1970 by this machine's clock. It gets no other job."""
        self.send(Go(at_ns=at_ns).model_dump_json().encode() + b"\n")
        self.end_input()


class Warming(Listening):
    """Over a job whose warm-up may end early: it listens until it is told, or measures."""

    def measure_from(self, second: int) -> None:
        """Measure from this second of the load on."""
        self.send(MeasureFrom(second=second).model_dump_json().encode() + b"\n")
        self.end_input()


class Standing:
    """One rig process for job after job, which loads an engine's library once; as the start of ``converse``.

    A job that did not end well ends the process with it: the next one gets a new process.
    """

    def __init__(self, launcher: ProcessStarter, *, local_names: bool = False) -> None:
        """With ``local_names`` it knows the users and groups in this machine's files only, and asks no service."""
        self._launcher = launcher
        self._options = ["--local-names"] if local_names else []
        self._rig: Process | None = None

    @property
    def is_fresh(self) -> bool:
        """Whether the next job gets a process that has done nothing yet."""
        return self._rig is None

    def __call__(self, job: bytes, environment: Mapping[str, str]) -> Working:
        if self._rig is None:
            self._rig = Process(self._launcher, "jobs", None, environment, self._options)
        self._rig.send(job + b"\n")
        return _Turn(self, self._rig)

    def end(self) -> None:
        """End the process, whatever it does."""
        if self._rig is not None:
            self._rig.stop()
            self._rig = None


class _Turn:
    """One job of a standing rig."""

    def __init__(self, standing: Standing, rig: Process) -> None:
        self._standing, self._rig = standing, rig
        self._is_gone = self._is_done = False

    def lines(self, silence_s: float) -> Iterator[bytes]:
        yield from self._rig.lines(silence_s)
        self._is_gone = True

    def ended(self, limit_s: float) -> tuple[int, str]:
        if self._is_gone:
            return self._rig.ended(limit_s)
        self._is_done = True
        return 0, ""

    def stop(self) -> None:
        if not self._is_done:
            self._standing.end()


class _Ended(Exception):
    """The rig closed its output before it was done."""


def _events(rig: Working, silence_s: float) -> Iterator[Event]:
    for number, line in enumerate(rig.lines(silence_s)):
        try:
            event = EVENT.validate_json(line)
        except ValidationError:
            raise CellFailed(
                f"the rig wrote something that is no event: {line[:200].decode(errors='replace')}"
            ) from None
        if isinstance(event, Failed):
            kind = DiskFull if _is_disk_full(event.message) else Refused
            raise kind(f"{event.doing}: {event.message}")
        if number == 0 and (not isinstance(event, Hello) or event.protocol != PROTOCOL):
            raise CellFailed("the rig and this acidtest are of different versions; install acidtest again")
        yield event
        if isinstance(event, Done):
            return
    raise _Ended


def _is_disk_full(message: str) -> bool:
    lower = message.lower()
    return any(words in lower for words in ("no space left", "disk is full", "disk full", "database or disk is full"))


def _ending(code: int) -> str:
    return f"was killed by signal {-code}" if code < 0 else f"ended with code {code}"


def _last(words: str) -> str:
    return " / ".join(words.strip().splitlines()[-3:]) or "it left no message"
