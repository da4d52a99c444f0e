"""MySQL and MariaDB: private servers, each with a data directory, a configuration and a socket of its own."""

from acidtest.engine.mysql.engine import engines

__all__ = ["engines"]
