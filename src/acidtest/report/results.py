"""A journal as the tables of a report: computed once, shown in the terminal, on the page and as JSON."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from acidtest.analysis import kinds, memory, reads, samples
from acidtest.analysis.compare import Comparison, comparisons
from acidtest.analysis.effects import Effect, effects
from acidtest.analysis.kinds import KindSummary
from acidtest.analysis.latency import SHOWN, Percentile, merge, percentile
from acidtest.analysis.memory import MemorySummary
from acidtest.analysis.reads import Reads
from acidtest.analysis.samples import Row
from acidtest.analysis.summary import Summary, median, ratio, summarise
from acidtest.audit import doubts
from acidtest.journal.models import NOT_APPLICABLE, Journal, Recording, Warning, counted
from acidtest.journal.protocol import Histogram, Loaded
from acidtest.report import pivot

COUNTED = ("committed", "rolled_back", "conflicts", "retries", "given_up", "errors")


@dataclass(frozen=True)
class Line:
    """One row of a table."""

    row: Row
    label: str  # of the levels that vary in its table
    goodput: Summary  # commits a second
    throughput_per_s: float | None  # attempts that ended, whatever their end; median of the repetitions
    seconds: float | None  # median duration of a run by count; None for a run by duration
    relative: Summary | None  # base = 1; None without a base
    is_base: bool
    against_base: Comparison | None  # None for the base itself and without one
    latency: Histogram  # of all repetitions
    percentiles: tuple[Percentile, ...]  # of analysis.latency.SHOWN, then the maximum
    counts: Mapping[str, int]  # COUNTED, over all repetitions
    classes: Mapping[str, int]  # conflicts and errors by class, the most frequent first
    kinds: tuple[KindSummary, ...]  # of transactions; none where there is but one
    new_order_per_min: float | None  # tpcc only; median of the repetitions
    reads: Reads | None  # scan only
    threads: int | None  # of the generator; the most that drove a repetition
    arrivals: Mapping[str, int] | None  # scheduled, late, unfinished; open loop only
    generator_us: float | None  # the rig's own processor time a transaction; median of the repetitions
    session_us: float | None  # and that of the session calls, the engine's where it is embedded
    memory: MemorySummary | None  # None where nothing was asked of it
    notes: tuple[int, ...]  # numbers of Results.warnings

    @property
    def levels(self) -> Mapping[str, str]:
        return self.row.levels

    @property
    def verdict(self) -> str:
        return self.against_base.verdict if self.against_base else ""


@dataclass(frozen=True)
class Table:
    """The rows of one workload; those that ran in a guest apart."""

    workload: str  # and the guest's name
    factors: tuple[str, ...]  # that vary, without the workload
    lines: tuple[Line, ...]
    comparisons: tuple[Comparison, ...]  # of rows that differ in one factor, and with the base
    loads: tuple[tuple[str, Loaded], ...]  # how each database was filled that its rows began with, and whose it was
    grids: tuple[pivot.Grid, ...]  # two factors against each other
    effects: tuple[Effect, ...]  # of the factors, the largest first

    @property
    def counted(self) -> str:
        """What its rates count."""
        return counted(str(self.lines[0].row.first.workload["kind"]))


@dataclass(frozen=True)
class Results:
    """All that a report shows."""

    journal: Journal
    tables: tuple[Table, ...]
    warnings: tuple[Warning, ...]  # numbered from 1 in this order
    place_notes: tuple[int, ...]
    bad: tuple[Recording, ...]  # invalid and failed cells
    base: Mapping[str, str] = field(default_factory=dict)

    @property
    def title(self) -> str:
        experiment = self.journal.header.experiment
        return str(experiment.get("title") or experiment["name"])

    @property
    def missing(self) -> int:
        """Planned cells that have not run yet."""
        return self.journal.header.cells - len(self.journal.recordings)

    def note(self, number: int) -> Warning:
        return self.warnings[number - 1]

    def as_json(self) -> dict[str, Any]:
        """For programs. Shapes are documented in docs/ANALYSIS.md."""
        return {
            "experiment": self.journal.header.experiment["name"],
            "journal": self.journal.path,
            "base": dict(self.base),
            "rows": [_line_json(line) for table in self.tables for line in table.lines],
            "effects": [_effect_json(table.workload, effect) for table in self.tables for effect in table.effects],
            "comparisons": [_comparison_json(c) for table in self.tables for c in table.comparisons],
            "warnings": [{"number": n, **w.model_dump()} for n, w in enumerate(self.warnings, start=1)],
            "invalid": [_bad_json(r) for r in self.bad if r.status == "invalid"],
            "failed": [_bad_json(r) for r in self.bad if r.status == "failed"],
            "missing_cells": self.missing,
        }


def _line_json(line: Line) -> dict[str, Any]:
    return {
        "workload": line.row.workload,
        "guest": line.row.guest or None,
        "levels": dict(line.levels),
        "repetitions": len(line.row.done),
        "goodput_per_s": _summary_json(line.goodput),
        "samples_per_s": line.row.goodput_per_s(),
        "throughput_per_s": line.throughput_per_s,
        "run_s_median": line.seconds,
        "relative": _summary_json(line.relative) if line.relative else None,
        "is_base": line.is_base,
        "verdict": line.verdict or None,
        "latency_ms": {p.name: p.value_ms for p in line.percentiles},
        **line.counts,
        "classes": dict(line.classes),
        "kinds": [_kind_json(kind) for kind in line.kinds],
        "new_order_per_min": line.new_order_per_min,
        "reads": vars(line.reads) if line.reads else None,
        "threads": line.threads,
        "load": _load_json(line.row),
        "arrivals": dict(line.arrivals) if line.arrivals else None,
        "generator_us_per_transaction": line.generator_us,
        "session_us_per_transaction": line.session_us,
        "memory": asdict(line.memory) if line.memory else None,
        "warnings": list(line.notes),
    }


def _kind_json(kind: KindSummary) -> dict[str, Any]:
    counted = ("name", "committed", "rolled_back", "conflicts", "given_up", "errors", "limit_ms", "limit_kept")
    return {name: getattr(kind, name) for name in counted} | {"latency_ms_p90": kind.p90.value_ms}


def _load_json(row: Row) -> dict[str, Any] | None:
    load = next((r.load for r in row.done if r.load), None)
    if load is None:
        return None
    return {**load.model_dump(include={"rows", "bytes", "seconds", "sessions"}),
            "rows_per_s": load.rows_per_s, "mb_per_s": load.mb_per_s}  # fmt: skip


def _summary_json(summary: Summary) -> dict[str, Any]:
    low, high = (summary.interval.low, summary.interval.high) if summary.interval else (None, None)
    return {"n": summary.n, "median": summary.median, "low": low, "high": high}


def _comparison_json(comparison: Comparison) -> dict[str, Any]:
    return {
        "row": dict(comparison.row.levels),
        "against": dict(comparison.against.levels),
        "factors": list(comparison.factors),
        "is_base": comparison.is_base,
        "n": list(comparison.n),
        "ratio": _summary_json(comparison.ratio),
        "cliffs_delta": comparison.cliffs_delta,
        "p": comparison.p,
        "p_corrected": comparison.p_corrected,
        "family": comparison.family,
        "verdict": comparison.verdict,
        "reason": comparison.reason,
    }


def _effect_json(workload: str, effect: Effect) -> dict[str, Any]:
    return {"workload": workload} | vars(effect) | {"ratio": _summary_json(effect.ratio)}


def _bad_json(recording: Recording) -> dict[str, Any]:
    return {"cell": recording.cell, "levels": recording.levels, "reason": recording.reason}


def results(journal: Journal, *, down: str | None = None, across: str | None = None) -> Results:
    """Compute every table of a journal; ``down`` and ``across`` are factors to set against each other, if not ours."""
    found = samples.rows(journal.header, journal.recordings)
    base = journal.header.base
    compared = comparisons(found, base)
    notes = _Notes()
    tables = []
    for workload, rows in samples.by_workload(found).items():
        factors = tuple(samples.varying(rows))
        mine = tuple(c for c in compared if any(c.row is row for row in rows))
        lines = tuple(_line(row, rows, factors, base, mine, notes) for row in rows)
        grids = pivot.grids(lines, factors, base, down, across)
        tables.append(Table(workload, factors, lines, mine, _loads(rows, factors), grids, tuple(effects(rows))))
    places = {json.dumps(r.place.alike()): r.place for r in journal.recordings if r.result}
    place_notes = tuple(dict.fromkeys(notes.number(w) for place in places.values() for w in doubts.of_place(place)))
    bad = tuple(r for r in journal.recordings if r.status != "done")
    return Results(journal, tuple(tables), tuple(notes.found), place_notes, bad, base)


def name_of(row: Row, factors: Sequence[str]) -> str:
    """The levels of ``factors``, those that do not apply left out."""
    return ", ".join(row.levels[f] for f in factors if row.levels[f] != NOT_APPLICABLE) or "all"


def _loads(rows: Sequence[Row], factors: Sequence[str]) -> tuple[tuple[str, Loaded], ...]:
    """Each load once, named by what its rows have in common. One of the schema alone is no load."""
    found: dict[str, tuple[Loaded, list[Row]]] = {}
    for row in rows:
        for recording in row.done:
            if recording.load and recording.load.rows:
                of = found.setdefault(recording.load.model_dump_json(), (recording.load, []))[1]
                of.extend([] if row in of else [row])
    told = []
    for load, of in found.values():
        common = [f for f in factors if f != "engine" and len({row.levels[f] for row in of}) == 1]
        told.append((name_of(of[0], ["engine", *common]), load))
    return tuple(told)


class _Notes:
    """Warnings numbered as they first appear; the same words have one number."""

    def __init__(self) -> None:
        self.found: list[Warning] = []

    def number(self, warning: Warning) -> int:
        for position, known in enumerate(self.found, start=1):
            if (known.code, known.text) == (warning.code, warning.text):
                return position
        self.found.append(warning)
        return len(self.found)


def _line(
    row: Row,
    rows: Sequence[Row],
    factors: Sequence[str],
    base: Mapping[str, str],
    compared: Sequence[Comparison],
    notes: _Notes,
) -> Line:
    is_base = samples.base_of(row, rows, base) is row
    against_base = next((c for c in compared if c.is_base and c.row is row), None)
    ran, rates = row.results(), row.goodput_per_s()
    counts = {name: sum(getattr(result.counts, name) for result in ran) for name in COUNTED}
    arrived = [result.arrivals for result in ran if result.arrivals]
    latency = merge([result.latency for result in ran])
    classes: Counter[str] = Counter()
    for result in ran:
        classes.update({refused.class_: refused.count for refused in result.counts.classes})
    clocked = [result.cpu for result in ran if result.cpu.sampled_transactions]
    return Line(
        row=row,
        label=name_of(row, factors),
        goodput=summarise(rates),
        throughput_per_s=median([result.throughput_per_s for result in ran]),
        seconds=median(row.seconds()) if row.by_count else None,
        relative=against_base.ratio if against_base else ratio(rates, rates) if is_base else None,
        is_base=is_base,
        against_base=against_base,
        latency=latency,
        percentiles=tuple(percentile(latency, share) for share in (*SHOWN, 1.0)),
        counts=counts,
        classes=dict(classes.most_common()),
        kinds=kinds.of_row(row),
        new_order_per_min=kinds.new_order_per_min(row),
        reads=reads.of_row(row),
        threads=max((result.threads for result in ran), default=0) or None,
        arrivals={name: sum(getattr(a, name) for a in arrived) for name in ("scheduled", "late", "unfinished")}
        if arrived
        else None,
        generator_us=median([cpu.generator_us_per_transaction for cpu in clocked]),
        session_us=median([cpu.session_us_per_transaction for cpu in clocked]),
        memory=memory.of_row(row),
        notes=tuple(sorted(notes.number(warning) for warning in doubts.of_row(row))),
    )


def percent(summary: Summary | None) -> str:
    """A ratio with the base as 100."""
    return "–" if summary is None or summary.median is None else number(100 * summary.median)


def interval(summary: Summary | None, scale: float = 1.0) -> str:
    """``low – high``, or "–" where the sample cannot bear an interval."""
    if summary is None or summary.interval is None:
        return "–"
    return f"{number(scale * summary.interval.low)} – {number(scale * summary.interval.high)}"


def number(value: float | None, digits: int = 3) -> str:
    """Three significant digits, thousands set apart; "–" for None."""
    if value is None:
        return "–"
    if value == 0:
        return "0"
    if abs(value) >= 10 ** (digits - 1):
        return f"{float(f'{value:.{digits}g}'):,.0f}"
    return f"{value:#.{digits}g}".rstrip(".")


def mib(value: float | None) -> str:
    """Bytes as MiB."""
    return number(value / (1 << 20)) if value is not None else "–"


def share(value: float | None) -> str:
    """A part of the whole."""
    return "–" if value is None else f"{value:.0%}"
