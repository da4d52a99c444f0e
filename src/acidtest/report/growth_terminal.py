"""``acidtest growth`` in a terminal: of each series its sizes, the answer in words, and what the models said."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from acidtest.analysis.growth import GrowthAnswer, Model, Prediction, size_text
from acidtest.analysis.growth.words import change, plain
from acidtest.report.growth import Growth
from acidtest.report.numbers import interval, number
from acidtest.report.table import Column, Table, print_table


def print_growth(growth: Growth, console: Console) -> None:
    """Of each series its sizes, the answer in words, and what the models said."""
    for one in growth.series:
        console.print()
        console.print(Text(one.name, style="bold"))
        if one.answer:
            print_table(Table(_columns(), one.answer.sizes), console, "--json has all")
        for sentence in one.sentences:
            console.print(sentence, markup=False)
        if one.answer and one.answer.models:
            console.print()
            print_table(
                Table(_model_columns(one.predictions, one.answer), one.answer.models), console, "--json has all"
            )
    for sentence in growth.scores:
        console.print()
        console.print(sentence, markup=False)
    for name, ratios in growth.against_first:
        table = Table(_ratio_columns(), ratios, title=f"{name} over {growth.series[0].name}")
        print_table(table, console, "--json has all")


def _columns() -> list[Column]:
    return [
        Column("size", lambda one: size_text(one.bytes)),
        Column("a second", lambda one: f"{one.rate.median:.5g}"),
        Column("95 %", lambda one: interval(one.rate)),
        Column("n", lambda one: str(one.rate.n), drop=1),
        Column("lost per doubling", lambda one: "" if one.per_doubling is None else change(one.per_doubling)),
    ]


def _ratio_columns() -> list[Column]:
    return [
        Column("size", lambda one: size_text(one.bytes)),
        Column("times as fast", lambda one: "–" if one.ratio.median is None else f"{one.ratio.median:.3g}"),
        Column("95 %", lambda one: interval(one.ratio)),
        Column("interpolated", lambda one: "yes" if one.interpolated else "no", right=False),
    ]


def _model_columns(predictions: Sequence[Prediction], answer: GrowthAnswer) -> list[Column]:
    def at(size: float) -> Column:
        return Column(f"at {size_text(size)}", lambda model: number(answer.by(model, size)))

    return [
        Column("model", lambda model: model.name, right=False),
        Column("error of its forecasts", _error),
        Column("plausible", lambda model: "yes" if model.plausible else "no", right=False),
        *(at(one.bytes) for one in predictions if one.rate is not None),
        Column("supposes", lambda model: model.fit.curve.supposes, right=False, drop=1),
    ]


def _error(model: Model) -> str:
    return "not tested" if model.forecast_error is None else f"{plain(100 * model.forecast_error, 2)} %"
