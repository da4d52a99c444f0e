"""Firebird: 3.0, 4.0 and 5.0 embedded in the rig's process, and the 3.0 server of Debian."""

from acidtest.engine.base import Engine
from acidtest.engine.firebird import embedded, server


def engines() -> list[Engine]:
    """Every Firebird, installed or not."""
    return [*embedded.engines(), *server.engines()]


__all__ = ["engines"]
