"""A sealed database of one engine and instances over copies of it; the suite that uses them names the engine."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from acidtest.engine import Engine, Instance, catalogue
from acidtest.journal.models import Scalar
from acidtest.place import Ledger
from acidtest.place.trees import copy_tree
from inspecting import Made


@pytest.fixture(scope="session")
def databases(engines_installed: None, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Made]:
    """Each made once, by the id of the engine that it is of."""
    made: dict[str, Made] = {}

    def of(engine: str) -> Made:
        if engine not in made:
            made[engine] = Made(catalogue.find(engine), tmp_path_factory.mktemp("firebird"), 20_000_000)
        return made[engine]

    return of


@pytest.fixture(scope="module")
def template(engine: Engine, sealed: Callable[[Engine], list[Path]]) -> Path:
    """The directory of a sealed, empty database."""
    return sealed(engine)[0].parent


@pytest.fixture
def adopt(engine: Engine, template: Path, tmp_path: Path, ledger: Ledger) -> Iterator[Callable[..., Instance]]:
    """Instances over copies of the template, released in the end, before the ledger closes."""
    made: list[Instance] = []

    def adopted(name: str = "", durability: str = "os", **settings: Scalar) -> Instance:
        directory = tmp_path / (name or f"cell-{len(made)}")
        shutil.copytree(template / "data", directory / "data")
        made.append(engine.adopt(directory, settings, durability))
        return made[-1]

    yield adopted
    for instance in made:
        instance.release()


@pytest.fixture
def loading(
    engine: Engine, sealed: Callable[[Engine], list[Path]], tmp_path: Path, ledger: Ledger
) -> Iterator[Instance]:
    """One for a load, over an empty database, started."""
    for path in sealed(engine):
        copy_tree(path, tmp_path / path.name)
    instance = engine.instance(tmp_path, {}, None)
    try:
        instance.start(ledger)
        yield instance
    finally:
        instance.release()
