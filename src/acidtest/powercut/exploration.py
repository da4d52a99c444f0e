"""Crash states of a recorded load, built and inspected on one machine.

Nothing is run again for them: each is the disk as it was before the load with a part of the load's log on it.
"""

from __future__ import annotations

import itertools
import os
import shutil
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor, as_completed, wait
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from acidtest.analysis import files_left
from acidtest.analysis.survival import checker_names
from acidtest.engine import Engine
from acidtest.errors import CellFailed
from acidtest.journal.models import (
    Explored,
    FailingState,
    Fate,
    FilesLeft,
    Integrity,
    Recording,
    RecoveryOutcome,
    Verdict,
)
from acidtest.journal.protocol import Checked, DiskCut
from acidtest.place.host import counters
from acidtest.plan import Cell
from acidtest.powercut import crash_states
from acidtest.powercut.checkers import Judgement
from acidtest.powercut.coverage import Asked, Budget, Exploration, as_state, rank, with_checks_of
from acidtest.powercut.crash_states import State
from acidtest.powercut.drives import announcement_of, is_unannounced
from acidtest.powercut.evidence import CutEvidence
from acidtest.powercut.inspector import Kept
from acidtest.powercut.recorded_load import LoadFile, RecordedLoad
from acidtest.powercut.trial import Trial, unkept
from acidtest.words import counted

SHRINKS_MAX = 40


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

    @property
    def outcome(self) -> RecoveryOutcome:
        """What recovery came to; states that differ in nothing that it tells have it in common."""
        return RecoveryOutcome(
            verdict=self.verdict,
            unannounced=self.unannounced,
            damaged=bool(self.judgement.damage),
            lost_all=self._lost_all,
            found=found(self.evidence, self.judgement),
            checks=self.judgement.checks,
        )

    @property
    def _lost_all(self) -> bool:
        fate = self.evidence.fate
        missing = fate is not None and fate.lost == fate.acknowledged > 0
        return missing and self.verdict == "lost" and not self.judgement.damage


def found(evidence: CutEvidence, judgement: Judgement) -> str:
    """What came back, in words: of the file system, of the engine, and of the commits."""
    if evidence.mount_error is not None:
        return "file system not mounted"
    words = ["file system repaired"] if evidence.filesystem_repaired else []
    subject, acknowledged, part_of = (
        ("program", "item", "items") if evidence.is_program else ("engine", "commit", "transactions")
    )
    for error, what in (
        (evidence.start_error, f"{subject} not started"),
        (evidence.read_error, "database not read"),
        (evidence.inspection_error, "not inspected"),
    ):
        if error is not None:
            words.append(what)
    if (fate := evidence.fate) is not None:
        words.append(f"{counted(fate.lost, f'acknowledged {acknowledged}')} missing")
        words += [] if evidence.is_program else [f"{counted(fate.unacknowledged, 'other')} there"]
        words += [f"{counted(fate.torn, 'part')} of {part_of}"] if fate.torn else []
        words += ["loaded rows missing"] if fate.loaded_lost else []
        words += ["order broken"] if fate.order_broken else []
    failed = (name for name, answer in judgement.checks.items() if answer != "survived")
    words += checker_names(failed, of_program=evidence.is_program)
    return ", ".join(words) or "as it was"


@dataclass(frozen=True)
class Reduced:
    """The failing state that departs least, inspected once more: what the recording of its cell tells."""

    state: State
    judgement: Judgement
    fate: Fate | None
    checked: Checked | None
    integrity: Integrity | None
    files: FilesLeft | None


def as_reduced(failing: FailingState) -> Reduced:
    """A state that lost, as it was found: not inspected once more."""
    judgement = Judgement("lost", failing.reasons, {})
    return Reduced(as_state(failing), judgement, None, None, None, failing.files)


class OneDisk:
    """Inspects states of ``of``'s load on the disk of ``trial``, one after another, in a thread of its own: inspecting
    processes ask to be killed with the thread that has started them."""

    def __init__(self, trial: Trial, cell: Cell, of: LoadFile, standing: Kept, thread: Executor) -> None:
        self.trial, self.thread = trial, thread
        self._of, self._standing = of, standing
        asked = replace(trial.evidence(), settings=of.recording.settings, place=of.recording.place)
        self._announced = announcement_of(cell, trial.engine, asked)

    def inspect(self, state: State) -> InspectedState:
        """Only processes that have seen no other state are a witness against the engine."""
        is_fresh = self._standing.is_fresh
        first = self._inspect_once(state)
        if first.verdict == "survived":
            return first
        self.trial.inspector.renew()
        if is_fresh:
            return first
        second = self._inspect_once(state)
        self.trial.inspector.renew()
        if second.verdict != first.verdict:
            return replace(second, judgement=_contradicted(first.judgement, second.judgement), unannounced=False)
        return second

    def files_left(self, seen: InspectedState) -> FilesLeft | None:
        """The files of a state beside those that were seen before and after its moment, or where nobody had looked yet,
        beside those of the same moment without any write left out. None where one of these cannot be mounted. In the
        thread that calls. Raises CellFailed where the disk is gone."""
        left, state = seen.evidence.file_sizes, seen.state
        if left is None:
            return None
        if (there := self._of.load.files_at(state.to)) is not None:
            return files_left.compare(left, there, "load")
        whole = left if not state.departures else self._file_sizes(State(state.start, state.to))
        return None if whole is None else files_left.compare(left, whole, "every write")

    def _file_sizes(self, state: State) -> dict[str, int] | None:
        evidence = CutEvidence()
        with _mounted(self.trial, self._of.load, state, evidence):
            return evidence.file_sizes

    def _inspect_once(self, state: State) -> InspectedState:
        shown = self.trial.evidence()
        inspect_state(self.trial, self._of.load, state, shown)
        judgement = self.trial.judged(shown)
        return InspectedState(state, shown, judgement, is_unannounced(judgement, self._announced))


class Explorer:
    """Looks at states of ``of``'s load on ``disks`` side by side, each of which begins from the disk as it was before
    that load: one state is mostly waiting, for a file system and an engine."""

    def __init__(self, disks: Sequence[OneDisk], cell: Cell, of: LoadFile) -> None:
        self._disks, self._cell, self._of = disks, cell, of

    @property
    def at_once(self) -> int:
        """How many states are looked at side by side."""
        return len(self._disks)

    def look(self, asked: Sequence[Asked], host: str | None = None) -> Explored:
        """Inspect at least one state. Raises CellFailed and OSError where a disk or the engine is gone."""
        began = time.monotonic()
        indexes: dict[tuple[Verdict, bool, bool, bool, str], int] = {}
        outcomes: list[RecoveryOutcome] = []
        states: list[tuple[str, int, int, bool]] = []
        failing: list[tuple[InspectedState, int]] = []
        for one, seen in zip(asked, self.inspected([one.state for one in asked]), strict=True):
            outcome = seen.outcome
            key = outcome.verdict, outcome.unannounced, outcome.damaged, outcome.lost_all, outcome.found
            if key not in indexes:
                indexes[key] = len(outcomes)
                outcomes.append(outcome)
            else:
                outcomes[indexes[key]] = with_checks_of(outcomes[indexes[key]], outcome)
            states.append((one.image, one.demanded, indexes[key], one.at_random))
            if seen.verdict != "survived":
                failing.append((seen, indexes[key]))
        worst = self._worst(failing, outcomes)
        worst_damaged = worst
        if worst is not None and not outcomes[worst.outcome].damaged:
            worst_damaged = self._worst([one for one in failing if outcomes[one[1]].damaged], outcomes)
        self._witnesses()
        return Explored(
            cell=self._cell.id,
            load=self._of.sha256,
            host=host,
            ended_at=datetime.now(UTC).isoformat(timespec="milliseconds"),
            took_s=time.monotonic() - began,
            states=states,
            outcomes=outcomes,
            worst=worst,
            worst_damaged=worst_damaged,
        )

    def _worst(
        self, failing: Sequence[tuple[InspectedState, int]], outcomes: Sequence[RecoveryOutcome]
    ) -> FailingState | None:
        """The worst of these states, with its files; each stands with the number of its outcome."""
        told = [(_failing(seen, index), seen) for seen, index in failing]
        if not told:
            return None
        worst, seen = min(told, key=lambda one: rank(one[0], outcomes[one[0].outcome]))
        return worst.model_copy(update={"files": self._files_left(seen)})

    def reduce(self, state: State) -> Reduced:
        """Look at a failing state once more, and find the same loss with fewer departures from the disk as it was."""
        seen = self._inspect(state)
        if seen.verdict == "lost":
            seen = shrunk(seen, self._inspect)
        evidence, files = seen.evidence, self._files_left(seen)
        self._witnesses()
        return Reduced(seen.state, seen.judgement, evidence.fate, evidence.checked, evidence.integrity, files)

    def _files_left(self, seen: InspectedState) -> FilesLeft | None:
        disk = self._disks[0]
        return disk.thread.submit(disk.files_left, seen).result()

    def _inspect(self, state: State) -> InspectedState:
        (seen,) = self.inspected([state])
        return seen

    def inspected(self, states: Sequence[State]) -> list[InspectedState]:
        """In the order of ``states``: which disk takes which is left to chance, and changes nothing."""
        left = deque(enumerate(states))
        seen: dict[int, InspectedState] = {}

        def work(disk: OneDisk) -> None:
            while True:
                try:
                    number, state = left.popleft()
                except IndexError:
                    return
                seen[number] = disk.inspect(state)

        works = [disk.thread.submit(work, disk) for disk in self._disks[: len(states)]]
        try:
            for done in as_completed(works):
                done.result()
        finally:
            left.clear()  # where one has failed, or somebody interrupts, no other state is begun
            wait(works)
        return [seen[number] for number in range(len(states))]

    def _witnesses(self) -> None:
        """What was seen on a disk that has ended meanwhile is no witness: raises CellFailed."""
        for disk in self._disks:
            disk.trial.drive.stats()


@contextmanager
def explorer(trials: Sequence[Trial], cell: Cell, of: LoadFile) -> Iterator[Explorer]:
    """An explorer on the disks of ``trials``, whose inspecting processes end in the end. Raises CellFailed where a disk
    cannot be made."""
    with ExitStack() as held:
        yield Explorer([held.enter_context(_one_disk(trial, cell, of)) for trial in trials], cell, of)


@contextmanager
def _one_disk(trial: Trial, cell: Cell, of: LoadFile) -> Iterator[OneDisk]:
    load = of.load
    trial.keep_state(State(0, load.start), load.log, of.broken_without_cut, of.blind_to_loss)
    with trial.scratch_in_memory(), trial.inspector.staying() as standing:
        try:
            with ThreadPoolExecutor(1, "state") as thread:
                yield OneDisk(trial, cell, of, standing, thread)
        finally:
            trial.instance.lose_power()
            trial.place.abandon()


def completed(
    recording: Recording,
    exploration: Exploration,
    elapsed_s: float,
    reduced: Reduced | None,
    kept: str | None,
    kept_damaged: str | None,
    why: str,
) -> Recording:
    """The recording of a cell whose states were looked at. ``reduced`` is the worst that did not survive, ``kept`` the
    file of it, ``kept_damaged`` that of one that shows damage beside it, ``why`` the reason why one is missing."""
    assert recording.cut is not None
    update: dict[str, object] = {"states": exploration.summary(elapsed_s, kept, kept_damaged)}
    after: dict[str, object] = {}
    if reduced is not None and exploration.worst is not None:
        _, outcome = exploration.worst
        judgement = reduced.judgement
        if judgement.verdict != outcome.verdict:
            judgement = _contradicted(Judgement(outcome.verdict, [], outcome.checks), judgement)
        many = exploration.count(outcome.verdict)
        damaged = f", {exploration.damaged:,} of them damaged" if exploration.damaged else ""
        shortest = crash_states.in_words(reduced.state, exploration.logged)
        at = f"{counted(many, 'state')}{damaged}, the shortest: {shortest}"
        update |= {
            "verdict": judgement.verdict,
            "reasons": [at, *judgement.reasons],
            "checks": judgement.checks,
            "damage": judgement.damage,
            "fate": reduced.fate,
            "integrity": reduced.integrity,
            "files": reduced.files,
        }
        after["checks_after"] = reduced.checked
    elif exploration.looked_at:
        update |= {"verdict": "survived", "reasons": [], "checks": exploration.checks(), "damage": []}
    update["cycle_s"] = elapsed_s
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    cut = recording.cut.model_copy(update=update)
    warnings = [*recording.warnings, *unkept(why)]
    return recording.model_copy(update={"cut": cut, "ended_at": now, "warnings": warnings, **after})


def _failing(seen: InspectedState, outcome: int) -> FailingState:
    state = seen.state
    return FailingState(
        start=state.start,
        to=state.to,
        without=list(state.without),
        torn=[(write, list(sectors)) for write, sectors in state.torn],
        of=state.of,
        outcome=outcome,
        reasons=seen.judgement.reasons,
    )


def _contradicted(first: Judgement, second: Judgement) -> Judgement:
    """The verdict on a state of which two inspections differ: nothing is known of it."""
    reason = f"a first look found it {first.verdict} ({'; '.join(first.reasons[:2])}), a second {second.verdict}"
    checks = {
        name: second.checks[name] if second.checks[name] == answer else "unknown"
        for name, answer in first.checks.items()
    }
    return Judgement("unknown", [reason], checks)


def inspect_state(trial: Trial, load: RecordedLoad, state: State, evidence: CutEvidence) -> None:
    """Build ``state`` and find out what the engine makes of it."""
    evidence.buffered = trial.subject.buffered(load.acknowledged)
    evidence.cut = DiskCut(kept_bytes=0, lost_bytes=0, torn_writes=len(state.torn))
    with _mounted(trial, load, state, evidence):
        if evidence.mount_error is None:
            trial.inspector.inspect(evidence, load.acknowledged_before(state.to))


@contextmanager
def _mounted(trial: Trial, load: RecordedLoad, state: State, evidence: CutEvidence) -> Iterator[None]:
    """``state`` is built and mounted within, or the evidence has the reason why it cannot be."""
    trial.place.begin(state.on(load.log))
    try:
        try:
            recovery = trial.place.mount_survivor()
        except CellFailed as error:
            evidence.mount_error = error.message
        else:
            evidence.mounted(recovery.seconds, repaired=recovery.repaired, said=recovery.said)
            evidence.file_sizes = trial.place.file_sizes()
        yield
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
            is_damaged, was_damaged = bool(shown.judgement.damage), bool(worst.judgement.damage)
            as_bad = shown.unannounced >= worst.unannounced and is_damaged >= was_damaged
            if shown.verdict == "lost" and as_bad:
                worst, again = replace(shown, state=smaller), True
                break
    return worst


EACH = 3  # disks for each processor: of a state's time most is waiting
DISKS_MAX = 24
STATES_EACH = 10  # a disk for fewer states takes longer to make than it saves
SHARE = 4  # of the room that is free all disks together take up to one part in so many
COPIES = 2  # of a disk's bytes at most: as it is kept and as it is


def at_once(cell: Cell, engine: Engine, size_mb: int, directory: Path) -> int:
    """How many disks of ``size_mb`` look at states of ``cell``, whose files are in ``directory``.

    One of a server, which may be on a port that was asked for, and of a program of the user's.
    """
    if not engine.embedded:
        return 1
    in_file = cell.place.disk_medium == "file"
    free = shutil.disk_usage(directory).free if in_file else counters().available_bytes
    room = free // SHARE // (COPIES * (size_mb + cell.place.disk_cache_mb) << 20)
    states = Budget.of(cell).states
    asked = DISKS_MAX if states is None else states // STATES_EACH
    return max(1, min(EACH * len(os.sched_getaffinity(0)), room, asked, DISKS_MAX))
