"""Machines: those of a load from several, and the hosts of a fleet with their part of the spread of rates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

from acidtest.analysis import generators
from acidtest.analysis.generators import LATE_MS, STILL_MAX, HostOfLoad
from acidtest.analysis.hosts import Hosts
from acidtest.analysis.samples import Row
from acidtest.journal.models import HostRecord
from acidtest.report.line import Line
from acidtest.report.numbers import attributes, number, share
from acidtest.report.table import COUNT, NOTHING, Cell, Column, Table, figure
from acidtest.words import counted

EXPLAINED = (
    "Busy is the processor time of the generator's process over what its threads could have had; its own share is the "
    "part of a transaction's time that the generator itself takes. Late is how long after its time an arrival began "
    "that a free terminal had waited for; still is how long the process did not come to what it does ten times a "
    "second. All machines were to begin at one moment: begun late is by their own clocks, which may be wrong by the "
    "clock's error. Figures are medians of the repetitions; lateness, stillness and errors the worst."
)


class LoadHost(NamedTuple):
    """One machine of one row's load."""

    line: Line
    host: HostOfLoad


GENERATORS = (
    Column("row", figure("line.label", str), right=False),
    Column("host", figure("host.host", str), right=False, typed=True),
    Column("terminals", figure("host.terminals", COUNT), drop=3),
    Column("commits/s", figure("host.commits_per_s")),
    Column("busy", figure("host.busy", share)),
    Column("own share", figure("host.own_share", share), drop=5),
    Column("late p99 ms", figure("host.lateness_ms_p99")),
    Column("late max ms", figure("host.lateness_ms_max"), drop=2),
    Column("still max ms", figure("host.stood_still_ms_max"), drop=1),
    Column("begun late ms", figure("host.began_late_ms"), drop=4),
    Column("clock ± ms", figure("host.clock_error_ms"), drop=6),
)


def of_load(lines: Sequence[Line]) -> Table:
    """Every machine of every row; without rows where loads came from one machine."""
    rows = [LoadHost(line, host) for line in lines for host in generators.of_row(line.row)]
    sentences = [sentence for line in lines for sentence in _sentences(line)] if rows else []
    return Table(GENERATORS, rows, "generators", "Machines of the load", conclusions=sentences, explained=EXPLAINED)


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


def load_json(row: Row) -> dict[str, Any]:
    server = generators.server_of(row)
    return {
        "generators": [asdict(host) for host in generators.of_row(row)] or None,
        "server_host": asdict(server) if server else None,
    }


HOSTS = (
    Column("host", figure("name", str), right=False),
    Column("cells", figure("cells", COUNT)),
    Column("rate, % of the mean", lambda host: NOTHING if host.relative is None else f"{100 * host.relative:.1f}"),
    Column("hashes MB/s", figure("record.hash_mb_per_s")),
    Column("flushes/s", lambda host: number(host.record.flushes_per_s or None) if host.record else NOTHING),
    Column("clock ms", figure("record", lambda of: f"{1000 * of.clock_offset_s:+.1f} ± {1000 * of.clock_error_s:.1f}")),
    Column("machine", lambda host: Cell(figure("record", _machine)(host), "command"), right=False, only="page"),
)


def of_fleet(hosts: Hosts) -> Table:
    return Table(HOSTS, hosts.hosts, "hosts", "Hosts", conclusions=[_spread(hosts)])


def _machine(record: HostRecord) -> str:
    machine, place = record.machine, record.place
    return (
        f"{counted(machine.cpu_count, 'processor')} ({machine.cpu_model}), {machine.memory_bytes / 1e9:,.0f} GB, "
        f"{machine.kernel}; {place.filesystem} on {place.device}"
    )


def _spread(hosts: Hosts) -> str:
    """Variance between hosts beside that between repetitions."""
    if hosts.together:
        return "The hosts worked on each cell together."
    if hosts.between_percent is None or hosts.within_percent is None or hosts.p is None:
        return "How much hosts differ beside repetitions cannot be told: no combination ran often enough on several."
    taken = "taken as alike" if hosts.pooled else "compared"
    return (
        f"The hosts are {taken}. Rates of one combination vary by {hosts.between_percent:.1f} % between hosts and by "
        f"{hosts.within_percent:.1f} % between repetitions on one (standard deviations; p = {hosts.p:.2g} that hosts "
        "which are alike differ so much)."
    )


def fleet_json(hosts: Hosts) -> dict[str, Any]:
    return {
        "hosts": [
            attributes(host, "name", "cells", "relative")
            | {"record": host.record.model_dump(mode="json") if host.record else None}
            for host in hosts.hosts
        ],
        **attributes(hosts, "pooled", "combinations", "between_percent", "within_percent", "p"),
    }
