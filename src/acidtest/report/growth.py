"""What growth does to a rate: what is concluded of each series, what series are to each other, and what is missing.

The same of a run of ours and of what somebody has published; of a run there is more to show.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from acidtest.analysis import database
from acidtest.analysis.database import StatisticsAt, StatisticsBySize, Unusual
from acidtest.analysis.growth.answer import GrowthAnswer, Prediction, analyse, size_text
from acidtest.analysis.growth.compared import Pair, RatioAt, compare, pairs
from acidtest.analysis.growth.held_out import Score, held_out, looking_back
from acidtest.analysis.growth.series import RecordedSize, Series
from acidtest.analysis.growth.words import predicted_sentence, score_sentence, sentences
from acidtest.report.numbers import attributes, bounds_json, summary_json

HELD_OUT = "Of sizes held out, predicted before they were loaded"
LOOKED_BACK = "Looking back, each size predicted from the smaller ones of its series alone"
NO_RATE = "Nothing is told of its growth: no size has a rate."


@dataclass(frozen=True)
class Concluded:
    """One series with what is concluded from it."""

    series: Series
    answer: GrowthAnswer | None  # None where no size has a rate
    predictions: tuple[Prediction, ...]

    @property
    def name(self) -> str:
        return self.series.name

    @property
    def levels(self) -> Mapping[str, str]:
        """Of a recorded series: those of the factors other than size."""
        return self.series.recorded.levels if self.series.recorded else {}

    @property
    def sizes(self) -> tuple[RecordedSize, ...]:
        """Of a recorded series: all that the experiment asked for."""
        return self.series.recorded.sizes if self.series.recorded else ()

    @property
    def measured(self) -> list[RecordedSize]:
        """Those of them that have a rate, by size in bytes."""
        return sorted((at for at in self.sizes if at.point), key=lambda at: at.bytes or 0)

    @property
    def sentences(self) -> list[str]:
        answer = sentences(self.answer, self.predictions) if self.answer else [NO_RATE]
        return [*answer, *map(predicted_sentence, held_out([self.series]).forecasts), *self.refused, *self.incomplete]

    @property
    def refused(self) -> list[str]:
        """Of held-out sizes, why nothing was predicted."""
        forecasts = [(at, at.forecast) for at in self.sizes if at.forecast]
        return [f"{at.asked}, held out: {one.refused}." for at, one in forecasts if one.refused]

    @property
    def incomplete(self) -> list[str]:
        """What a recorded series does not have, and why."""
        why: dict[str, list[str]] = {}
        for at in self.sizes:
            if not at.row.done:
                why.setdefault("; ".join(at.reasons), []).append(at.asked)
        gaps = [f"{', '.join(sizes)} {_has(sizes)} no rate: {reason}." for reason, sizes in why.items()]
        if self.series.recorded and (never := self.series.recorded.never):
            gaps.append(f"{', '.join(never)} {_has(never)} not been measured.")
        return gaps

    @property
    def on_device(self) -> bool:
        """Whether what its block device did is known at some size."""
        return any(at.device for at in self.sizes)

    @property
    def with_statistics(self) -> list[RecordedSize]:
        return [at for at in self.sizes if at.statistics]

    @property
    def without_statistics(self) -> dict[str, list[str]]:
        """Why there are none -> at which sizes."""
        why: dict[str, list[str]] = {}
        for at in self.sizes:
            if at.statistics_missing:
                why.setdefault(at.statistics_missing, []).append(at.asked)
        return why

    @property
    def deeper(self) -> list[Unusual]:
        """Indexes that got a level between two sizes."""
        sizes = tuple(StatisticsAt(at.asked, at.statistics) for at in self.sizes if at.statistics)
        return database.deeper(StatisticsBySize(self.name, sizes))


@dataclass(frozen=True)
class Growth:
    """All series of a run or a file, and what they are to each other."""

    series: tuple[Concluded, ...]
    against_first: tuple[tuple[str, tuple[RatioAt, ...]], ...]  # name of the other: its rate over the first one's
    pairs: tuple[Pair, ...]  # of recorded series

    @property
    def sizes(self) -> list[RecordedSize]:
        return [at for one in self.series for at in one.sizes]

    @property
    def fresh(self) -> bool:
        return any(one.series.recorded and one.series.recorded.fresh for one in self.series)

    @property
    def reduced_scale(self) -> list[str]:
        """By what means the scale is reduced; nothing at full size."""
        means: dict[str, None] = {}
        for at in self.sizes:
            memory, machine = at.row.first.memory, at.row.first.machine
            if memory and memory.limit_bytes and memory.limit_bytes < machine.memory_bytes:
                means[f"memory is held to {size_text(memory.limit_bytes)} of {size_text(machine.memory_bytes)}"] = None
            percent = at.row.first.workload.get("warehouse_percent")
            if percent and percent < 100:
                means[f"a warehouse has {percent:g} % of its rows"] = None
        return list(means)

    @property
    def scale(self) -> str:
        """That the scale is reduced, in words; "" at full size."""
        by = "; ".join(self.reduced_scale)
        return f"Reduced scale: {by}. No prediction carries over to another scale." if by else ""

    @cached_property
    def held_out(self) -> Score:
        """Of the forecasts that were written down before anything of their size was loaded."""
        return held_out([one.series for one in self.series])

    @cached_property
    def looked_back(self) -> Score:
        """Of the sizes that smaller ones of the same series could have predicted; about half a second each."""
        return looking_back([one.series for one in self.series])

    @property
    def scores(self) -> list[str]:
        """How forecasts have fared over all series, in words; nothing where none was or could be made."""
        both = ((HELD_OUT, self.held_out), (LOOKED_BACK, self.looked_back))
        return [score_sentence(score, what) for what, score in both if score.scored]

    @property
    def answers(self) -> list[str]:
        """What the series say, in plain words; each begins with its name where there are several."""
        named = len(self.series) > 1
        words = [(one.name, " ".join(one.sentences)) for one in self.series]
        return [f"{name}: {sentences}" if named else sentences for name, sentences in words] + self.scores

    def as_json(self) -> dict[str, Any]:
        """For programs; shares are of 1, sizes in bytes, rates a second."""
        return {
            "series": [_answer_json(one, one.answer) for one in self.series if one.answer],
            "ratios": [
                {
                    "series": name,
                    "against": self.series[0].name,
                    "sizes": [
                        {"bytes": at.bytes, "interpolated": at.interpolated, **summary_json(at.ratio)} for at in of
                    ],
                }
                for name, of in self.against_first
            ],
            "reduced_scale": self.reduced_scale,
            "forecasts": self._scores_json(),
        }

    def _scores_json(self) -> dict[str, Any]:
        return {"held_out": _score_json(self.held_out), "looking_back": _score_json(self.looked_back)}

    def recorded_json(self) -> dict[str, Any]:
        """Of recorded series, with all that was recorded; docs/GROWTH.md has the keys."""
        recorded = [(one, one.series.recorded) for one in self.series if one.series.recorded]
        return {
            "workload": recorded[0][1].workload if recorded else "",
            "series": [
                {
                    "name": one.name,
                    "levels": of.levels,
                    "said": one.sentences,
                    "answer": _answer_json(one, one.answer) if one.answer else None,
                    "sizes": [_size_json(at) for at in of.sizes],
                    "not_measured": list(of.never),
                }
                for one, of in recorded
            ],
            "beside": [
                {
                    "factor": pair.factor,
                    "first": pair.first.name,
                    "second": pair.second.name,
                    "ratios": [
                        {**attributes(at, "asked", "bytes"), "ratio": at.ratio.median, **bounds_json(at.ratio.interval)}
                        for at in pair.at
                    ],
                    "sizes_apart": list(pair.apart),
                }
                for pair in self.pairs
            ],
            "reduced_scale": self.reduced_scale,
            "forecasts": self._scores_json(),
        }


def growth(series: Sequence[Series], predict: Sequence[int | float] = ()) -> Growth:
    """Analyse each, and predict the rates at ``predict``, sizes in bytes."""
    first, *others = series
    ratios = [(other.name, tuple(compare(other, first))) for other in others if other.points and first.points]
    return Growth(
        tuple(_concluded(one, predict) for one in series),
        tuple((name, of) for name, of in ratios if of),
        tuple(pairs(series)),
    )


def _concluded(series: Series, predict: Sequence[int | float]) -> Concluded:
    answer = analyse(series) if series.points else None
    return Concluded(series, answer, tuple(answer.predict(size) for size in predict) if answer else ())


def _has(sizes: Sequence[str]) -> str:
    return "has" if len(sizes) == 1 else "have"


def _answer_json(one: Concluded, answer: GrowthAnswer) -> dict[str, Any]:
    return {
        "name": one.name,
        "landmarks": [asdict(landmark) | {"knee": answer.knee.near(landmark)} for landmark in one.series.landmarks],
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
                **attributes(model, "forecast_error", "widening", "plausible"),
                "predictions": [answer.by(model, asked.bytes) for asked in one.predictions if asked.rate is not None],
            }
            for model in answer.models
        ],
        "predictions": [asdict(prediction) for prediction in one.predictions],
        "refused": answer.refused,
        "said": one.sentences,
    }


def _score_json(score: Score) -> dict[str, Any]:
    return {
        "held": score.held,
        "of": len(score.scored),
        "coverage": score.coverage and asdict(score.coverage),
        "median_error": score.error,
        "median_width": score.width,
        "forecasts": [asdict(forecast) | {"holds": forecast.holds} for forecast in score.forecasts],
    }


def _size_json(at: RecordedSize) -> dict[str, Any]:
    return {
        **attributes(at, "asked", "warehouses", "bytes", "load_s", "load_mb_per_s"),
        "rates_per_s": at.row.goodput_per_s,
        "median_per_s": at.rate.median,
        **bounds_json(at.rate.interval),
        "device": asdict(at.device) if at.device else None,
        "statistics": at.statistics.model_dump() if at.statistics else None,
        "statistics_said": at.statistics_missing or None,
        "reasons": at.reasons,
    }
