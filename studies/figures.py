"""The figures that a table of a page may show: each one function of a row, of kept recordings alone."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

from acidtest.analysis.calls import uses
from acidtest.analysis.commit_cost import CommitCost
from acidtest.analysis.growth.series import RecordedSize
from acidtest.analysis.steady import row_steadiness
from acidtest.analysis.summary import Summary, summarise
from acidtest.journal.models import Recording
from acidtest.report.line import Line
from acidtest.report.numbers import interval, lower_by, number
from acidtest.report.results import Results, Table
from studies.ranking import places

RESTARTS = re.compile(r"after \d+ attempts of restart")


@dataclass(frozen=True)
class At:
    """A row of a journal's results, with what it stands among."""

    line: Line
    among: Sequence[Line]  # rows of the same column, this one included
    table: Table
    results: Results

    @property
    def done(self) -> Sequence[Recording]:
        return self.line.row.done

    @property
    def size(self) -> RecordedSize | None:
        """Of a database that grows."""
        sizes = self.table.growth.sizes if self.table.growth else []
        return next((size for size in sizes if size.row.levels == self.line.levels), None)


@dataclass(frozen=True)
class Shown:
    """A figure in a table, and as a number for sentences; None where it is none."""

    text: str
    value: float | None = None


@dataclass(frozen=True)
class Figure:
    heading: str
    of: Callable[[At], Shown]

    def called(self, results: Results) -> str:
        """Its heading, with the name of the base where it is read against one."""
        return self.heading.replace("{base}", ", ".join(results.base.values()) or "base")


def shown(summary: Summary | None, scale: float = 1.0) -> Shown:
    """Median and interval; where the repetitions bear none, how many there are."""
    if summary is None or summary.median is None:
        return Shown("–")
    value = scale * summary.median
    if summary.interval is None:
        return Shown(f"{number(value)} ({summary.n} {'run' if summary.n == 1 else 'runs'})", value)
    return Shown(f"{number(value)} ({interval(summary, scale).replace(' – ', '–')})", value)


def told(value: float | None) -> Shown:
    """A figure without an interval."""
    return Shown(number(value), value)


def each(values: Sequence[float]) -> Shown:
    """Of each repetition, in order, and their sum for sentences."""
    return Shown(
        " ".join(number(value) if value % 1 else f"{value:,.0f}" for value in values) or "–",
        float(sum(values)) if values else None,
    )


def _relative(at: At) -> Shown:
    return told(100.0) if at.line.is_base else shown(at.line.relative, 100)


def _verdict(at: At) -> Shown:
    if at.line.is_base:
        return Shown("–")
    found = at.line.against_base
    if found is None or found.verdict != "no difference shown":
        return Shown(at.line.verdict or "–")
    return Shown(f"no difference shown; {lower_by(found.smallest_ratio)} would probably have been noticed")


def _reads(at: At) -> Shown:
    means = [r.result.service.mean_ns / 1e9 for r in at.done if r.result and r.result.service.count]
    return shown(summarise(means))


def _operation_s(at: At) -> Shown:
    """Of one backup, restore or sweep; of a repetition with several the mean."""
    runs = [r.maintenance.operations for r in at.done if r.maintenance and r.maintenance.operations]
    return shown(summarise([sum(one.seconds for one in of) / len(of) for of in runs]))


def _drive_mb(at: At) -> Shown:
    """What the drive gave for each transaction."""
    fetched = [
        r.device.read_bytes / r.result.counts.committed / 1e6
        for r in at.done
        if r.device and r.result and r.result.counts.committed
    ]
    return shown(summarise(fetched))


def _drive_flushes(at: At) -> Shown:
    asked = [
        r.device.flushes / r.result.counts.committed
        for r in at.done
        if r.device and r.device.flushes is not None and r.result and r.result.counts.committed
    ]
    return told(median(asked) if asked else None)


def _drive_written_kb(at: At) -> Shown:
    """What the drive took for each transaction."""
    taken = [
        r.device.write_bytes / r.result.counts.committed / 1e3
        for r in at.done
        if r.device and r.result and r.result.counts.committed
    ]
    return told(median(taken) if taken else None)


def _rank(at: At) -> Shown:
    measured = [line for line in at.among if line.row.done]
    if at.line not in measured:
        return Shown("–")
    best, worst = places([one.row.goodput_per_s for one in measured])[measured.index(at.line)]
    return Shown(f"{best}" if best == worst else f"{best} to {worst}", best)


def _calls(name: str) -> Callable[[At], Shown]:
    def of(at: At) -> Shown:
        cost = _cost(at)
        return told(getattr(cost.calls, name) if cost and cost.calls else None)

    return of


def _cost(at: At) -> CommitCost | None:
    levels = {f: level for f, level in at.line.levels.items() if f not in ("workload", "observe")}
    return next((cost for cost in at.results.commit_costs if cost.levels == levels), None)


def _survived(at: At) -> Shown:
    cost = _cost(at)
    cut = cost.survival if cost else None
    if cut is None:
        return Shown("–")
    said = {"survived": "", "lost, as announced": "; the loss is announced"}.get(cut.said, f"; {cut.said}")
    return Shown(f"{cut.survived} of {cut.cuts}{said}", cut.survived)


def _hints(at: At) -> Shown:
    """What the engine told the kernel about the files that hold the database, over all runs."""
    watched = [(r.engine.known_as if r.engine else "", r.calls) for r in at.done if r.calls and r.calls.commits]
    if not watched:
        return Shown("–")
    told: Counter[str] = Counter()
    for engine, calls in watched:
        for use in uses(calls, engine):
            if use.role == "database":
                told.update(use.hints)
                told.update({f"mmap {how}": count for how, count in use.mappings.items()})
    text = ", ".join(f"{count:,} × {what}" for what, count in sorted(told.items()))
    return Shown(text or "none", float(told.total()))


def _load(at: At) -> Shown:
    return told(at.size.load_mb_per_s if at.size else None)


def _predicted(at: At) -> Shown:
    """Of a held-out size, before anything of it was loaded."""
    forecast = at.size.forecast if at.size else None
    if forecast is None or forecast.rate_per_s is None or forecast.low is None or forecast.high is None:
        return Shown("–")
    ends = f"{number(forecast.low)} to {number(forecast.high)}"
    return Shown(f"{number(forecast.rate_per_s)} (95 %: {ends})", forecast.rate_per_s)


def _mb(at: At) -> Shown:
    bytes_ = [r.database_bytes for r in at.done]
    return told(median(bytes_) / 1e6 if bytes_ else None)


def _waited(at: At) -> Shown:
    """How long warm-ups that were to end with a steady rate took, and how many ended so."""
    waits = [one.steady_wait for one in at.done if one.steady_wait]
    if not waits:
        return Shown("–")
    middle = median(wait.waited_s for wait in waits)
    return Shown(f"{number(middle)} ({sum(wait.reached for wait in waits)} of {len(waits)} steady)", middle)


def _unsteady(at: At) -> Shown:
    """Of the measurements themselves, how many were not steady, and whether all have a change in common."""
    judged = row_steadiness([result.series for result in at.line.row.results])
    if not judged.judged:
        return Shown("too short to tell")
    common = judged.common is not None and judged.common.state != "steady"
    return Shown(f"{judged.unsteady} of {judged.judged}{', and all in common' if common else ''}", judged.unsteady)


def _percentile(name: str) -> Callable[[At], Shown]:
    def of(at: At) -> Shown:
        return told(next((percentile.value_ms for percentile in at.line.percentiles if percentile.name == name), None))

    return of


def _new_orders(at: At) -> Shown:
    return told(at.line.new_order_per_min)


FIGURES = {
    "per-second": Figure("a second", lambda at: shown(at.line.goodput)),
    "per-minute": Figure("a minute", lambda at: shown(at.line.goodput, 60)),
    "relative": Figure("{base} = 100", _relative),
    "verdict": Figure("against {base}", _verdict),
    "rank": Figure("place", _rank),
    "each-run": Figure("each run, a second", lambda at: each(at.line.row.goodput_per_s)),
    "seconds": Figure("s", lambda at: shown(summarise(at.line.row.seconds) if at.line.row.by_count else None)),
    "read-s": Figure("s a read", _reads),
    "read-mb-per-s": Figure("MB/s", lambda at: told(at.line.reads.mb_per_s if at.line.reads else None)),
    "drive-mb": Figure("MB from the drive", _drive_mb),
    "drive-flushes": Figure("flushes of the drive a commit", _drive_flushes),
    "drive-written-kb": Figure("KB written to the drive a commit", _drive_written_kb),
    "operation-s": Figure("s", _operation_s),
    "new-orders-per-minute": Figure("new orders a minute", _new_orders),
    "commits": Figure("committed, each run", lambda at: each([r.result.counts.committed for r in at.done if r.result])),
    "conflicts": Figure(
        "conflicts told, each run", lambda at: each([r.result.counts.conflicts for r in at.done if r.result])
    ),
    "given-up": Figure("given up, each run", lambda at: each([r.result.counts.given_up for r in at.done if r.result])),
    "restarts": Figure(
        "lines of restarts in the log, each run",
        lambda at: each([len(RESTARTS.findall(r.engine_log)) for r in at.done]),
    ),
    "waited-s": Figure("s until measured", _waited),
    "unsteady": Figure("runs not steady", _unsteady),
    "latency-p50": Figure("ms, p50", _percentile("p50")),
    "latency-p99": Figure("ms, p99", _percentile("p99")),
    "writes-per-commit": Figure("writes a commit", _calls("writes")),
    "flushes-per-commit": Figure("flushes a commit", _calls("flushes")),
    "hints": Figure("hints on the database's files", _hints),
    "survived": Figure("power cuts survived", _survived),
    "load-mb-per-s": Figure("loaded, MB/s", _load),
    "foretold": Figure("foretold, a second", _predicted),
    "database-mb": Figure("database, MB", _mb),
}  # fmt: skip
