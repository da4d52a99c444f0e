"""MySQL and MariaDB: private servers with a data directory and a socket each, and servers by URL."""

from acidtest.engine.mysql.build import MysqlBuild
from acidtest.engine.mysql.by_url import MysqlByUrl
from acidtest.engine.mysql.engine import engines
from acidtest.engine.mysql.inspection import SERVER_INSPECTION
from acidtest.engine.mysql.replication import REPLICATION

__all__ = ["REPLICATION", "SERVER_INSPECTION", "MysqlBuild", "MysqlByUrl", "engines"]
