"""Classes of terminals, stages and stalls: the same cells in the terminal and on the page, and for programs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from acidtest.analysis import waits
from acidtest.analysis.kinds import KindSummary
from acidtest.analysis.parts import Part
from acidtest.analysis.samples import Row
from acidtest.analysis.stalls import DeviceThen, FigureThen, Stall
from acidtest.report.numbers import interval, kind_json, number, share, summary_json
from acidtest.words import counted

if TYPE_CHECKING:
    from acidtest.report.results import Line

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


@dataclass(frozen=True)
class Cell:
    """One column of a table of parts."""

    head: str
    text: Callable[[Any], str]
    is_number: bool = True
    drop: int = 0  # where the terminal is too narrow, the highest goes first; 0 stays


def _count(name: str) -> Callable[[Part], str]:
    return lambda part: f"{part.counts[name]:,}"


def _arrived(name: str) -> Callable[[Part], str]:
    return lambda part: f"{part.arrivals[name]:,}" if part.arrivals else "–"


def part_columns(parts: Sequence[Part], unit: str) -> list[Cell]:
    """Of classes or of stages, whose rates count ``unit``."""
    columns = []
    if any(part.at_s is not None for part in parts):
        columns += [
            Cell("from s", lambda part: number(part.at_s)),
            Cell("for s", lambda part: number(part.length_s), drop=4),
            Cell("asked for", lambda part: part.name, is_number=False),
        ]
    else:
        columns += [
            Cell("class", lambda part: part.name, is_number=False),
            Cell("terminals", lambda part: f"{part.terminals:,}", drop=4),
        ]
    columns.append(Cell(f"{unit}/s", lambda part: number(part.goodput.median)))
    if any(part.goodput.interval for part in parts):
        columns.append(Cell("95 %", lambda part: interval(part.goodput), drop=9))
    if any(part.arrivals for part in parts):
        columns += [
            Cell("arrived", _arrived("scheduled"), drop=6),
            Cell("late", _arrived("late"), drop=3),
            Cell("unfinished", _arrived("unfinished"), drop=2),
        ]
    columns += [
        Cell("p50 ms", lambda part: number(part.percentiles[0].value_ms), drop=5),
        Cell("p99 ms", lambda part: number(part.percentiles[2].value_ms)),
        Cell("max ms", lambda part: number(part.percentiles[-1].value_ms), drop=7),
        Cell("committed", _count("committed"), drop=8),
        Cell("conflicts", _count("conflicts"), drop=1),
        Cell("given up", _count("given_up"), drop=1),
        Cell("errors", _count("errors"), drop=1),
    ]
    return columns


def kinds_of_parts(parts: Sequence[Part]) -> list[tuple[Part, KindSummary]]:
    """Each kind of each part, of workloads with several; a kind that a part has nothing of is left out."""
    return [
        (part, kind)
        for part in parts
        if part.kinds[1:]
        for kind in part.kinds
        if kind.committed or kind.rolled_back or kind.conflicts or kind.errors
    ]


def device_text(then: DeviceThen | None) -> str:
    """What the device did, each figure beside that of the median second."""
    if then is None:
        return "not sampled"
    told = [f"busy {share(then.busy)} ({share(then.busy_usual)})"]
    told.append(f"{number(then.writes)} writes/s ({number(then.writes_usual)})")
    if then.reads or then.reads_usual:
        told.append(f"{number(then.reads)} reads/s ({number(then.reads_usual)})")
    if then.flushes is not None:
        each = f" of {number(then.flush_ms)} ms ({number(then.flush_ms_usual)})" if then.flush_ms is not None else ""
        told.append(f"{number(then.flushes)} flushes/s ({number(then.flushes_usual)}){each}")
    return ", ".join(told)


def log_text(stall: Stall) -> str:
    """The entries of the engine's log in a stall, each with its time."""
    if not stall.log_seen:
        return "not seen"
    told = [f"{line.at_s:.1f} s: {line.text}" for line in stall.log[:LOG_SHOWN]]
    if more := len(stall.log) - LOG_SHOWN:
        told += [f"and {counted(more, 'more entry', 'more entries')}"] if more > 0 else []
    return "; ".join(told) or "nothing"


def engine_text(stall: Stall) -> str:
    """The engine's own figures that moved or stood above 0, then or usually; each beside that of the median second."""
    if stall.engine is None:
        return "not asked for where it stood"
    told = [_figure_text(one) for one in stall.engine if one.then or one.usual]
    return "; ".join(told) or "nothing that it counts moved, nor does in the median second"


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


def stalls_shown(line: Line, most: int = STALLS_SHOWN) -> tuple[Stall, ...]:
    """Of one row, the first so many."""
    return line.stalls[:most]


def stalls_left_out(line: Line, most: int = STALLS_SHOWN) -> str:
    """How many more there are, or ""."""
    more = len(line.stalls) - most
    return f"{line.label}: {counted(more, 'more stall')}." if more > 0 else ""


def waited(row: Row) -> list[str]:
    """What the sessions at work were seen in; nothing where the engine does not tell it."""
    if (found := waits.of_row(row)) is None:
        return []
    most = [f"{share(one.share)} {one.what}" for one in found.seen[:WAITS_SHOWN]]
    rest = sum(one.share for one in found.seen[WAITS_SHOWN:])
    shown = ", ".join([*most, *([f"{share(rest)} something else"] if rest else [])])
    times = f"{counted(found.sessions, 'session')} in {counted(found.looks, 'look')}, one a second"
    return [f"of the sessions that were at work: {shown} ({times})."]


def beside(line: Line) -> list[str]:
    """What sessions waited for, what was open beside the terminals', and which sessions were opened in mid-run."""
    told = [f"{line.label}: {said}" for said in waited(line.row)]
    results = line.row.results()
    if seen := next((result.sleepers for result in results if result.sleepers), None):
        in_transaction = ", each in a transaction" if seen.in_transaction else ""
        were = "was" if seen.sessions == 1 else "were"
        told.append(
            f"{line.label}: {counted(seen.sessions, 'sleeping session')} {were} open{in_transaction} until the end."
        )
    if made := [result.connections for result in results if result.connections]:
        opened, asked = sum(one.opened for one in made), sum(one.inspected for one in made)
        single = line.row.first.workload.get("connect") == "per_transaction"
        what = "of the log" if line.replays else "for single transactions" if single else "opened in mid-run"
        logins = "latency includes the login" if single else "no latency includes a login"
        told.append(
            f"{line.label}: {counted(opened, 'session')} {what}, of which {asked:,} were asked for their settings; "
            f"{logins}."
        )
    return told


def as_json(row: Row, classes: Sequence[Part], stages: Sequence[Part], stalls: Sequence[Stall]) -> dict[str, Any]:
    """For programs."""
    results = row.results()
    sleepers = next((result.sleepers for result in results if result.sleepers), None)
    connections = [result.connections for result in results if result.connections]
    return {
        "terminal_classes": [_part_json(part, "name", "terminals") for part in classes],
        "stages": [_part_json(part, "name", "at_s", "length_s") for part in stages],
        "stalls": [{**asdict(stall), "log": [line.model_dump() for line in stall.log]} for stall in stalls],
        "waits": asdict(found) if (found := waits.of_row(row)) else None,
        "sleeping_sessions": sleepers.model_dump() if sleepers else None,
        "connections": {
            "opened": sum(one.opened for one in connections),
            "inspected": sum(one.inspected for one in connections),
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
