"""What the suites of sessions share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from acidtest.engine import Engine, Instance
from acidtest.place import Ledger
from acidtest.place.trees import copy_tree


@pytest.fixture
def adopted(
    engine: Engine, sealed: Callable[[Engine], list[Path]], tmp_path: Path, ledger: Ledger
) -> Iterator[Instance]:
    """An instance of the engine over a copy of an empty database of its own, not started yet; it ends before the ledger
    of what it is started with."""
    directory = tmp_path / "instance"
    directory.mkdir()
    for path in sealed(engine):
        copy_tree(path, directory / path.name)
    instance = engine.adopt(directory, {}, "os")
    try:
        yield instance
    finally:
        instance.release()


@pytest.fixture
def instance(adopted: Instance, ledger: Ledger) -> Instance:
    adopted.start(ledger)
    return adopted
