"""The wheel works away from the checkout, with its rig inside."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty environment with the wheel in it. Its dependencies are borrowed: they are not what is tested."""
    home = tmp_path_factory.mktemp("installed")
    venv.create(home, with_pip=False)
    build = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(home / "wheels"), str(CHECKOUT)]
    subprocess.run(build, check=True, capture_output=True, text=True, timeout=1200)
    (wheel,) = (home / "wheels").glob("acidtest-*.whl")
    subprocess.run(
        [sys.executable, "-m", "pip", "--python", home / "bin" / "python", "install", "-q", "--no-deps", wheel],
        check=True, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    return home


def test_it_runs_an_experiment_with_the_rig_of_the_wheel(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(
        'name = "small"\nrepetitions = 1\nengine = "sqlite"\ndurability = "drive"\n[workload.commits]\ncount = 20\n'
    )
    # A path entry brings packages but not the development install, which hangs on a .pth file.
    environment = {
        "PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "PYTHONPATH": sysconfig.get_path("purelib"),
        "LANG": os.environ.get("LANG", "C.UTF-8"),
    }  # fmt: skip

    def acidtest(*arguments: str) -> str:
        ran = subprocess.run(
            [installed / "bin" / "acidtest", *arguments],
            cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300, check=False,
        )  # fmt: skip
        assert ran.returncode == 0, ran.stderr + ran.stdout
        return ran.stdout

    (rig,) = [f for f in json.loads(acidtest("doctor", "--json"))["findings"] if f["what"] == "rig"]
    assert rig["detail"].endswith(f"({installed / 'bin' / 'acidtest-rig'})")
    assert {"quick", "key-value", "shell-file"} <= {
        load["name"] for load in json.loads(acidtest("experiments", "list", "--json"))
    }
    assert len(json.loads(acidtest("plan", "@key-value", "--quick", "--json"))["cells"]) > 1
    assert "20 cells" in acidtest("plan", "@quick")
    assert acidtest("experiments", "copy", "@shell-file", "copied").splitlines()[1:] == [
        "copied/programs/shell-file/load", "copied/programs/shell-file/check",
    ]  # fmt: skip
    assert acidtest("help", "docs/ENGINES.md").startswith("# Engines")
    assert "commits/s" in acidtest("run", "small.toml", "--out", "out")
    assert (tmp_path / "out" / "report.html").stat().st_size > 100_000
    where = subprocess.run(
        [installed / "bin" / "python", "-c", "import acidtest; print(acidtest.__file__)"],
        cwd=tmp_path, env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert Path(where.stdout.strip()).is_relative_to(installed)
