"""PostgreSQL: private servers of a system package or of an archive that acidtest brings, and servers by URL."""

from acidtest.engine.postgres.build import PostgresBuild
from acidtest.engine.postgres.by_url import PostgresByUrl
from acidtest.engine.postgres.engine import engines
from acidtest.engine.postgres.inspection import LOOKS
from acidtest.engine.postgres.replication import REPLICATION

__all__ = ["LOOKS", "REPLICATION", "PostgresBuild", "PostgresByUrl", "engines"]
