"""Fakelite as an engine: all but its name, its target and its words is SQLite's."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path

from acidtest.engine.base import Ask, Durability, Engine, Forget, Instance
from acidtest.engine.fakelite.target import FakeliteTarget
from acidtest.engine.sqlite.engine import Sqlite
from acidtest.engine.sqlite.instance import SqliteInstance
from acidtest.errors import AcidtestError
from acidtest.journal.models import DatabaseStatistics, Scalar
from acidtest.journal.protocol import Target


@contextlib.contextmanager
def renamed() -> Iterator[None]:
    """What SQLite's package says in its own name is said in ours."""
    try:
        yield
    except AcidtestError as error:
        error.message = error.message.replace("sqlite:", "fakelite:", 1)
        raise


class Fakelite(Sqlite):
    """SQLite under another name."""

    id = "fakelite"
    family = "fakelite"

    def durability(self, level: str, settings: Mapping[str, Scalar]) -> Durability:
        with renamed():
            return super().durability(level, settings)

    def instance(self, directory: Path, settings: Mapping[str, Scalar], durability: str | None) -> Instance:
        return FakeliteInstance(directory, settings, durability or "none")


class FakeliteInstance(SqliteInstance):
    def target(self) -> Target:  # type: ignore[override]
        return FakeliteTarget(**super().target().model_dump(exclude={"engine"}))

    def statistics(self, ask: Ask, forget: Forget | None = None) -> DatabaseStatistics:
        with renamed():
            return super().statistics(ask, forget)


def engines() -> list[Engine]:
    """The one."""
    return [Fakelite()]
