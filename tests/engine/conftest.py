"""What suites of engines share: a sealed database of one engine, which the suite names, instances over copies of it, and a
directory that is served as a repository is."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
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


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    """A directory that is served on loopback, and its URL."""
    root = tmp_path / "served"
    root.mkdir()
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=root)) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield root, f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


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
