"""The machines of a load from several, as a table and for programs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from acidtest.analysis import generators
from acidtest.analysis.generators import LATE_MS, STILL_MAX, HostOfLoad
from acidtest.report.line import Line
from acidtest.report.numbers import number, share
from acidtest.report.table import Column, Table

EXPLAINED = (
    "Busy is the processor time of the generator's process over what its threads could have had; its own share is the "
    "part of a transaction's time that the generator itself takes. Late is how long after its time an arrival began "
    "that a free terminal had waited for; still is how long the process did not come to what it does ten times a "
    "second. All machines were to begin at one moment: begun late is by their own clocks, which may be wrong by the "
    "clock's error. Figures are medians of the repetitions; lateness, stillness and errors the worst."
)


@dataclass(frozen=True)
class Of:
    """One machine of one row."""

    line: Line
    host: HostOfLoad


def _share(value: Callable[[HostOfLoad], float | None]) -> Callable[[Of], str]:
    return lambda one: share(value(one.host))


def _ms(value: Callable[[HostOfLoad], float | None]) -> Callable[[Of], str]:
    return lambda one: number(value(one.host))


COLUMNS = (
    Column("row", lambda one: one.line.label, right=False),
    Column("host", lambda one: one.host.host, right=False, typed=True),
    Column("terminals", lambda one: f"{one.host.terminals:,}", drop=3),
    Column("commits/s", lambda one: number(one.host.commits_per_s)),
    Column("busy", _share(lambda host: host.busy)),
    Column("own share", _share(lambda host: host.own_share), drop=5),
    Column("late p99 ms", _ms(lambda host: host.lateness_ms_p99)),
    Column("late max ms", _ms(lambda host: host.lateness_ms_max), drop=2),
    Column("still max ms", _ms(lambda host: host.stood_still_ms_max), drop=1),
    Column("begun late ms", _ms(lambda host: host.began_late_ms), drop=4),
    Column("clock ± ms", _ms(lambda host: host.clock_error_ms), drop=6),
)


def table(lines: Sequence[Line]) -> Table:
    """Every machine of every row; without rows where loads came from one machine."""
    rows = [Of(line, host) for line in lines for host in generators.of_row(line.row)]
    said = [sentence for line in lines for sentence in _sentences(line)] if rows else []
    return Table(COLUMNS, rows, "generators", "Machines of the load", said=said, explained=EXPLAINED)


def _sentences(line: Line) -> list[str]:
    """Which machine was the slowest, and what the server's did."""
    found = []
    hosts = generators.of_row(line.row)
    if (slow := generators.slowest(hosts)) is not None:
        late = slow.lateness_ms_max
        what = (
            f"which stood still for up to {number(slow.stood_still_ms_max)} ms"
            if slow.stood_still > STILL_MAX
            else f"which began arrivals up to {number(late)} ms late (p99 {number(slow.lateness_ms_p99)} ms)"
            if late is not None and late >= LATE_MS
            else f"with {number(slow.commits_per_s / slow.terminals)} commits a second of each terminal"
        )
        busy = f"its threads were busy {slow.busy:.0%} of the time"
        found.append(f"{line.label}: the slowest of the machines was {slow.host}, {what}; {busy}.")
    if (server := generators.server_of(line.row)) is not None:
        disk = (
            f", {server.device} was busy {server.device_busy:.0%} of the time and took "
            f"{number(server.write_mb_per_s)} MB/s of writes"
            if server.device is not None and server.device_busy is not None
            else ""
        )
        found.append(
            f"{line.label}: the server's machine {server.host} had its processors busy {server.busy:.0%} of the time "
            f"(at most {server.busy_max:.0%} of a second), {server.io_wait:.0%} waiting for storage, and never less "
            f"than {server.available_bytes_min / 1e9:,.1f} GB of memory available{disk}."
        )
    return found


def as_json(line: Line) -> list[dict[str, Any]] | None:
    """For programs."""
    hosts: Sequence[HostOfLoad] = generators.of_row(line.row)
    return [asdict(one) for one in hosts] or None


def server_as_json(line: Line) -> dict[str, Any] | None:
    """For programs."""
    server = generators.server_of(line.row)
    return asdict(server) if server else None
