"""The table of failures has an entry for each one that an experiment may ask for and a recording may hold."""

from __future__ import annotations

from typing import get_args

from acidtest.analysis.expected_loss import PLUG
from acidtest.experiment.models import PlaceSpec
from acidtest.journal.models import Cut
from acidtest.powercut.failures import FAILURES


def test_the_table_is_what_experiments_ask_for_and_recordings_hold() -> None:
    assert list(FAILURES) == list(get_args(PlaceSpec.model_fields["disk_failure"].annotation))
    simulated, real = get_args(Cut.model_fields["failure"].annotation)
    assert list(FAILURES) == list(get_args(simulated))
    assert get_args(real) == (PLUG,)
    assert all(failure.name == name for name, failure in FAILURES.items())
    assert PlaceSpec.model_fields["disk_failure"].default == "cut"
