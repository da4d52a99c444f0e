"""The README's experiments are some."""

from __future__ import annotations

import re
from pathlib import Path

from acidtest import experiment, plan

README = (Path(__file__).parents[2] / "README.md").read_text()


def test_the_experiments_in_the_readme_are_read_and_planned(tmp_path: Path) -> None:
    whole, server = re.findall(r"```toml\n(.*?)```", README, re.DOTALL)
    file = tmp_path / "my.toml"
    file.write_text(whole)
    assert len(plan.make(experiment.read(file)).combinations()) == 12
    # Tables come last in TOML, so what a server needs is put between the name and the workload.
    file.write_text('name = "mine"\n' + server + "[workload.commits]\ncount = 5\n")
    read = experiment.read(file)
    assert (read.servers["mine"].host, read.servers["mine"].schema_name) == ("db.example", "acidtest")
    assert len(plan.make(read).combinations()) == 1
