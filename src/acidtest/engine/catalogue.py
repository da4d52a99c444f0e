"""Every engine that acidtest knows, and how one that the user names becomes an engine: a build at a path, or a server.

Each family's package has its engines, what makes one of a path, and its servers by URL if there are such.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path

from acidtest import registered_builds
from acidtest.engine import firebird, mysql, postgres, sqlite
from acidtest.engine.base import Engine, Offer
from acidtest.engine.builds import Wanted, check_path, product_at
from acidtest.engine.foreign import Address, ForeignServer
from acidtest.engine.inspection import ServerInspection
from acidtest.engine.replication import Replication, no_replica
from acidtest.errors import BadInput, not_among
from acidtest.families import product_of_engine
from acidtest.names import BUILD

ENGINES: tuple[Callable[[], list[Engine]], ...] = (sqlite.engines, firebird.engines, mysql.engines, postgres.engines)
SERVERS: Mapping[str, Callable[[str, Address], ForeignServer]] = {  # by family
    "firebird": firebird.FirebirdByUrl,
    "postgresql": postgres.PostgresByUrl,
    "mysql": mysql.MysqlByUrl,
}
BUILDS: Mapping[str, Callable[[Wanted], Engine]] = {  # by product
    "sqlite": sqlite.SqliteBuild,
    "firebird": firebird.build,
    "postgresql": postgres.PostgresBuild,
    "mysql": mysql.MysqlBuild,
    "mariadb": mysql.MysqlBuild,
}

SERVER_INSPECTIONS: Mapping[str, ServerInspection] = {  # how databases on servers by URL are inspected, by family
    "firebird": firebird.SERVER_INSPECTION,
    "postgresql": postgres.SERVER_INSPECTION,
    "mysql": mysql.SERVER_INSPECTION,
}
REPLICATIONS: Mapping[str, Replication] = {  # how an engine has a replica, by family
    "firebird": firebird.REPLICATION,
    "mysql": mysql.REPLICATION,
    "postgresql": postgres.REPLICATION,
}


def all_engines() -> dict[str, Engine]:
    """Every engine by its id, whether it is installed or not."""
    return {engine.id: engine for engines in ENGINES for engine in engines()}


def known() -> tuple[str, ...]:
    """Ids of all engines, installed or not."""
    return tuple(all_engines())


def describe(id: str) -> Engine:  # noqa: A002
    """The engine's levels and settings, whether it is installed or not; of a kept build, which must be there.

    Raises BadInput for an unknown id, and for a build that cannot be used.
    """
    engines = all_engines()
    if id in engines:
        return engines[id]
    if (there := registered_builds.find(id)) is not None:
        return kept_build(there)
    raise unknown("engine", id, (*engines, *registered_builds.names()))


def unknown(what: str, id: str, among: Iterable[str]) -> BadInput:  # noqa: A002
    """The error of an id that no engine has."""
    if "/" in id:
        return BadInput(
            f'{what} "{id}" is a path, and builds of yours are called by a name',
            f"name it: acidtest engines add my-build {shlex.quote(id)}",
        )
    return BadInput(not_among(what, id, among))


def kept_build(there: registered_builds.Kept) -> Engine:
    """The engine of a build that is kept. Raises BadInput where it cannot be used."""
    return build(Wanted(there.name, there.family, Path(there.path), there.mode, there.name))


def build(wanted: Wanted) -> Engine:
    """The engine of a build of the user's. Raises BadInput where it cannot be used."""
    if wanted.product not in BUILDS:
        raise BadInput(not_among(f"{wanted.key}.family", wanted.product, BUILDS))
    if wanted.mode and wanted.product != "firebird":
        raise wanted.refuse(f"{wanted.title} runs in one way only", "leave it out", "mode")
    check_path(wanted)
    return BUILDS[wanted.product](wanted)


def find(id: str) -> Engine:  # noqa: A002
    """The engine, ready to run. Raises BadInput for an unknown id, MachineLacks with the way to install what lacks."""
    engine = describe(id)
    engine.ready()
    return engine


def keep(name: str, path: Path, product: str, mode: str) -> Engine:
    """Keep the build at ``path`` for every experiment, under a name that no other engine has.

    ``product`` is "" where its files are to tell it. What is kept already under the name and lies there is looked at
    anew. Raises BadInput where it cannot be used or kept.
    """
    if wrong := BUILD.complaint(name):
        raise BadInput(f"the name {name!r} {wrong}")
    if name in known():
        raise BadInput(f"{name}: acidtest has an engine of this name", "name it otherwise")
    there = registered_builds.find(name)
    if there is not None and there.path != str(path):
        raise BadInput(
            f"{name}: is kept already, at {there.path}", f"name it otherwise, or acidtest engines remove {name} first"
        )
    check_path(Wanted(name, product, path, mode, name, by_option=True))
    if not product and (product := product_at(path) or ("sqlite" if path.is_file() else "")) == "":
        raise BadInput(
            f"{path}: no engine was found there by the names of its files",
            f"name what it was installed or unpacked in, or say which engine it is: --family {'|'.join(BUILDS)}",
        )
    engine = build(Wanted(name, product, path, mode, name, by_option=True))
    facts = engine.facts()
    assert facts.build is not None, "it is a build"
    now = datetime.now(UTC).isoformat(timespec="seconds")
    registered_builds.keep(
        registered_builds.Kept(name, product, str(path), facts.build.sha256, facts.version, now, mode)
    )
    return engine


def is_kept(name: str) -> bool:
    """Whether it is a build that is kept, whole or not."""
    return name in registered_builds.names() and name not in known()


def forget(name: str) -> None:
    """Keep the build no longer. Raises BadInput where that cannot be."""
    registered_builds.drop(name)


def title_of(engine: Engine) -> str:
    """Of its product, as its makers write it."""
    product = product_of_engine(engine.known_as)
    return product.title if product else engine.family


def offers() -> list[Offer]:
    """All engines, with what is here of each; kept builds at the end."""
    engines = all_engines()
    return [
        *(engine.offer() for engine in engines.values()),
        *(_kept_offer(name) for name in registered_builds.names() if name not in engines),
    ]


def _kept_offer(name: str) -> Offer:
    try:
        there = registered_builds.find(name)
        return kept_build(there).offer() if there is not None else Offer(name, False, "", "", "", "", "")
    except BadInput as error:
        way_out = f", or acidtest engines remove {name}"
        remedy = f"{error.remedy.removesuffix(way_out)}{way_out}"
        return Offer(name, True, "", "", "", "", remedy, damage=error.message.removeprefix(f"{name}.path: "))


def server(name: str, family: str, address: Address) -> ForeignServer:
    """The server that an experiment names. Raises BadInput for a family that has no servers by URL."""
    if family not in SERVERS:
        raise BadInput(not_among(f"servers.{name}: family", family, SERVERS))
    return SERVERS[family](name, address)


def replication_of(engine: Engine) -> Replication:
    """How the engine has a replica. Raises BadInput for a family that has none."""
    if engine.family not in REPLICATIONS:
        raise no_replica(engine)
    return REPLICATIONS[engine.family]
