"""PostgreSQL: private servers of a system package or of an archive that acidtest brings, and servers by URL."""

from acidtest.engine.postgres.build import PostgresBuild
from acidtest.engine.postgres.by_url import PostgresByUrl
from acidtest.engine.postgres.engine import engines
from acidtest.engine.postgres.inspection import SERVER_INSPECTION
from acidtest.engine.postgres.replication import REPLICATION

__all__ = ["REPLICATION", "SERVER_INSPECTION", "PostgresBuild", "PostgresByUrl", "engines"]
