"""The machines from which the load of a row's cells came together, and the machine of the server."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from acidtest.analysis.samples import Row
from acidtest.journal.models import Generator
from acidtest.journal.protocol import Cpu

STILL_MAX = 0.02  # of a measurement; what stands still for so long is late with as many of its transactions
LATE_MS = 1.0  # what is late by less is told as it is, and nobody is named for it


@dataclass(frozen=True)
class HostOfLoad:
    """One generator over the repetitions of a row: medians, and the worst of what was late."""

    host: str
    terminals: int
    commits_per_s: float
    busy: float  # of its threads, 0 to 1
    own_share: (
        float | None
    )  # of a transaction's time that is the generator's own, 0 to 1; None where it was not sampled
    machine_busy: float  # of all processors of its host, by the generator's process
    lateness_ms_p99: float | None  # None where no arrival was waited for
    lateness_ms_max: float | None
    stood_still_ms_max: float
    stood_still: float  # the longest time in which it did, as a part of the measurement
    began_late_ms: float
    clock_error_ms: float


@dataclass(frozen=True)
class ServersHost:
    """The host of the server over the repetitions of a row."""

    host: str
    busy: float  # mean of its processors, 0 to 1
    busy_max: float  # of one second
    io_wait: float
    available_bytes_min: int  # of memory
    write_mb_per_s: float | None  # of the device beneath; None where none was seen
    device_busy: float | None
    device: str | None


def of_row(row: Row) -> tuple[HostOfLoad, ...]:
    """In their order; none of a row whose load came from one machine."""
    by_host: dict[str, list[Generator]] = {}
    for recording in row.done:
        for generator in recording.generators:
            by_host.setdefault(generator.host, []).append(generator)
    return tuple(_host(host, of) for host, of in by_host.items())


def _host(host: str, of: Sequence[Generator]) -> HostOfLoad:
    shares = [share for generator in of if (share := own_share(generator)) is not None]
    return HostOfLoad(
        host=host,
        terminals=of[0].terminals,
        commits_per_s=median([generator.committed / generator.measured_s for generator in of]),
        busy=median([generator.busy for generator in of]),
        own_share=median(shares) if shares else None,
        machine_busy=median([generator.busy * generator.threads / generator.cpu_count for generator in of]),
        lateness_ms_p99=_worst([generator.lateness_ms_p99 for generator in of]),
        lateness_ms_max=_worst([generator.lateness_ms_max for generator in of]),
        stood_still_ms_max=max(generator.stood_still_ms_max for generator in of),
        stood_still=max(generator.stood_still_ms_max / 1e3 / generator.measured_s for generator in of),
        began_late_ms=max(generator.began_late_ms for generator in of),
        clock_error_ms=max(generator.clock_error_s for generator in of) * 1e3,
    )


def _worst(values: Sequence[float | None]) -> float | None:
    return max((value for value in values if value is not None), default=None)


def own_us(cpu: Cpu, ended: int) -> float:
    """The generator's processor time for each of the ``ended`` transactions, µs.

    Clocked transactions are slower than others: the clock is a system call. They tell how the time divides, and all
    transactions together how much it was.
    """
    clocked = cpu.generator_us_per_transaction + cpu.session_us_per_transaction
    if not clocked or not ended:
        return cpu.generator_us_per_transaction
    whole = (cpu.process_user_s + cpu.process_system_s) * 1e6 / ended
    return min(cpu.generator_us_per_transaction, whole * cpu.generator_us_per_transaction / clocked)


def own_share(one: Generator) -> float | None:
    if not one.service_mean_ns or not one.cpu.sampled_transactions:
        return None
    return own_us(one.cpu, one.ended) / (one.service_mean_ns / 1e3)


def slowest(hosts: Sequence[HostOfLoad]) -> HostOfLoad | None:
    """The one that stood still; else the one that was latest with an arrival; where all were in time, that with the
    fewest commits a second of each terminal. None where there are not several."""
    if len(hosts) < 2:
        return None
    still = max(hosts, key=lambda host: host.stood_still)
    if still.stood_still > STILL_MAX:
        return still
    late = max(hosts, key=lambda host: host.lateness_ms_max or 0.0)
    if (late.lateness_ms_max or 0.0) >= LATE_MS:
        return late
    return min(hosts, key=lambda host: host.commits_per_s / host.terminals)


def server_of(row: Row) -> ServersHost | None:
    """None where the fleet does not reach it, and of a load from one machine."""
    seen = [recording for recording in row.done if recording.server_host and recording.server_host.samples]
    if not seen:
        return None
    hosts = [recording.server_host for recording in seen if recording.server_host]
    samples = [sample for host in hosts for sample in host.samples]
    devices = [
        (recording.device, recording.result.measured_s)
        for recording in seen
        if recording.device is not None and recording.result is not None
    ]
    return ServersHost(
        host=hosts[0].host,
        busy=sum(sample.busy for sample in samples) / len(samples),
        busy_max=max(sample.busy for sample in samples),
        io_wait=sum(sample.io_wait for sample in samples) / len(samples),
        available_bytes_min=min(sample.available_bytes for sample in samples),
        write_mb_per_s=median([one.write_bytes / 1e6 / seconds for one, seconds in devices]) if devices else None,
        device_busy=median([min(1.0, one.busy_s / seconds) for one, seconds in devices]) if devices else None,
        device=devices[0][0].device if devices else None,
    )
