"""The same rows of two runs, side by side, and what else differs between the runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from rich.console import Console

from acidtest.analysis import samples
from acidtest.analysis.compare import Judged, judge
from acidtest.analysis.samples import Row
from acidtest.analysis.summary import Summary, median
from acidtest.analysis.summary import ratio as ratio_of
from acidtest.journal.models import DamagedLine, Journal
from acidtest.report import verdicts
from acidtest.report.fitted import Column, print_fitted
from acidtest.report.numbers import interval, number, percent
from acidtest.report.results import name_of
from acidtest.words import counted
from acidtest.workload import unit as unit_of


@dataclass(frozen=True)
class SideBySide:
    """Run B read against run A."""

    pairs: Sequence[Pair]
    unpaired: int  # rows in one of the two only
    different: Sequence[dict[str, str]]  # what, a, b: machine, storage, versions, settings in force
    damaged: Sequence[DamagedLine]  # of both journals

    def as_json(self) -> dict[str, Any]:
        return {
            "rows": [pair.as_json() for pair in self.pairs],
            "unpaired": self.unpaired,
            "different": list(self.different),
            "damaged": [one.model_dump() for one in self.damaged],
        }

    def show(self, console: Console) -> None:
        unit = "/".join(dict.fromkeys(unit_of(str(pair.one.first.workload["kind"])) for pair in self.pairs))
        columns = [
            Column("levels", lambda pair: name_of(pair.one, list(pair.one.levels)), right=False),
            Column(f"A {unit}/s", lambda pair: number(median(pair.one.goodput_per_s()))),
            Column(f"B {unit}/s", lambda pair: number(median(pair.two.goodput_per_s()))),
            Column("B (A = 100)", lambda pair: percent(pair.ratio)),
            Column("95 %", lambda pair: interval(pair.ratio, 100), drop=1),
            Column("B is", lambda pair: pair.judged.verdict, right=False),
        ]
        print_fitted(columns, self.pairs, console, "--json has all")
        for sentence in verdicts.explained(pair.judged for pair in self.pairs):
            console.print(sentence, style="dim", markup=False, highlight=False)
        if self.unpaired:
            console.print(f"{counted(self.unpaired, 'row is', 'rows are')} in one of the two only.", style="dim")
        for line in self.different:
            console.print(f"differs: {line['what']}: A {line['a']}, B {line['b']}", style="yellow", soft_wrap=True)
        console.print("Mann-Whitney at 5 %, corrected over all rows (Holm); intervals are 95 %.", style="dim")


@dataclass(frozen=True)
class Pair:
    """One row in both runs."""

    one: Row
    two: Row
    judged: Judged

    @cached_property
    def ratio(self) -> Summary:
        return ratio_of(self.two.goodput_per_s(), self.one.goodput_per_s())

    def as_json(self) -> dict[str, Any]:
        return {
            "levels": dict(self.one.levels),
            "a_per_s": median(self.one.goodput_per_s()),
            "b_per_s": median(self.two.goodput_per_s()),
            "ratio": asdict(self.ratio),
            **asdict(self.judged),
        }


def side_by_side(one: Journal, two: Journal) -> SideBySide:
    """Pair the rows of two journals by their levels; without a pair there is nothing to compare.

    A row of a guest has a pair only in the same guest.
    """
    before, after = _by_levels(one), _by_levels(two)
    shared = [levels for levels in before if levels in after]
    pairs = _compared([(before[levels], after[levels]) for levels in shared])
    unpaired = len(before) + len(after) - 2 * len(shared)
    return SideBySide(pairs, unpaired, _differences(one, two), [*one.damaged, *two.damaged])


def _by_levels(journal: Journal) -> dict[tuple[tuple[str, str], ...], Row]:
    rows = samples.rows(journal.header, journal.recordings)
    return {(*row.levels.items(), ("guest", row.guest)): row for row in rows}


def _compared(pairs: list[tuple[Row, Row]]) -> list[Pair]:
    judged = judge([(two.goodput_per_s(), one.goodput_per_s()) for one, two in pairs])
    return [Pair(one, two, verdict) for (one, two), verdict in zip(pairs, judged, strict=True)]


def _differences(one: Journal, two: Journal) -> list[dict[str, str]]:
    """Machine, place, engine versions and settings in force that the runs do not share."""
    a, b = _facts(one), _facts(two)
    return [
        {"what": what, "a": a.get(what, "–"), "b": b.get(what, "–")}
        for what in dict.fromkeys([*a, *b])
        if a.get(what) != b.get(what)
    ]


def _facts(journal: Journal) -> dict[str, str]:
    facts: dict[str, set[str]] = {}
    for recording in journal.recordings:
        known: dict[str, Any] = {f"machine {k}": v for k, v in recording.machine.model_dump().items()}
        place = recording.place.alike()
        known |= {f"storage {k}": v for k, v in place.items()}
        if recording.engine:
            known[f"{recording.engine.id} version"] = recording.engine.version
            if build := recording.engine.build:
                known[f"{recording.engine.id} build"] = f"{build.file}, sha256 {build.sha256[:16]}"
            known |= {f"{recording.cell.rpartition('#')[0]} {s.name}": s.shown for s in recording.settings}
        for what, value in known.items():
            facts.setdefault(what, set()).add(str(value))
    return {what: ", ".join(sorted(values)) for what, values in facts.items()}
