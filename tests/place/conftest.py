"""Every test here has a state directory of its own; what a killed run of the tests left in those is released first."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

from acidtest.errors import AcidtestError
from acidtest.place import release_leftovers


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ACIDTEST_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture(scope="session", autouse=True)
def killed_tests(tmp_path_factory: pytest.TempPathFactory) -> None:
    base = tmp_path_factory.getbasetemp()
    root = next((path for path in base.parents if path.name.startswith("pytest-of-")), base.parent)
    with pytest.MonkeyPatch.context() as patch:
        for ledgers in [*root.glob("pytest-*/*/home/ledger"), *root.glob("pytest-*/popen-*/*/home/ledger")]:
            patch.setenv("ACIDTEST_HOME", str(ledgers.parent))
            with contextlib.suppress(AcidtestError):  # no business of these tests
                release_leftovers()
