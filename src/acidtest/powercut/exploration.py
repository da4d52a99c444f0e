"""Crash states: one load recorded at the disk, then the states that a power cut could have left, built and inspected.

Nothing is run again for them: each is the kept disk with a part of the log on it.
"""

from __future__ import annotations

import itertools
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from acidtest.analysis import disk_log
from acidtest.analysis.disk_log import Record
from acidtest.analysis.verdicts import WORST_FIRST
from acidtest.conductor.rig import Standing
from acidtest.errors import CellFailed, told
from acidtest.journal.models import States, Verdict
from acidtest.journal.protocol import DiskCut
from acidtest.plan import Cell
from acidtest.powercut import crash_states
from acidtest.powercut.acknowledgement_log import Acknowledgement
from acidtest.powercut.announcing import announcement_of, is_unannounced
from acidtest.powercut.checkers import Judgement
from acidtest.powercut.crash_states import State
from acidtest.powercut.evidence import CutEvidence
from acidtest.powercut.moment import Moment
from acidtest.powercut.trial import Trial
from acidtest.words import counted

COMMITS = 50  # of the load, where no count is given
SHRINKS_MAX = 40


@dataclass(frozen=True)
class RecordedLoad:
    """A load, as the disk's log and the acknowledgement log have it."""

    log: Path
    records: list[Record]
    start: int  # the records of the load are [start, end)
    end: int
    sector_bytes: int
    origin_ns: int  # CLOCK_MONOTONIC where the log's clock began, or a little earlier
    acknowledged: list[Acknowledgement]

    def acknowledged_before(self, record: int) -> list[Acknowledgement]:
        """What had been acknowledged before this record came: the flush that made it safe is among those before."""
        if record >= len(self.records):
            return self.acknowledged
        limit_ns = self.origin_ns + min(later.time_ns for later in self.records[record:])
        return [line for line in self.acknowledged if line.acknowledged_ns < limit_ns]


@dataclass(frozen=True)
class InspectedState:
    """A state that was built, and what the engine made of it."""

    state: State
    evidence: CutEvidence
    judgement: Judgement
    unannounced: bool  # it lost what neither level nor drive announces

    @property
    def verdict(self) -> Verdict:
        return self.judgement.verdict

    def rank(self) -> tuple[int, bool, int, int]:
        """Orders states: the worst verdict first, of losses those that were not announced, and of these that which
        departs least from the disk as it was."""
        return WORST_FIRST.index(self.verdict), not self.unannounced, self.state.departures, self.state.to


KeepState = Callable[[Cell, RecordedLoad, State, list[str]], str]  # a failing state, with its reasons; answers its file
ReportStates = Callable[[int, int, float], None]  # states inspected, of so many, and how many a second


def explore(
    trial: Trial, log: Path, keep: KeepState, report: ReportStates, cell: Cell, evidence: CutEvidence
) -> Judgement:
    """Record a load and inspect ``cell.place.disk_states`` states; ``evidence`` and verdict are those of the worst."""
    load = record(trial, log, cell, evidence)
    with trial.inspector.staying() as standing:
        return _explore(trial, load, standing, keep, report, cell, evidence)


def _explore(
    trial: Trial,
    load: RecordedLoad,
    standing: Standing,
    keep: KeepState,
    report: ReportStates,
    cell: Cell,
    evidence: CutEvidence,
) -> Judgement:
    began = time.monotonic()
    verdicts: Counter[Verdict] = Counter()
    damaged = 0
    by = announcement_of(cell, trial.engine, evidence)
    worst: InspectedState | None = None
    last: InspectedState | None = None

    def inspect_once(state: State) -> InspectedState:
        shown = trial.evidence()
        inspect_state(trial, load, state, shown)
        judgement = trial.judged(shown)
        return InspectedState(state, shown, judgement, is_unannounced(judgement, by))

    def inspect(state: State) -> InspectedState:
        """Only processes that have seen no other state are a witness against the engine."""
        is_fresh = standing.is_fresh
        first = inspect_once(state)
        if first.verdict == "survived":
            return first
        trial.inspector.renew()
        if is_fresh:
            return first
        second = inspect_once(state)
        trial.inspector.renew()
        if second.verdict != first.verdict:
            return replace(second, judgement=_contradicted(first.judgement, second.judgement), unannounced=False)
        return second

    limit = cell.place.disk_states
    drawn = crash_states.states(load.records, load.start, load.end, load.sector_bytes, cell.seed)
    for state in itertools.islice(drawn, limit):
        last = inspect(state)
        verdicts[last.verdict] += 1
        damaged += bool(last.judgement.damage)
        if last.verdict != "survived" and (worst is None or last.rank() < worst.rank()):
            worst = last
        inspected = verdicts.total()
        report(inspected, limit, inspected / (time.monotonic() - began))
    inspected = verdicts.total()
    per_s = inspected / max(time.monotonic() - began, 1e-9)
    if worst is not None and worst.verdict == "lost":
        worst = shrunk(worst, inspect)
    shortest: str | None = None
    if worst and worst.verdict == "lost":
        try:
            shortest = keep(cell, load, worst.state, worst.judgement.reasons)
        except (CellFailed, OSError) as error:  # the verdict stands without it
            evidence.unkept = told(error)
    logged = load.records[load.start : load.end]
    flushes = sum(one.is_flush for one in logged)
    evidence.states = States(
        looked_at=inspected,
        survived=verdicts["survived"],
        lost=verdicts["lost"],
        unknown=verdicts["unknown"],
        damaged=damaged,
        per_s=per_s,
        writes=len(logged) - flushes,
        flushes=flushes,
        shortest=shortest,
    )
    if worst is None:
        return last.judgement if last else Judgement("unknown", ["the log has no state to look at"], {})
    evidence.fate, evidence.checked = worst.evidence.fate, worst.evidence.checked
    evidence.integrity = worst.evidence.integrity
    where = (
        f"{counted(verdicts[worst.verdict], 'state')}, the shortest up to record {worst.state.to} ({worst.state.of})"
    )
    return replace(worst.judgement, reasons=[where, *worst.judgement.reasons])


def _contradicted(first: Judgement, second: Judgement) -> Judgement:
    """The verdict on a state of which two inspections differ: nothing is known of it."""
    reason = f"a first look found it {first.verdict} ({'; '.join(first.reasons[:2])}), a second {second.verdict}"
    checks = {
        name: second.checks[name] if second.checks[name] == answer else "unknown"
        for name, answer in first.checks.items()
    }
    return Judgement("unknown", [reason], checks)


def record(trial: Trial, log: Path, cell: Cell, evidence: CutEvidence) -> RecordedLoad:
    """Drive the load to its count of commits and read what the disk has written down. Raises CellFailed."""
    start = trial.drive.stats().log_records
    trial.begin(evidence)
    before_ns, _ = trial.place.flush()
    calibrated = trial.drive.stats().log_records
    with trial.loaded(cell) as load:
        load.until(Moment(cell.workload.count or COMMITS, None, 0.0))
        evidence.at_s = load.elapsed_s()
        load.acknowledged.drain()
        end = trial.drive.stats().log_records
        evidence.cut = trial.place.cut("none", cell.seed)
        acknowledged = trial.killed(load, evidence)
    trial.place.abandon()
    sector_bytes, records = disk_log.read(log)
    flushes = [one for one in records[start:calibrated] if one.is_flush]
    if not flushes or len(records) < end:
        raise CellFailed("the disk's log lacks records of the load that it was to hold")
    return RecordedLoad(log, records, start, end, sector_bytes, before_ns - flushes[-1].time_ns, acknowledged)


def inspect_state(trial: Trial, load: RecordedLoad, state: State, evidence: CutEvidence) -> None:
    """Build ``state`` and find out what the engine makes of it."""
    evidence.cut = DiskCut(kept_bytes=0, lost_bytes=0, torn_writes=len(state.torn))
    trial.place.begin(state.on(load.log))
    try:
        recovery = trial.place.mount_survivor()
        evidence.filesystem_repaired, evidence.filesystem_recovery_s = recovery.repaired, recovery.seconds
    except CellFailed as error:
        evidence.mount_error = error.message
    else:
        trial.inspector.inspect(evidence, load.acknowledged_before(state.to))
    finally:
        trial.instance.lose_power()
        trial.place.abandon()


def shrunk(worst: InspectedState, inspect: Callable[[State], InspectedState]) -> InspectedState:
    """The same loss with fewer departures from the disk as it was, as far as a few inspections lead."""
    left, again = SHRINKS_MAX, True
    while again and left > 0:
        again = False
        for smaller in itertools.islice(crash_states.smaller(worst.state), left):
            left -= 1
            shown = inspect(smaller)
            if shown.verdict == "lost" and shown.unannounced >= worst.unannounced:
                worst, again = replace(shown, state=replace(smaller, of=f"{smaller.of}, shrunk")), True
                break
    return worst
