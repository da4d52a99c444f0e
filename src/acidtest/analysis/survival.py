"""What became of each acknowledged commit, and the verdict on a power cut; pure.

An acknowledgement counts when it was drained before the cut. A transaction that was not acknowledged may be there or
not: its answer was never given, so both are right. One that is there in parts is wrong either way.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from acidtest.journal.models import Fate, Integrity, Verdict
from acidtest.journal.protocol import Checked, Survey

EXAMPLES_MAX = 5


@dataclass(frozen=True)
class Acknowledgement:
    """One line of the ledger of acknowledged commits; see ``RunPlan.acknowledge_to`` in ``protocol.rs``."""

    terminal: int
    count: int  # rises by one within a terminal
    kind: int
    number: int
    began_ns: int
    acknowledged_ns: int


def read(lines: Iterable[bytes]) -> list[Acknowledgement]:
    """The ledger's lines in the order in which they were drained. Raises ValueError for what is no such line."""
    return [Acknowledgement(*map(int, line.split(b" "))) for line in lines]


def missing_lines(ledger: Sequence[Acknowledgement]) -> int:
    """Lines that were written and not drained although later ones were: the ledger cannot be relied on."""
    counts: dict[int, list[int]] = defaultdict(list)
    for line in ledger:
        counts[line.terminal].append(line.count)
    return sum(len(set(range(1, max(of) + 1)) ^ set(of)) + len(of) - len(set(of)) for of in counts.values())


def kinds(ledger: Sequence[Acknowledgement]) -> list[int]:
    """Commits of each kind of transaction."""
    found = [0] * (max((line.kind for line in ledger), default=0) + 1)
    for line in ledger:
        found[line.kind] += 1
    return found


def compare(ledger: Sequence[Acknowledgement], survey: Survey) -> Fate:
    """Set the ledger beside what the database holds.

    Number 0 of each terminal was loaded before anything ran, so it counts as acknowledged first of all.
    ``order_broken``: a transaction is there that began after a lost one had been acknowledged.
    """
    terminals = {of.terminal: of for of in survey.terminals}
    whole = {of.terminal: _Ranges(of.whole) for of in survey.terminals}
    nothing = _Ranges([])
    examples: list[str] = []
    lost = [line for line in ledger if line.number not in whole.get(line.terminal, nothing)]
    loaded_lost = [terminal for terminal in terminals if 0 not in whole[terminal]]
    torn = [(of.terminal, torn) for of in survey.terminals for torn in of.torn]
    counters = [
        (of.terminal, of.counter, whole[of.terminal].last)
        for of in survey.terminals
        if of.counter is None or (of.counter != whole[of.terminal].last and not of.torn)
    ]
    for line in islice(lost, EXAMPLES_MAX):
        examples.append(f"transaction {line.number} of terminal {line.terminal} was acknowledged and is not there")
    for terminal in islice(loaded_lost, EXAMPLES_MAX):
        examples.append(f"rows of terminal {terminal} that were loaded before the run are not there")
    for terminal, part in islice(torn, EXAMPLES_MAX):
        examples.append(
            f"transaction {part.number} of terminal {terminal} is there in parts: {part.right} of {part.expected} rows"
            + (f", {part.wrong} wrong" if part.wrong else "")
        )
    for terminal, counter, last in islice(counters, EXAMPLES_MAX):
        examples.append(f"the counter of terminal {terminal} says {counter}, its last whole transaction is {last}")
    if survey.strays:
        examples.append(f"{survey.strays} rows belong to no transaction")
    acknowledged: dict[int, set[int]] = defaultdict(set)
    for line in ledger:
        acknowledged[line.terminal].add(line.number)
    return Fate(
        acknowledged=len(ledger),
        present=len(ledger) - len(lost),
        lost=len(lost),
        loaded_lost=len(loaded_lost),
        unacknowledged=sum(
            sum(1 for number in whole[of].numbers() if number and number not in acknowledged[of]) for of in terminals
        ),
        torn=len(torn) + len(counters) + survey.strays,
        order_broken=_order_broken(ledger, lost, whole),
        examples=examples,
    )


def _order_broken(
    ledger: Sequence[Acknowledgement], lost: Sequence[Acknowledgement], whole: Mapping[int, _Ranges]
) -> bool:
    if not lost:
        return False
    first_ns = min(line.acknowledged_ns for line in lost)
    gone = {(line.terminal, line.number) for line in lost}
    if any(line.began_ns > first_ns and (line.terminal, line.number) not in gone for line in ledger):
        return True
    return any(line.terminal in whole and whole[line.terminal].last > line.number for line in lost)


class _Ranges:
    """Numbers as ascending ranges, first and last of each."""

    def __init__(self, ranges: Sequence[tuple[int, int]]) -> None:
        self._ranges = ranges
        self._firsts = [first for first, _ in ranges]

    def __contains__(self, number: int) -> bool:
        place = bisect_right(self._firsts, number) - 1
        return place >= 0 and number <= self._ranges[place][1]

    @property
    def last(self) -> int:
        return self._ranges[-1][1] if self._ranges else -1

    def numbers(self) -> Iterable[int]:
        return (number for first, last in self._ranges for number in range(first, last + 1))


@dataclass
class Evidence:
    """What a cut has shown. What is None could not be looked at."""

    not_sound: list[str] = field(default_factory=list)  # why the trial itself cannot be relied on
    refusals: list[str] = field(default_factory=list)  # in whose words the survivors could not be reached
    missing_lines: int = 0
    fate: Fate | None = None
    needs_fate: bool = True  # False of a workload that numbers nothing: its conditions stand for it
    checked: Checked | None = None
    integrity: Integrity | None = None


def judge(seen: Evidence) -> tuple[Verdict, list[str]]:
    """The verdict and its reasons.

    ``lost`` needs a witness: a commit, a condition or a structure that is not as it was acknowledged, or a file system
    or engine that says why it does not give back what it was given. ``survived`` needs every check to have run and to
    hold.
    """
    if seen.not_sound:
        return "unknown", seen.not_sound
    if seen.missing_lines:
        return "unknown", [f"the ledger of acknowledgements lacks {seen.missing_lines} lines"]
    reasons = list(seen.refusals)
    if seen.fate and (seen.fate.lost or seen.fate.torn or seen.fate.loaded_lost):
        reasons += seen.fate.examples
    if seen.checked:
        reasons += [f"{c.name} does not hold: {c.detail}" for c in seen.checked.conditions if not c.holds]
    if seen.integrity and seen.integrity.holds == "broken":
        reasons.append(f"{seen.integrity.check}: {seen.integrity.said}")
    if reasons:
        return "lost", reasons
    lacking = []
    if seen.needs_fate and seen.fate is None:
        lacking.append("what the database holds could not be surveyed")
    if seen.checked is None:
        lacking.append("the consistency conditions could not be checked")
    if seen.integrity is None:
        lacking.append("the engine's own integrity check did not run")
    elif seen.integrity.holds == "unknown":
        lacking.append(f"{seen.integrity.check} could not be run: {seen.integrity.said}")
    return ("unknown", lacking) if lacking else ("survived", [])
