"""The hosts of a fleet as a table, and how much of the spread of rates is theirs."""

from __future__ import annotations

from typing import Any

from acidtest.analysis.hosts import Host, Hosts
from acidtest.report.numbers import number
from acidtest.report.table import NOTHING, Cell, Column, Table
from acidtest.words import counted

COLUMNS = (
    Column("host", lambda host: host.name, right=False),
    Column("cells", lambda host: f"{host.cells:,}"),
    Column("rate, % of the mean", lambda host: NOTHING if host.relative is None else f"{100 * host.relative:.1f}"),
    Column("hashes MB/s", lambda host: number(host.record.hash_mb_per_s) if host.record else NOTHING),
    Column("flushes/s", lambda host: number(host.record.flushes_per_s or None) if host.record else NOTHING),
    Column(
        "clock ms",
        lambda host: (
            f"{1000 * host.record.clock_offset_s:+.1f} ± {1000 * host.record.clock_error_s:.1f}"
            if host.record
            else NOTHING
        ),
    ),
    Column("machine", lambda host: Cell(_machine(host), "command"), right=False, only="page"),
)


def table(hosts: Hosts) -> Table:
    """A row a host."""
    return Table(COLUMNS, hosts.hosts, "hosts", "Hosts", said=[_sentence(hosts)])


def _machine(host: Host) -> str:
    """Processor, memory and storage, in one line."""
    if host.record is None:
        return NOTHING
    of, place = host.record.machine, host.record.place
    return (
        f"{counted(of.cpu_count, 'processor')} ({of.cpu_model}), {of.memory_bytes / 1e9:,.0f} GB, {of.kernel}; "
        f"{place.filesystem} on {place.device}"
    )


def _sentence(hosts: Hosts) -> str:
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


def as_json(hosts: Hosts) -> dict[str, Any]:
    """For programs."""
    return {
        "hosts": [
            {
                "name": one.name,
                "cells": one.cells,
                "relative": one.relative,
                "record": one.record.model_dump(mode="json") if one.record else None,
            }
            for one in hosts.hosts
        ],
        "pooled": hosts.pooled,
        "combinations": hosts.combinations,
        "between_percent": hosts.between_percent,
        "within_percent": hosts.within_percent,
        "p": hosts.p,
    }
