"""The same rows of two runs, side by side, and what else differs between the runs."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

from rich.console import Console

from acidtest.analysis import samples
from acidtest.analysis.compare import Judged, judge
from acidtest.analysis.samples import Row
from acidtest.analysis.summary import Summary, median
from acidtest.analysis.summary import ratio as ratio_of
from acidtest.doubts import judge as doubts
from acidtest.errors import BadInput
from acidtest.finding import Finding
from acidtest.journal.models import DamagedLine, Journal
from acidtest.report import verdicts
from acidtest.report.line import name_of
from acidtest.report.numbers import interval, number, percent
from acidtest.report.results import Notes
from acidtest.report.table import Cell, Column, Table, note, print_table
from acidtest.words import counted
from acidtest.workload import unit as unit_of

OF_NO_CHOICE = ("name", "described", "files")  # of a workload's parameters: files are told one by one
SHA_SHOWN = 16  # characters of a hash


@dataclass(frozen=True)
class SideBySide:
    """Run B read against run A."""

    pairs: Sequence[Pair]
    unpaired: int  # rows in one of the two only
    # What, a, b: machine, storage, versions, settings in force, workload and its files, repetitions.
    different: Sequence[dict[str, str]]
    damaged: Sequence[DamagedLine]  # of both journals
    ignored: Sequence[str] = ()  # factors in which the two rows of a pair may differ
    findings: Sequence[Finding] = ()  # what is doubtful about the rows of either, numbered from 1
    made: Sequence[tuple[str, str]] = ()  # of A and of B, when the first cell began and the last one ended

    def as_json(self) -> dict[str, Any]:
        return {
            "rows": [pair.as_json() for pair in self.pairs],
            "unpaired": self.unpaired,
            "ignored": list(self.ignored),
            "different": list(self.different),
            "findings": [{"number": n, **finding.as_json()} for n, finding in enumerate(self.findings, start=1)],
            "made": [{"from": began, "until": ended} for began, ended in self.made],
            "damaged": [one.model_dump() for one in self.damaged],
        }

    def show(self, console: Console) -> None:
        unit = "/".join(dict.fromkeys(unit_of(str(pair.one.first.workload["kind"])) for pair in self.pairs))
        columns = [
            Column("levels", lambda pair: name_of(pair.one, pair.shared), right=False),
            Column(f"A {unit}/s", lambda pair: self._marked(pair.one, pair.notes[0])),
            Column(f"B {unit}/s", lambda pair: self._marked(pair.two, pair.notes[1])),
        ]
        print_pairs(columns, self.pairs, console)
        if self.unpaired:
            console.print(f"{counted(self.unpaired, 'row is', 'rows are')} in one of the two only.", style="dim")
        for position, finding in enumerate(self.findings, start=1):
            console.print(note(position, finding.advice))
        print_different(self.different, console)
        for sentence in self.said:
            console.print(sentence, markup=False)
        console.print("Mann-Whitney at 5 %, corrected over all rows (Holm); intervals are 95 %.", style="dim")

    def _marked(self, row: Row, notes: Sequence[int]) -> Cell:
        return Cell(number(median(row.goodput_per_s)), marks={n: self.findings[n - 1].advice for n in notes})

    @property
    def said(self) -> list[str]:
        """Whether anything else is known to differ, and what no journal can tell."""
        sentences = []
        if not self.different:
            sentences.append(
                "Nothing else differs that is recorded: machine, storage, versions, settings, workload, files of SQL "
                "and lengths are the same."
            )
        if self.made:
            a, b = (_span(*one) for one in self.made)
            sentences.append(
                f"A was measured {a}, B {b}: they differ in time too, and in what else the machine did. To see how "
                "much that is, run A, B and A again, and compare the two runs of A."
            )
        return sentences


@dataclass(frozen=True)
class Pair:
    """One row in both runs."""

    one: Row
    two: Row
    judged: Judged
    notes: tuple[Sequence[int], Sequence[int]] = ((), ())  # numbers of what is doubtful about either

    @property
    def shared(self) -> list[str]:
        return [factor for factor, level in self.one.levels.items() if self.two.levels.get(factor) == level]

    @cached_property
    def ratio(self) -> Summary:
        return ratio_of(self.two.goodput_per_s, self.one.goodput_per_s)

    def as_json(self) -> dict[str, Any]:
        return {
            "levels": dict(self.one.levels),
            "b_levels": dict(self.two.levels),
            "a_per_s": median(self.one.goodput_per_s),
            "b_per_s": median(self.two.goodput_per_s),
            "a_findings": list(self.notes[0]),
            "b_findings": list(self.notes[1]),
            "ratio": asdict(self.ratio),
            **asdict(self.judged),
        }


def _span(began: str, ended: str) -> str:
    """``2026-03-02 10:00 to 10:15 UTC``."""
    (day, at), (last_day, until) = ((one[:10], one[11:16]) for one in (began, ended))
    return f"{day} {at} to {until if day == last_day else f'{last_day} {until}'} UTC"


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
        text = f"differs: {line['what']}: A {line['a']}, B {line['b']}"
        console.print(text, style="yellow", soft_wrap=True, markup=False)


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
    notes = Notes({})
    pairs = [
        replace(pair, notes=(_notes(pair.one, one, notes), _notes(pair.two, two, notes)))
        for pair in _compared([(before[levels], after[levels]) for levels in shared])
    ]
    unpaired = len(before) + len(after) - 2 * len(shared)
    named = [{"what": factor, "a": a, "b": b} for factor, a, b in _apart(one, two) if factor in ignore]
    different = [*named, *differing(_facts(one, ignore), _facts(two, ignore)), *_of_workloads(pairs, ignore)]
    made = [
        (min(r.started_at for r in journal.recordings), max(r.ended_at for r in journal.recordings))
        for journal in (one, two)
        if journal.recordings
    ]
    return SideBySide(
        pairs,
        unpaired,
        different,
        [*one.damaged, *two.damaged],
        list(ignore),
        notes.findings,
        made if len(made) == 2 else (),
    )


def _notes(row: Row, journal: Journal, notes: Notes) -> list[int]:
    """What is doubtful about a row and its storage, under the waivers of its own run."""
    waivers = journal.header.experiment.get("waive", {})
    places = {json.dumps(r.place.alike()): r.place for r in row.done}.values()
    found = [*doubts.of_row(row), *(one for place in places for one in doubts.of(place))]
    return sorted({notes.number(one, waivers) for one in found})


def _of_workloads(pairs: Sequence[Pair], ignore: Collection[str]) -> list[dict[str, str]]:
    """What two rows of a pair were not asked alike: parameters, files of SQL by their hashes, repetitions."""
    found: dict[tuple[str, str, str], list[Pair]] = {}
    for pair in pairs:
        for line in differing(_asked(pair.one), _asked(pair.two)):
            if not any(line["what"] in (factor, f"workload {factor}") for factor in ignore):
                found.setdefault((line["what"], line["a"], line["b"]), []).append(pair)
    return [
        {"what": what if len(of) == len(pairs) else f"{name_of(of[0].one, of[0].shared)}: {what}", "a": a, "b": b}
        for (what, a, b), of in found.items()
    ]


def _asked(row: Row) -> dict[str, str]:
    asked = row.first.workload
    files = asked.get("files") or {}
    return {
        **{f"workload {key}": _shown(value) for key, value in asked.items() if key not in OF_NO_CHOICE},
        **{f"{row.workload}/{file}": f"sha256 {of[:SHA_SHOWN]}" for file, of in files.items()},
        "repetitions that count": f"{len(row.done):,}",
    }


def _shown(value: Any) -> str:
    return "none" if value is None else value if isinstance(value, str) else json.dumps(value, sort_keys=True)


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
    judged = judge([(two.goodput_per_s, one.goodput_per_s) for one, two in pairs])
    return [Pair(one, two, verdict) for (one, two), verdict in zip(pairs, judged, strict=True)]


def _facts(journal: Journal, ignore: Collection[str]) -> dict[str, str]:
    facts: dict[str, set[str]] = {}
    for recording in journal.recordings:
        known: dict[str, Any] = {f"machine {k}": v for k, v in recording.machine.model_dump().items()}
        known["acidtest version"] = recording.acidtest_version
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
