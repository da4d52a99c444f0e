"""How long cells take: before the first has run an assumption, afterwards what was seen."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from math import inf
from statistics import median

from acidtest.families import FAMILIES
from acidtest.plan.cells import Cell
from acidtest.workload import GrowingWorkload

# Made before anything was measured, for an ordinary solid-state drive; the plan says that it is an assumption.
ASSUMED_ITEMS_PER_S = 50  # of a program, at levels that are its own
ASSUMED_COMMITS_PER_S = {"none": 5_000.0, "os": 4_000.0, "drive": 400.0}
CRASH_STATES = "crash-states"  # place.disk_failure
ASSUMED_STATES, ASSUMED_STATES_PER_S = (
    200,
    10.0,
)  # where neither number nor time is given; SQLite's are faster
ASSUMED_OVERHEAD_S = 1.5  # copying the template, opening, checking before and after
ASSUMED_MACHINE_S = 10.0  # a whole machine, whose processors are emulated, goes on after a cut and checks what is left
ASSUMED_BOOT_S = 30.0  # it boots, and is tried, once for each combination


def cell_seconds(cell: Cell) -> float:
    """Seconds that ``cell`` is assumed to take."""
    work = cell.workload
    if cell.place.disk_failure == CRASH_STATES:
        return work.run_s(ASSUMED_ITEMS_PER_S) + ASSUMED_OVERHEAD_S + _states_s(cell)
    run_s = work.run_s(ASSUMED_COMMITS_PER_S.get(cell.durability, ASSUMED_ITEMS_PER_S))
    machine_s = ASSUMED_MACHINE_S if _is_machine(cell) else 0.0
    return run_s + work.warmup_s + ASSUMED_OVERHEAD_S + work.copy_s() + machine_s


def _states_s(cell: Cell) -> float:
    """Crash states are looked at for so long, or until so many were; whichever ends first."""
    number, seconds = cell.place.disk_states, cell.place.disk_states_s
    if number is None:
        return ASSUMED_STATES / ASSUMED_STATES_PER_S if seconds is None else seconds
    return min(number / ASSUMED_STATES_PER_S, seconds if seconds is not None else inf)


def _is_machine(cell: Cell) -> bool:
    return cell.place.kind == "machine"


def load_seconds(cell: Cell) -> float:
    """Seconds that loading the cell's template database is assumed to take."""
    return cell.workload.load_s()


def time_left(remaining: Sequence[Cell], finished: Sequence[tuple[Cell, float]]) -> float:
    """Seconds left, where ``finished`` holds cells with the seconds that each took.

    A combination that has run takes the median of its own times. Another one takes what is assumed of it and, where its
    length is set in seconds, as much more as those did that have run; where it is set as a count, as many times that.
    """
    own: dict[str, list[float]] = defaultdict(list)
    beyond: list[float] = []
    ratios: list[float] = []
    for cell, seconds in finished:
        own[cell.combination].append(seconds)
        if cell.workload.duration_s is not None:
            beyond.append(seconds - cell_seconds(cell))
        else:
            ratios.append(seconds / cell_seconds(cell))
    added, scale = median(beyond or [0.0]), median(ratios or [1.0])
    total = ASSUMED_BOOT_S * len({cell.combination for cell in remaining if _is_machine(cell)} - own.keys())
    for cell in remaining:
        if cell.combination in own:
            total += median(own[cell.combination])
        elif cell.workload.duration_s is not None:
            total += max(cell.workload.duration_s, cell_seconds(cell) + added)
        else:
            total += cell_seconds(cell) * scale
    return total


ASSUMED_LOOK_BYTES_PER_S = 60e6  # consistency checks and statistics, which go through everything


def database_bytes(cell: Cell, family: str, units: int) -> int:
    """How large so many of the workload's units of size are assumed to be on an engine of this family."""
    assert isinstance(cell.workload, GrowingWorkload)
    return FAMILIES[family].empty_bytes + cell.workload.fixed_bytes(family) + units * cell.workload.unit_bytes(family)


def size_bytes(cell: Cell, family: str) -> int:
    """How large the database of ``cell`` is to be; assumed where it is asked for in units of the workload."""
    assert cell.size is not None
    return cell.size.bytes or database_bytes(cell, family, cell.size.units or 0)


class GrowthPace:
    """How fast databases grow: each engine as fast as it did last, before that as fast as its family is assumed to."""

    def __init__(self, families: Mapping[str, str]) -> None:
        self._families = families  # engine -> family
        self._speeds: dict[str, float] = {}
        self._looks: dict[str, float] = {}
        self._finished: list[tuple[Cell, float]] = []

    def loaded(self, cell: Cell, byte_count: int, seconds: float) -> None:
        """So much was added."""
        if byte_count > 0 and seconds > 0:
            self._speeds[cell.engine] = byte_count / seconds

    def looked(self, cell: Cell, byte_count: int, seconds: float) -> None:
        """A whole database was checked and its statistics were taken."""
        if byte_count > 0 and seconds > 0:
            self._looks[cell.engine] = byte_count / seconds

    def measured(self, cell: Cell, seconds: float) -> None:
        """``cell`` took so long, without what was loaded and looked at for it."""
        self._finished.append((cell, seconds))

    def bytes_per_s(self, engine: str) -> float:
        return self._speeds.get(engine, FAMILIES[self._families[engine]].load_bytes_per_s)

    def left(self, remaining: Iterable[Cell], held: Mapping[str, int]) -> float:
        """Seconds that ``remaining`` will take, where ``held`` has the bytes of each series' database so far."""
        cells = list(remaining)
        at = dict(held)
        seconds = time_left(cells, self._finished)
        for cell in cells:
            target = size_bytes(cell, self._families[cell.engine])
            if target <= (before := at.get(cell.series, 0)):
                continue
            at[cell.series] = target
            seconds += (target - before) / self.bytes_per_s(cell.engine)
            # The check after the load, the statistics, and the check in the end.
            seconds += 3 * target / self._looks.get(cell.engine, ASSUMED_LOOK_BYTES_PER_S)
        return seconds
