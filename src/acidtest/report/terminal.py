"""The tables in a terminal. Every warning stands as a small number beside the figure it concerns, its words below."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from rich.console import Console
from rich.measure import Measurement
from rich.table import Table as Grid
from rich.text import Text

from acidtest.analysis.commit_cost import CommitCost
from acidtest.analysis.effects import Effect, conclusion
from acidtest.analysis.kinds import KindSummary
from acidtest.analysis.omission import Omission
from acidtest.report import (
    commit_cost,
    engine_work,
    growth_tables,
    omission_table,
    operations,
    own_reports,
    sizes,
    verdicts,
)
from acidtest.report.fitted import Column as _Column
from acidtest.report.fitted import print_fitted as _print_fitted
from acidtest.report.fleet import print_hosts
from acidtest.report.generators import print_generators
from acidtest.report.growth import Growth
from acidtest.report.marks import marks as _marks
from acidtest.report.marks import note as _note
from acidtest.report.numbers import interval, mib, number, percent, share
from acidtest.report.pivot import Grid as Pivot
from acidtest.report.pivot import short
from acidtest.report.replays import print_replays
from acidtest.report.results import Line, Results, Table, not_run
from acidtest.report.risks import print_risks
from acidtest.report.shapes_terminal import print_shapes
from acidtest.report.survival_table import STYLES as SURVIVAL_STYLES
from acidtest.report.unchecked import print_unchecked
from acidtest.words import counted

MARKS = {"faster": "▲", "slower": "▼"}
LINES_MAX = 24  # of a table whose figures stand in grids as well
VERDICT_STYLES = {"faster": "green", "slower": "red", "no difference shown": "", "cannot tell": "dim"}


def print_results(results: Results, console: Console) -> None:
    """Print tables, findings, and the cells without numbers."""
    console.print()
    console.print(Text(results.title, style="bold"))
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
            _print_effects(table.effects, console)
    if results.commit_costs:
        print_commit_costs(results.commit_costs, console)
    if results.omissions:
        print_omissions(results.omissions, console)
    if results.hosts:
        print_hosts(results.hosts, console)
    print_risks(results.risks, results.faults, console)
    console.print()
    if results.base:
        console.print(f"Base (= 100): {', '.join(results.base.values())}.", style="dim", soft_wrap=True)
    _print_place(results, console)
    for position, finding in enumerate(results.findings, start=1):
        console.print(_note(position, finding.advice))
    for finding in results.overall:
        console.print(Text(f"{finding.rule.name}: {finding.advice}", style="yellow" if finding.severe else ""))
    print_unchecked(results.unchecked, console)
    _print_bad(results, console)


def _print_lines(results: Results, table: Table, console: Console) -> None:
    _print_fitted(_columns(results, table), table.lines, console)
    if kinds := [(line, kind) for line in table.lines if line.kinds[1:] for kind in line.kinds]:
        console.print()
        _print_fitted(_kind_columns(kinds), kinds, console)
    print_shapes(table, console)
    print_generators(table, console)
    print_replays(table, console)
    if troubled := [line for line in table.lines if line.counts["conflicts"] or line.counts["errors"]]:
        console.print()
        console.print(_counts(troubled))
    if held := [line for line in table.lines if line.memory]:
        console.print()
        _print_fitted(_memory_columns(), held, console)
    _print_own_reports(table, console)
    _print_engine_work(table, console)


def _print_own_reports(table: Table, console: Console) -> None:
    reports = own_reports.shown(table.lines, parts=False)
    for report in reports:
        console.print()
        console.print(Text(f"{report.label}: the database's own report: {report.title}", style="bold"))
        columns = [
            _Column(head, lambda row, at=at: row[at], right=at > 0, drop=at if at > 4 else 0)  # type: ignore[misc]
            for at, head in enumerate(report.heads)
        ]
        _print_fitted(columns, report.rows, console)
    if reports:
        console.print(own_reports.EXPLAINED, style="dim")


def _print_engine_work(table: Table, console: Console) -> None:
    if told := engine_work.told(table.lines):
        console.print()
        console.print(Text(engine_work.WHAT, style="bold"))
        _print_fitted(engine_work.columns(table.lines), told, console)
    for sentence in engine_work.not_counted(table.lines):
        console.print(Text(f"Counters of the engine: {sentence}", style="yellow"))


def _print_growth(results: Results, table: Table, growth: Growth, console: Console) -> None:
    """The answer first; then each size, and the ratios of series side by side. The page has statistics and device."""
    for sentence in growth.answers:
        console.print(Text(sentence))
    console.print()
    at = {id(one.row): one for one in growth.sizes}
    columns = _columns(results, table)
    here = next(n for n, column in enumerate(columns) if column.head == f"{table.counted}/s")
    measured = [
        _Column(column.head, lambda line, column=column: column.cell(at[id(line.row)]), drop=column.drop)  # type: ignore[misc]
        for column in growth_tables.shown(growth_tables.IN_TERMINAL, list(at.values()))
    ]
    _print_fitted([*columns[:here], *measured, *columns[here:]], table.lines, console)
    if growth.pairs:
        console.print()
        _print_fitted([*growth_tables.PAIRS], growth_tables.ratios(growth), console)
    if growth.reduced_scale:
        console.print(f"Reduced scale: {'; '.join(growth.reduced_scale)}. The page shows what that keeps.", style="dim")


def print_commit_costs(costs: Sequence[CommitCost], console: Console) -> None:
    """Speed, calls and survival in one table."""
    cut = any(cost.survival for cost in costs)
    console.print()
    console.print(Text(f"What a commit costs{', and what it is worth' if cut else ''}", style="bold"))
    columns = [
        _Column(short(factor), lambda cost, factor=factor: cost.row.levels[factor], right=False)  # type: ignore[misc]
        for factor in commit_cost.varied(costs)
    ]
    columns += [_Column(one.head, one.text, drop=one.drop) for one in commit_cost.columns(costs)]
    if cut:
        columns.append(_Column("power cuts", _fate, right=False))
    _print_fitted(columns, costs, console)
    if any(cost.calls for cost in costs):
        console.print(
            "writes, flushes and the time in them: of one commit, as acidtest trace counts them.", style="dim"
        )


def print_omissions(found: Sequence[Omission], console: Console) -> None:
    """Response, service and a closed loop's latency of the same load in one table."""
    console.print()
    console.print(Text(omission_table.TITLE, style="bold"))
    _print_fitted(omission_table.columns(found), found, console)
    for sentence in (omission_table.EXPLAINED, *omission_table.notes(found)):
        console.print(sentence, style="dim", markup=False, highlight=False)


def _fate(cost: CommitCost) -> Text:
    verdict = cost.survival.said if cost.survival else ""
    return Text(verdict, style=SURVIVAL_STYLES.get(verdict, ""))


def _only_grids(table: Table) -> bool:
    return bool(table.grids) and len(table.lines) > LINES_MAX


def _print_grids(results: Results, table: Table, console: Console) -> None:
    unit = "base = 100" if results.base else f"{table.counted} a second"
    for grid in table.grids:
        console.print()
        notes = [set(line.notes) for line in grid.cells.values() if _only_grids(table)]
        of_all = set.intersection(*notes) if notes else set()
        title = Text(grid.title, style="bold").append(f" ({unit})", style="not bold dim")
        console.print(title.append(_marks(sorted(of_all)), style="not bold yellow"))
        marked = set.union(*notes) - of_all if notes else set()
        for shown in _fitted(grid, bool(results.base), marked, console):
            console.print(shown)
    if results.base and any(line.verdict in MARKS for grid in table.grids for line in grid.cells.values()):
        console.print(
            "▲ faster, ▼ slower than the base; others: no difference shown, or not told, as said above.", style="dim"
        )


def _fitted(grid: Pivot, relative: bool, marked: Collection[int], console: Console) -> list[Grid]:
    """The grid whole, if need be without intervals; where it is too wide even so, in pieces side by side."""
    unbounded = console.options.update_width(10_000)

    def fits(one: Grid) -> bool:
        return Measurement.get(console, unbounded, one).maximum <= console.width

    bounds = any(_bounds(line, relative) != "–" for line in grid.cells.values())
    whole = [
        _pivoted(grid, grid.columns, relative, marked, with_bounds)
        for with_bounds in ([True, False] if bounds else [False])
    ]
    if any(map(fits, whole)):
        return [next(filter(fits, whole))]
    pieces: list[Grid] = []
    left = grid.columns
    while left:
        many = next((n for n in range(len(left), 1, -1) if fits(_pivoted(grid, left[:n], relative, marked, False))), 1)
        pieces.append(_pivoted(grid, left[:many], relative, marked, False))
        left = left[many:]
    return pieces


def _pivoted(grid: Pivot, columns: tuple[str, ...], relative: bool, marked: Collection[int], bounds: bool) -> Grid:
    shown = Grid(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    shown.add_column(short(grid.down), overflow="fold")
    for column in columns:
        shown.add_column(column, justify="right", overflow="fold")
        if bounds:
            shown.add_column("95 %", no_wrap=True, header_style="dim", style="dim")
    for row in grid.rows:
        cells: list[Text] = []
        for column in columns:
            line = grid.cells.get((row, column))
            cells.append(_pivot_cell(line, relative, marked))
            if bounds:
                cells.append(Text(_bounds(line, relative) if line else ""))
        shown.add_row(Text(row), *cells)
    return shown


def _pivot_cell(line: Line | None, relative: bool, marked: Collection[int]) -> Text:
    if line is None or not line.row.done:
        return Text("–" if line is None else "none", style="dim")
    value = percent(line.relative) if relative else number(line.goodput.median)
    mark = MARKS.get(line.verdict, " " if relative else "")
    style = "bold" if line.is_base else VERDICT_STYLES.get(line.verdict, "")
    return Text(value + mark, style=style).append(_marks(n for n in line.notes if n in marked), style="yellow")


def _bounds(line: Line, relative: bool) -> str:
    if relative:
        return "–" if line.is_base else interval(line.relative, 100)
    return interval(line.goodput)


def _print_effects(effects: tuple[Effect, ...], console: Console) -> None:
    if not effects:
        return
    console.print()
    console.print(Text("What the factors do", style="bold").append(" (best over worst level)", style="not bold dim"))
    columns = [
        _Column("factor", lambda e: Text(short(e.factor)), right=False),
        _Column("best", lambda e: Text(e.best), right=False),
        _Column("worst", lambda e: Text(e.worst), right=False),
        _Column("times", lambda e: number(e.ratio.median)),
        _Column("95 %", lambda e: interval(e.ratio)),
        _Column("from – to", lambda e: f"{number(e.least)} – {number(e.most)}", drop=1),
        _Column("pairs", lambda e: str(e.contexts), drop=2),
        _Column("verdict", lambda e: Text(e.verdict, style="bold" if e.verdict == "matters" else "dim"), right=False),
    ]
    _print_fitted(columns, effects, console)
    for sentence in conclusion(effects):
        console.print(Text(sentence))


def _columns(results: Results, table: Table) -> list[_Column]:
    def marked(line: Line, value: float | None, latency: bool) -> Text:
        notes = [n for n in line.notes if (results.note(n).about == "latency") is latency]
        return Text(number(value)).append(_marks(notes), style="yellow")

    def factor(name: str) -> _Column:
        return _Column(short(name), lambda line: Text(line.levels[name]), right=False, typed=name == "engine")

    columns = [factor(name) for name in table.factors] or [_Column("row", lambda _: "all", right=False)]
    columns.append(_Column(f"{table.counted}/s", lambda line: marked(line, line.goodput.median, False)))
    if any(line.goodput.interval for line in table.lines):
        columns.append(_Column("95 %", lambda line: interval(line.goodput), drop=5))
    if any(line.new_order_per_min is not None for line in table.lines):
        columns.append(_Column("new-order/min", lambda line: number(line.new_order_per_min), drop=3))
    if table.counted == "reads":
        columns.append(_Column("MB/s", lambda line: number(line.reads.mb_per_s if line.reads else None)))
        columns.append(_Column("s a read", lambda line: number(line.reads.seconds if line.reads else None), drop=3))
    operated = operations.columns(table.lines)
    columns += operated
    if results.base:
        columns.append(_Column("base=100", lambda line: Text(percent(line.relative), style="bold")))
    if any(line.seconds is not None for line in table.lines) and not operated:
        columns.append(_Column("run s", lambda line: number(line.seconds), drop=7))
    if not operated:  # of operations there are few, and each stands there in seconds
        columns += [
            _Column("p50 ms", lambda line: number(line.percentiles[0].value_ms), drop=4),
            _Column("p99 ms", lambda line: marked(line, line.percentiles[2].value_ms, True), drop=2),
            _Column("max ms", lambda line: number(line.percentiles[-1].value_ms), drop=6),
        ]
        columns += sizes.columns(table.lines, database=table.growth is None)
    if results.base:
        columns.append(_Column("against the base", _verdict, right=False, drop=1))
    return columns


def _kind_columns(kinds: list[tuple[Line, KindSummary]]) -> list[_Column]:
    def label(of: tuple[Line, KindSummary]) -> str:
        return of[0].label if of[1] is of[0].kinds[0] else ""

    def count(name: str) -> Callable[[tuple[Line, KindSummary]], str]:
        return lambda of: f"{getattr(of[1], name):,}"

    def p90(of: tuple[Line, KindSummary]) -> Text:
        return Text(number(of[1].p90.value_ms), style="red" if of[1].limit_kept is False else "")

    columns = [
        _Column("row", label, right=False),
        _Column("transaction", lambda of: of[1].name.replace("_", "-"), right=False),
        _Column("committed", count("committed")),
        _Column("rolled back", count("rolled_back"), drop=3),
        _Column("conflicts", count("conflicts"), drop=1),
        _Column("given up", count("given_up"), drop=2),
        _Column("p90 ms", p90),
    ]
    if any(kind.limit_ms is not None for _, kind in kinds):
        columns.append(_Column("limit ms", lambda of: f"{of[1].limit_ms:,.0f}" if of[1].limit_ms else "–"))
        columns.append(_Column("kept", lambda of: {True: "yes", False: "no", None: "–"}[of[1].limit_kept], right=False))
    return columns


def _memory_columns() -> list[_Column]:
    """Limits and sizes are MiB; what is not known is a dash."""
    return [
        _Column("row", lambda line: line.label, right=False),
        _Column("Memory limit MiB", lambda line: mib(line.memory.limit_bytes)),
        _Column("database MiB", lambda line: mib(line.memory.database_bytes)),
        _Column("× limit", lambda line: number(line.memory.times_limit)),
        _Column("peak MiB", lambda line: mib(line.memory.peak_bytes), drop=4),
        _Column("cached at start", lambda line: share(line.memory.resident_at_start), drop=3),
        _Column("at end", lambda line: share(line.memory.resident_at_end), drop=2),
        _Column("pages read again", lambda line: number(line.memory.refaults), drop=1),
        _Column("in both caches ≤ MiB", lambda line: mib(line.memory.twice_bytes_max), drop=5),
    ]


def _verdict(line: Line) -> Text:
    if not line.row.done:
        return Text("no result", style="red")
    return Text("base" if line.is_base else line.verdict, style=VERDICT_STYLES.get(line.verdict, "dim"))


def _counts(lines: list[Line]) -> Grid:
    grid = Grid(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim", style="dim")
    shown = ("conflicts", "retries", "given_up", "errors")
    grid.add_column("row", overflow="fold")
    for name in shown:
        grid.add_column(name.replace("_", " "), justify="right", no_wrap=True)
    grid.add_column("refused or failed as", overflow="fold")
    for line in lines:
        classes = ", ".join(f"{name.replace('_', ' ')} {count:,}" for name, count in line.classes.items())
        grid.add_row(line.label, *(f"{line.counts[name]:,}" for name in shown), classes)
    return grid


def _print_place(results: Results, console: Console) -> None:
    printed: dict[str, dict[int, None]] = {}
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
        printed.setdefault(storage, {}).update(dict.fromkeys(results.notes_of(place)))
    for storage, notes in printed.items():
        console.print(Text(storage, style="dim").append(_marks(notes), style="yellow"))


def _print_bad(results: Results, console: Console) -> None:
    for recording in results.bad:
        console.print(Text(f"{recording.status}: {recording.cell}: {recording.reason}", style="red"))
    if results.missing:
        console.print(not_run(results), style="yellow")
