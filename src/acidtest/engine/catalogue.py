"""Every engine that acidtest knows. Each family's package has its engines, and its servers by URL if there are such."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from acidtest.engine import firebird, mysql, postgres, sqlite
from acidtest.engine.base import Engine, Offer
from acidtest.engine.foreign import Address, ForeignServer
from acidtest.errors import BadInput, not_among

ENGINES: tuple[Callable[[], list[Engine]], ...] = (sqlite.engines, firebird.engines, mysql.engines, postgres.engines)
SERVERS: Mapping[str, Callable[[str, Address], ForeignServer]] = {  # by family
    "postgresql": postgres.PostgresByUrl,
    "mysql": mysql.MysqlByUrl,
}


def all_engines() -> dict[str, Engine]:
    """Every engine by its id, whether it is installed or not."""
    return {engine.id: engine for engines in ENGINES for engine in engines()}


def known() -> tuple[str, ...]:
    """Ids of all engines, installed or not."""
    return tuple(all_engines())


def describe(id: str) -> Engine:  # noqa: A002
    """The engine's levels and settings, whether it is installed or not. Raises BadInput for an unknown id."""
    engines = all_engines()
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
    return [engine.offer() for engine in all_engines().values()]


def server(name: str, family: str, address: Address) -> ForeignServer:
    """The server that an experiment names. Raises BadInput for a family that has no servers by URL."""
    if family not in SERVERS:
        raise BadInput(not_among(f"servers.{name}: family", family, SERVERS))
    return SERVERS[family](name, address)
