"""Crash states: one load recorded at the disk, then the states that a power cut could have left, built and looked at.

Nothing is run again for them: each is the kept disk with a part of the log on it.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from acidtest.analysis import crashstates, survival
from acidtest.analysis.crashstates import Record, State
from acidtest.conductor.rig import Standing
from acidtest.errors import CellFailed
from acidtest.journal.models import States, Verdict
from acidtest.journal.protocol import DiskCut
from acidtest.plan import Cell
from acidtest.powercut.trial import CutEvidence, Moment, Trial

COMMITS = 50  # of the load, where no count is given
SHRINKS_MAX = 40


@dataclass(frozen=True)
class Recorded:
    """A load, as the disk's log and the ledger of acknowledged commits tell it."""

    log: Path
    records: list[Record]
    start: int  # the records of the load are [start, end)
    end: int
    sector_bytes: int
    origin_ns: int  # CLOCK_MONOTONIC where the log's clock began, or a little earlier
    ledger: list[survival.Acknowledgement]

    def acknowledged(self, to: int) -> list[survival.Acknowledgement]:
        """What had been acknowledged before record ``to`` came: the flush that made it safe is among those before."""
        if to >= len(self.records):
            return self.ledger
        limit_ns = self.origin_ns + min(record.time_ns for record in self.records[to:])
        return [line for line in self.ledger if line.acknowledged_ns < limit_ns]


Seen = tuple[State, CutEvidence, Verdict, list[str]]
Keep = Callable[[Cell, Recorded, State, list[str]], str]  # a failing state, with its reasons; answers its file
Told = Callable[[int, int, float], None]  # states looked at, of so many, and how many a second


def explore(trial: Trial, log: Path, keep: Keep, told: Told, cell: Cell, look: CutEvidence) -> None:
    """Record a load, look at ``cell.place.disk_states`` states, and leave in ``look`` what the worst has shown."""
    recorded = record(trial, log, cell, look)
    with trial.many_looks() as standing:
        _explore(trial, recorded, standing, keep, told, cell, look)


def _explore(
    trial: Trial, recorded: Recorded, standing: Standing, keep: Keep, told: Told, cell: Cell, look: CutEvidence
) -> None:
    began = time.monotonic()
    counts: dict[Verdict, int] = {"survived": 0, "lost": 0, "unknown": 0}
    worst: Seen | None = None

    def one_look(state: State) -> tuple[CutEvidence, Verdict, list[str]]:
        seen = CutEvidence(survival.Evidence(needs_fate=trial.numbers, not_sound=list(trial.not_sound)))
        look_at_state(trial, recorded, state, seen)
        return seen, *survival.judge(seen.evidence)

    def look_at(state: State) -> tuple[CutEvidence, Verdict, list[str]]:
        """Only processes that have seen no other state are a witness against the engine."""
        is_fresh = standing.is_fresh
        first = one_look(state)
        if first[1] == "survived":
            return first
        trial.afresh()
        if is_fresh:
            return first
        second = one_look(state)
        trial.afresh()
        if second[1] != first[1]:
            contradicted = f"a first look said {first[1]} ({'; '.join(first[2][:2])}), a second {second[1]}"
            return second[0], "unknown", [contradicted]
        return second

    many = cell.place.disk_states
    drawn = crashstates.states(recorded.records, recorded.start, recorded.end, recorded.sector_bytes, cell.seed)
    for state in itertools.islice(drawn, many):
        seen, verdict, reasons = look_at(state)
        counts[verdict] += 1
        if verdict != "survived" and (worst is None or _rank(verdict, state) < _rank(worst[2], worst[0])):
            worst = (state, seen, verdict, reasons)
        looked_at = sum(counts.values())
        told(looked_at, many, looked_at / (time.monotonic() - began))
    looked_at = sum(counts.values())
    per_s = looked_at / max(time.monotonic() - began, 1e-9)
    if worst is not None and worst[2] == "lost":
        worst = shrunk(worst, look_at)
    shortest = keep(cell, recorded, worst[0], worst[3]) if worst and worst[2] == "lost" else None
    load = recorded.records[recorded.start : recorded.end]
    flushes = sum(one.is_flush for one in load)
    look.states = States(
        looked_at=looked_at,
        survived=counts["survived"],
        lost=counts["lost"],
        unknown=counts["unknown"],
        per_s=per_s,
        writes=len(load) - flushes,
        flushes=flushes,
        shortest=shortest,
    )
    look.verdict = _verdict(counts, worst)
    if worst is not None:
        look.evidence = worst[1].evidence


def _verdict(counts: dict[Verdict, int], worst: Seen | None) -> tuple[Verdict, list[str]]:
    if worst is None:
        return ("survived", []) if counts["survived"] else ("unknown", ["the log has no state to look at"])
    state, _, verdict, reasons = worst
    return verdict, [f"{counts[verdict]} states, the shortest up to record {state.to} ({state.of})", *reasons]


def _rank(verdict: Verdict, state: State) -> tuple[bool, int, int]:
    return verdict != "lost", state.departures, state.to


def record(trial: Trial, log: Path, cell: Cell, look: CutEvidence) -> Recorded:
    """Drive the load to its count of commits and read what the disk has written down. Raises CellFailed."""
    start = trial.drive.stats().log_records
    trial.begin(look)
    before_ns, _ = trial.place.flush()
    calibrated = trial.drive.stats().log_records
    with trial.loaded(cell) as load:
        load.until(Moment(cell.workload.count or COMMITS, None, 0.0))
        look.at_s = load.elapsed_s()
        load.acknowledged.drain()
        end = trial.drive.stats().log_records
        look.cut = trial.place.cut("none", cell.seed)
        ledger = trial.killed(load, look)
    trial.place.abandon()
    sector_bytes, records = crashstates.read(log)
    flushes = [one for one in records[start:calibrated] if one.is_flush]
    if not flushes or len(records) < end:
        raise CellFailed("the disk's log lacks what it should have told")
    return Recorded(log, records, start, end, sector_bytes, before_ns - flushes[-1].time_ns, ledger)


def look_at_state(trial: Trial, recorded: Recorded, state: State, look: CutEvidence) -> None:
    """Build ``state`` and find out what the engine makes of it."""
    look.cut = DiskCut(kept_bytes=0, lost_bytes=0, torn_writes=len(state.torn))
    trial.place.begin(state.on(recorded.log))
    try:
        recovery = trial.place.mount_survivor()
        look.filesystem_repaired, look.filesystem_recovery_s = recovery.repaired, recovery.seconds
    except CellFailed as error:
        look.evidence.refusals.append(f"the file system cannot be mounted: {error.message}")
    else:
        trial.look_at(look, recorded.acknowledged(state.to))
    finally:
        trial.instance.lose_power()
        trial.place.abandon()


def shrunk(worst: Seen, look_at: Callable[[State], tuple[CutEvidence, Verdict, list[str]]]) -> Seen:
    """The same loss with fewer departures from the disk as it was, as far as a few looks lead."""
    left, again = SHRINKS_MAX, True
    while again and left > 0:
        again = False
        for smaller in itertools.islice(crashstates.smaller(worst[0]), left):
            left -= 1
            seen, verdict, reasons = look_at(smaller)
            if verdict == "lost":
                worst, again = (replace(smaller, of=f"{smaller.of}, shrunk"), seen, verdict, reasons), True
                break
    return worst
