"""What the suites of sessions share: one instance of an engine for all tests of a module, which find its database anew."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from acidtest.engine import Engine, Instance
from acidtest.engine.server import ServedInstance, _has_open
from acidtest.place import Ledger
from acidtest.place.trees import copy_tree
from families import FAMILIES
from rig_jobs import ask


@pytest.fixture(scope="module")
def database(engine: Engine, sealed: Callable[[Engine], list[Path]]) -> list[Path]:
    """The files of the sealed database that each test of the module begins with: an empty one."""
    return sealed(engine)


@pytest.fixture(scope="module")
def anew(
    engine: Engine, database: list[Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[], Instance]]:
    """Hands out the started instance of the module, with the database in it as it was at first."""
    directory, copies, ledger = tmp_path_factory.mktemp("instance"), tmp_path_factory.mktemp("copies"), Ledger()
    for path in database:
        copy_tree(path, directory / path.name)
    instance = engine.adopt(directory, {}, "os")
    empties = FAMILIES[engine.family].empties
    if not empties:  # once it is configured
        for path in instance.database_files():
            copy_tree(path, copies / path.name)

    def handed_out() -> Instance:
        if empties:
            ask(instance, ledger, *empties)
        else:
            files = instance.database_files()
            while isinstance(instance, ServedInstance) and _has_open(instance._server.pid, files):
                time.sleep(0.02)  # the end of a session takes a moment to arrive
            for left in directory.iterdir():  # what lies beside it too: a log, or backups
                if left.is_file():
                    left.unlink()
            for path in copies.iterdir():
                copy_tree(path, directory / path.name)
        return instance

    try:
        instance.start(ledger)
        yield handed_out
    finally:
        instance.release()
        ledger.close()


@pytest.fixture
def instance(anew: Callable[[], Instance]) -> Instance:
    return anew()
