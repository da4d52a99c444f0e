"""A journal as the tables of a report: computed once, shown in the terminal, on the page and as JSON."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from acidtest.analysis import engine_figures, hosts, memory, parts, samples, sizes, stalls, workload_figures
from acidtest.analysis.commit_cost import CommitCost, calls_of, commit_costs
from acidtest.analysis.compare import Comparison, comparisons
from acidtest.analysis.effects import Effect, effects
from acidtest.analysis.growth.recorded import recorded
from acidtest.analysis.hosts import Hosts
from acidtest.analysis.latency import percentiles
from acidtest.analysis.omission import Omission, omissions
from acidtest.analysis.pairs import base_of, by_workload
from acidtest.analysis.risks import LevelRisk, known_faults, level_risks
from acidtest.analysis.samples import Row
from acidtest.analysis.summary import median, ratio, summarise
from acidtest.analysis.survival import survivals
from acidtest.analysis.workload_figures import Operations
from acidtest.doubts import judge
from acidtest.doubts.unchecked import of_run
from acidtest.finding import Finding, Unchecked, together, waived, wording
from acidtest.journal.models import Journal, PlaceFacts, Recording
from acidtest.journal.protocol import Loaded
from acidtest.report import omission_table, pivot, risks, shapes
from acidtest.report.growth import Growth, growth
from acidtest.report.hosts import fleet_json, load_json
from acidtest.report.line import Line, Load, name_of
from acidtest.report.numbers import attributes, kind_json, summary_json
from acidtest.report.replays import as_json as replay_json
from acidtest.words import counted
from acidtest.workload import unit


@dataclass(frozen=True)
class Table:
    """The rows of one workload; those that ran in a guest apart."""

    workload: str  # and the guest's name
    factors: tuple[str, ...]  # that vary, without the workload
    lines: tuple[Line, ...]
    comparisons: tuple[Comparison, ...]  # of rows that differ in one factor, and with the base
    loads: tuple[Load, ...]  # of each database that its rows began with
    grids: tuple[pivot.Grid, ...]  # two factors against each other
    effects: tuple[Effect, ...]  # of the factors, the largest first
    growth: Growth | None  # None where sizes are no factor

    @property
    def counted(self) -> str:
        return unit(str(self.lines[0].row.first.workload["kind"]))


@dataclass(frozen=True)
class Results:
    """All that a report shows."""

    journal: Journal
    tables: tuple[Table, ...]
    findings: tuple[Finding, ...]  # numbered from 1 in this order
    overall: tuple[Finding, ...]  # that concern no single row, but what is compared with what
    place_notes: Mapping[str, tuple[int, ...]]  # by what places that were made alike have in common
    bad: tuple[Recording, ...]  # invalid and failed cells
    base: Mapping[str, str] = field(default_factory=dict)
    commit_costs: tuple[CommitCost, ...] = ()  # speed beside calls and survival; none where there are but speeds
    omissions: tuple[Omission, ...] = ()  # of rows that ran the same load open and closed
    cuts: Journal | None = None  # of the same experiment
    hosts: Hosts | None = None  # of a fleet
    risks: tuple[LevelRisk, ...] = ()  # what each level may lose; none where nothing may be lost
    unchecked: tuple[Unchecked, ...] = ()  # what these rates do not show
    faults: Mapping[str, Sequence[str]] = field(default_factory=dict)  # what levels do not say, and of which engines

    @property
    def missing(self) -> int:
        return self.journal.header.cells - len(self.journal.recordings)

    @property
    def severe(self) -> list[Finding]:
        """Findings that say that numbers here must not be believed."""
        return [finding for finding in (*self.findings, *self.overall) if finding.severe]

    def notes_of(self, place: PlaceFacts) -> tuple[int, ...]:
        """Numbers of the findings that concern this storage."""
        return self.place_notes.get(_alike(place), ())

    def notes_of_level(self, table: Table, factor: str, level: str) -> dict[int, str]:
        """The findings that every row with this level has, and not every row, by number."""
        lines = [line for line in table.lines if line.row.done]
        of = [set(line.notes) for line in lines if line.levels[factor] == level]
        common = set.intersection(*of) if of else set()
        return {n: self.note(n).text for n in sorted(common) if not all(n in line.notes for line in lines)}

    def note(self, number: int) -> Finding:
        return self.findings[number - 1]

    def as_json(self) -> dict[str, Any]:
        """For programs. Shapes are documented in docs/ANALYSIS.md."""
        return {
            "experiment": self.journal.header.experiment["name"],
            "journal": self.journal.path,
            "base": dict(self.base),
            "rows": [_line_json(line) for table in self.tables for line in table.lines],
            "effects": [_effect_json(table.workload, effect) for table in self.tables for effect in table.effects],
            "comparisons": [_comparison_json(c) for table in self.tables for c in table.comparisons],
            "findings": [
                *({"number": n, **finding.as_json()} for n, finding in enumerate(self.findings, start=1)),
                *({"number": None, **one.as_json()} for one in self.overall),
            ],
            "invalid": [_bad_json(r) for r in self.bad if r.status == "invalid"],
            "failed": [_bad_json(r) for r in self.bad if r.status == "failed"],
            "hosts": fleet_json(self.hosts) if self.hosts else None,
            "risks": [risks.as_json(risk) for risk in self.risks],
            "known_faults": [{"text": fault, "engines": list(of)} for fault, of in self.faults.items()],
            "commit_costs": [_cost_json(cost) for cost in self.commit_costs],
            "omissions": [omission_table.as_json(omission) for omission in self.omissions],
            "not_checked": [one.as_json() for one in self.unchecked],
            "growth": [table.growth.recorded_json() for table in self.tables if table.growth],
            "missing_cells": self.missing,
            "damaged": [one.model_dump() for one in self.journal.damaged],
        }


def _line_json(line: Line) -> dict[str, Any]:
    summaries = attributes(line, "memory", "sizes", "engine_work", "calls")
    return {
        "workload": line.row.workload,
        "guest": line.row.guest or None,
        "levels": dict(line.levels),
        "repetitions": len(line.row.done),
        "goodput_per_s": summary_json(line.goodput),
        "samples_per_s": line.row.goodput_per_s,
        "throughput_per_s": line.throughput_per_s,
        "run_s_median": line.seconds,
        "relative": summary_json(line.relative) if line.relative else None,
        "is_base": line.is_base,
        "verdict": line.verdict or None,
        "verdict_reason": line.against_base.reason if line.against_base else None,
        "smallest_ratio": line.against_base.smallest_ratio if line.against_base else None,
        "latency_ms": {p.name: p.value_ms for p in line.percentiles},
        **line.counts,
        "classes": dict(line.classes),
        "kinds": [kind_json(kind) for kind in line.kinds],
        "new_order_per_min": line.new_order_per_min,
        "reads": vars(line.reads) if line.reads else None,
        "operations": _operations_json(line.operations) if line.operations else None,
        "replay": replay_json(line.replays),
        "threads": line.threads,
        "load": _load_json(line.row),
        "arrivals": dict(line.arrivals) if line.arrivals else None,
        **load_json(line.row),
        "generator_us_per_transaction": line.generator_us,
        "session_us_per_transaction": line.session_us,
        **{name: asdict(part) if part else None for name, part in summaries.items()},
        "findings": list(line.notes),
        **shapes.as_json(line.row, line.terminal_classes, line.stages, line.stalls),
    }


def _operations_json(operations: Operations) -> dict[str, Any]:
    garbage = attributes(operations, "before", "after")
    return {
        **vars(operations),
        "mb_per_s": operations.mb_per_s,
        **{name: one.model_dump() if one else None for name, one in garbage.items()},
    }


def _cost_json(cost: CommitCost) -> dict[str, Any]:
    cut, calls = cost.survival, cost.calls
    return {
        "workload": cost.row.workload,
        "levels": dict(cost.levels),
        "run_s_median": cost.seconds,
        "commits_per_s_median": median(cost.row.goodput_per_s),
        **{f"{name}_per_commit": getattr(calls, name, None) for name in ("writes", "bytes", "flushes", "flush_us")},
        "verdict": cut.verdict if cut else None,
        "cuts": cut.cuts if cut else 0,
        "cuts_survived": cut.survived if cut else 0,
        "commits_lost_worst": cut.lost_commits_worst if cut else None,
    }


def _load_json(row: Row) -> dict[str, Any] | None:
    load = next((r.load for r in row.done if r.load), None)
    if load is None:
        return None
    return {**load.model_dump(include={"rows", "bytes", "seconds", "sessions"}),
            "rows_per_s": load.rows_per_s, "mb_per_s": load.mb_per_s}  # fmt: skip


def _comparison_json(comparison: Comparison) -> dict[str, Any]:
    return {
        "row": dict(comparison.row.levels),
        "against": dict(comparison.against.levels),
        "factors": list(comparison.factors),
        "is_base": comparison.is_base,
        "n": list(comparison.n),
        "ratio": summary_json(comparison.ratio),
        **attributes(comparison, "cliffs_delta", "p", "p_corrected", "family", "verdict", "reason", "smallest_ratio"),
    }


def _effect_json(workload: str, effect: Effect) -> dict[str, Any]:
    return {"workload": workload} | vars(effect) | {"ratio": summary_json(effect.ratio)}


def _bad_json(recording: Recording) -> dict[str, Any]:
    return attributes(recording, "cell", "levels", "reason")


def results(
    journal: Journal,
    *,
    down: str | None = None,
    across: str | None = None,
    cuts: Journal | None = None,
    waivers: Mapping[str, str] | None = None,
    predict: Sequence[int] = (),
    compared_sides: Sequence[Finding] = (),
) -> Results:
    """Compute every table of a journal; ``down`` and ``across`` are factors to set against each other, if not ours.

    ``cuts`` is the journal of its power cuts; ``waivers`` are those of the journal's own experiment, if no others
    are given. ``predict`` are sizes in bytes at which the rates of databases that grow are asked for.
    ``compared_sides`` are an audit's findings of what is compared with what.
    """
    all_rows = samples.rows(journal.header, journal.recordings)
    base = journal.header.base
    compared = comparisons(all_rows, base)
    waivers = journal.header.experiment.get("waive", {}) if waivers is None else waivers
    notes = Notes(waivers)
    of_places = {_alike(r.place): judge.of(r.place) for r in journal.recordings if r.result}
    stored = _of_storage(all_rows, of_places)
    tables = []
    for workload, rows in by_workload(all_rows).items():
        factors = tuple(samples.varying(rows))
        mine = tuple(c for c in compared if any(c.row is row for row in rows))
        lines = tuple(_line(row, rows, factors, base, mine, notes, stored[id(row)]) for row in rows)
        series = recorded(journal.header, rows, forecasts=journal.forecasts)
        grows = growth(series, predict) if series else None
        # Size is set against the rest in plots and tables of its own.
        grids = () if grows and not (down or across) else pivot.grids(lines, factors, base, down, across)
        loads = () if grows else _loads(rows, factors)
        tables.append(Table(workload, factors, lines, mine, loads, grids, tuple(effects(rows)), grows))
    place_notes = {alike: tuple(map(notes.number, found)) for alike, found in of_places.items()}
    bad = tuple(r for r in journal.recordings if r.status != "done")
    of_fleet = hosts.hosts(journal, all_rows)
    overall = tuple(waived([*compared_sides, *(judge.of(of_fleet) if of_fleet else [])], waivers))
    cut = cuts.recordings if cuts else []
    return Results(
        journal=journal,
        tables=tuple(tables),
        findings=notes.findings,
        overall=overall,
        place_notes=place_notes,
        bad=bad,
        base=base,
        commit_costs=tuple(commit_costs(all_rows, survivals(cut))),
        omissions=tuple(omissions(all_rows)),
        cuts=cuts,
        hosts=of_fleet,
        risks=tuple(level_risks(all_rows, cut)),
        faults=known_faults(all_rows),
        unchecked=tuple(of_run(all_rows, cut)),
    )


def not_run(results: Results) -> str:
    """Of the planned cells, those that have not run; "" where all have."""
    cells = counted(results.journal.header.cells, "cell")
    has = "has" if results.missing == 1 else "have"
    return f"{results.missing:,} of {cells} {has} not run yet." if results.missing else ""


def _alike(place: PlaceFacts) -> str:
    return json.dumps(place.alike())


def _of_storage(rows: Sequence[Row], of_places: Mapping[str, Sequence[Finding]]) -> dict[int, list[Finding]]:
    """Of each row, by its identity, what is doubtful about its storage and not about that of every row."""
    found = {
        id(row): [one for alike in dict.fromkeys(_alike(r.place) for r in row.done) for one in of_places.get(alike, ())]
        for row in rows
    }
    said = [set(map(wording, found[id(row)])) for row in rows if row.done]
    of_all = set.intersection(*said) if said else set()
    return {row: [one for one in of if wording(one) not in of_all] for row, of in found.items()}


def _loads(rows: Sequence[Row], factors: Sequence[str]) -> tuple[Load, ...]:
    """Each load once, named by what its rows have in common. One of the schema alone is no load."""
    by_load: dict[str, tuple[Loaded, list[Row]]] = {}
    for row in rows:
        for recording in row.done:
            if recording.load and recording.load.rows:
                of = by_load.setdefault(recording.load.model_dump_json(), (recording.load, []))[1]
                of.extend([] if row in of else [row])
    loads = []
    for load, of in by_load.values():
        common = ["engine", *(f for f in factors if f != "engine" and len({row.levels[f] for row in of}) == 1)]
        loads.append(Load(name_of(of[0], common), {f: of[0].levels[f] for f in common}, load))
    return tuple(loads)


class Notes:
    """Findings numbered as they first appear; those that differ in figures only have one number."""

    def __init__(self, waivers: Mapping[str, str]) -> None:
        self._waivers = waivers
        self._alike: dict[tuple[str, ...], list[Finding]] = {}

    def number(self, finding: Finding, waivers: Mapping[str, str] | None = None) -> int:
        """Its number; ``waivers`` are those of its own run, where they are not those of all."""
        (one,) = waived([finding], self._waivers if waivers is None else waivers)
        of = (*wording(one), one.waiver)
        self._alike.setdefault(of, []).append(one)
        return list(self._alike).index(of) + 1

    @property
    def findings(self) -> tuple[Finding, ...]:
        return tuple(map(together, self._alike.values()))


def _line(
    row: Row,
    rows: Sequence[Row],
    factors: Sequence[str],
    base: Mapping[str, str],
    compared: Sequence[Comparison],
    notes: Notes,
    of_storage: Sequence[Finding],
) -> Line:
    is_base = base_of(row, rows, base) is row
    against_base = next((c for c in compared if c.is_base and c.row is row), None)
    ran, rates = row.results, row.goodput_per_s
    classes: Counter[str] = Counter()
    for result in ran:
        classes.update({refused.class_: refused.count for refused in result.counts.classes})
    clocked = [result.cpu for result in ran if result.cpu.sampled_transactions]
    return Line(
        row=row,
        label=name_of(row, factors),
        goodput=summarise(rates),
        throughput_per_s=median([result.throughput_per_s for result in ran]),
        seconds=median(row.seconds) if row.by_count else None,
        relative=against_base.ratio if against_base else ratio(rates, rates) if is_base else None,
        is_base=is_base,
        against_base=against_base,
        percentiles=percentiles(row.latency),
        counts=parts.counts(ran),
        classes=dict(classes.most_common()),
        new_order_per_min=median([rate for result in ran if (rate := result.new_order_per_min) is not None]),
        reads=workload_figures.reads(row),
        operations=workload_figures.operations(row),
        replays=workload_figures.replays(row),
        threads=max((result.threads for result in ran), default=0) or None,
        arrivals=parts.arrivals(ran),
        generator_us=median([cpu.generator_us_per_transaction for cpu in clocked]),
        session_us=median([cpu.session_us_per_transaction for cpu in clocked]),
        memory=memory.of_row(row),
        sizes=sizes.of_row(row),
        engine_work=engine_figures.engine_work(row),
        calls=calls_of(row),
        observed=next((recording for recording in row.done if recording.calls), None),
        notes=tuple(sorted({notes.number(finding) for finding in (*judge.of_row(row), *of_storage)})),
        terminal_classes=parts.classes(row),
        stages=parts.stages(row),
        stalls=tuple(stall for recording in row.done for stall in stalls.of_recording(recording)),
        own_reports=tuple(row.done[0].own_reports) if row.done else (),
    )
