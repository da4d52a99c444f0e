"""Stalls, and what was seen at the same time."""

from __future__ import annotations

import pytest

import factory
from acidtest.analysis import stalls
from acidtest.journal.models import DeviceSample, LogLine, Recording
from acidtest.journal.protocol import StageResult, Tally


def sample(at_s: int, writes: int, busy_s: float) -> DeviceSample:
    return DeviceSample(
        at_s=at_s, length_s=1.0, reads=0, read_bytes=0, writes=writes, write_bytes=writes * 4096, flushes=10,
        flush_s=0.5, busy_s=busy_s,
    )  # fmt: skip


def recorded(rates: list[float]) -> Recording:
    ran = factory.result(seconds=len(rates), rates=rates)
    recording = factory.recording(found=ran)
    work = factory.device_work(100.0, 1.0, 1.0, float(len(rates)))
    samples = [sample(at, 1000 if rate < 50 else 100, 1.0 if rate < 50 else 0.3) for at, rate in enumerate(rates)]
    lines = [LogLine(at_s=4.2, text="checkpoint starting"), LogLine(at_s=8.0, text="checkpoint complete")]
    return recording.model_copy(update={"device": work.model_copy(update={"samples": samples}), "log_lines": lines})


def test_seconds_in_a_row_are_one_stall_with_what_was_seen_then() -> None:
    found = stalls.of_recording(recorded([100, 100, 100, 100, 20, 10, 100, 100, 100, 40]))
    assert [(stall.at_s, stall.length_s, stall.commits_per_s, stall.median_per_s) for stall in found] == [
        (4.0, 2.0, 15.0, 100.0),
        (9.0, 1.0, 40.0, 100.0),
    ]
    assert [line.text for line in found[0].log] == ["checkpoint starting"]
    assert [line.text for line in found[1].log] == ["checkpoint complete"]
    device = found[0].device
    assert device is not None
    assert (device.writes, device.writes_usual, device.busy, device.busy_usual) == (1000, 100, 1.0, 0.3)
    assert (device.flushes, device.flush_ms, device.flush_ms_usual) == (10, 50, 50)


def test_half_of_the_median_is_no_stall_and_few_commits_are_none() -> None:
    assert stalls.of_recording(recorded([100, 100, 50, 100, 100, 100])) == []
    assert stalls.of_recording(recorded([10, 10, 1, 10, 10, 10])) == []


def staged(rates: list[float], *stages: tuple[float, float, float, float]) -> Recording:
    """``stages`` begin at, last, and go from one level to another."""
    recording = recorded(rates)
    ran = recording.result
    assert ran is not None
    tally = Tally(counts=ran.counts, arrivals=None, latency=ran.latency, service=ran.service, kinds=[])
    made = [
        StageResult.model_validate({"at_s": at_s, "length_s": length_s, "from": first, "to": last, "tally": tally})
        for at_s, length_s, first, last in stages
    ]
    return recording.model_copy(update={"result": ran.model_copy(update={"stages": made})})


def test_each_stage_has_a_median_of_its_own() -> None:
    found = stalls.of_recording(staged([100.0] * 6 + [1000.0] * 5 + [400.0], (0, 6, 1, 1), (6, 6, 1, 1)))
    assert [stall.at_s for stall in found] == [11.0]


def test_a_stage_that_rises_is_not_stalled_where_little_was_due() -> None:
    rising = [50.0 + 100 * second for second in range(10)]
    assert stalls.of_recording(staged(rising, (0, 10, 0, 1000))) == []
    rising[2] = 100.0
    (found,) = stalls.of_recording(staged(rising, (0, 10, 0, 1000)))
    assert (found.at_s, found.commits_per_s, found.median_per_s) == (2.0, 100.0, 250.0)
    # Terminals that are more than the engine can serve: the rate stands still, and nothing more is due.
    assert stalls.of_recording(staged([100.0] * 20, (0, 20, 1, 100))) == []


def test_the_warm_up_is_no_stall() -> None:
    recording = recorded([10.0] + [100.0] * 6)
    assert recording.result is not None
    series = [one.model_copy(update={"at_s": one.at_s - 1}) for one in recording.result.series]
    early = recording.model_copy(update={"result": recording.result.model_copy(update={"series": series})})
    assert [stall.at_s for stall in stalls.of_recording(recording)] == [0.0]
    assert stalls.of_recording(early) == []


def test_what_comes_after_the_last_stage_is_no_stall() -> None:
    assert stalls.of_recording(staged([100.0] * 6 + [10.0], (0, 6, 100, 100))) == []


def test_a_recording_without_samples_and_log_still_tells_its_stalls() -> None:
    old = recorded([100, 100, 10, 100, 100, 100]).model_copy(update={"device": None, "log_lines": []})
    (found,) = stalls.of_recording(old)
    assert (found.device, found.log) == (None, ())


def test_each_figure_of_the_engine_stands_beside_that_of_the_median_second() -> None:
    recording = recorded([100, 100, 100, 100, 20, 10, 100, 100, 100])
    written = [0, 10, 20, 30, 40, 1040, 2040, 2050, 2060, 2070]
    waiting = [0, 0, 1, 0, 3, 4, 9, 0, 1, 0]
    samples = factory.engine_samples({"written": written, "waiting": waiting, "untold": [None] * 10})
    (found,) = stalls.of_recording(recording.model_copy(update={"engine_samples": samples}))
    assert found.engine is not None
    told = [(one.says, one.rises, one.then, one.usual) for one in found.engine]
    # The sample at 6 s comes after the stall; of what nobody told there is nothing.
    assert told == [("written", True, 1000.0, 10.0), ("waiting", False, 4.0, 0.5)]


def test_an_engine_that_answers_only_after_the_stall_is_told_all_the_same() -> None:
    recording = recorded([100, 100, 100, 100, 20, 10, 100, 100, 100])
    samples = factory.engine_samples({"written": [0, 10, 20, 30, 40, 2040, 2050], "waiting": [0, 0, 0, 0, 0, 7, 0]})
    late = samples.samples[5].model_copy(update={"at_s": 6.5})
    after = samples.samples[6].model_copy(update={"at_s": 7.5})
    kept = [*samples.samples[:4], samples.samples[4].model_copy(update={"at_s": 3.9}), late, after]
    given = samples.model_copy(update={"samples": kept})
    (found,) = stalls.of_recording(recording.model_copy(update={"engine_samples": given}))
    assert found.engine is not None
    written, waiting = found.engine
    assert written.then == pytest.approx(2000 / 2.6)
    assert waiting.then == 7


def test_a_counter_that_was_set_back_and_samples_close_together_make_no_rate() -> None:
    recording = recorded([100, 100, 100, 100, 20, 100, 100, 100])
    samples = factory.engine_samples({"written": [0, 10, 20, 30, 40, 5, 15, 25]})
    (found,) = stalls.of_recording(recording.model_copy(update={"engine_samples": samples}))
    assert found.engine is None  # the only step in the stall is the one that fell
    close = samples.samples[5].model_copy(update={"at_s": 4.05, "values": [1040]})
    given = samples.model_copy(update={"samples": [*samples.samples[:5], close]})
    (found,) = stalls.of_recording(recording.model_copy(update={"engine_samples": given}))
    assert found.engine is None
