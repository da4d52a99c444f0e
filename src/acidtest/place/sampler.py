"""Samples what memory holds while a cell runs: the control group, the file cache, the pressure."""

from __future__ import annotations

import contextlib
import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from acidtest.files import kernel_text
from acidtest.journal.models import MemorySample
from acidtest.place import filecache
from acidtest.place.cgroup import Cgroup, Launched, parse_pressure
from acidtest.place.hint import Hint

EVERY_S = 0.25
HINT_EVERY_S = 0.05  # what is read in this time after a file was opened is read without the hint
SHARE_MAX = 0.02  # of one core: a thousand files take their time, and the run shall not feel it
SAMPLES_MAX = 240
FILES_EVERY_S = 2.0  # how often new files are looked for
PRESSURE = Path("/proc/pressure")


class Sampler:
    """Two threads of the lab: one samples, one gives the hint. Bounded in time and in what it keeps."""

    def __init__(self, paths: list[Path], launched: Launched, cgroup: Cgroup | None, hint: Hint | None) -> None:
        self._paths = paths
        self._launched = launched
        self._cgroup = cgroup
        self._hint = hint
        self._files: list[Path] = []
        self._files_at = 0.0
        self._ended = threading.Event()
        self._threads: list[threading.Thread] = []
        self._step = 1  # every which sample is kept
        self._taken = 0
        self._kept: list[MemorySample] = []  # at_s on the lab's monotonic clock
        self._last: MemorySample | None = None  # kept or not
        self._stalled = (0, 0)  # for memory, when sampling began
        self._io_stalled = (0, 0)  # for devices
        self._machine = Machine(None, None, None, None)  # when sampling began
        self._seen = False  # processes of the engine
        self.pressure_source: str | None = None

    def start(self) -> None:
        self._look()
        self._stalled = self._pressure() or (0, 0)
        self._io_stalled = self._pressure("io") or (0, 0)
        self._machine = machine_now()
        work: list[tuple[Callable[[], None], float]] = [(self._sample, EVERY_S)]
        if self._hint:
            work.append((self._give, HINT_EVERY_S))
        self._threads = [
            threading.Thread(target=self._repeat, args=one, name="acidtest-memory", daemon=True) for one in work
        ]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join()

    def samples(self, begin: float, end: float) -> list[MemorySample]:
        """Those kept, and the last one before ``end``. ``at_s`` counts from ``begin``, both of the monotonic clock."""
        last = [self._last] if self._last and self._last not in self._kept else []
        return [
            sample.model_copy(update={"at_s": round(sample.at_s - begin, 3)})
            for sample in (*self._kept, *last)
            if sample.at_s <= end
        ]

    def _repeat(self, work: Callable[[], None], every_s: float) -> None:
        wait_s = 0.0
        while not self._ended.wait(wait_s):
            began = time.thread_time()
            with contextlib.suppress(OSError):  # a directory or a process that is gone meanwhile
                work()
            wait_s = max(every_s, (time.thread_time() - began) / SHARE_MAX)

    def _look(self) -> None:
        if time.monotonic() - self._files_at > FILES_EVERY_S or not self._files:
            self._files = filecache.files_below(self._paths)
            self._files_at = time.monotonic()

    def _give(self) -> None:
        assert self._hint
        self._hint.give(self._launched.pids())

    def _sample(self) -> None:
        self._look()
        self._last = self._now()
        if self._taken % self._step == 0:
            self._kept.append(self._last)
            if len(self._kept) >= SAMPLES_MAX:
                self._kept = self._kept[::2]
                self._step *= 2
        self._taken += 1

    def _now(self) -> MemorySample:
        """Raises ProcessLookupError when the engine's processes have ended, or one meanwhile: its reads are gone."""
        pids = self._launched.pids()
        if self._seen and not pids:
            raise ProcessLookupError
        self._seen = bool(pids)
        cached = filecache.residency(self._files)
        usage = self._cgroup.usage() if self._cgroup else None
        stalled, io_stalled = self._pressure(), self._pressure("io")
        whole, began = machine_now(), self._machine
        reads, read_bytes = _reads(pids)
        return MemorySample(
            at_s=time.monotonic(),
            usage_bytes=usage.usage_bytes if usage else None,
            file_bytes=usage.file_bytes if usage else None,
            engine_bytes=usage.engine_bytes if usage else None,
            swap_bytes=usage.swap_bytes if usage else None,
            refaults_file=usage.refaults_file if usage else None,
            refaults_engine=usage.refaults_engine if usage else None,
            major_faults=usage.major_faults if usage else None,
            stalled_some_us=stalled[0] - self._stalled[0] if stalled else None,
            stalled_full_us=stalled[1] - self._stalled[1] if stalled else None,
            database_bytes=cached.file_bytes,
            resident_bytes=cached.resident_bytes,
            dirty_bytes=cached.dirty_bytes,
            read_calls=reads,
            storage_read_bytes=read_bytes,
            io_stalled_some_us=io_stalled[0] - self._io_stalled[0] if io_stalled else None,
            io_stalled_full_us=io_stalled[1] - self._io_stalled[1] if io_stalled else None,
            machine_available_bytes=whole.available_bytes,
            machine_swapped_out_pages=_since(whole.swapped_out_pages, began.swapped_out_pages),
            machine_memory_stalled_us=_since(whole.memory_stalled_us, began.memory_stalled_us),
            machine_io_stalled_us=_since(whole.io_stalled_us, began.io_stalled_us),
        )

    def _pressure(self, of: str = "memory") -> tuple[int, int] | None:
        if self._cgroup and (own := self._cgroup.pressure(of)) is not None:
            self.pressure_source = "control group"
            return own
        whole = parse_pressure(kernel_text(PRESSURE / of, ""))
        self.pressure_source = "machine" if whole else None
        return whole


@dataclass(frozen=True)
class Machine:
    """What the whole machine has left, and what it has waited and swapped since it started."""

    available_bytes: int | None
    swapped_out_pages: int | None
    memory_stalled_us: int | None
    io_stalled_us: int | None


def machine_now() -> Machine:
    """See proc_meminfo(5), proc_vmstat(5), and the kernel's accounting/psi.rst."""
    available = re.search(r"^MemAvailable:\s+(\d+) kB", kernel_text(Path("/proc/meminfo"), ""), re.MULTILINE)
    swapped = re.search(r"^pswpout (\d+)", kernel_text(Path("/proc/vmstat"), ""), re.MULTILINE)
    memory, io = (parse_pressure(kernel_text(PRESSURE / of, "")) for of in ("memory", "io"))
    return Machine(
        int(available[1]) << 10 if available else None,
        int(swapped[1]) if swapped else None,
        memory[0] if memory else None,
        io[0] if io else None,
    )


def _since(now: int | None, before: int | None) -> int | None:
    return None if now is None or before is None else now - before


def _reads(pids: list[int]) -> tuple[int, int]:
    """Read calls, and bytes fetched from storage, of processes that live; see proc_pid_io(5).

    Raises ProcessLookupError when one has ended.
    """
    calls = fetched = 0
    for pid in pids:
        try:
            counters = kernel_text(Path(f"/proc/{pid}/io"))
        except (FileNotFoundError, ProcessLookupError):
            raise ProcessLookupError from None
        except PermissionError:
            continue
        for line in counters.splitlines():
            name, _, value = line.partition(": ")
            calls += int(value) if name == "syscr" else 0
            fetched += int(value) if name == "read_bytes" else 0
    return calls, fetched
