"""What is made of memory's samples."""

from __future__ import annotations

import pytest

import factory
from acidtest.analysis import memory
from acidtest.analysis.samples import rows

MIB = 1 << 20


def summary(limit_mib: int | None, **changes: object) -> memory.MemorySummary:
    levels = {"workload": "tpcb", "engine": "sqlite", "durability": "os"}
    held = factory.memory(limit_mib, **changes)
    journal = factory.journal([factory.recording(levels, memory=held, database_bytes=200 * MIB)])
    found = memory.of_row(rows(journal.header, journal.recordings)[0])
    assert found
    return found


def test_a_database_larger_than_its_limit() -> None:
    found = summary(64)
    assert found.times_limit == pytest.approx(200 / 64)
    assert found.resident_at_start == 0
    assert found.resident_at_end == pytest.approx(48 / 200)
    # From the last sample before the measurement, at -0.25 s, to its end: 49 steps of which 44 read pages again.
    assert found.refaults == 4400
    assert found.stalled_s == pytest.approx(0.049)
    assert found.stalled_of == "control group"
    assert found.io_stalled_s == pytest.approx(0.098)
    assert found.machine_stalled_s == pytest.approx(0.0245)
    assert found.machine_swapped_out_pages == 3 * 49
    assert found.machine_available_bytes == (900 - 52) * MIB
    assert found.swapped_bytes == 0
    assert found.fetched_per_read == 8192
    assert found.twice_bytes_max == 16 * MIB  # no more than the engine's own cache
    assert found.peak_bytes == 64 * MIB


def test_a_database_that_fits() -> None:
    found = summary(1024)
    assert found.resident_at_end == 1
    assert found.refaults == 0


def test_without_a_limit_the_group_tells_nothing_and_the_cache_still_does() -> None:
    found = summary(None, start="warm")
    assert (found.limit_bytes, found.times_limit, found.refaults, found.peak_bytes) == (None, None, None, None)
    assert (found.resident_at_end, found.stalled_of, found.start) == (1, "machine", "warm")


def test_what_was_swapped_out_is_told_at_its_most() -> None:
    assert summary(64, swap=5 * MIB).swapped_bytes == 5 * MIB
    # Older journals know nothing of the rest of the machine.
    held = factory.memory(64)
    unknown = {name: None for name in held.samples[0].model_fields_set if name.startswith(("machine_", "io_"))}
    found = summary(64, samples=[sample.model_copy(update=unknown) for sample in held.samples])
    assert (found.machine_available_bytes, found.machine_stalled_s, found.io_stalled_s) == (None, None, None)


def test_both_caches_hold_no_more_than_the_file_cache() -> None:
    assert summary(64, cache_bytes=1 << 40).twice_bytes_max == 48 * MIB
    assert summary(64, cache_bytes=None).twice_bytes_max is None


def test_a_run_without_samples_tells_its_limit_only() -> None:
    found = summary(64, samples=[])
    assert (found.resident_at_end, found.refaults, found.fetched_per_read) == (None, None, None)
    assert found.times_limit == pytest.approx(200 / 64)


def test_the_curve_has_rates_since_the_sample_before() -> None:
    points = memory.curve(factory.memory(64))
    assert points[0].refaults_per_s is None
    assert points[1].refaults_per_s == 0
    assert points[-1].refaults_per_s == pytest.approx(400)
    assert points[-1].resident == pytest.approx(48 / 200)
    assert [point.at_s for point in points[:3]] == [-1, -0.75, -0.5]


def test_nothing_asked_is_nothing_told() -> None:
    journal = factory.study()
    assert all(memory.of_row(row) is None for row in rows(journal.header, journal.recordings))
