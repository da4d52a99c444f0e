"""The hosts of a fleet as a table, and how much of the spread of rates is theirs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from acidtest.analysis.hosts import Host, Hosts
from acidtest.report.numbers import number
from acidtest.words import counted

TITLE = "Hosts"
UNKNOWN = "–"
COLUMNS: tuple[tuple[str, Callable[[Host], str]], ...] = (
    ("cells", lambda host: f"{host.cells:,}"),
    ("rate, % of the mean", lambda host: f"{100 * host.relative:.1f}" if host.relative is not None else UNKNOWN),
    ("hashes MB/s", lambda host: number(host.record.hash_mb_per_s) if host.record else UNKNOWN),
    (
        "flushes/s",
        lambda host: number(host.record.flushes_per_s) if host.record and host.record.flushes_per_s else UNKNOWN,
    ),
    (
        "clock ms",
        lambda host: (
            f"{1000 * host.record.clock_offset_s:+.1f} ± {1000 * host.record.clock_error_s:.1f}"
            if host.record
            else UNKNOWN
        ),
    ),
)


def print_hosts(hosts: Hosts, console: Console) -> None:
    """A line a host, and a sentence."""
    console.print()
    console.print(Text(TITLE, style="bold"))
    grid = Grid(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    grid.add_column("host", overflow="fold")
    for name, _ in COLUMNS:
        grid.add_column(name, justify="right")
    for host in hosts.hosts:
        grid.add_row(Text(host.name), *(cell(host) for _, cell in COLUMNS))
    console.print(grid)
    console.print(sentence(hosts), style="dim", markup=False, highlight=False)


def machine(host: Host) -> str:
    """Processor, memory and storage, in one line."""
    if host.record is None:
        return UNKNOWN
    of, place = host.record.machine, host.record.place
    return (
        f"{counted(of.cpu_count, 'processor')} ({of.cpu_model}), {of.memory_bytes / 1e9:,.0f} GB, {of.kernel}; "
        f"{place.filesystem} on {place.device}"
    )


def sentence(hosts: Hosts) -> str:
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
