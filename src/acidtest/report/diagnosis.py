"""A diagnosis: computed once from its recordings, then shown in the terminal, as JSON and on a page."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from acidtest.analysis import samples
from acidtest.analysis.diagnosis import (
    Answer,
    Bottleneck,
    Figures,
    Name,
    Probed,
    Processor,
    Ran,
    Shown,
    Sizes,
    Standing,
    Storage,
    diagnose,
)
from acidtest.analysis.health import AT_RISK
from acidtest.analysis.latency import percentile_ns
from acidtest.analysis.summary import Summary, median, summarise
from acidtest.doubts.flushes import median_us
from acidtest.families import FIREBIRD, of_engine
from acidtest.finding import SEVERITIES
from acidtest.journal.diagnosis import REFERENCE, Database, Diagnosis, FoundSetting, Logged, NotLooked, is_reference
from acidtest.journal.models import Journal, Recording, Scalar
from acidtest.journal.probe import ProbeRecording
from acidtest.journal.protocol import FlushMethod, ProbePattern
from acidtest.report import probe as probe_report
from acidtest.report.numbers import interval, number, summary_json
from acidtest.words import counted, harmless

# Names of the parts, as they stand among those that were not looked at.
STORAGE = "the storage beneath the database"
PROBE = "what a durable write costs, and whether the storage flushes"
CONFIGURATION = "the configuration and the logs"
LOG = "the engine's log"
INSIDE = "the database inside"
CELLS = "what the settings change, on a scratch database"
NEVER = (
    NotLooked(
        what="your own statements, their plans, and how clients reach the server",
        why="no workload of yours was run: a slow query looks like none of these",
    ),
    NotLooked(
        what="many clients at once",
        why="the cells have one terminal: waits for locks and for each other are not in them",
    ),
    NotLooked(what="reads from the drive", why="the scratch database fits into memory"),
    NotLooked(
        what="the size of pages",
        why="all cells have the one that was found; acidtest init --question page-and-cache compares sizes",
    ),
)
STYLES: dict[Standing, str] = {
    "likely": "bold red", "possible": "yellow", "cannot tell": "cyan", "unlikely": "green", "not looked at": "dim",
}  # fmt: skip
SETTINGS_LOSE = frozenset(("forced-writes-off", "fsync-off"))  # signs of an inspection that tell what settings lose
FINDINGS_MAX = 12
SETTINGS_MAX = 40
FLUSH_METHOD: FlushMethod = "fdatasync"


@dataclass(frozen=True)
class Report:
    diagnosis: Diagnosis
    probe: probe_report.Report | None
    journal: Journal | None
    figures: Figures
    answer: Answer
    shown: tuple[Shown, ...]

    @property
    def not_looked(self) -> tuple[NotLooked, ...]:
        return (*self.diagnosis.not_looked, *NEVER)

    @property
    def bad(self) -> list[Recording]:
        return (
            [recording for recording in self.journal.recordings if recording.status != "done"] if self.journal else []
        )

    @property
    def failed(self) -> bool:
        return any(one.status == "failed" for one in self.bad)

    @property
    def severe(self) -> bool:
        """Whether something must not be believed, or is severe: each that stands above as "Severe:" is."""
        findings = self.diagnosis.audited.findings if self.diagnosis.audited else []
        flushes_not = self.probe is not None and self.probe.judgement.verdict == "does not flush"
        invalid = any(one.status == "invalid" for one in self.bad)
        return (
            bool(self.answer.severe)
            or flushes_not
            or invalid
            or any(finding["severity"] == "invalid" for finding in findings)
        )

    @property
    def subject(self) -> str:
        held = self.diagnosis
        where = held.database.where if held.database else held.place.path if held.place else "a configuration"
        return harmless(where)

    def as_json(self) -> dict[str, Any]:
        """For programs. docs/DIAGNOSE.md has the shapes."""
        held, answer = self.diagnosis, self.answer
        return {
            "answer": answer.headline,
            "severe": list(answer.severe),
            "bottlenecks": [asdict(bottleneck) for bottleneck in answer.bottlenecks],
            "shown": [
                {
                    "text": one.text,
                    "verdict": one.verdict or None,
                    "figure": summary_json(one.figure) if one.figure else None,
                }
                for one in self.shown
            ],
            "not_looked_at": [not_looked.model_dump() for not_looked in self.not_looked],
            "failed_cells": [{"cell": one.cell, "status": one.status, "reason": one.reason} for one in self.bad],
            "next": held.next.model_dump() if held.next else None,
            "machine": held.machine.model_dump(),
            "doubts": [doubt.model_dump() for doubt in held.doubts],
            "processor": held.processor.model_dump() if held.processor else None,
            "place": held.place.model_dump() if held.place else None,
            "layers": [layer.model_dump() for layer in held.layers],
            "database": held.database.model_dump() if held.database else None,
            "audited": held.audited.model_dump() if held.audited else None,
            "inside": held.inside.model_dump() if held.inside else None,
            "cells": held.cells.model_dump() if held.cells else None,
            "probe": self.probe.as_json() if self.probe else None,
        }


def report(diagnosis: Diagnosis, probe: ProbeRecording | None, journal: Journal | None) -> Report:
    figures = figures_of(diagnosis, probe, journal)
    answer = diagnose(figures)
    probed = probe_report.report(probe) if probe else None
    return Report(diagnosis, probed, journal, figures, answer, tuple(_shown(figures, answer, probed)))


# -------------------------------------------------------------------------------------------------------------- figures


def figures_of(diagnosis: Diagnosis, probe: ProbeRecording | None, journal: Journal | None) -> Figures:
    """What of the recordings is judged."""
    place, audited = diagnosis.place, diagnosis.audited
    storage = None
    disks = {layer.rotational for layer in diagnosis.layers if layer.kind == "disk"}
    if place is not None:
        storage = Storage(
            filesystem=place.filesystem,
            mount_options=tuple(place.mount_options.split(",")),
            free_bytes=place.free_bytes,
            all_bytes=diagnosis.place_bytes,
            devices=tuple(layer.kind for layer in diagnosis.layers if layer.kind != "file system"),
            rotational=disks.pop() if len(disks) == 1 else "",
        )
    log_looked = audited is not None and not any(not_looked.what == LOG for not_looked in diagnosis.not_looked)
    return Figures(
        sizes=Sizes(
            memory=diagnosis.machine.memory_bytes,
            database=diagnosis.database.bytes if diagnosis.database else None,
            cache=(diagnosis.cells.cache_bytes if diagnosis.cells else None) or _cache_bytes(journal),
            cell_cache=_cache_bytes(journal),
        ),
        storage=storage,
        probed=_probed(probe) if probe else None,
        ran=_ran(journal) if journal else (),
        log=[_logged(one) for one in audited.log] if audited and log_looked else None,
        inside=[finding for finding in diagnosis.inside.findings if finding not in diagnosis.inside.safety]
        if diagnosis.inside
        else None,
        severe=_severe(diagnosis, probe),
        processor=Processor(**diagnosis.processor.model_dump()) if diagnosis.processor else None,
        why=_why(diagnosis),
        settings={
            name: ", ".join(f"{key} = {value}" for key, value in given.items()) or "nothing"
            for name, given in (diagnosis.cells.settings if diagnosis.cells else {}).items()
        },
        durably=_durably(diagnosis),
    )


def _durably(diagnosis: Diagnosis) -> str:
    """What makes the commits of the settings that were found wait for the drive."""
    family = of_engine(diagnosis.cells.engine) if diagnosis.cells else None
    return "With Forced Writes on" if family is FIREBIRD else "With commits that wait for the drive"


def _severe(diagnosis: Diagnosis, probe: ProbeRecording | None) -> list[str]:
    """What puts data at risk: by the inspection, the settings that were found, and the storage; then what else the
    inspection calls severe."""
    inside = dict(diagnosis.inside.severe) if diagnosis.inside else {}
    severe = {name: says for name, says in inside.items() if name in AT_RISK}
    named = not SETTINGS_LOSE.isdisjoint(severe)
    database = diagnosis.database
    if not named and database and (risk := _header_risk(database)):
        severe["header"], named = f"The database's header: {risk}.", True
    if not named and diagnosis.cells and (risk := diagnosis.cells.risk):
        severe["settings"] = f"With the settings that were found {risk}."
    if probe and (judged := probe_report.report(probe).judgement).verdict == "does not flush":
        why = next(one.why or one.text for one in judged.evidence if one.verdict == "does not flush")
        severe["storage"] = f"The storage does not flush, and a power cut takes what it has acknowledged: {why}"
    return [harmless(one) for one in {**severe, **inside}.values()]


def _header_risk(database: Database) -> str:
    """What the settings in the database's own first page may lose."""
    if database.family != FIREBIRD.name or database.facts.get("forced_writes") is not False:
        return ""
    return f"Forced Writes are off: {FIREBIRD.risk('os', {}).sentence}"


def _logged(one: Logged) -> str:
    return f"{one.kind}, {counted(one.count, 'time')}: {harmless(one.text)} ({harmless(one.at)})"


def _why(diagnosis: Diagnosis) -> dict[Name, str]:
    """Why a bottleneck was not looked at, of what was not."""
    said = {not_looked.what: not_looked.why for not_looked in diagnosis.not_looked}

    def first(*parts: str) -> str:
        why = next((said[part] for part in parts if part in said), "no figure of it was taken")
        return f"{why[:1].upper()}{why[1:]}."

    size = "a server by URL does not say here how large it is"
    return {
        "the drive's flush": first(PROBE, CELLS),
        "the file system": first(STORAGE),
        "memory and cache": f"{size[:1].upper()}{size[1:]}." if diagnosis.database else "No --database was named.",
        "the configuration": first(CELLS, CONFIGURATION)
        if diagnosis.cells is None or len(diagnosis.cells.levels) > 1
        else "What was found is what the reference sets, so that there is nothing to compare.",
        "the engine's log": first(LOG, CONFIGURATION),
        "the database inside": first(INSIDE),
        "the processor": first(),
    }


def _probed(probe: ProbeRecording) -> Probed:
    def of(pattern: ProbePattern) -> int | None:
        steps = ((row.method, row.pattern, row.writers) for row in probe.rows)
        return next((n for n, step in enumerate(steps) if step == (FLUSH_METHOD, pattern, 1)), None)

    overwrite, append = of("overwrite"), of("append")
    timed = probe.of(overwrite) if overwrite is not None else []
    return Probed(
        verdict=probe_report.report(probe).judgement.verdict,
        flush_us=[percentile_ns(one.flush, 0.5) / 1000 for one in timed if one.flush.count],
        overwrite_us=[median_us(one) for one in timed],
        append_us=[median_us(one) for one in probe.of(append)] if append is not None else [],
    )


def _ran(journal: Journal) -> list[Ran]:
    ran = []
    for row in samples.rows(journal.header, journal.recordings):
        if not row.done:
            continue
        results = row.results
        works = [(one.device, one.result.counts.committed) for one in row.done if one.result is not None]
        flushes = [
            work.flushes / many for work, many in works if work is not None and work.flushes is not None and many
        ]
        timed = [(one.device, one.result.measured_s) for one in row.done if one.result is not None]
        at_work = [min(1.0, work.busy_s / s) for work, s in timed if work is not None and s]
        ran.append(
            Ran(
                workload=row.workload,
                configuration=row.levels.get("configuration", REFERENCE),
                level=row.first.durability,
                rates=row.goodput_per_s,
                commit_us=[percentile_ns(result.latency, 0.5) / 1000 for result in results if result.latency.count],
                flushes=flushes if len(flushes) == len(results) else (),
                at_work=at_work if len(at_work) == len(results) else (),
                database=max((one.database_bytes for one in row.done), default=0) or None,
            )
        )
    return ran


def _cache_bytes(journal: Journal | None) -> int | None:
    """Of the engine's own page cache, as it was in force under the configuration that was found."""
    done = [recording for recording in journal.recordings if recording.result is not None] if journal else []
    found = [one for one in done if not is_reference(one.levels.get("configuration", REFERENCE))] or done
    if not found or found[0].engine is None or (family := of_engine(found[0].engine.id)) is None:
        return None
    force = {setting.name: setting.in_force or "" for setting in found[0].settings}
    value, page = force.get(family.cache.setting, ""), force.get("page_size", "")
    unit = family.cache.unit_bytes or (int(page) if page.isdecimal() else 0)
    return int(value) * unit or None if value.isdecimal() else None


def _shown(figures: Figures, answer: Answer, probed: probe_report.Report | None) -> list[Shown]:
    shown = []
    if figures.probed and probed:
        cost = summarise(figures.probed.overwrite_us)
        shown.append(Shown(f"A durable overwrite of 4 KiB takes {number(cost.median)} µs ({interval(cost)}).", cost))
        flush = summarise(figures.probed.flush_us)
        if flush.median is not None:
            shown.append(Shown(f"The flush alone takes {number(flush.median)} µs of it ({interval(flush)}).", flush))
        shown.append(Shown(f"Whether this storage flushes, as far as its speed tells: {figures.probed.verdict}."))
    for ran in figures.ran:
        rate = summarise(ran.rates)
        shown.append(
            Shown(
                f"{ran.workload}, settings {ran.configuration}, durability {ran.level}: "
                f"{number(rate.median)} commits a second, a mean over the measured time ({interval(rate)}).",
                rate,
            )
        )
    shown += [Shown(one.says(figures.durably), one.ratio) for one in answer.waited]
    for one in answer.compared:
        unlike = "" if one.alike else f"; but a commit is at {one.found.level} beside {one.reference.level}"
        shown.append(
            Shown(
                f"{one.workload}: settings {one.found.configuration} reach {_ratio(one.ratio)} the rate of the "
                f"{one.reference.configuration}: {one.judged.verdict}{unlike}.",
                one.ratio,
                one.judged.verdict,
            )
        )
    return shown


def _ratio(summary: Summary) -> str:
    if summary.median is None or not math.isfinite(summary.median):
        return "an unknown part of"
    between = f" ({summary.interval.low:.2f} – {summary.interval.high:.2f})" if summary.interval else ""
    return counted(summary.median, "time", spec=".2f") + between


# ------------------------------------------------------------------------------------------------------------- terminal


def print_report(results: Report, console: Console) -> None:
    """The answer first, then what it rests on."""
    held = results.diagnosis
    console.print()
    console.print(Text(f"Diagnosis of {results.subject}", style="bold"), soft_wrap=True)
    console.print(Text(results.answer.headline, style="bold red" if results.answer.severe else "bold"))
    console.print()
    for bottleneck in results.answer.bottlenecks:
        _print_bottleneck(bottleneck, console)
    _heading(console, "What is shown")
    for shown in results.shown:
        if not shown.verdict:  # what has one stands among the figures of the configuration
            _line(console, shown.text)
    for bad in results.bad:
        _line(console, f"{bad.cell}: {bad.status}: {harmless(bad.reason or '')}", style="red")
    if held.cells:
        _line(console, held.cells.said, style="dim")
    _heading(console, "Where")
    for text in where(results):
        _line(console, text)
    if held.audited:
        _print_audited(results, console)
    _heading(console, "Not looked at")
    for missing in results.not_looked:
        _line(console, f"{missing.what}: {harmless(missing.why)}")
    if held.next:
        _heading(console, "The next experiment")
        _line(console, f"{held.next.asks} {held.next.why}")
        console.print(Text(f"  {held.next.command}"), soft_wrap=True)


def where(results: Report) -> list[str]:
    """Machine, storage and database, one line each."""
    held = results.diagnosis
    machine, flush_us = held.machine, median(results.figures.probed.flush_us) if results.figures.probed else None
    lines = [
        f"machine: {machine.cpu_model}, {counted(machine.cpu_count, 'core')}, {machine.memory_bytes / 2**30:.1f} GiB, "
        f"{machine.kernel}, virtualization {machine.virtualization}"
    ]
    if held.place:
        free = f"{held.place.free_bytes / 1e9:.1f} GB free"
        of = f" of {held.place_bytes / 1e9:.1f}" if held.place_bytes else ""
        lines.append(f"place: {harmless(held.place.path)}, {free}{of}")
    lines += [f"beneath: {harmless(probe_report.layer_text(layer, flush_us))}" for layer in held.layers]
    if held.database:
        size = f", {held.database.bytes / 1e6:,.3g} MB" if held.database.bytes is not None else ""
        version = f" {held.database.version}" if held.database.version else ""
        facts = f", {written(held.database.facts)}" if held.database.facts else ""
        lines.append(f"database: {held.database.family}{version}{size}{facts}")
    if held.inside:
        lines.append(f"looked into: {harmless(held.inside.looked_at)}")
        lines += [f"note: {harmless(note)}" for note in held.inside.notes]
        said = tuple(held.inside.severe.values())  # which stands at the top, with what to do
        lines += [f"safety: {harmless(one)}" for one in held.inside.safety if not one.startswith(said)]
    return [*lines, *(f"doubtful: {doubt.what}: {harmless(doubt.detail)}" for doubt in held.doubts)]


def written(settings: Mapping[str, Scalar]) -> str:
    plain = {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in settings.items()}
    return ", ".join(f"{name} = {value}" for name, value in plain.items())


def settings_told(one: FoundSetting) -> str:
    return one.ours or (f"not in the cells: {one.why_not}" if one.why_not else "not in the cells")


def _print_bottleneck(one: Bottleneck, console: Console) -> None:
    grid = Grid.grid(padding=(0, 2, 0, 0))
    grid.add_column(min_width=13, no_wrap=True)
    grid.add_column()
    said = Text(one.name, style="bold").append(f"  {one.says}", style="not bold")
    for figure in one.figures:
        said.append(f"\n{harmless(figure)}", style="not bold dim")
    if one.threshold and one.standing != "not looked at":
        source = f" ({one.source})" if one.source else ""
        said.append(f"\n{one.threshold}{source}", style="not bold dim")
    grid.add_row(Text(one.standing, style=STYLES[one.standing]), said)
    console.print(grid)
    if one.remedy:
        console.print(Text(f"{' ' * 15}→ {one.remedy}"), soft_wrap=True)  # a command in it is not broken


def _print_audited(results: Report, console: Console) -> None:
    audited = results.diagnosis.audited
    assert audited is not None
    _heading(console, f"Settings found in {harmless(audited.directory)}")
    for setting in audited.settings[:SETTINGS_MAX]:
        _line(
            console,
            f"{harmless(setting.name)} = {harmless(setting.value)}  ({harmless(setting.at)}) → "
            f"{harmless(settings_told(setting))}",
        )
    if len(audited.settings) > SETTINGS_MAX:
        _line(console, f"and {len(audited.settings) - SETTINGS_MAX:,} more (--json has all)", style="dim")
    if not audited.settings:
        _line(console, "none that could be understood", style="dim")
    _heading(console, "What the audit found")
    for finding in sorted(audited.findings, key=lambda of: SEVERITIES.index(of["severity"]))[:FINDINGS_MAX]:
        _line(console, f"{finding['severity']}  {finding['rule']}: {harmless(finding['text'])}")
    if not audited.findings:
        _line(console, "nothing; what it did not understand stands below", style="dim")
    if len(audited.findings) > FINDINGS_MAX:
        _line(console, f"and {len(audited.findings) - FINDINGS_MAX:,} more (acidtest audit has all)", style="dim")
    for text in not_understood(audited.not_read):
        _line(console, text, style="dim")


def not_understood(lines: Sequence[str], most: int = 8) -> list[str]:
    shown = [f"not understood: {line}" for line in lines[:most]]
    return [*shown, *([f"and {len(lines) - most:,} more not understood (--json has all)"] if len(lines) > most else [])]


def _heading(console: Console, text: str) -> None:
    console.print()
    console.print(Text(text, style="bold"))


def _line(console: Console, text: str, style: str = "") -> None:
    console.print(Padding(Text(text, style=style), (0, 0, 0, 2)))
