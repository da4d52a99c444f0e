"""The load that runs until power fails: the rig in the background, and what it has acknowledged."""

from __future__ import annotations

import random
import signal
import subprocess
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Literal, TypeVar

from acidtest.analysis.recovery import NEEDED_S
from acidtest.conductor.rig import Process, Start, Working, converse, job_for
from acidtest.engine import Instance
from acidtest.errors import AcidtestError, CellFailed, message_of
from acidtest.journal.protocol import Duration, Extent, Hello, Job, Settings
from acidtest.place.guest.cuttable import CuttableGuest
from acidtest.place.link import entering
from acidtest.plan import Cell
from acidtest.powercut.acknowledgement_log import AcknowledgementLog

FIRST_S = 120.0  # for the first acknowledgement
LONGEST_S = 120.0  # for the number that the seed has drawn
LOAD_S = 1e6  # the load never ends by itself
Made = TypeVar("Made")


class InMachine:
    """A rig in a guest, which ends with the guest."""

    def __init__(self, machine: CuttableGuest, job: bytes, environment: Mapping[str, str]) -> None:
        self._machine = machine
        self._rig = machine.rig(job, environment)

    def lines(self, silence_s: float) -> Iterator[bytes]:
        return self._rig.lines(silence_s)

    def ended(self, limit_s: float) -> tuple[int, str]:
        return self._rig.ended(limit_s)

    def stop(self) -> None:
        self._machine.pull()


class Load(ABC):
    """A load at work in the background, until it is killed."""

    nothing = "no commit was acknowledged within {:.0f} s"
    first_s = FIRST_S

    def __init__(self, acknowledged: AcknowledgementLog) -> None:
        self.acknowledged = acknowledged
        self.answers: list[Settings] = []
        self.engine_version = ""
        self._failure: AcidtestError | None = None
        self.began = time.monotonic()
        self.opened_s: float | None = None  # from its start until the engine had answered on its first session
        self._thread = threading.Thread(target=self.follow, daemon=True)

    @abstractmethod
    def follow(self) -> None:
        """In a thread of its own: wait for the load to end, and tell ``fail`` if it did so by itself."""

    @abstractmethod
    def kill(self) -> None:
        """End the load, and with it an engine that is embedded in it; wait for ``follow``."""

    def fail(self, failure: AcidtestError) -> None:
        """It has ended by itself, for this reason."""
        self._failure = failure

    def until(self, moment: Moment) -> None:
        """Wait for ``moment``. Raises CellFailed when the load fails or nothing is acknowledged."""
        self.await_first(self.first_s)
        first = time.monotonic()
        number, seconds = moment.acknowledged or 1, moment.seconds or 0.0
        limit = LONGEST_S if moment.seconds is None else moment.seconds
        self._await(lambda: len(self.acknowledged) >= number and time.monotonic() - first >= seconds, limit)
        commit_s = (time.monotonic() - first) / len(self.acknowledged)
        time.sleep(moment.later * commit_s)

    def await_first(self, limit_s: float) -> None:
        """Wait for the first commit. Raises CellFailed when the load fails or nothing is acknowledged."""
        self._await(lambda: len(self.acknowledged) > 0, limit_s)
        if not self.acknowledged:
            raise CellFailed(self.nothing.format(limit_s))

    def await_count(self, count: int) -> None:
        """Wait for so many, for at most ``LONGEST_S``. Raises CellFailed when the load fails before."""
        self.await_first(self.first_s)
        self._await(lambda: len(self.acknowledged) >= count, LONGEST_S)

    def meanwhile(self, work: Callable[[], Made]) -> Made:
        """Do ``work``, and read what comes: the time of a line that nobody reads would be a later one."""
        with ThreadPoolExecutor(1) as thread:
            made = thread.submit(work)
            while not made.done():
                self.acknowledged.wait(0.05)
        return made.result()

    def finish(self, count: int) -> None:
        """Wait until a load of ``count`` acknowledgements has ended in order, and read them. Raises CellFailed."""
        end = time.monotonic() + LONGEST_S
        while self.is_at_work and time.monotonic() < end:
            self.acknowledged.wait(0.05)
        self.kill()
        self.acknowledged.drain()
        if error := self.error():
            raise CellFailed(error)

    def wait_until(self, time_s: float) -> None:
        """Read what comes up to ``time_s`` of the monotonic clock. Raises CellFailed when the load fails."""
        self._await(lambda: False, time_s - time.monotonic())

    def _await(self, reached: Callable[[], bool], limit_s: float) -> None:
        end = time.monotonic() + limit_s
        while not reached() and (left := end - time.monotonic()) > 0:
            alive = self.acknowledged.wait(min(left, 0.05))
            if not alive or not self._thread.is_alive():
                self._thread.join()
                raise self._failure or CellFailed("the load ended before power failed")

    def after(self, seconds: float) -> Literal["stopped", "went on", "hung"]:
        """Wait so long, but not on a load that has ended, and tell what it did; ``hung``: no more answers came."""
        begun = time.monotonic()
        half: int | None = None
        while self._thread.is_alive() and (left := begun + seconds - time.monotonic()) > 0:
            self.acknowledged.wait(min(left, 0.05))
            if half is None and left < seconds / 2:
                half = len(self.acknowledged)
        if not self._thread.is_alive():
            return "stopped"
        return "went on" if half is None or len(self.acknowledged) > half else "hung"

    @property
    def is_at_work(self) -> bool:
        return self._thread.is_alive()

    def error(self) -> str:
        """Why the load ended; "" while it goes on."""
        return self._failure.message if self._failure is not None else ""

    def elapsed_s(self) -> float:
        return time.monotonic() - self.began


class RigLoad(Load):
    """The rig driving load; by ``start`` it runs elsewhere."""

    def __init__(
        self,
        job: Job,
        environment: Mapping[str, str],
        acknowledged: AcknowledgementLog,
        start: Start | None = None,
    ) -> None:
        super().__init__(acknowledged)
        self._job, self._environment, self._start = job, environment, start
        self._rig: Killable | None = None
        self._started = threading.Event()
        self._thread.start()
        try:
            self._started.wait()
        except BaseException:  # nobody else knows of it yet
            self.kill()
            raise

    def follow(self) -> None:
        launcher = Unledgered()

        def start(text: bytes, variables: Mapping[str, str]) -> Working:
            rig = self._start(text, variables) if self._start else Process(launcher, "job", text, variables)
            self._rig = Killable(rig)
            self._started.set()
            return self._rig

        try:
            for event in converse(self._job, launcher, self._environment, start):
                if isinstance(event, Settings):
                    self.answers.append(event)
                elif isinstance(event, Hello):
                    self.engine_version = event.engine_version
                    self.opened_s = self.elapsed_s()
        except AcidtestError as error:
            self.fail(error)
        except OSError as error:
            self.fail(CellFailed(message_of(error)))
        finally:
            self._started.set()

    def kill(self) -> None:
        if self._rig is not None:
            self._rig.stop()
        self._thread.join()


@contextmanager
def loaded(
    cell: Cell,
    instance: Instance,
    directory: Path,
    machine: CuttableGuest | None = None,
    start_rig: Start | None = None,
    extent: Extent | None = None,
) -> Iterator[Load]:
    """Load of ``cell`` on the instance, with its acknowledgement log in ``directory``; killed in the end.

    It ends by itself after ``extent``, where one is given.

    With ``machine`` it is driven in there, and the end of the load is that of the machine; by ``start_rig`` the rig
    runs elsewhere.
    """
    pipe, named = machine.acknowledgements() if machine else (None, "")
    acknowledged = AcknowledgementLog(directory, pipe)
    try:
        update = {
            "extent": extent or Duration(seconds=LOAD_S),
            "acknowledge_to": named or str(acknowledged.path),
            "warmup_s": cell.workload.warmup_s,
            "may_start_early": False,
        }
        phase = cell.workload.run_phase().model_copy(update=update)
        start = partial(InMachine, machine) if machine else start_rig
        load = RigLoad(job_for(cell, instance, [phase], inspected=True), instance.environment(), acknowledged, start)
        try:
            yield load
        finally:
            load.kill()
    finally:
        acknowledged.close()


@dataclass(frozen=True)
class Moment:
    """After so many acknowledgements, or so long after the first, and then a little later."""

    acknowledged: int | None
    seconds: float | None
    later: float  # of the time that one commit takes

    @classmethod
    def drawn(cls, cell: Cell) -> Moment:
        """The moment that the cut's seed draws, from the extent of the workload."""
        lot = random.Random(f"{cell.seed}:cut")
        if cell.place.disk_recovery_s is not None:  # the rate before it is to be judged
            return cls(None, lot.uniform(NEEDED_S, cell.workload.duration_s or NEEDED_S), lot.random())
        if cell.workload.count is not None:
            return cls(lot.randint(1, cell.workload.count), None, lot.random())
        return cls(None, lot.uniform(0.05, 1.0) * (cell.workload.duration_s or 1.0), lot.random())


class Unledgered:
    """Starts rigs without the ledger, which costs more than a rig does: each asks the kernel to be killed with
    its lab. With ``network`` they are in that one."""

    def __init__(self, network: Path | None = None) -> None:
        self._prefix = [] if network is None else entering(network)

    def start_process(
        self,
        command: Sequence[str],
        *,
        environment: Mapping[str, str],
        stderr: IO[bytes],
        stdout: IO[bytes] | None = None,
    ) -> tuple[str, subprocess.Popen[bytes]]:
        pipe = subprocess.PIPE
        process = subprocess.Popen(
            [*self._prefix, *command],
            env=environment,
            stdin=pipe,
            stdout=stdout or pipe,
            stderr=stderr,
            start_new_session=True,
        )
        return "", process

    def end_process(self, id: str, process: subprocess.Popen[bytes]) -> None:  # noqa: A002
        process.kill()
        process.wait()


class Killable:
    """A rig that two may stop: who kills it, and who reads it to its end."""

    def __init__(self, rig: Working) -> None:
        self._rig = rig
        self._lock = threading.Lock()
        self._stopped = False

    def lines(self, silence_s: float) -> Iterator[bytes]:
        return self._rig.lines(silence_s)

    def ended(self, limit_s: float) -> tuple[int, str]:
        try:
            return self._rig.ended(limit_s)
        except ValueError:  # its files are closed already
            return -signal.SIGKILL, ""

    def stop(self) -> None:
        with self._lock:
            if not self._stopped:
                self._stopped = True
                self._rig.stop()
