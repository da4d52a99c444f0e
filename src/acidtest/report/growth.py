"""What growth does to a rate, in a terminal and for programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rich.console import Console
from rich.text import Text

from acidtest.analysis.growth import GrowthAnswer, Prediction, analyse, compare, size_text
from acidtest.analysis.growth.compared import RatioAt
from acidtest.analysis.growth.forecast import Model
from acidtest.analysis.growth.recorded import Recorded
from acidtest.analysis.growth.series import Series
from acidtest.analysis.growth.words import said
from acidtest.report.fitted import Column, print_fitted
from acidtest.report.numbers import interval, number, summary_json


@dataclass(frozen=True)
class Told:
    """One series, answered, with the sizes asked for."""

    answer: GrowthAnswer
    predictions: tuple[Prediction, ...]

    @property
    def sentences(self) -> list[str]:
        return said(self.answer, self.predictions)


@dataclass(frozen=True)
class Growth:
    """All series of a run or a file, and each of the others against the first."""

    told: tuple[Told, ...]
    against_first: tuple[tuple[str, tuple[RatioAt, ...]], ...]  # name of the other: its rate over the first one's

    def as_json(self) -> dict[str, Any]:
        """For programs; shares are of 1, sizes in bytes, rates a second."""
        return {
            "series": [_json(one) for one in self.told],
            "ratios": [
                {
                    "series": name,
                    "against": self.told[0].answer.series.name,
                    "sizes": [
                        {"bytes": at.bytes, "interpolated": at.interpolated, **summary_json(at.ratio)} for at in of
                    ],
                }
                for name, of in self.against_first
            ],
        }


def growth(found: Sequence[Recorded | Series], sizes: Sequence[float]) -> Growth:
    """Analyse each, and predict ``sizes``, in bytes."""
    answers = [analyse(one.series if isinstance(one, Recorded) else one) for one in found]
    told = tuple(Told(answer, tuple(answer.predict(size) for size in sizes)) for answer in answers)
    first = answers[0].series
    others = [(one.series.name, tuple(compare(one.series, first))) for one in answers[1:]]
    return Growth(told, tuple((name, ratios) for name, ratios in others if ratios))


def print_growth(found: Growth, console: Console) -> None:
    """Of each series its sizes, the answer in words, and what the models said."""
    for one in found.told:
        console.print()
        console.print(Text(one.answer.series.name, style="bold"))
        print_fitted(_columns(), one.answer.sizes, console, "--json has all")
        for sentence in one.sentences:
            console.print(sentence, markup=False)
        if one.answer.models:
            console.print()
            print_fitted(_model_columns(one.predictions, one.answer), one.answer.models, console, "--json has all")
    for name, ratios in found.against_first:
        console.print()
        console.print(Text(f"{name} over {found.told[0].answer.series.name}", style="bold"))
        print_fitted(_ratio_columns(), ratios, console, "--json has all")


def _columns() -> list[Column]:
    return [
        Column("size", lambda one: size_text(one.bytes)),
        Column("a second", lambda one: f"{one.rate.median:.5g}"),
        Column("95 %", lambda one: interval(one.rate)),
        Column("n", lambda one: str(one.rate.n), drop=1),
        Column("lost per doubling", lambda one: "" if one.per_doubling is None else f"{100 * one.per_doubling:.3g} %"),
    ]


def _ratio_columns() -> list[Column]:
    return [
        Column("size", lambda one: size_text(one.bytes)),
        Column("times as fast", lambda one: "–" if one.ratio.median is None else f"{one.ratio.median:.3g}"),
        Column("95 %", lambda one: interval(one.ratio)),
        Column("", lambda one: "interpolated" if one.interpolated else "", right=False),
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
    return "not tested" if model.forecast_error is None else f"{100 * model.forecast_error:.2g} %"


def _json(one: Told) -> dict[str, Any]:
    answer = one.answer
    return {
        "name": answer.series.name,
        "landmarks": [asdict(landmark) | {"knee": answer.knee.near(landmark)} for landmark in answer.series.landmarks],
        "sizes": [
            {
                "bytes": at.bytes,
                **summary_json(at.rate),
                "lost_per_doubling": at.per_doubling,
                "reads_per_transaction": at.reads,
            }
            for at in answer.sizes
        ],
        "loss": answer.loss and asdict(answer.loss),
        "per_doubling": answer.per_doubling and asdict(answer.per_doubling),
        "knee": asdict(answer.knee),
        "step": answer.step and asdict(answer.step),
        "models": [
            {
                "name": model.name,
                "supposes": model.fit.curve.supposes,
                "forecast_error": model.forecast_error,
                "widening": model.widening,
                "plausible": model.plausible,
                "predictions": [answer.by(model, asked.bytes) for asked in one.predictions if asked.rate is not None],
            }
            for model in answer.models
        ],
        "predictions": [asdict(prediction) for prediction in one.predictions],
        "refused": answer.refused,
        "said": one.sentences,
    }
