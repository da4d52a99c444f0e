"""The README's experiment is one."""

from __future__ import annotations

import re
from pathlib import Path

from acidtest import experiment, plan

README = (Path(__file__).parents[2] / "README.md").read_text()


def test_the_experiment_in_the_readme_is_read_and_planned(tmp_path: Path) -> None:
    (block,) = re.findall(r"```toml\n(.*?)```", README, re.DOTALL)
    file = tmp_path / "my.toml"
    file.write_text(block)
    assert len(plan.make(experiment.read(file)).combinations()) == 12
