"""Every engine that acidtest knows. Each engine's module says itself what is here of it and how it is installed."""

from __future__ import annotations

from acidtest.engine import firebird, mysql, postgres
from acidtest.engine.base import Engine, Offer
from acidtest.engine.sqlite import Sqlite
from acidtest.errors import BadInput, not_among


def _engines() -> dict[str, Engine]:
    return {engine.id: engine for engine in (Sqlite(), *firebird.engines(), *mysql.engines(), *postgres.engines())}


def known() -> tuple[str, ...]:
    """Ids of all engines, installed or not."""
    return tuple(_engines())


def describe(id: str) -> Engine:  # noqa: A002
    """The engine's levels and settings, whether it is installed or not. Raises BadInput for an unknown id."""
    engines = _engines()
    if id not in engines:
        raise BadInput(not_among("engine", id, engines))
    return engines[id]


def find(id: str) -> Engine:  # noqa: A002
    """The engine, ready to run. Raises BadInput for an unknown id, MachineLacks with the way to install what lacks."""
    engine = describe(id)
    engine.ready()
    return engine


def offers() -> list[Offer]:
    """All engines, with what is here of each."""
    return [engine.offer() for engine in _engines().values()]
