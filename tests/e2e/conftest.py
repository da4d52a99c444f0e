"""The command as a user runs it, with a home of its own and the engines installed once."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from forked import Forked, can_fork
from support import ACIDTEST

Run = Callable[..., "subprocess.CompletedProcess[str]"]


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
    def run(*arguments: object, timeout: float = 800, **more: Any) -> subprocess.CompletedProcess[str]:
        asked = more.pop("environment", {})
        environment, words = {**os.environ, "COLUMNS": "120", **asked}, [str(argument) for argument in arguments]
        if can_fork(asked, more):
            return forked.run(ACIDTEST, words, environment, timeout)
        return subprocess.run(
            [ACIDTEST, *words], env=environment, capture_output=True, text=True, check=False, timeout=timeout, **more
        )

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
