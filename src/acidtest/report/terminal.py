"""The tables in a terminal. Every warning stands as a small number beside the figure it concerns, its words below."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from rich.console import Console
from rich.text import Text

from acidtest.analysis.effects import conclusion
from acidtest.report import (
    commit_cost,
    engine_work,
    growth_tables,
    hosts,
    omission_table,
    pivot,
    replays,
    risks,
    run_tables,
    shapes,
    verdicts,
)
from acidtest.report.growth import Growth
from acidtest.report.results import Results, Table, not_run
from acidtest.report.table import NOTHING, fits, marked, note, print_table, print_unchecked
from acidtest.report.table import Table as Shown
from acidtest.words import counted

LINES_MAX = 24  # of a table whose figures stand in grids as well


def print_results(results: Results, console: Console) -> None:
    console.print()
    console.print(Text(results.journal.header.title, style="bold"))
    for table in results.tables:
        console.print()
        if len(results.tables) > 1:
            console.print(Text(table.workload, style="bold underline"))
        if table.growth:
            _print_growth(results, table, table.growth, console)
        elif _only_grids(table):
            console.print(
                f"{counted(len(table.lines), 'row')}, each in a grid below; the page has every figure.", style="dim"
            )
        else:
            _print_lines(results, table, console)
        for sentence in () if table.growth else verdicts.explained(line.against_base for line in table.lines):
            console.print(sentence, style="dim", markup=False, highlight=False)
        if table.grids:
            _print_grids(results, table, console)
            print_table(verdicts.effects(results, table), console)
            for sentence in conclusion(table.effects):
                console.print(Text(sentence))
    print_table(commit_cost.table(results.commit_costs), console)
    print_table(omission_table.table(results.omissions), console)
    if results.hosts:
        print_table(hosts.of_fleet(results.hosts), console)
    print_table(risks.table(results.risks), console)
    for sentence in risks.fault_lines(results.faults) if results.risks else ():
        console.print(Text(sentence, style="yellow"))
    console.print()
    if results.base:
        console.print(f"Base (= 100): {', '.join(results.base.values())}.", style="dim", soft_wrap=True)
    _print_place(results, console)
    for position, finding in enumerate(results.findings, start=1):
        console.print(note(position, finding.advice))
    for finding in results.overall:
        console.print(Text(f"{finding.rule.name}: {finding.advice}", style="yellow" if finding.severe else ""))
    print_unchecked(results.unchecked, console)
    _print_bad(results, console)


def _print_lines(results: Results, table: Table, console: Console) -> None:
    lines = table.lines
    print_table(run_tables.measured(results, table), console)
    print_table(run_tables.kinds([line for line in lines if line.kinds[1:]]), console)
    for one in shapes.tables(lines, table.counted):
        print_table(one, console)
    shapes.print_stalls(lines, console)
    for one in (hosts.of_load(lines), replays.table(lines)):
        print_table(one, console)
    if troubled := [line for line in lines if line.counts["conflicts"] or line.counts["errors"]]:
        console.print()
        print_table(run_tables.counts(troubled), console)
    print_table(run_tables.memory(lines), console)
    own_reports = engine_work.own_reports(lines, parts=False)
    for report in own_reports:
        print_table(report, console)
    if own_reports:
        console.print(engine_work.OWN_EXPLAINED, style="dim")
    print_table(engine_work.table(lines), console)
    for sentence in engine_work.not_counted(lines):
        console.print(Text(f"Counters of the engine: {sentence}", style="yellow"))


def _print_growth(results: Results, table: Table, growth: Growth, console: Console) -> None:
    """The answer first; then each size, and the ratios of series side by side. The page has statistics and device."""
    for sentence in growth.answers:
        console.print(Text(sentence))
    console.print()
    print_table(run_tables.growing(results, table), console)
    if growth.pairs:
        console.print()
        print_table(growth_tables.ratios(growth), console)
    if growth.scale:
        console.print(f"{growth.scale} The page shows what that keeps.", style="dim", markup=False)


def _only_grids(table: Table) -> bool:
    return bool(table.grids) and len(table.lines) > LINES_MAX


def _print_grids(results: Results, table: Table, console: Console) -> None:
    unit = "base = 100" if results.base else f"{table.counted} a second"
    for grid in table.grids:
        console.print()
        notes = [set(line.notes) for line in grid.cells.values() if _only_grids(table)]
        of_all = set.intersection(*notes) if notes else set()
        title = Text(grid.title, style="bold").append(f" ({unit})", style="not bold dim")
        console.print(title.append(marked(sorted(of_all)), style="not bold yellow"))
        apart = set.union(*notes) - of_all if notes else set()
        relative = bool(results.base)
        made = partial(pivot.table, grid, table.counted, relative, apart=apart)
        for shown in _fitted(grid, relative, made, console):
            print_table(replace(shown, page_title=""), console)
    if results.base and any(line.verdict in pivot.MARKS for grid in table.grids for line in grid.cells.values()):
        console.print(
            "▲ faster, ▼ slower than the base; others: no difference shown, or not told, as said above.", style="dim"
        )


def _fitted(grid: pivot.Grid, relative: bool, made: Callable[..., Shown], console: Console) -> list[Shown]:
    """The grid whole, if need be without intervals; where it is too wide even so, in pieces side by side."""
    bounds = any(pivot.bounds_of(line, relative) != NOTHING for line in grid.cells.values())
    if fits(whole := made(bounds=bounds), console):
        return [whole]
    pieces: list[Shown] = []
    left = grid.columns
    while left:
        many = next((n for n in range(len(left), 1, -1) if fits(made(columns=left[:n], bounds=False), console)), 1)
        pieces.append(made(columns=left[:many], bounds=False))
        left = left[many:]
    return pieces


def _print_place(results: Results, console: Console) -> None:
    """Each storage once, with the numbers of the findings that concern all that is printed as this one."""
    printed: dict[str, list[tuple[int, ...]]] = {}
    for recording in results.journal.recordings:
        place = recording.place
        if recording.status == "failed":
            continue
        if place.kind == "server":
            storage = f"Storage: {place.path}'s own, which acidtest cannot see"
        elif place.guest:
            storage = f"Storage: {place.guest.name}: virtio disk on an image on {place.image_on}"
        elif place.disk:
            on = f" on {place.image_on}" if place.image_on else ""
            storage = f"Storage: a simulated disk ({place.image}{on}): {place.disk}"
        elif place.image:  # what is made on it, the factors say
            storage = f"Storage: a loop over an image ({place.image.partition(', ')[2]}) on {place.image_on}"
        else:
            storage = (
                f"Storage: {place.filesystem} on {place.device} ({place.mount_options}), "
                f"write cache {place.write_cache}, scheduler {place.scheduler}"
            )
        printed.setdefault(storage, []).append(results.notes_of(place))
    for storage, of in printed.items():
        notes = [n for n in of[0] if all(n in others for others in of)]
        console.print(Text(storage, style="dim").append(marked(notes), style="yellow"))


def _print_bad(results: Results, console: Console) -> None:
    for recording in results.bad:
        console.print(Text(f"{recording.status}: {recording.cell}: {recording.reason}", style="red"))
    if results.missing:
        console.print(not_run(results), style="yellow")
