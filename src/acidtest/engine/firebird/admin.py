"""Creates, configures and counts Firebird databases with firebird-driver, in a process of its own.

A process can load one Firebird version, and the lab must stay free of all of them: ``python -P admin.py`` reads one
JSON request on standard input and answers with exit code 0, or 1 and the engine's words on standard error. The
instance's environment (FIREBIRD and so on) is set by the caller. Run by its path it imports nothing else of ours, which
would take twice the time of the deed.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

from firebird.driver import Connection, DatabaseError, Server, connect, connect_server, create_database, driver_config
from firebird.driver.types import DbWriteMode, ReplicaMode, SrvStatFlag


def main() -> int:
    request: dict[str, Any] = json.load(sys.stdin)
    driver_config.fb_client_library.value = request["library"]
    try:
        DEEDS[request["do"]](request)
    except DatabaseError as error:
        print(" ".join(str(error).split()), file=sys.stderr)
        return 1
    return 0


def _create(request: dict[str, Any]) -> None:
    """A new database with this page size, without forced writes: the load that follows need not survive anything."""
    _new(request).close()


def _make_user(request: dict[str, Any]) -> None:
    """A new security database with one user; the Srp plugin makes the tables that it needs in it."""
    with _new(request) as database:
        database.execute_immediate(f"create user {request['user']} password '{request['password']}' using plugin Srp")
        database.commit()


def _new(request: dict[str, Any]) -> Connection:
    database = driver_config.register_database("new")
    database.database.value = request["database"]
    database.user.value = request["user"]
    database.page_size.value = request.get("page_size")
    database.forced_writes.value = False
    database.db_charset.value = "NONE"
    return create_database("new")


def _services(request: dict[str, Any]) -> Server:
    """Those of the embedded engine, or of the server that the request names; there its database may have users of its
    own."""
    remote = request.get("remote")
    if remote is None:
        return connect_server("", user=request["user"])
    server = driver_config.register_server("remote")
    server.host.value, server.port.value = remote["host"], str(remote["port"])
    server.encoding.value = "utf-8"
    return connect_server("remote", user=request["user"], password=remote["password"], expected_db=request["database"])


def _configure(request: dict[str, Any]) -> None:
    """Header properties, through the services of the embedded engine."""
    with _services(request) as server:
        mode = DbWriteMode.SYNC if request["forced_writes"] else DbWriteMode.ASYNC
        server.database.set_write_mode(database=request["database"], mode=mode)
        if request["page_buffers"] is not None:
            server.database.set_default_cache_size(database=request["database"], size=request["page_buffers"])


def _publish(request: dict[str, Any]) -> None:
    """All tables that are there go to replicas, with the engine embedded."""
    database = driver_config.register_database("published")
    database.database.value = request["database"]
    database.user.value = request["user"]
    with connect("published") as connection:
        for statement in ("enable publication", "include all to publication"):
            connection.execute_immediate(f"alter database {statement}")
            connection.commit()


def _set_replica_mode(request: dict[str, Any]) -> None:
    """What gfix -replica does, through the services of the embedded engine."""
    mode = ReplicaMode.READ_ONLY if request["read_only"] else ReplicaMode.NONE
    with _services(request) as server:
        server.database.set_replica_mode(database=request["database"], mode=mode)


def _take_statistics(request: dict[str, Any]) -> None:
    """What ``gstat -a -r`` prints, to standard output, after a line with the seconds that it took."""
    with _services(request) as server:
        began = time.monotonic()
        server.database.get_statistics(
            database=request["database"],
            flags=SrvStatFlag.DATA_PAGES | SrvStatFlag.IDX_PAGES | SrvStatFlag.RECORD_VERSIONS,
        )
        lines = [line.rstrip("\n") for line in server]
        print(time.monotonic() - began, *lines, sep="\n", flush=True)


DEEDS: dict[str, Callable[[dict[str, Any]], None]] = {
    "create the database": _create,
    "configure the database": _configure,
    "make the user": _make_user,
    "publish the tables": _publish,
    "set the replica mode": _set_replica_mode,
    "take its statistics": _take_statistics,
}


if __name__ == "__main__":
    code = main()
    sys.stderr.flush()
    os._exit(code)  # a library of 3.0 may crash while it is unloaded, when all is done
