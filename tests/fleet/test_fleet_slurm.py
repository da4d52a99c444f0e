"""An experiment over nodes that Slurm gives: the table and the journal are those of any fleet."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from acidtest.journal import reader
from slurms import NODES, slurm
from support import ACIDTEST

EXPERIMENT = """
name = "over-slurm"
repetitions = 2
[factors]
engine = ["sqlite"]
durability = ["os", "drive"]
[workload.commits]
count = 200
"""


def test_an_experiment_over_the_nodes_of_slurm(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    (tmp_path / "e.toml").write_text(EXPERIMENT)
    fleet = tmp_path / "fleet.toml"
    fleet.write_text(
        f'spread = "compare"\n[slurm]\nmachines = 2\nmemory = "800MB"\ninterface = "lo"\npython = "{sys.executable}"\n'
        'directives = ["--exclusive", "--output=/dev/null"]\n'
    )
    command = [ACIDTEST, "run", tmp_path / "e.toml", "--fleet", fleet, "--out", tmp_path / "out"]
    with slurm(tmp_path_factory.mktemp("slurm")) as environment:
        ran = subprocess.run(
            list(map(str, command)),
            env=os.environ | environment | {"ACIDTEST_LEASE": str(tmp_path / "lease")},
            capture_output=True, text=True, timeout=400, check=False, cwd=tmp_path,
        )  # fmt: skip
        queue = subprocess.run(
            ["squeue", "-h"], env=os.environ | environment, capture_output=True, text=True, check=True
        )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    journal = reader.read(tmp_path / "out" / "journal.jsonl")
    assert sorted(one.cell for one in journal.recordings) == sorted(
        f"commits/sqlite/{level}/{node}#{repetition}"
        for level in ("os", "drive") for node in NODES for repetition in (1, 2)
    )  # fmt: skip
    assert {one.host for one in journal.recordings} == set(NODES)
    assert {host.name for host in journal.hosts} == set(NODES)
    assert queue.stdout.strip() == ""
