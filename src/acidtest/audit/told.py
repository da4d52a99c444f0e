"""Figures that somebody wrote down, held against what tools printed."""

from __future__ import annotations

import re
from bisect import bisect
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean, median
from typing import Literal

from acidtest.audit.bench import Bench, Published
from acidtest.audit.compared import WORDS

ROUNDED = 0.001  # beside what the digits allow
ROUND_MOST = 0.01  # that a figure which ends in zeros was rounded by
RUNS_LEAST = 3
NUMBERED = re.compile(r"\b(?:run|rep|repetition|round|iteration|trial|attempt)[ #_-]{0,2}\d{1,4}\b", re.IGNORECASE)
APART = 1.01  # the best from the usual one
DIGITS = re.compile(r"\d[\d,.' \u00a0]*")
Kind = Literal["rate", "nopm", "tpm"]


@dataclass(frozen=True)
class Told:
    """One figure of a table."""

    of: Published
    kind: str  # "rate", "nopm", "tpm", "p99", …
    value: float
    step: float  # of its last digit

    def among(self, ranked: Sequence[float]) -> bool:
        """Whether one of them is that figure."""
        at = bisect(ranked, self.value)
        return any(self.is_(other) for other in ranked[max(0, at - 1) : at + 1])

    def is_(self, other: float) -> bool:
        """Whether it may be that figure, rounded or cut off."""
        return abs(self.value - other) <= max(self.step * 1.001, ROUNDED * abs(other))


def tables(bench: Bench) -> list[list[Published]]:
    """The results of each table: of one file, on lines that follow each other."""
    told = sorted((one for one in bench.others if one.told), key=lambda one: (one.where.file, one.where.line or 0))
    found: list[list[Published]] = []
    for one in told:
        last = found[-1][-1].where if found else None
        if last and last.file == one.where.file and (one.where.line or 0) - (last.line or 0) <= 1:
            found[-1].append(one)
        else:
            found.append([one])
    return found


def figures(one: Published) -> Iterator[Told]:
    """Its rates; of TPC-C in its own unit."""
    if one.nopm:
        yield Told(one, "nopm", one.nopm, _step(one, one.nopm, 1))
    if one.tpm:
        yield Told(one, "tpm", one.tpm, _step(one, one.tpm, 1))
    elif one.rate:
        yield Told(one, "rate", one.rate, _step(one, one.rate, 1))


def _step(one: Published, value: float, least: float) -> float:
    """How much its last digit is worth, by how it is written; by its value where that cannot be told."""
    for match in DIGITS.finditer(one.written):
        digits = match[0].rstrip(",.' \u00a0")
        plain = re.sub(r"[,' \u00a0]", "", digits)
        if not re.fullmatch(r"\d+(\.\d+)?", plain):
            continue
        shown = float(plain)
        if not shown:
            continue
        factor = value / shown
        nearest = min((1.0, 1e3, 1e6, 1 / 60, 1e3 / 60), key=lambda of: abs(of / factor - 1))
        if abs(nearest / factor - 1) < 0.01:
            places = len(plain.partition(".")[2])
            zeros = len(plain) - len(plain.rstrip("0")) if not places else 0
            return max(nearest * 10.0**-places, min(nearest * 10.0**zeros, ROUND_MOST * value) if zeros else 0.0)
    return least


def pool(results: Sequence[Published]) -> Mapping[str, list[float]]:
    """Whatever may be told of results without being wrong: each figure of theirs, and of several of a kind the mean,
    the median and the sum."""
    groups: dict[tuple[object, ...], list[Published]] = defaultdict(list)
    for one in results:
        folder, _, file = one.where.file.rpartition("/")
        groups["file", one.where.file].append(one)
        groups["folder", folder].append(one)
        groups["kind", folder, one.script, one.terminals, one.unit].append(one)
        groups["stem", folder, re.sub(r"\d+", "#", file), one.script, one.terminals].append(one)
        stripped = re.sub(r"[-_.](?:run|rep|r|try|iter)?[-_.]?\d+(?=\.\w+$|$)", "", file)
        groups["repetitions", folder, stripped, one.terminals].append(one)
        groups["anywhere", file, one.terminals].append(one)
    held: dict[str, list[float]] = defaultdict(list)
    for kind in ("rate", "nopm", "tpm"):
        for one in results:
            if value := getattr(one, kind):
                held[kind].append(value)
            if one.attempts and kind == "rate":
                held[kind].append(one.attempts)
            if kind == "rate":
                held[kind] += [*map(max, (one.series,)), *map(min, (one.series,))] if one.series else []
        for of in groups.values():
            values = [value for one in of if (value := getattr(one, kind))]
            if len(values) > 1:
                held[kind] += [fmean(values), median(values), sum(values)]
                held[kind] += [abs(later - one) for one, later in pairwise(values)] if len(values) == 2 else []
    held["rate"] += [value / 60 for kind in ("nopm", "tpm") for value in held[kind]]
    # Statements and transactions are both counted: the half and the double are no other figure.
    return {kind: sorted({many * value for value in of for many in (0.5, 1, 2)}) for kind, of in held.items()}


def words(text: str) -> frozenset[str]:
    return frozenset(word.lower() for word in WORDS.findall(text))


def best_taken(
    told: Sequence[Published], repeated: Sequence[list[Published]]
) -> Iterator[tuple[Published, list[Published]]]:
    """Figures that are the best of some repetitions, and can be nothing else of them."""
    best: list[tuple[float, tuple[float, ...], list[Published]]] = []
    for of in repeated:
        values = sorted(one.rate or 0 for one in of)
        if len(values) >= RUNS_LEAST and values[-1] >= APART * median(values):
            best.append((values[-1], (*values[:-1], fmean(values), median(values)), of))
    best.sort(key=lambda one: one[0])
    ranked = [one[0] for one in best]
    beside: dict[str, list[float]] = defaultdict(list)
    for one in told if best else ():
        beside[one.where.file] += [figure.value for figure in figures(one)]
    for values_of in beside.values():
        values_of.sort()
    for one in told:
        if NUMBERED.search(one.name):
            continue  # one of several runs, and told as such
        for figure in figures(one) if best else ():
            reach = max(figure.step, 2 * ROUNDED * figure.value)
            begin, end = bisect(ranked, figure.value - reach), bisect(ranked, figure.value + reach)
            for value, others, of in best[begin:end] if figure.kind == "rate" else ():
                if not figure.is_(value) or any(figure.is_(other) for other in others):
                    continue
                # A text that gives the others too takes none for all.
                if not all(_is_there(other, beside[one.where.file], figure.step) for other in others[:-2]):
                    yield one, of


def _is_there(value: float, ranked: Sequence[float], step: float) -> bool:
    reach = max(step * 1.001, ROUNDED * value)
    at = bisect(ranked, value - reach)
    return at < len(ranked) and ranked[at] <= value + reach
