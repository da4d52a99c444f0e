"""What a machine does as a whole, by the kernel's own counters: processors, memory, and who waits for what."""

from __future__ import annotations

import os
import random
import threading
import time
import zlib
from dataclasses import dataclass
from pathlib import Path

from acidtest.files import kernel_text
from acidtest.journal.models import HostSample
from acidtest.place.cgroup import parse_pressure

EVERY_S = 1.0
SAMPLES_MAX = 600
IDLE, IO_WAIT, STEAL = 3, 4, 7  # places among the numbers of a processor in /proc/stat, see proc_stat(5)
GUEST = 8  # from here on time that is counted among the others already


@dataclass(frozen=True)
class HostCounters:
    """Since the machine is there; pressures are microseconds in which some process waited."""

    at_s: float  # of the monotonic clock
    ticks: tuple[int, ...]  # of all processors, by what they did
    available_bytes: int
    pressure_us: tuple[int | None, int | None, int | None]  # processor, storage, memory


def counters() -> HostCounters:
    """Now. Raises OSError where the kernel does not say."""
    pressures = [_pressure(name) for name in ("cpu", "io", "memory")]
    return HostCounters(
        time.monotonic(),
        parse_ticks(kernel_text(Path("/proc/stat"))),
        parse_available(kernel_text(Path("/proc/meminfo"))),
        (pressures[0], pressures[1], pressures[2]),
    )


def parse_ticks(text: str) -> tuple[int, ...]:
    """The first line of /proc/stat: ``cpu  user nice system idle iowait irq softirq steal guest guest_nice``."""
    return tuple(int(word) for word in text.splitlines()[0].split()[1:][:GUEST])


def _pressure(of: str) -> int | None:
    """None of a kernel that does not account for it."""
    try:
        told = parse_pressure(kernel_text(Path("/proc/pressure") / of))
    except OSError:
        return None
    return told[0] if told else None


def parse_available(text: str) -> int:
    """MemAvailable of /proc/meminfo, in bytes."""
    for line in text.splitlines():
        name, _, value = line.partition(":")
        if name == "MemAvailable":
            return int(value.split()[0]) * 1024
    return 0


def between(before: HostCounters, after: HostCounters, at_s: float) -> HostSample:
    """What the machine did from one reading to a later one, which is told as of ``at_s``."""
    ticks = [max(b - a, 0) for a, b in zip(before.ticks, after.ticks, strict=True)]
    whole = sum(ticks) or 1
    length_us = (after.at_s - before.at_s) * 1e6 or 1.0

    def pressure(number: int) -> float | None:
        first, last = before.pressure_us[number], after.pressure_us[number]
        return None if first is None or last is None else min(1.0, (last - first) / length_us)

    return HostSample(
        at_s=at_s,
        busy=1.0 - (ticks[IDLE] + ticks[IO_WAIT]) / whole,
        io_wait=ticks[IO_WAIT] / whole,
        available_bytes=after.available_bytes,
        pressure_cpu=pressure(0),
        pressure_io=pressure(1),
        pressure_memory=pressure(2),
    )


def stolen(before: HostCounters, after: HostCounters) -> float:
    """The share of the processors' time that the host gave to others while something here wanted to run."""
    ticks = [max(b - a, 0) for a, b in zip(before.ticks, after.ticks, strict=True)]
    return ticks[STEAL] / (sum(ticks) or 1) if len(ticks) > STEAL else 0.0


def deflate_mb_per_s(seconds: float = 0.3) -> float:
    """How fast one processor is, in MB of the same text that zlib compresses a second: the best of several pieces, for
    other work makes each slower."""
    lot = random.Random(1)
    text = b" ".join(b"%x" % lot.randrange(1 << 20) for _ in range(40_000))
    best, end = 0.0, time.monotonic() + seconds
    while not best or time.monotonic() < end:
        began = time.perf_counter()
        zlib.compress(text, 6)
        best = max(best, len(text) / (time.perf_counter() - began) / 1e6)
    return best


class HostWatch:
    """Reads the counters every second on a thread of the lab, from ``start`` to ``stop``."""

    def __init__(self) -> None:
        self._ended = threading.Event()
        self._read: list[HostCounters] = []
        self._step_s = EVERY_S
        self._thread = threading.Thread(target=self._go, name="acidtest-host", daemon=True)

    def start(self) -> None:
        self._read = [counters()]
        self._thread.start()

    def _go(self) -> None:
        while not self._ended.wait(self._step_s):
            self._read.append(counters())
            if len(self._read) > SAMPLES_MAX:
                self._read, self._step_s = self._read[::2], self._step_s * 2

    def stop(self) -> None:
        self._ended.set()
        self._thread.join()
        self._read.append(counters())

    def samples(self, begin_s: float, end_s: float) -> list[HostSample]:
        """Those that end after ``begin_s`` and begin before ``end_s`` of the monotonic clock; ``at_s`` counts from
        ``begin_s``."""
        pairs = zip(self._read, self._read[1:], strict=False)
        return [
            between(before, after, round(after.at_s - begin_s, 3))
            for before, after in pairs
            if after.at_s > begin_s and before.at_s < end_s
        ]


def processors() -> int:
    return os.cpu_count() or 1
