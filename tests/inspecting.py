"""A Firebird database with all that gstat counts, and what ``acidtest inspect`` says of one."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from acidtest.analysis.health import signs
from acidtest.conductor.inspect import Options, inspect
from acidtest.engine import Engine
from acidtest.engine.firebird.runtime import LIBRARY
from acidtest.engine.firebird.services import ADMIN
from acidtest.formats import gstat
from acidtest.journal.inspected import Inspected
from acidtest.journal.models import IndexStatistics, TableStatistics

QUIETLY = Options(read=False, limit_s=10)


def seen(where: object, options: Options = QUIETLY) -> Inspected:
    return inspect(str(where), options, lambda what, fraction, left_s: None)


def names(inspected: Inspected) -> set[str]:
    return {sign.name for sign in signs(inspected)}


def agree_but_for_digits(
    ours: Sequence[TableStatistics | IndexStatistics], theirs: Sequence[TableStatistics | IndexStatistics]
) -> None:
    """gstat prints lengths with two digits, and how full pages are with none; how much blobs take it does not tell."""
    others = {(getattr(part, "table", ""), part.name): part for part in theirs}
    assert {(getattr(part, "table", ""), part.name) for part in ours} == others.keys()
    for part in ours:
        other = others[getattr(part, "table", ""), part.name]
        fills = {"fill_percent", "real_fill_percent"}
        assert part.model_dump(exclude=fills) == pytest.approx(other.model_dump(exclude=fills), abs=0.011)
        assert (part.fill_percent or 0.0) == pytest.approx(other.fill_percent or 0.0, abs=1)


# A database with all that gstat counts: blobs of all levels, rows longer than a page, chains of versions that an old snapshot
# keeps, deleted rows, an index that is off, tables without pages, a transaction in limbo, one whose program died.
MAKE = """
import os, sys
from firebird.driver import create_database, driver_config
driver_config.fb_client_library.value = sys.argv[1]
one = driver_config.register_database("new")
one.database.value, one.user.value, one.page_size.value = sys.argv[2], "SYSDBA", int(sys.argv[3])
con = create_database("new")
def do(sql):
    con.execute_immediate(sql)
    con.commit()
for sql in (
    "create table customer (id integer not null primary key, name varchar(200), country varchar(20), "
    "note blob sub_type text)",
    "create table wide (id bigint not null primary key, a char(9000), b varchar(20000))",
    "create table emptied (id integer, x varchar(50))",
    'create table "odd Name" (id integer)',
    "create table never (id integer)",
    "create global temporary table gtt (id integer primary key) on commit delete rows",
    "create view v as select id from customer",
    "create index by_country on customer (country)",
    "create descending index by_name on customer (name)",
    "create index off_one on customer (name, country)",
    'create unique index u_odd on "odd Name" (id)',
    "alter index off_one inactive",
    "execute block as declare i integer = 0; begin while (i < 12000) do begin "
    "insert into customer values (:i, 'name ' || mod(:i * 7919, 100003) || rpad('', mod(:i, 60), 'x'), "
    "'country ' || mod(:i, 37), iif(mod(:i, 50) = 0, rpad('', mod(:i, 30000), 'blobtext' || :i), null)); "
    "if (mod(i, 100) = 0) then insert into wide values (:i, 'a' || :i, rpad('', 19000, '0123456789abcdef' || :i)); "
    "insert into emptied values (:i, 'y' || :i); "
    'if (mod(i, 10) = 0) then insert into "odd Name" values (:i); '
    "i = i + 1; end end",
    "delete from emptied where id > 300",
):
    do(sql)
with con.cursor() as cursor:  # a blob whose pages are listed on pages of their own
    cursor.execute("insert into customer values (-2, 'long', 'x', ?)", (b"z" * int(sys.argv[4]),))
con.commit()
old = con.transaction_manager()
old.begin()
cursor = old.cursor()
cursor.execute("select count(*) from customer")
cursor.fetchall()
for n in range(3):
    do(f"update customer set name = 'new {n} ' || id where mod(id, 20) = {n} or mod(id, 40) = 0")
    do(f"update wide set b = rpad('', 20000, '{n}9876543210' || id) where mod(id, 300) = 0")
con.execute_immediate("insert into customer values (-1, 'rolled back', 'x', null)")
con.rollback()
limbo = con.transaction_manager()
limbo.begin()
limbo.cursor().execute('insert into "odd Name" values (-5)')
limbo._tra.prepare(b"")
died = con.transaction_manager()
died.begin()
died.cursor().execute("insert into never values (1)")
os.kill(os.getpid(), 9)
"""
TAKE = """
import os, sys
from firebird.driver import connect_server, driver_config
from firebird.driver.types import SrvStatFlag
driver_config.fb_client_library.value = sys.argv[1]
with connect_server("", user="SYSDBA") as server:
    flags = SrvStatFlag.DATA_PAGES | SrvStatFlag.IDX_PAGES | SrvStatFlag.RECORD_VERSIONS
    server.database.get_statistics(database=sys.argv[2], flags=flags)
    print("".join(server), flush=True)
os._exit(0)
"""
PAGE_SIZES = {"firebird-3.0": 16384, "firebird-4.0": 4096, "firebird-5.0": 8192}


class Made:
    """A database that Firebird's own driver made, and the engine that reads it."""

    def __init__(self, engine: Engine, directory: Path, blob_bytes: int = 40_000) -> None:
        self.instance: Any = engine.instance(directory, {}, None)
        self.path = directory / "made.fdb"
        self._run(MAKE, PAGE_SIZES[engine.id], blob_bytes)
        assert self.path.stat().st_size > 5_000_000

    def _run(self, program: str, *arguments: object) -> str:
        root = self.instance.environment()["FIREBIRD"]
        command = [ADMIN[0], "-c", program, str(Path(root) / LIBRARY), str(self.path), *map(str, arguments)]
        environment = {**os.environ, **self.instance.environment()}
        ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=300)
        assert ran.returncode in (0, -signal.SIGKILL), ran.stderr
        return ran.stdout

    def gstat(self) -> gstat.Output:
        return gstat.parse(self._run(TAKE).splitlines())
