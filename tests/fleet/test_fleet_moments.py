"""Whatever dies, at whatever moment: the same command goes on, every cell counts once, and nothing is left."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from unittest.mock import Mock

import pytest
from fleet_at_hand import DEATHS, Death, Died, Hands
from fleet_commands import each_once

from acidtest.cli import fleets, planning
from acidtest.errors import AcidtestError
from acidtest.experiment import Experiment

CELLS = 6
ASKED = 12  # of the labs, by a run in which nothing happens
EXPERIMENT = """
name = "moments"
repetitions = 3
engine = "sqlite"
durability = "os"
[workload.commits]
count = 5
"""


def run(tmp_path: Path) -> list[str]:
    """What the watcher of one run is told."""
    watcher, file = Mock(), tmp_path / "e.toml"
    file.write_text(EXPERIMENT)
    with fleets.opened(tmp_path / "fleet.toml") as machines:
        planned = planning.planned(file, quick=False, cuts=False, part=machines.part(Experiment.to_run))
        machines.run(planned, file, tmp_path / "out", watcher, retry_failed=False)
    return [line for told in watcher.doubts.call_args_list for line in told.args[0]]


@pytest.mark.covering
@pytest.mark.parametrize("happens", DEATHS)
@pytest.mark.parametrize("moment", range(1, ASKED + 1))
def test_whatever_dies_the_same_command_goes_on(tmp_path: Path, hands: Hands, happens: Death, moment: int) -> None:
    hands.fleet(tmp_path / "fleet.toml")
    hands.happens[moment] = happens
    for _ in range(3):
        with suppress(AcidtestError, Died, KeyboardInterrupt):
            run(tmp_path)
            break
    else:
        pytest.fail(f"it did not come to an end: {hands.asked}")
    assert not hands.happens
    each_once(tmp_path / "out", CELLS)
    assert not [one for machine in hands.machines for one in machine.left()]
