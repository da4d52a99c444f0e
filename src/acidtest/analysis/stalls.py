"""Stalls: seconds in which the rate of commits fell below half of its median, and what else was seen at the same time.

Nothing here is a cause. A device that is busy and a checkpoint that is logged in the same second may have held the
engine up, may have been held up with it, or may have come by chance.

The median is over the seconds of the same stage, for a stage may ask for less than the one before it. Rates of few
commits a second fall below half of their median by chance: below ``MEDIAN_MIN`` nothing is called a stall.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from acidtest.journal.models import DeviceSample, LogLine, Recording
from acidtest.journal.protocol import RunResult, Second

SHARE = 0.5
SECONDS_MIN = 5  # of a stage, for a median
MEDIAN_MIN = 20.0  # commits a second: a Poisson count of 20 comes below 10 once in 200
LENGTH_MIN_S = 0.5  # a shorter second at an end counts too few to tell
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
class Stall:
    """Seconds in a row; times are from the beginning of the measurement."""

    repetition: int
    at_s: float
    length_s: float
    commits_per_s: float
    median_per_s: float
    device: DeviceThen | None  # None where the device was not sampled
    log: tuple[LogLine, ...]  # of the engine, in these seconds or the one before


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
                commits_per_s=sum(one.committed for one in seconds) / (until_s - at_s),
                median_per_s=usual,
                device=_device(samples, at_s, until_s),
                log=tuple(line for line in recording.log_lines if at_s - BEFORE_S <= line.at_s < until_s),
            )
        )
    return found


def _low(result: RunResult) -> list[tuple[list[Second], float]]:
    """Runs of low seconds, each with the median of its stage."""
    ends = [stage.at_s for stage in result.stages[1:]] + [float("inf")]
    found: list[tuple[list[Second], float]] = []
    begin = 0.0
    for end in ends:
        of_stage = [
            second
            for second in result.series
            if second.at_s >= begin and second.length_s >= LENGTH_MIN_S and second.at_s + second.length_s <= end
        ]
        begin = end
        usual = median(_rate(one) for one in of_stage) if len(of_stage) >= SECONDS_MIN else 0.0
        if usual < MEDIAN_MIN:
            continue
        last: Second | None = None
        for second in of_stage:
            if _rate(second) >= SHARE * usual:
                last = None
                continue
            if last is None:
                found.append(([], usual))
            found[-1][0].append(second)
            last = second
    return found


def _rate(second: Second) -> float:
    return second.committed / second.length_s


def _device(samples: Sequence[DeviceSample], at_s: float, until_s: float) -> DeviceThen | None:
    """Of the samples that overlap the stall by half of their length or more."""

    def inside(one: DeviceSample) -> bool:
        return min(until_s, one.at_s + one.length_s) - max(at_s, one.at_s) >= one.length_s / 2

    then = [one for one in samples if one.length_s > 0 and inside(one)]
    if not then:
        return None
    known = [one for one in samples if one.length_s > 0]
    lasted_s = sum(one.length_s for one in then)
    counted = all(one.flushes is not None and one.flush_s is not None for one in known)
    flushes = sum(one.flushes or 0 for one in then)
    each_ms = [(one.flush_s or 0.0) * 1e3 / one.flushes for one in known if one.flushes]
    return DeviceThen(
        reads=sum(one.reads for one in then) / lasted_s,
        reads_usual=median(one.reads / one.length_s for one in known),
        writes=sum(one.writes for one in then) / lasted_s,
        writes_usual=median(one.writes / one.length_s for one in known),
        flushes=flushes / lasted_s if counted else None,
        flushes_usual=median((one.flushes or 0) / one.length_s for one in known) if counted else None,
        flush_ms=sum(one.flush_s or 0.0 for one in then) * 1e3 / flushes if counted and flushes else None,
        flush_ms_usual=median(each_ms) if counted and each_ms else None,
        busy=min(1.0, sum(one.busy_s for one in then) / lasted_s),
        busy_usual=min(1.0, median(one.busy_s / one.length_s for one in known)),
    )
