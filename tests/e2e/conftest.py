"""The command as a user runs it, with a home of its own and the engines installed once."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from blocks import loops_over_files_in, mounts_below
from forked import Forked, can_fork
from support import ACIDTEST, Cut, Run


@pytest.fixture(scope="session", autouse=True)
def engines(engines_installed: None) -> None:
    """Every test here may run any engine."""


@pytest.fixture(scope="session")
def forked() -> Iterator[Forked]:
    forked = Forked()
    yield forked
    forked.close()


@pytest.fixture
def acidtest(forked: Forked) -> Run:
    def run(
        *arguments: object, timeout: float = 800, code: int | None = None, **more: Any
    ) -> subprocess.CompletedProcess[str]:
        """`code`: the exit code that it must have."""
        asked = more.pop("environment", {})
        environment, words = {**os.environ, "COLUMNS": "120", **asked}, [str(argument) for argument in arguments]
        if can_fork(asked, more):
            done = forked.run(ACIDTEST, words, environment, timeout)
        else:
            more |= {"env": environment, "timeout": timeout}
            done = subprocess.run([ACIDTEST, *words], capture_output=True, text=True, check=False, **more)
        assert code in (None, done.returncode), (done.returncode, done.stdout, done.stderr)
        return done

    return run


@pytest.fixture
def experiment(tmp_path: Path) -> Callable[..., Path]:
    """Writes a small experiment; keyword arguments replace parts of it."""

    def write(
        engine: str = '["sqlite"]',
        durability: str = '["drive"]',
        repetitions: int = 1,
        count: int = 30,
        extra: str = "",
        name: str = "small",
    ) -> Path:
        path = tmp_path / f"{name}.toml"
        path.write_text(
            f'name = "{name}"\nrepetitions = {repetitions}\n'
            f"[factors]\nengine = {engine}\ndurability = {durability}\n[workload.commits]\ncount = {count}\n{extra}"
        )
        return path

    return write


@pytest.fixture
def powercut(acidtest: Run) -> Cut:
    """What --json says of power cuts that end with `code`, 0 if none is given. Nothing may be left mounted or attached."""

    def run(file: Path, out: Path, *more: object, code: int | None = 0, **kwargs: Any) -> dict[str, Any]:
        done = acidtest("powercut", file, "--out", out, "--json", *more, code=code, **kwargs)
        assert done.stdout, done.stderr
        assert mounts_below(out) == [] == loops_over_files_in(out)
        assert {path.name for path in out.iterdir()} - {"acidtest-states"} == {"cuts.jsonl", "report.html"}
        return dict(json.loads(done.stdout))

    return run
