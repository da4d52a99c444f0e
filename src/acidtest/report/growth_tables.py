"""Databases that grow: their tables, what a reduced scale keeps, and ``acidtest growth`` in a terminal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from acidtest.analysis.growth.answer import GrowthAnswer, Prediction, size_text
from acidtest.analysis.growth.forecast import Model
from acidtest.analysis.growth.series import RecordedSize
from acidtest.analysis.growth.words import change, plain
from acidtest.report.growth import Growth
from acidtest.report.numbers import interval, number, share
from acidtest.report.table import NOTHING, Column, Table, figure, known, print_table

SERIES = "series"
COUNT = "{:,.0f}".format
KINDS = ("reads", "writes", "flushes")  # of a device's requests


def shown(columns: Sequence[Column], rows: Sequence[Any]) -> list[Column]:
    """Those that some row has a figure for, and the name of the series where there are several."""
    several = len({getattr(row, "series", "") for row in rows}) > 1
    return [column for column in known(columns, rows) if column.head != SERIES or several]


def _per_commit(kind: str) -> Callable[[RecordedSize], str]:
    def of(at: RecordedSize) -> str:
        waits, commits = getattr(at.device, kind, None), at.commits
        return number(waits.count / commits) if waits and commits else NOTHING

    return of


def _rate(at: RecordedSize) -> str:
    return number(at.rate.median) if at.row.done else "no result"


def _grew(at: RecordedSize) -> str:
    loaded = at.loaded
    return NOTHING if loaded is None else size_text(loaded.bytes - (loaded.bytes_before or 0))


SIZES = (
    Column(SERIES, figure("series", str), right=False),
    Column("size", figure("asked", str), right=False),
    Column("warehouses", figure("warehouses", COUNT), drop=4),
    Column("database", figure("bytes", size_text)),
    Column("loaded", _grew, drop=5),
    Column("load s", figure("load_s"), drop=3),
    Column("load MB/s", figure("load_mb_per_s"), drop=1),
    Column("runs", lambda at: str(len(at.row.done)), drop=6),
    Column("commits/s", _rate),
    Column("95 %", figure("rate", interval), drop=2),
)


def sizes(growth: Growth) -> Table:
    return Table(shown(SIZES, growth.sizes), growth.sizes, "growth")


def in_terminal(rows: Sequence[RecordedSize]) -> list[Column]:
    return shown([column for column in SIZES if column.head in ("database", "load s", "load MB/s")], rows)


def forecasts(growth: Growth) -> Table:
    made = ((growth.held_out, "before it was loaded"), (growth.looked_back, "looking back, from smaller sizes"))
    return Table(FORECASTS, [(forecast, when) for score, when in made for forecast in score.forecasts], "forecasts")


FORECASTS = (
    Column("series", lambda row: row[0].series, right=False),
    Column("database", lambda row: size_text(row[0].bytes)),
    Column("predicted", lambda row: row[1], right=False),
    Column("commits/s predicted", lambda row: number(row[0].rate)),
    Column("95 %", lambda row: f"{number(row[0].interval.low)} to {number(row[0].interval.high)}"),
    Column("measured", lambda row: row[0].missing or number(row[0].measured)),
    Column("inside", lambda row: {None: NOTHING, True: "yes", False: "no"}[row[0].holds], right=False),
)
PAIRS = (
    Column("times as fast", lambda of: of[0].name, right=False),
    Column("size", lambda of: of[1].asked, right=False),
    Column("database", lambda of: size_text(of[1].bytes)),
    Column("ratio", lambda of: number(of[1].ratio.median)),
    Column("95 %", lambda of: interval(of[1].ratio)),
)
DEVICE = (
    Column(SERIES, figure("series", str), right=False),
    Column("size", figure("asked", str), right=False),
    *(Column(kind, figure(f"device.{kind}.share", share)) for kind in KINDS),
    *(
        Column(f"ms a {kind[:-1] if kind != 'flushes' else 'flush'}", figure(f"device.{kind}.mean_ms"))
        for kind in KINDS
    ),
    *(Column(f"{kind} a commit", _per_commit(kind)) for kind in KINDS),
    Column("requests under way", figure("device.depth")),
    Column("device busy", figure("device.busy_share", share)),
)


def ratios(growth: Growth) -> Table:
    return Table(PAIRS, [(pair, at) for pair in growth.pairs for at in pair.at], "beside")


def device(growth: Growth) -> Table:
    return Table(shown(DEVICE, growth.sizes), growth.sizes, "device")


# docs/GROWTH.md has the same points.
KEEPS = (
    "The ratios of database to memory and of database to the engine's cache.",
    "The skew of the accesses, the mix of reads and writes, rows and pages of full size.",
)
LOSES = (
    "The depth of indexes, which grows with the logarithm of the rows: a thousandth of the rows saves a level or two.",
    "What an engine needs for itself and for each session, which does not shrink: only the rest of the limit caches "
    "anything, and a database outgrows its cache before it reaches the limit.",
    "The drive's own cache, which is as large as ever, and on a virtual machine that of its host.",
    "Fixed costs: checkpoints, log segments, files that are extended by fixed amounts.",
    "Hot rows: few warehouses have few district rows, for which terminals queue, the more the smaller the database.",
    "Rates and sizes in bytes: read slopes in multiples of memory, and take no prediction from one scale to another.",
)


def print_growth(growth: Growth, console: Console) -> None:
    """Of each series its sizes, the answer in words, and what the models said."""
    for one in growth.series:
        console.print()
        console.print(Text(one.name, style="bold"))
        if one.answer:
            print_table(Table(ANSWER, one.answer.sizes), console, "--json has all")
        for sentence in one.sentences:
            console.print(sentence, markup=False)
        if growth.scale:
            console.print(growth.scale, markup=False)
        if one.answer and one.answer.models:
            console.print()
            print_table(
                Table(_model_columns(one.predictions, one.answer), one.answer.models), console, "--json has all"
            )
    for sentence in growth.scores:
        console.print()
        console.print(sentence, markup=False)
    for name, ratios in growth.against_first:
        table = Table(OVER_FIRST, ratios, title=f"{name} over {growth.series[0].name}")
        print_table(table, console, "--json has all")


ANSWER = (
    Column("size", figure("bytes", size_text)),
    Column("a second", figure("rate.median", "{:.5g}".format)),
    Column("95 %", figure("rate", interval)),
    Column("n", figure("rate.n", str), drop=1),
    Column("lost per doubling", lambda one: "" if one.per_doubling is None else change(one.per_doubling)),
)
OVER_FIRST = (
    Column("size", figure("bytes", size_text)),
    Column("times as fast", figure("ratio.median", "{:.3g}".format)),
    Column("95 %", figure("ratio", interval)),
    Column("interpolated", lambda one: "yes" if one.interpolated else "no", right=False),
)


def _model_columns(predictions: Sequence[Prediction], answer: GrowthAnswer) -> list[Column]:
    def at(size: float) -> Column:
        return Column(f"at {size_text(size)}", lambda model: number(answer.by(model, size)))

    return [
        Column("model", figure("name", str), right=False),
        Column("error of its forecasts", _error),
        Column("plausible", lambda model: "yes" if model.plausible else "no", right=False),
        *(at(prediction.bytes) for prediction in predictions if prediction.rate is not None),
        Column("supposes", figure("fit.curve.supposes", str), right=False, drop=1),
    ]


def _error(model: Model) -> str:
    return "not tested" if model.forecast_error is None else f"{plain(100 * model.forecast_error, 2)} %"
