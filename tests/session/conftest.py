"""What the suites of sessions share: one instance of an engine for all tests of a module, empty at the start of each."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from acidtest.conductor.rig import converse
from acidtest.engine import Engine, Instance
from acidtest.engine.server import ServedInstance, _has_open
from acidtest.journal.protocol import AskPhase, Job
from acidtest.place import Ledger
from acidtest.place.trees import copy_tree
from acidtest.workload.commits import CommitsWorkload
from families import FAMILIES


@pytest.fixture(scope="module")
def running(
    engine: Engine, sealed: Callable[[Engine], list[Path]], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Instance, list[Path]]]:
    """A started instance over a copy of an empty database, and another copy of that database's files."""
    directory, ledger = tmp_path_factory.mktemp("instance"), Ledger()
    instance = adopt(engine, sealed(engine), directory)
    try:
        empty = [directory / f"empty-{path.name}" for path in instance.database_files()]
        for path, copy in zip(instance.database_files(), empty, strict=True):
            if path.is_file():
                copy_tree(path, copy)
        instance.start(ledger)
        yield instance, empty
    finally:
        instance.release()
        ledger.close()


@pytest.fixture
def instance(running: tuple[Instance, list[Path]], engine: Engine, ledger: Ledger) -> Instance:
    """The instance of this module, without anything that another test left in its database."""
    instance, empty = running
    if statements := FAMILIES[engine.family].empties:
        ask = AskPhase(questions=list(statements))
        job = Job(seed=1, target=instance.target(), workload=CommitsWorkload(row_bytes=1), inspect=[], phases=[ask])
        list(converse(job, ledger, instance.environment()))
        return instance
    for path, copy in zip(instance.database_files(), empty, strict=True):
        if isinstance(instance, ServedInstance):
            while _has_open(instance._server.pid, [path]):  # the end of a session takes a moment to arrive
                time.sleep(0.02)
        for left in path.parent.glob(f"{path.name}*"):  # with the log beside it
            left.unlink()
        copy_tree(copy, path)
    return instance


def adopt(engine: Engine, files: list[Path], directory: Path) -> Instance:
    """An instance over a copy of a sealed database, not started yet."""
    for path in files:
        copy_tree(path, directory / path.name)
    return engine.adopt(directory, {}, "os")
