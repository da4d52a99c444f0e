"""How long cells take: before the first has run an assumption, afterwards what was seen."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from statistics import median

from acidtest.plan.cells import Cell

# Made before anything was measured, for an ordinary solid-state drive; the plan says that it is an assumption.
ASSUMED_COMMITS_PER_S = {"none": 5_000.0, "os": 4_000.0, "drive": 400.0}
ASSUMED_OVERHEAD_S = 1.5  # copying the template, opening, checking before and after
ASSUMED_LOAD_S = {"commits": 1.0, "tpcb": 2.0, "tpcc": 8.0, "orders": 2.0, "iud": 1.0, "oltp": 2.0, "scan": 0.02}
ASSUMED_UNITS = {
    "tpcb": "scale",
    "tpcc": "warehouses",
    "oltp": "tables",
    "scan": "size_mb",
}  # of which each takes that long
ASSUMED_SCAN_MB_PER_S = {"natural": 300.0, "sorted": 60.0, "indexed": 40.0}
ASSUMED_COPY_MB_PER_S = 300.0  # of a scan's template; those of other workloads are small


def cell_seconds(cell: Cell) -> float:
    """Seconds that ``cell`` is assumed to take."""
    workload = cell.workload
    if workload.duration_s is not None:
        run = workload.duration_s
    elif workload.kind == "scan":
        run = (workload.count or 0) * workload.size_mb / ASSUMED_SCAN_MB_PER_S[workload.read]
    else:
        rate = workload.rate_per_s or ASSUMED_COMMITS_PER_S[cell.durability]
        run = (workload.count or 0) / rate
    copy = workload.size_mb / ASSUMED_COPY_MB_PER_S if workload.kind == "scan" else 0.0
    return run + workload.warmup_s + ASSUMED_OVERHEAD_S + copy


def load_seconds(cell: Cell) -> float:
    """Seconds that loading the cell's template database is assumed to take."""
    kind = cell.workload.kind
    units = getattr(cell.workload, ASSUMED_UNITS[kind]) if kind in ASSUMED_UNITS else 1
    return ASSUMED_LOAD_S[kind] * float(units)


def time_left(remaining: Sequence[Cell], seen: Sequence[tuple[Cell, float]]) -> float:
    """Seconds left, where ``seen`` holds finished cells with the seconds that each took.

    A combination that has run takes the median of its own times. Another one takes what is assumed of it and, where its
    length is set in seconds, as much more as those did that have run; where it is set as a count, as many times that.
    """
    own: dict[str, list[float]] = defaultdict(list)
    more: list[float] = []
    times: list[float] = []
    for cell, seconds in seen:
        own[cell.combination].append(seconds)
        if cell.workload.duration_s is not None:
            more.append(seconds - cell_seconds(cell))
        else:
            times.append(seconds / cell_seconds(cell))
    added, scale = median(more or [0.0]), median(times or [1.0])
    total = 0.0
    for cell in remaining:
        if cell.combination in own:
            total += median(own[cell.combination])
        elif cell.workload.duration_s is not None:
            total += max(cell.workload.duration_s, cell_seconds(cell) + added)
        else:
            total += cell_seconds(cell) * scale
    return total
