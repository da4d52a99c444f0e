"""What the ways of watching an engine leave doubtful is told beside the figures."""

from __future__ import annotations

from typing import Any
from unittest.mock import Mock

import pytest

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


@pytest.mark.parametrize("means", ["kernel", "strace"])
def test_that_calls_were_watched_is_told_and_that_some_got_lost(means: str) -> None:
    calls: Any = Mock(means=means, dropped=0)
    assert [(one.code, one.about) for one in watching.doubts(calls)] == [("observed", "goodput_per_s")]
    calls.dropped = 3
    assert watching.doubts(calls)[1].text == "3 events of the kernel got lost: every count of calls is a lower bound."
    assert watching.doubts(None) == []
