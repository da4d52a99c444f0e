"""The command as a user runs it, with a home of its own and the engines installed once."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support import ACIDTEST

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="session", autouse=True)
def engines(engines_installed: None) -> None:
    """Every test here may run any engine."""


@pytest.fixture
def acidtest() -> Run:
    def run(*arguments: object, **more: Any) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "COLUMNS": "120", **more.pop("environment", {})}
        return subprocess.run(
            [ACIDTEST, *map(str, arguments)],
            env=environment, capture_output=True, text=True, check=False, **{"timeout": 800, **more},
        )  # fmt: skip

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
