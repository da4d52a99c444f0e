"""Firebird: embedded in the rig's process, Debian's servers, users' builds of both kinds, and servers by URL."""

from acidtest.engine.base import Engine
from acidtest.engine.firebird import embedded, server
from acidtest.engine.firebird.build import build
from acidtest.engine.firebird.by_url import FirebirdByUrl
from acidtest.engine.firebird.replication import REPLICATION
from acidtest.engine.firebird.server_inspection import SERVER_INSPECTION


def engines() -> list[Engine]:
    """Every Firebird, installed or not."""
    return [*embedded.engines(), *server.engines()]


__all__ = ["REPLICATION", "SERVER_INSPECTION", "FirebirdByUrl", "build", "engines"]
