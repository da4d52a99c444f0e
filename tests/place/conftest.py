"""Every test here has a state directory of its own."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ACIDTEST_HOME", str(tmp_path / "home"))
    return tmp_path / "home"
