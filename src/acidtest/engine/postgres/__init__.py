"""PostgreSQL: private servers of a system package or of an archive that acidtest brings, and servers by URL."""

from acidtest.engine.postgres.by_url import PostgresByUrl
from acidtest.engine.postgres.engine import engines

__all__ = ["PostgresByUrl", "engines"]
