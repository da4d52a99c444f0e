"""What docs/FLEET.md shows is what acidtest, Slurm and Kubernetes take."""

from __future__ import annotations

import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import kubernetes_validate
import pytest
import yaml

from acidtest.fleet.spec import read
from acidtest.journal import reader
from slurms import Slurm

DOCUMENT = (Path(__file__).parents[2] / "docs" / "FLEET.md").read_text()


def shown(language: str) -> list[str]:
    blocks = re.findall(rf"^```{language}\n(.*?)^```", DOCUMENT, re.DOTALL | re.MULTILINE)
    assert blocks
    return blocks


@pytest.mark.parametrize("text", shown("toml"))
def test_files_of_fleets(tmp_path: Path, text: str) -> None:
    (tmp_path / "fleet.toml").write_text(text)
    assert read(tmp_path / "fleet.toml").means in ("ssh", "slurm")


@pytest.mark.parametrize("part", list(yaml.safe_load_all(shown("yaml")[0])), ids=lambda part: part["kind"])
def test_the_manifest_is_of_kubernetes(part: dict[str, object]) -> None:
    kubernetes_validate.validate(part, kubernetes_validate.latest_version(), strict=True)
    broken = {**part, "spec": {**part["spec"], "unknown": 1}}  # type: ignore[dict-item]
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(broken, kubernetes_validate.latest_version(), strict=True)


@pytest.mark.long  # make test has test_fleet_slurm.py
def test_the_job_of_slurm(tmp_path: Path, experiment: Path, nodes: Slurm) -> None:
    experiment.rename(tmp_path / "experiment.toml")
    script = tmp_path / "job.sh"
    text = shown("bash")[0]
    here = str(Path(sys.executable).parent)
    assert "/opt/acidtest/.venv/bin" in text
    # All nodes of these tests are one machine, whose name is that of its loopback.
    at = f"$(echo {nodes.hosts[0].address}"
    script.write_text(text.replace("/opt/acidtest/.venv/bin", here).replace("$(hostname -i", at))
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    ran = subprocess.run(
        ["sbatch", "--wait", "--nodelist", nodes.names[0], "--output", str(tmp_path / "said"), str(script)],
        env=os.environ | nodes.environment, cwd=tmp_path, capture_output=True, text=True, timeout=400, check=False,
    )  # fmt: skip
    said = (tmp_path / "said").read_text() if (tmp_path / "said").exists() else ""
    assert ran.returncode == 0, ran.stdout + ran.stderr + said
    assert {recording.host for recording in reader.read(tmp_path / "out" / "journal.jsonl").recordings} == set(
        nodes.names
    )
