"""What several suites share: a ledger, and the engines, installed as a user would."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

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
    subprocess.run(command, check=True, capture_output=True, text=True, timeout=800)


@pytest.fixture
def ledger() -> Iterator[Ledger]:
    ledger = Ledger()
    yield ledger
    ledger.close()


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest, engines_installed: None) -> Engine:
    """One engine after another: what a contract suite runs over."""
    return catalogue.find(request.param)


@pytest.fixture(scope="session")
def sealed(engines_installed: None, tmp_path_factory: pytest.TempPathFactory) -> Callable[[Engine], list[Path]]:
    """The files of an engine's sealed, empty database, made once for all who copy them."""
    made: dict[str, list[Path]] = {}

    def files(engine: Engine) -> list[Path]:
        if engine.id not in made:
            ledger = Ledger()
            instance = engine.create(tmp_path_factory.mktemp("sealed"), {})
            try:
                instance.start(ledger)
                instance.seal()
                made[engine.id] = instance.database_files()
            finally:
                instance.release()
                ledger.close()
        return made[engine.id]

    return files
