"""A reading of the engine's counters that reached into the measurement is told beside the rate."""

from __future__ import annotations

from acidtest.conductor import watching
from factory import engine_counts


def test_only_a_reading_that_was_late_is_a_doubt() -> None:
    counts = engine_counts(page_reads=(1, 2))
    assert watching.counting(None) == []
    assert watching.counting(counts) == []
    assert watching.counting(counts.model_copy(update={"from_s": 0.0})) == []
    (doubt,) = watching.counting(counts.model_copy(update={"from_s": 0.187}))
    assert (doubt.code, doubt.about) == ("counted-late", "goodput_per_s")
    assert "first 0.19 s of the measurement" in doubt.text
