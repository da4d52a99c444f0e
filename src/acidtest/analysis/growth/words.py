"""The answer in plain sentences: what a person asked is answered first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from acidtest.analysis.growth.answer import WIDE, Estimate, GrowthAnswer, Prediction, size_text
from acidtest.analysis.growth.held_out import Predicted, Score
from acidtest.analysis.growth.series import MEMORY
from acidtest.words import counted

WIDEST = 100  # of an interval that is worth a figure: percent
FACTOR_MAX = 1e6  # beyond, a factor is no figure any more


def sentences(answer: GrowthAnswer, predictions: Sequence[Prediction] = ()) -> list[str]:
    """Knee and landmarks, losses, then what is to be expected of each size asked for."""
    if answer.refused:
        return [_sentence(answer.refused)]
    return [*_knee(answer), *_losses(answer), *_reads(answer), *map(expected, predictions)]


def expected(prediction: Prediction) -> str:
    """A prediction in one or more sentences."""
    if prediction.refused or prediction.rate is None or prediction.interval is None:
        return f"{size_text(prediction.bytes)}: {prediction.refused}."
    at, between = size_text(prediction.bytes), f"between {_rate(prediction.interval.low)} and "
    between += f"{prediction.interval.high:.4g}"
    words = f"At {at} expect {prediction.rate:.4g} a second, {between} (95 %, over all plausible models; the figure is "
    words += f"the {prediction.model} model's)."
    if prediction.interval.high > WIDE * prediction.interval.low:
        words = f"At {at}: cannot say, {between} a second (95 %, over all plausible models)."
    return " ".join([words, *map(_sentence, prediction.doubts)])


def predicted_sentence(one: Predicted) -> str:
    """A forecast of a held-out size, and what was measured there."""
    words = (
        f"At {size_text(one.bytes)}, held out, {one.rate:.4g} a second were predicted, between "
        f"{_rate(one.interval.low)} and {one.interval.high:.4g} (95 %)"
    )
    if one.measured is None:
        return f"{words}; nothing is measured against it: {one.missing}."
    off = one.measured / one.rate - 1
    side = "more" if off >= 0 else "less"
    lies = "inside" if one.holds else "outside"
    apart = f"{plain(abs(100 * off))} % {side} than predicted"
    return f"{words}; {one.measured:.4g} were measured, {apart}, {lies} the interval."


def score_sentence(score: Score, what: str) -> str:
    """How forecasts have fared; ``what`` says which they are."""
    n, coverage = len(score.scored), score.coverage
    if coverage is None or score.error is None:
        return f"{what}: none can be scored."
    width = f", and the upper end of the median interval is {score.width:.3g} × its lower one" if score.width else ""
    if score.width is not None and score.width > WIDE:
        width = ", and the median interval is so wide that it says little"
    return (
        f"{what}: {score.held:,} of {n:,} measured figures lie in their 95 % intervals "
        f"({plain(100 * score.held / n)} %; 95 %: {plain(100 * coverage.low)} to {plain(100 * coverage.high)}); "
        f"the median figure is {plain(100 * score.error)} % off{width}."
    )


def change(lost: float) -> str:
    """``14.5 %`` of a share that is lost, negative where it is gained; beyond a doubling the factor, ``× 4.2``."""
    return f"{plain(100 * lost)} %" if lost >= -1 else f"× {plain(1 - lost)}"


def share(estimate: Estimate) -> str:
    """``17.5 % (14.1 to 20.7)``; a gain is negative. Three sizes may bear no interval that says anything."""
    if estimate.interval is None:
        return f"{estimate.value:.1%}".replace("%", " %")
    low, high = 100 * estimate.interval.low, 100 * estimate.interval.high
    if high - low > WIDEST:
        return f"{plain(100 * estimate.value)} % (too few sizes to say how surely)"
    return f"{plain(100 * estimate.value)} % ({plain(low)} to {plain(high)})"


def plain(value: float, digits: int = 3) -> str:
    """So many figures, and never a power of ten."""
    if abs(value) >= FACTOR_MAX:
        return f"more than {FACTOR_MAX:,.0f}"
    rounded = float(f"{value:.{digits}g}")
    if abs(rounded) >= 10**digits:
        return f"{rounded:,.0f}"
    return f"{value:.{digits}g}" if abs(value) >= 0.001 else "0"


def _knee(answer: GrowthAnswer) -> list[str]:
    knee = answer.knee
    words = []
    if knee.bytes is not None and knee.interval is not None:
        like = "as when a cache no longer holds what is read" if knee.shape == "cliff" else "to a steeper slope"
        words.append(
            f"Knee at {size_text(knee.bytes)} ({size_text(knee.interval.low)} to {size_text(knee.interval.high)}, "
            f"p {knee.p:.2g}), {like}: a doubling takes {_percent(knee.before)} before it and "
            f"{_percent(knee.after)} after."
        )
    elif knee.p is None:
        words.append(f"Cannot tell whether there is a knee: {knee.reason}.")
        return words
    elif not any(landmark.bytes == found.bytes for landmark in answer.series.landmarks for found in knee.smallest):
        at = f"at {size_text(knee.smallest[0].bytes)} {knee.smallest[0].said}"
        verdict = "No knee shown" if knee.verdict == "no knee shown" else "Cannot tell whether there is a knee"
        words.append(f"{verdict} (p {knee.p:.2g}): {at}.")
    # Memory is what was asked for; of the others, those at which something can be told.
    within = knee.interval or knee.searched
    nears = [
        knee.near(landmark)
        for landmark in answer.series.landmarks
        if landmark.name == MEMORY or (within and within.low <= landmark.bytes <= within.high)
    ]
    if nears:
        tail = "" if knee.bytes is not None else f" (p {knee.p:.2g} for one anywhere)"
        words.append(_sentence("; ".join(nears) + tail))
    if answer.step:
        step = answer.step
        curve = f"{'loses' if step.curve_share >= 0 else 'gains'} {change(abs(step.curve_share))}"
        words.append(
            f"From {size_text(step.before)} to {size_text(step.after)} the rate steps {_step(step.share)}, where the "
            f"curve {curve} (p {step.p:.2g}); from there on it goes on as before."
        )
    return words


def _losses(answer: GrowthAnswer) -> list[str]:
    if answer.loss is None or answer.per_doubling is None:
        return []
    first, last = (size_text(answer.sizes[n].bytes) for n in (0, -1))
    # A gain is told as one: "loses -3 %" is read twice.
    loss, doubling = answer.loss, answer.per_doubling
    whole = f"it loses {share(loss)}" if loss.value >= 0 else f"it gains {share(_gained(loss))}"
    whole = f"{whole} of its rate" if loss.value >= -1 else f"its rate is multiplied by {_factor(loss)}"
    each = f"takes {share(doubling)}" if doubling.value >= 0 else f"adds {share(_gained(doubling))}"
    each = each if doubling.value >= -1 else f"multiplies it by {_factor(doubling)}"
    beside = ", beside the step" if answer.step and answer.step.share < 0 else ""
    return [f"From {first} to {last} {whole}; each doubling {each}{beside}."]


def _factor(loss: Estimate) -> str:
    """``4.2 (3.1 to 5.6)``, of a gain so large that a share of it says little."""
    of = loss.interval
    between = f" ({plain(1 - of.high)} to {plain(1 - of.low)})" if of else ""
    return f"{plain(1 - loss.value)}{between}"


def _step(lost: float) -> str:
    if lost >= 0:
        return f"down by {change(lost)}"
    return f"up by {change(-lost)}" if lost >= -1 else f"up by a factor of {plain(1 - lost)}"


def _reads(answer: GrowthAnswer) -> list[str]:
    first, last = answer.sizes[0], answer.sizes[-1]
    if first.reads is None or last.reads is None:
        return []
    return [
        f"A transaction reads {counted(first.reads, 'time', spec='.3g')} from the device at {size_text(first.bytes)}, "
        f"{counted(last.reads, 'time', spec='.3g')} at {size_text(last.bytes)}."
    ]


def _gained(loss: Estimate) -> Estimate:
    interval = loss.interval and replace(loss.interval, low=-loss.interval.high, high=-loss.interval.low)
    return replace(loss, value=-loss.value, interval=interval)


def _rate(value: float) -> str:
    return f"{value:.4g}" if value >= 0.001 else "0"


def _percent(value: float | None) -> str:
    return "–" if value is None else change(value)


def _sentence(words: str) -> str:
    return f"{words[0].upper()}{words[1:]}."
