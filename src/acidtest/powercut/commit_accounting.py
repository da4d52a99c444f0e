"""What became of each acknowledged commit: the acknowledgement log beside what the database holds; pure.

An acknowledgement counts when it was drained before the cut. A transaction that was not acknowledged may be there or
not: its answer was never given, so both are right. One that is there in parts is wrong either way.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice

from acidtest.journal.models import Fate
from acidtest.journal.protocol import Survey
from acidtest.powercut.acknowledgement_log import Acknowledgement
from acidtest.words import counted

EXAMPLES_MAX = 5


def compare(log: Sequence[Acknowledgement], survey: Survey) -> Fate:
    """Set the acknowledgement log beside what the database holds.

    Number 0 of each terminal was loaded before anything ran, so it counts as acknowledged first of all.
    ``order_broken``: a transaction is there that began after a lost one had been acknowledged. The examples are at
    most ``EXAMPLES_MAX`` of each kind, and those of what is missing come first; see ``missing_examples``.
    """
    terminals = {of.terminal: of for of in survey.terminals}
    whole = {of.terminal: _Ranges(of.whole) for of in survey.terminals}
    nothing = _Ranges([])
    examples: list[str] = []
    lost = [line for line in log if line.number not in whole.get(line.terminal, nothing)]
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
            f"transaction {part.number} of terminal {terminal} is there in parts: {part.right:,} of "
            f"{counted(part.expected, 'row')}{f', {part.wrong:,} wrong' if part.wrong else ''}"
        )
    for terminal, counter, last in islice(counters, EXAMPLES_MAX):
        examples.append(f"the counter of terminal {terminal} says {counter}, its last whole transaction is {last}")
    if survey.strays:
        examples.append(counted(survey.strays, "row belongs to no transaction", "rows belong to no transaction"))
    acknowledged: dict[int, set[int]] = defaultdict(set)
    for line in log:
        acknowledged[line.terminal].add(line.number)
    return Fate(
        acknowledged=len(log),
        present=len(log) - len(lost),
        lost=len(lost),
        loaded_lost=len(loaded_lost),
        unacknowledged=sum(
            sum(1 for number in whole[of].numbers() if number and number not in acknowledged[of]) for of in terminals
        ),
        torn=len(torn) + len(counters) + survey.strays,
        order_broken=_order_broken(log, lost, whole),
        examples=examples,
    )


def first_missing_ns(log: Sequence[Acknowledgement], survey: Survey) -> int | None:
    """When the first acknowledged commit was acknowledged that is not there, of CLOCK_MONOTONIC; None without one."""
    whole = {of.terminal: _Ranges(of.whole) for of in survey.terminals}
    nothing = _Ranges([])
    missing = (line for line in log if line.number not in whole.get(line.terminal, nothing))
    return min((line.acknowledged_ns for line in missing), default=None)


def missing_examples(fate: Fate) -> list[str]:
    """Those of the examples that tell of acknowledged commits and loaded rows that are not there."""
    return fate.examples[: _missing_examples_shown(fate)]


def partial_examples(fate: Fate) -> list[str]:
    """The others: transactions in parts, counters that are wrong, rows of no transaction."""
    return fate.examples[_missing_examples_shown(fate) :]


def _missing_examples_shown(fate: Fate) -> int:
    return min(fate.lost, EXAMPLES_MAX) + min(fate.loaded_lost, EXAMPLES_MAX)


def _order_broken(
    log: Sequence[Acknowledgement], lost: Sequence[Acknowledgement], whole: Mapping[int, _Ranges]
) -> bool:
    if not lost:
        return False
    first_ns = min(line.acknowledged_ns for line in lost)
    gone = {(line.terminal, line.number) for line in lost}
    if any(line.began_ns > first_ns and (line.terminal, line.number) not in gone for line in log):
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
