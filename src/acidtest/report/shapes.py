"""Classes of terminals, stages and stalls: as tables, in a terminal, and for programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Literal, NamedTuple

from rich.console import Console
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from acidtest.analysis.engine_figures import waits
from acidtest.analysis.kinds import KindSummary
from acidtest.analysis.parts import Part
from acidtest.analysis.samples import Row
from acidtest.analysis.stalls import DeviceThen, FigureThen, Stall
from acidtest.report.line import Line
from acidtest.report.numbers import interval, kind_json, number, share, summary_json
from acidtest.report.table import COUNT, Cell, Column, Table, figure
from acidtest.words import counted

WAITS_SHOWN = 5  # of a row; the others together
LOG_SHOWN = 3  # entries of one stall
STALLS_SHOWN = 40  # of one row
STALLS_PRINTED = 5  # of one row, in a terminal
STALLS_OPEN = 3  # of one row on the page; the others are folded
BYTES = ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1, "bytes"))
AT_THE_SAME_TIME = (
    "A stall is a second, or several in a row, with fewer than half of the median's commits. Device, engine and log "
    "are what was seen at the same time, which need not be the cause. In brackets: the median second."
)


def tables(lines: Sequence[Line], unit: str) -> list[Table]:
    """What each class and each stage did, whose rates count ``unit``, and its kinds of transactions."""
    return [
        *_tables("Classes of terminals", "classes", "class", "of each class", lines, "terminal_classes", unit),
        *_tables("Stages", "stages", "stage", "in each stage", lines, "stages", unit),
    ]


class PartRow(NamedTuple):
    """A class of terminals or a stage of one row."""

    line: Line
    part: Part
    first: bool  # of its row


class KindRow(NamedTuple):
    """A kind of transactions of one row, or of a part of it."""

    line: Line
    kind: KindSummary
    part: Part | None = None


def _tables(
    title: str, name: str, what: str, of_each: str, lines: Sequence[Line], field: str, unit: str
) -> tuple[Table, Table]:
    rows = [PartRow(line, part, n == 0) for line in lines for n, part in enumerate(getattr(line, field))]
    columns = [
        Column("row", lambda row: row.line.label if row.first else "", right=False, only="terminal"),
        Column("row", figure("line.label", str), right=False, only="page"),
        *_columns([row.part for row in rows], unit),
    ]
    due = " A transaction belongs to the stage in which it was due (open loop) or ended (closed loop)."
    explained = (
        "Rates are medians of the repetitions; counts and latencies are of all repetitions together."
        f"{due if what == 'stage' else ''}"
    )
    # Of workloads with several; a kind that a part has nothing of is left out.
    kinds = [
        KindRow(row.line, kind, row.part)
        for row in rows
        if row.part.kinds[1:]
        for kind in row.part.kinds
        if kind.committed or kind.rolled_back or kind.conflicts or kind.errors
    ]
    of_kinds = [
        Column("row", figure("line.label", str), right=False, drop=3),
        Column(what, figure("part.name", str), right=False),
        *kind_columns(given_up="page"),
    ]
    beneath = f"Kinds of transactions {of_each}"
    return (
        Table(columns, rows, name, title, page_explained="" if kinds else explained),
        Table(of_kinds, kinds, f"{name}-kinds", page_title=beneath, page_explained=explained),
    )


def kind_columns(given_up: Literal["", "page"] = "") -> list[Column]:
    """What became of one kind of transactions, of each ``KindRow``."""

    def p90(row: KindRow) -> Cell:
        found = row.kind.p90
        return Cell(number(found.value_ms), "bad" if row.kind.limit_kept is False else "", found.reason or "")

    return [
        Column("transaction", lambda row: row.kind.name.replace("_", "-"), right=False),
        Column("committed", figure("kind.committed", COUNT)),
        Column("rolled back", figure("kind.rolled_back", COUNT), drop=3),
        Column("conflicts", figure("kind.conflicts", COUNT), drop=1),
        Column("given up", figure("kind.given_up", COUNT), drop=2, only=given_up),
        Column("errors", figure("kind.errors", COUNT), only="page"),
        Column("p90 ms", p90),
    ]


def _columns(parts: Sequence[Part], unit: str) -> list[Column]:
    columns = [
        Column("from s", figure("part.at_s")),
        Column("for s", figure("part.length_s"), drop=4),
        Column("asked for", figure("part.name", str), right=False),
    ]
    if all(part.at_s is None for part in parts):
        columns = [
            Column("class", figure("part.name", str), right=False),
            Column("terminals", figure("part.terminals", COUNT), drop=4),
        ]
    columns.append(Column(f"{unit}/s", figure("part.goodput.median")))
    if any(part.goodput.interval for part in parts):
        columns.append(Column("95 %", figure("part.goodput", interval), drop=9))
    if any(part.arrivals for part in parts):
        columns += [
            _counted("arrived", "arrivals", "scheduled", 6),
            _counted("late", "arrivals", "late", 3),
            _counted("unfinished", "arrivals", "unfinished", 2),
        ]
    return [
        *columns,
        Column("p50 ms", lambda row: number(row.part.percentiles[0].value_ms), drop=5),
        Column("p99 ms", lambda row: number(row.part.percentiles[2].value_ms)),
        Column("max ms", lambda row: number(row.part.percentiles[-1].value_ms), drop=7),
        _counted("committed", "counts", "committed", 8),
        _counted("conflicts", "counts", "conflicts", 1),
        _counted("given up", "counts", "given_up", 1),
        _counted("errors", "counts", "errors", 1),
    ]


def _counted(head: str, counts: str, name: str, drop: int) -> Column:
    return Column(head, figure(f"part.{counts}", lambda counts: f"{counts[name]:,}"), drop=drop)


def print_stalls(lines: Sequence[Line], console: Console) -> None:
    """Each stall with what was seen then, in lines that break under themselves, and what was open beside."""
    if stalled := [line for line in lines if line.stalls]:
        console.print()
        console.print(Text("Stalls", style="bold"))
        for line in stalled:
            _print_stalls(line, console)
        console.print(Text(AT_THE_SAME_TIME, style="dim"))
    for line in lines:
        for sentence in beside(line):
            console.print(Text(sentence, style="dim"))


def _print_stalls(line: Line, console: Console) -> None:
    console.print(Text(line.label))
    for stall in line.stalls[:STALLS_PRINTED]:
        console.print(Padding(Text(stall_head(stall)), (0, 0, 0, 2)))
        details = Grid.grid(padding=(0, 1))
        details.add_column(no_wrap=True)
        details.add_column(overflow="fold")
        for name, said in stall_details(stall):
            details.add_row(Text(name, style="dim"), Text(said))
        console.print(Padding(details, (0, 0, 0, 4)))
    if more := stalls_left_out(line, STALLS_PRINTED):
        console.print(Text(f"{more} acidtest report tells all of them with --json.", style="dim"))


def device_text(then: DeviceThen | None) -> str:
    """What the device did, each figure beside that of the median second."""
    if then is None:
        return "not sampled"
    figures = [f"busy {share(then.busy)} ({share(then.busy_usual)})"]
    figures.append(f"{number(then.writes)} writes/s ({number(then.writes_usual)})")
    if then.reads or then.reads_usual:
        figures.append(f"{number(then.reads)} reads/s ({number(then.reads_usual)})")
    if then.flushes is not None:
        each = f" of {number(then.flush_ms)} ms ({number(then.flush_ms_usual)})" if then.flush_ms is not None else ""
        figures.append(f"{number(then.flushes)} flushes/s ({number(then.flushes_usual)}){each}")
    return ", ".join(figures)


def log_text(stall: Stall) -> str:
    """The entries of the engine's log in a stall, each with its time."""
    if not stall.log_seen:
        return "not seen"
    entries = [f"{line.at_s:.1f} s: {line.text}" for line in stall.log[:LOG_SHOWN]]
    if more := len(stall.log) - LOG_SHOWN:
        entries += [f"and {counted(more, 'more entry', 'more entries')}"] if more > 0 else []
    return "; ".join(entries) or "nothing"


def engine_text(stall: Stall) -> str:
    """The engine's own figures that moved or stood above 0, then or usually; each beside that of the median second."""
    if stall.engine is None:
        return "not asked for where it stood"
    figures = [_figure_text(one) for one in stall.engine if one.then or one.usual]
    return "; ".join(figures) or "nothing that it counts moved, nor does in the median second"


def _figure_text(one: FigureThen) -> str:
    then, usual, unit = one.then, one.usual, one.unit
    if unit == "bytes":
        scale, unit = next((scale, unit) for scale, unit in BYTES if max(then, usual) >= scale or scale == 1)
        then, usual = then / scale, usual / scale
    each = (f" {unit}" if unit else "") + ("/s" if one.rises else "")
    # What stands at a value counts whole things; only its median may lie between two of them.
    shown = number if unit or one.rises else _whole
    return f"{one.says} {shown(then)}{each} ({shown(usual)})"


def _whole(value: float) -> str:
    return f"{value:,.0f}" if value.is_integer() else f"{value:,.1f}"


def stall_head(stall: Stall) -> str:
    """When it was, and how low the rate fell."""
    return (
        f"at {number(stall.at_s)} s, for {number(stall.length_s)} s: {number(stall.commits_per_s)} commits/s; "
        f"the median is {number(stall.median_per_s)}; repetition {stall.repetition:,}"
    )


def stall_details(stall: Stall) -> list[tuple[str, str]]:
    """What was seen at the same time: a name and what is told under it."""
    return [("device", device_text(stall.device)), ("engine", engine_text(stall)), ("its log", log_text(stall))]


def stalls_left_out(line: Line, most: int = STALLS_SHOWN) -> str:
    """How many more there are, or ""."""
    more = len(line.stalls) - most
    return f"{line.label}: {counted(more, 'more stall')}." if more > 0 else ""


def waited(row: Row) -> list[str]:
    """What the sessions at work were seen in; nothing where the engine does not tell it."""
    if (found := waits(row)) is None:
        return []
    most = [f"{share(one.share)} {one.what}" for one in found.seen[:WAITS_SHOWN]]
    rest = sum(one.share for one in found.seen[WAITS_SHOWN:])
    shown = ", ".join([*most, *([f"{share(rest)} something else"] if rest else [])])
    times = f"{counted(found.sessions, 'session')} in {counted(found.looks, 'look')}, one a second"
    return [f"of the sessions that were at work: {shown} ({times})."]


def beside(line: Line) -> list[str]:
    """What sessions waited for, what was open beside the terminals', and which sessions were opened in mid-run."""
    sentences = [f"{line.label}: {said}" for said in waited(line.row)]
    results = line.row.results
    if seen := next((result.sleepers for result in results if result.sleepers), None):
        in_transaction = ", each in a transaction" if seen.in_transaction else ""
        were = "was" if seen.sessions == 1 else "were"
        sentences.append(
            f"{line.label}: {counted(seen.sessions, 'sleeping session')} {were} open{in_transaction} until the end."
        )
    if made := [result.connections for result in results if result.connections]:
        opened, asked = sum(one.opened for one in made), sum(one.inspected for one in made)
        single = line.row.first.workload.get("connect") == "per_transaction"
        what = "of the log" if line.replays else "for single transactions" if single else "opened in mid-run"
        logins = "latency includes the login" if single else "no latency includes a login"
        sentences.append(
            f"{line.label}: {counted(opened, 'session')} {what}, of which {asked:,} were asked for their settings; "
            f"{logins}."
        )
    return sentences


def as_json(row: Row, classes: Sequence[Part], stages: Sequence[Part], stalls: Sequence[Stall]) -> dict[str, Any]:
    results = row.results
    sleepers = next((result.sleepers for result in results if result.sleepers), None)
    connections = [result.connections for result in results if result.connections]
    return {
        "terminal_classes": [_part_json(part, "name", "terminals") for part in classes],
        "stages": [_part_json(part, "name", "at_s", "length_s") for part in stages],
        "stalls": [{**asdict(stall), "log": [line.model_dump() for line in stall.log]} for stall in stalls],
        "waits": asdict(found) if (found := waits(row)) else None,
        "sleeping_sessions": sleepers.model_dump() if sleepers else None,
        "connections": {
            "opened": sum(connection.opened for connection in connections),
            "inspected": sum(connection.inspected for connection in connections),
        }
        if connections
        else None,
    }


def _part_json(part: Part, *named: str) -> dict[str, Any]:
    return {
        **{name: getattr(part, name) for name in named},
        "goodput_per_s": summary_json(part.goodput),
        "throughput_per_s": summary_json(part.throughput),
        "latency_ms": {p.name: p.value_ms for p in part.percentiles},
        **part.counts,
        "arrivals": dict(part.arrivals) if part.arrivals else None,
        "kinds": [kind_json(kind) for kind in part.kinds],
    }
