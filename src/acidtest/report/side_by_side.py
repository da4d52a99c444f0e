"""The same rows of two runs, side by side, and what else differs between the runs."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from rich.console import Console

from acidtest.analysis import samples
from acidtest.analysis.compare import Judged, judge
from acidtest.analysis.samples import Row
from acidtest.analysis.summary import Summary, median
from acidtest.analysis.summary import ratio as ratio_of
from acidtest.errors import BadInput
from acidtest.journal.models import DamagedLine, Journal
from acidtest.report import verdicts
from acidtest.report.line import name_of
from acidtest.report.numbers import interval, number, percent
from acidtest.report.table import Column, Table, print_table
from acidtest.words import counted
from acidtest.workload import unit as unit_of


@dataclass(frozen=True)
class SideBySide:
    """Run B read against run A."""

    pairs: Sequence[Pair]
    unpaired: int  # rows in one of the two only
    different: Sequence[dict[str, str]]  # what, a, b: machine, storage, versions, settings in force
    damaged: Sequence[DamagedLine]  # of both journals
    ignored: Sequence[str] = ()  # factors in which the two rows of a pair may differ

    def as_json(self) -> dict[str, Any]:
        return {
            "rows": [pair.as_json() for pair in self.pairs],
            "unpaired": self.unpaired,
            "ignored": list(self.ignored),
            "different": list(self.different),
            "damaged": [one.model_dump() for one in self.damaged],
        }

    def show(self, console: Console) -> None:
        unit = "/".join(dict.fromkeys(unit_of(str(pair.one.first.workload["kind"])) for pair in self.pairs))
        columns = [
            Column("levels", lambda pair: name_of(pair.one, pair.shared), right=False),
            Column(f"A {unit}/s", lambda pair: number(median(pair.one.goodput_per_s()))),
            Column(f"B {unit}/s", lambda pair: number(median(pair.two.goodput_per_s()))),
        ]
        print_pairs(columns, self.pairs, console)
        if self.unpaired:
            console.print(f"{counted(self.unpaired, 'row is', 'rows are')} in one of the two only.", style="dim")
        print_different(self.different, console)
        console.print("Mann-Whitney at 5 %, corrected over all rows (Holm); intervals are 95 %.", style="dim")


@dataclass(frozen=True)
class Pair:
    """One row in both runs."""

    one: Row
    two: Row
    judged: Judged

    @property
    def shared(self) -> list[str]:
        """The factors whose levels both have."""
        return [factor for factor, level in self.one.levels.items() if self.two.levels.get(factor) == level]

    @cached_property
    def ratio(self) -> Summary:
        return ratio_of(self.two.goodput_per_s(), self.one.goodput_per_s())

    def as_json(self) -> dict[str, Any]:
        return {
            "levels": dict(self.one.levels),
            "b_levels": dict(self.two.levels),
            "a_per_s": median(self.one.goodput_per_s()),
            "b_per_s": median(self.two.goodput_per_s()),
            "ratio": asdict(self.ratio),
            **asdict(self.judged),
        }


def print_pairs(columns: Sequence[Column], pairs: Sequence[Any], console: Console) -> None:
    """What was compared, by its own ``columns``, and behind them the ratio of B to A and its verdict."""
    compared = [
        Column("B (A = 100)", lambda pair: percent(pair.ratio)),
        Column("95 %", lambda pair: interval(pair.ratio, 100), drop=1),
        Column("B is", lambda pair: pair.judged.verdict, right=False),
    ]
    print_table(Table([*columns, *compared], pairs), console, "--json has all")
    for sentence in verdicts.explained(pair.judged for pair in pairs):
        console.print(sentence, style="dim", markup=False, highlight=False)


def print_different(different: Sequence[Mapping[str, str]], console: Console) -> None:
    for line in different:
        said = f"differs: {line['what']}: A {line['a']}, B {line['b']}"
        console.print(said, style="yellow", soft_wrap=True, markup=False)


def differing(a: Mapping[str, str], b: Mapping[str, str]) -> list[dict[str, str]]:
    """What two sets of facts do not share: what, a, b."""
    return [
        {"what": what, "a": a.get(what, "–"), "b": b.get(what, "–")}
        for what in dict.fromkeys([*a, *b])
        if a.get(what) != b.get(what)
    ]


def side_by_side(one: Journal, two: Journal, ignore: Collection[str] = ()) -> SideBySide:
    """Pair the rows of two journals by their levels of all factors but those to ``ignore``; without a pair there is
    nothing to compare.

    A row of a guest has a pair only in the same guest. Raises BadInput where a row would have several.
    """
    before, after = _by_levels(one, ignore), _by_levels(two, ignore)
    shared = [levels for levels in before if levels in after]
    pairs = _compared([(before[levels], after[levels]) for levels in shared])
    unpaired = len(before) + len(after) - 2 * len(shared)
    named = [{"what": factor, "a": a, "b": b} for factor, a, b in _apart(one, two) if factor in ignore]
    different = [*named, *_differences(one, two, ignore)]
    return SideBySide(pairs, unpaired, different, [*one.damaged, *two.damaged], list(ignore))


def unlike(one: Journal, two: Journal) -> dict[str, tuple[str, str]]:
    """The factors of which two journals have no level in common, with the levels of each."""
    return {factor: (a, b) for factor, a, b in _apart(one, two)}


def _apart(one: Journal, two: Journal) -> Iterator[tuple[str, str, str]]:
    levels = [{factor: set(of) for factor, of in journal.header.factors.items()} for journal in (one, two)]
    for factor in dict.fromkeys([*levels[0], *levels[1]]):
        a, b = (of.get(factor, set()) for of in levels)
        if not a & b:
            mine, theirs = (", ".join(journal.header.factors.get(factor, ["–"])) for journal in (one, two))
            yield factor, mine, theirs


def _by_levels(journal: Journal, ignore: Collection[str]) -> dict[tuple[tuple[str, str], ...], Row]:
    found: dict[tuple[tuple[str, str], ...], Row] = {}
    for row in samples.rows(journal.header, journal.recordings):
        key = (*((factor, of) for factor, of in row.levels.items() if factor not in ignore), ("guest", row.guest))
        if key in found:
            factors = [factor for factor in ignore if factor in row.levels]
            several = " and ".join(name_of(of, factors) for of in (found[key], row))
            raise BadInput(
                f"{journal.path}: {several} differ in nothing but what is ignored: of which one would be the pair?",
                "ignore factors only of which this run has one level",
            )
        found[key] = row
    return found


def _compared(pairs: list[tuple[Row, Row]]) -> list[Pair]:
    judged = judge([(two.goodput_per_s(), one.goodput_per_s()) for one, two in pairs])
    return [Pair(one, two, verdict) for (one, two), verdict in zip(pairs, judged, strict=True)]


def _differences(one: Journal, two: Journal, ignore: Collection[str]) -> list[dict[str, str]]:
    """Machine, place, engine versions and settings in force that the runs do not share."""
    return differing(_facts(one, ignore), _facts(two, ignore))


def _facts(journal: Journal, ignore: Collection[str]) -> dict[str, str]:
    facts: dict[str, set[str]] = {}
    for recording in journal.recordings:
        known: dict[str, Any] = {f"machine {k}": v for k, v in recording.machine.model_dump().items()}
        place = recording.place.alike()
        known |= {f"storage {k}": v for k, v in place.items()}
        if recording.engine:
            known[f"{recording.engine.id} version"] = recording.engine.version
            if build := recording.engine.build:
                known[f"{recording.engine.id} build"] = f"{build.file}, sha256 {build.sha256[:16]}"
            row = "/".join(level for factor, level in recording.levels.items() if factor not in ignore)
            known |= {f"{row} {s.name}": s.shown for s in recording.settings}
        for what, value in known.items():
            facts.setdefault(what, set()).add(str(value))
    return {what: ", ".join(sorted(values)) for what, values in facts.items()}
