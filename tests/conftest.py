"""What several suites share: a ledger, and the engines, installed as a user would."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from acidtest.engine import Engine, catalogue
from acidtest.place import Ledger
from support import ACIDTEST, ENGINES, FIREBIRDS, MYSQLS, POSTGRESES

# A machine that is slow or busy is no defect.
settings.register_profile("acidtest", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("acidtest")


@pytest.fixture(scope="session")
def engines_installed() -> None:
    """The engines that tests run, where they are missing; one that cannot be brought fails the tests."""
    command = [ACIDTEST, "engines", "install", *FIREBIRDS, *MYSQLS, *POSTGRESES]
    subprocess.run(command, check=True, capture_output=True, text=True, timeout=300)


@pytest.fixture
def ledger() -> Iterator[Ledger]:
    ledger = Ledger()
    yield ledger
    ledger.close()


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest, engines_installed: None) -> Engine:
    """One engine after another: what a contract suite runs over."""
    return catalogue.find(request.param)
