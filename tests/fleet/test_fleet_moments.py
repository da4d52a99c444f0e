"""Whatever dies, at whatever moment: the same command goes on, every cell counts once, and nothing is left."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from unittest.mock import Mock

import pytest
from fleet_at_hand import DEATHS, Death, Died, Hands, Machine, at_hand
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


@pytest.fixture
def hands(tmp_path: Path) -> Iterator[Hands]:
    (tmp_path / "e.toml").write_text(EXPERIMENT)
    machines = [Machine(name, tmp_path / name) for name in ("one", "two")]
    tables = "".join(f'[hosts.{machine.name}]\nhome = "{machine.home}"\n' for machine in machines)
    (tmp_path / "fleet.toml").write_text(f'ssh = ["one", "two"]\npatience_s = 1\n{tables}')
    with at_hand(machines) as made:
        yield made


def run(tmp_path: Path) -> list[str]:
    """What the watcher of one run is told."""
    watcher = Mock()
    with fleets.opened(tmp_path / "fleet.toml") as machines:
        file = tmp_path / "e.toml"
        planned = planning.planned(file, quick=False, cuts=False, part=machines.part(Experiment.to_run))
        machines.run(planned, file, tmp_path / "out", watcher, retry_failed=False)
    return [line for told in watcher.doubts.call_args_list for line in told.args[0]]


@pytest.mark.covering
@pytest.mark.parametrize("happens", DEATHS)
@pytest.mark.parametrize("moment", range(1, ASKED + 1))
def test_whatever_dies_the_same_command_goes_on(tmp_path: Path, hands: Hands, happens: Death, moment: int) -> None:
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
