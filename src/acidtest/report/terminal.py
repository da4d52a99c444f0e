"""The tables in a terminal. Every warning stands as a small number beside the figure it concerns, its words below."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from acidtest.report.results import Line, Results, Table, interval, number, percent

SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
VERDICT_STYLES = {"faster": "green", "slower": "red", "no difference shown": "", "too few repetitions": "dim"}


def print_results(results: Results, console: Console) -> None:
    """Print tables, warnings, and the cells without numbers."""
    console.print()
    console.print(Text(results.title, style="bold"))
    for table in results.tables:
        console.print()
        console.print(_grid(results, table))
        if any(line.counts["conflicts"] or line.counts["errors"] for line in table.lines):
            console.print(_counts(table))
    if results.base:
        named = ", ".join(results.base.values())
        console.print(f"\nBase (= 100): {named}. Intervals are 95 % (bootstrap of the median).", style="dim")
    _print_place(results, console)
    for position, warning in enumerate(results.warnings, start=1):
        marks = _marks([position])
        console.print(Text(f"{marks} ", style="yellow").append(warning.text, style="default"))
    _print_bad(results, console)


def _grid(results: Results, table: Table) -> Grid:
    grid = Grid(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for factor in table.factors or ("",):
        grid.add_column(factor, no_wrap=True)
    timed = all(line.seconds is not None for line in table.lines if line.row.done)
    heads = [f"{table.workload}: commits/s", "95 %", *(["run s"] if timed else []), "base=100", "p50 ms", "p99", "max"]
    for head in heads:
        grid.add_column(head, justify="right", no_wrap=True)
    if results.base:
        grid.add_column("against the base")
    for line in table.lines:
        grid.add_row(*_cells(results, table, line, timed))
    return grid


def _cells(results: Results, table: Table, line: Line, timed: bool) -> list[Text | str]:
    about = {number_: results.note(number_).about for number_ in line.notes}
    at_rate = _marks(n for n, what in about.items() if what != "latency")
    at_latency = _marks(n for n, what in about.items() if what == "latency")
    levels: list[Text | str] = [Text(line.levels[factor]) for factor in table.factors] or [Text("all")]
    if not line.row.done:
        return [*levels, Text("no result", style="red")]
    rate = Text(number(line.goodput.median)).append(at_rate, style="yellow")
    cells = [*levels, rate, interval(line.goodput)]
    if timed:
        cells.append(number(line.seconds))
    cells.append(Text(percent(line.relative), style="bold"))
    p50, _, p99, _, slowest = (p.value_ms for p in line.percentiles)
    cells += [number(p50), Text(number(p99)).append(at_latency, style="yellow"), number(slowest)]
    if results.base:
        cells.append(Text("base" if line.is_base else line.verdict, style=VERDICT_STYLES.get(line.verdict, "dim")))
    return cells


def _counts(table: Table) -> Grid:
    grid = Grid(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim", style="dim")
    for head in ("", "conflicts", "retries", "given up", "errors"):
        grid.add_column(head, justify="left" if not head else "right")
    for line in table.lines:
        if line.counts["conflicts"] or line.counts["errors"]:
            grid.add_row(line.label, *(f"{count:,}" for count in line.counts.values()))
    return grid


def _marks(numbers: Iterable[int]) -> str:
    return " ".join(str(n).translate(SUPERSCRIPTS) for n in numbers)


def _print_place(results: Results, console: Console) -> None:
    seen: set[str] = set()
    for recording in results.journal.recordings:
        place = recording.place
        said = (
            f"Storage: {place.filesystem} on {place.device} ({place.mount_options}), write cache {place.write_cache}, "
            f"scheduler {place.scheduler}"
        )
        if said not in seen:
            seen.add(said)
            console.print(Text(said, style="dim").append(_marks(results.place_notes), style="yellow"))


def _print_bad(results: Results, console: Console) -> None:
    for recording in results.bad:
        console.print(Text(f"{recording.status}: {recording.cell}: {recording.reason}", style="red"))
    if results.missing:
        console.print(f"{results.missing} of {results.journal.header.cells} cells have not run yet.", style="yellow")
