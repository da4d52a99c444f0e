"""Stalls: seconds in which the rate of commits fell below half of its median, and what else was seen at the same time.

Nothing here is a cause. A device that is busy and a checkpoint that is logged in the same second may have held the
engine up, may have been held up with it, or may have come by chance.

The median is over the seconds of the same stage, for a stage may ask for less than the one before it; where arrivals
or terminals rise or fall within a stage, a second is due no more than its share of them. Rates of few commits a second
fall below half of their median by chance: where less than ``MEDIAN_MIN`` is due nothing is called a stall.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from acidtest.journal.models import AT_WORK, AT_WORK_IN, DeviceSample, EngineSamples, LogLine, Recording
from acidtest.journal.protocol import RunResult, Second

SHARE = 0.5
SECONDS_MIN = 5  # of a stage, for a median
MEDIAN_MIN = 20.0  # commits a second: a Poisson count of 20 comes below 10 once in 200
LENGTH_MIN_S = 0.5  # a shorter second at an end counts too few to tell
SAMPLE_MIN_S = 0.2  # between two samples, for a rate
BEFORE_S = 1.0  # entries of logs that bear whole seconds


@dataclass(frozen=True)
class DeviceThen:
    """What the device did a second, during the stall and in the median second of the measurement."""

    reads: float
    reads_usual: float
    writes: float
    writes_usual: float
    flushes: float | None  # None where they are not counted
    flushes_usual: float | None
    flush_ms: float | None  # of one; None where there was none
    flush_ms_usual: float | None
    busy: float  # share of the time
    busy_usual: float


@dataclass(frozen=True)
class FigureThen:
    """One figure of the engine's own, during the stall and in the median second of the measurement.

    Of what rises, how much a second; of what stands at a value, the greatest that was seen then, and the median.
    """

    says: str
    rises: bool
    unit: str
    then: float
    usual: float


@dataclass(frozen=True)
class Stall:
    """Seconds in a row; times are from the beginning of the measurement."""

    repetition: int
    at_s: float
    length_s: float
    commits_per_s: float
    median_per_s: float  # or what was due in the first of them, where that is less
    device: DeviceThen | None  # None where the device was not sampled
    engine: tuple[FigureThen, ...] | None  # by the engine's own account; None where it was not asked at the time
    log: tuple[LogLine, ...]  # of the engine, in these seconds or the one before
    log_seen: bool = True  # False of a server by URL, whose log acidtest cannot read


def of_recording(recording: Recording) -> list[Stall]:
    """The stalls of one measurement, in their order."""
    result = recording.result
    if result is None:
        return []
    samples = recording.device.samples if recording.device else []
    found = []
    for seconds, usual in _low(result):
        at_s, until_s = seconds[0].at_s, seconds[-1].at_s + seconds[-1].length_s
        found.append(
            Stall(
                repetition=recording.repetition,
                at_s=at_s,
                length_s=until_s - at_s,
                commits_per_s=sum(second.committed for second in seconds) / (until_s - at_s),
                median_per_s=usual,
                device=_device(samples, at_s, until_s),
                engine=_engine(recording.engine_samples, at_s, until_s) if recording.engine_samples else None,
                log=tuple(line for line in recording.log_lines if at_s - BEFORE_S <= line.at_s < until_s),
                log_seen=recording.place.kind != "server",
            )
        )
    return found


def _low(result: RunResult) -> list[tuple[list[Second], float]]:
    """Runs of low seconds, each with the median of its stage."""
    found: list[tuple[list[Second], float]] = []
    for seconds, levels in _stages(result):
        if len(seconds) < SECONDS_MIN:
            continue
        usual = median(map(_rate, seconds))
        of_level = median(_rate(second) / level for second, level in zip(seconds, levels, strict=True))
        last: Second | None = None
        for second, level in zip(seconds, levels, strict=True):
            due = min(usual, of_level * level)
            if due < MEDIAN_MIN or _rate(second) >= SHARE * due:
                last = None
                continue
            if last is None:
                found.append(([], due))
            found[-1][0].append(second)
            last = second
    return found


def _stages(result: RunResult) -> Iterator[tuple[list[Second], list[float]]]:
    """The whole seconds of each stage, and the arrivals or terminals that were planned in the middle of each."""
    series = [one for one in result.series if one.at_s >= 0 and one.length_s >= LENGTH_MIN_S]  # before it is warm-up
    if result.arrivals is not None and series and series[-1].length_s < 1:
        series.pop()  # all have arrived, and the last of them are served
    if not result.stages:
        yield series, [1.0] * len(series)
    for stage in result.stages:
        end = stage.at_s + stage.length_s
        seconds = [one for one in series if stage.at_s <= one.at_s and one.at_s + one.length_s <= end]
        gone = [(second.at_s + second.length_s / 2 - stage.at_s) / stage.length_s for second in seconds]
        levels = [stage.from_ + (stage.to - stage.from_) * part for part in gone]
        there = [(second, level) for second, level in zip(seconds, levels, strict=True) if level > 0]
        yield [one for one, _ in there], [level for _, level in there]


def _rate(second: Second) -> float:
    return second.committed / second.length_s


def _inside(sample_at_s: float, length_s: float, at_s: float, until_s: float) -> bool:
    """Whether a sample lies in the stall by half of its length or more."""
    return min(until_s, sample_at_s + length_s) - max(at_s, sample_at_s) >= length_s / 2


def _engine(samples: EngineSamples, at_s: float, until_s: float) -> tuple[FigureThen, ...] | None:
    """Each figure that was told during the stall.

    What rises is told between two samples. What stands at a value is told at each; also by the first after the stall,
    where the engine did not answer in it.
    """
    found = []
    for place, figure in enumerate(samples.figures):
        if figure.name == AT_WORK or figure.name.startswith(AT_WORK_IN):
            continue  # see ``analysis.engine_figures``
        seen = [(sample.at_s, value) for sample in samples.samples if (value := sample.values[place]) is not None]
        if figure.rises:
            steps = _steps(seen)
            then = [step for step in steps if _covers(step, at_s, until_s)]
            if not then:
                continue
            now = sum(rise for _, _, rise in then) / sum(length_s for _, length_s, _ in then)
            usual = median(rise / length_s for _, length_s, rise in steps)
        else:
            after = [value for when, value in seen if when >= until_s][:1]
            values = [value for when, value in seen if at_s <= when < until_s] or after
            if not values:
                continue
            now, usual = max(values), median(value for _, value in seen)
        found.append(FigureThen(figure.says, figure.rises, figure.unit, float(now), float(usual)))
    return tuple(found) or None


def _steps(told: Sequence[tuple[float, int]]) -> list[tuple[float, float, int]]:
    """From one sample to the next: when, for how long, and the rise; not over a counter that was set back."""
    steps = []
    last: tuple[float, int] | None = None
    for when, value in told:
        if last is not None and when - last[0] < SAMPLE_MIN_S:
            continue
        if last is not None and value >= last[1]:
            steps.append((last[0], when - last[0], value - last[1]))
        last = (when, value)
    return steps


def _covers(step: tuple[float, float, int], at_s: float, until_s: float) -> bool:
    """Whether the step lies in the stall, or the whole stall in the step: an engine that stalls may answer late."""
    when, length_s, _ = step
    return _inside(when, length_s, at_s, until_s) or (when <= at_s and until_s <= when + length_s)


def _device(samples: Sequence[DeviceSample], at_s: float, until_s: float) -> DeviceThen | None:
    """Of the samples that overlap the stall by half of their length or more."""
    then = [
        sample for sample in samples if sample.length_s > 0 and _inside(sample.at_s, sample.length_s, at_s, until_s)
    ]
    if not then:
        return None
    known = [sample for sample in samples if sample.length_s > 0]
    lasted_s = sum(sample.length_s for sample in then)
    counted = all(sample.flushes is not None and sample.flush_s is not None for sample in known)
    flushes = sum(sample.flushes or 0 for sample in then)
    each_ms = [(sample.flush_s or 0.0) * 1e3 / sample.flushes for sample in known if sample.flushes]
    return DeviceThen(
        reads=sum(sample.reads for sample in then) / lasted_s,
        reads_usual=median(sample.reads / sample.length_s for sample in known),
        writes=sum(sample.writes for sample in then) / lasted_s,
        writes_usual=median(sample.writes / sample.length_s for sample in known),
        flushes=flushes / lasted_s if counted else None,
        flushes_usual=median((sample.flushes or 0) / sample.length_s for sample in known) if counted else None,
        flush_ms=sum(sample.flush_s or 0.0 for sample in then) * 1e3 / flushes if counted and flushes else None,
        flush_ms_usual=median(each_ms) if counted and each_ms else None,
        busy=min(1.0, sum(sample.busy_s for sample in then) / lasted_s),
        busy_usual=min(1.0, median(sample.busy_s / sample.length_s for sample in known)),
    )
