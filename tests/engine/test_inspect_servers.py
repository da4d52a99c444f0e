"""What ``acidtest inspect`` says of servers by URL is what they say themselves, and what their files hold."""

from __future__ import annotations

import re
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from acidtest.conductor.foreign import asking
from acidtest.conductor.inspect import Options
from acidtest.conductor.rig import converse
from acidtest.engine import Engine
from acidtest.engine.firebird import server_inspection
from acidtest.engine.firebird.by_url import FirebirdByUrlInstance
from acidtest.engine.inspection import InspectionResult
from acidtest.engine.postgres.instance import NAME
from acidtest.errors import BadInput, CellFailed
from acidtest.formats import firebird_header, gstat
from acidtest.place import Ledger
from inspecting import PAGE_SIZES, Made, agree_but_for_digits, names, seen
from rig_jobs import ask


class Own:
    """A server with one database that was filled by statements of somebody else."""

    def __init__(self, instance: Any, ledger: Ledger, family: str) -> None:
        self.instance, self._ledger = instance, ledger
        at = instance.target()
        self.password = str(at.password)
        self.url = f"{family}://{at.user}:{self.password}@{at.host}:{at.port}/{at.database}"

    def ask(self, *questions: str) -> list[list[str | None]]:
        return ask(self.instance, self._ledger, *questions)


def own(engine: Engine, directory: Path, ledger: Ledger, family: str, dump: str) -> Iterator[Own]:
    directory.mkdir()
    instance = engine.instance(directory, {"connection": "tcp"}, None)
    instance.create()
    try:
        instance.start(ledger)
        server = Own(instance, ledger, family)
        server.ask(*(statement for statement in dump.split(";\n") if statement.strip()))
        yield server
    finally:
        instance.release()


POSTGRES_DUMP = """
create schema shop;
create table customer (id serial primary key, name text, country text);
create table shop.customer (id serial primary key, name text);
create table "odd Name" (a int);
create index by_country on customer (country);
insert into customer (name, country) select repeat('x', i % 100), 'c' || (i % 40) from generate_series(1, 30000) i;
insert into shop.customer (name) select repeat('y', 20) from generate_series(1, 500) i;
delete from customer where id % 3 = 0;
"""
MYSQL_DUMP = """
create table customer (id int auto_increment primary key, name varchar(200), country varchar(20),
  key by_country (country)) engine=InnoDB;
create table nokey (a int, b varchar(100)) engine=InnoDB;
insert into customer (name, country) values ('a', 'x'), ('b', 'y'), ('c', 'x'), ('d', 'z');
insert into customer (name, country) select concat(a.name, b.name, c.name, repeat('x', 50)), concat('c', a.id)
  from customer a, customer b, customer c, customer d, customer e, customer f;
insert into nokey select id, name from customer;
delete from customer where id % 2 = 0;
analyze table customer, nokey;
"""


@pytest.fixture
def postgres(engine: Engine, tmp_path: Path, ledger: Ledger) -> Iterator[Own]:
    yield from own(engine, tmp_path / "own", ledger, "postgresql", POSTGRES_DUMP)


@pytest.fixture
def innodb(engine: Engine, tmp_path: Path, ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> Iterator[Own]:
    made = type(engine.instance(tmp_path / "unused", {}, None))
    introduce = made._introduction  # type: ignore[attr-defined]
    grants = "grant select on mysql.* to 'acidtest'@'%s';\ngrant process on *.* to 'acidtest'@'%s';\n"

    def introduction(self: Any) -> str:
        text = str(introduce(self))
        hosts = dict.fromkeys(re.findall(r"'acidtest'@'([^']+)'", text))
        return text + "".join(grants % (host, host) for host in hosts)

    monkeypatch.setattr(made, "_introduction", introduction)
    yield from own(engine, tmp_path / "own", ledger, "mysql", MYSQL_DUMP)


@pytest.mark.parametrize("engine", ["postgresql-15", "postgresql-17"], indirect=True)
def test_figures_of_a_postgresql_server_are_pgstattuples(engine: Engine, postgres: Own, ledger: Ledger) -> None:
    without = seen(postgres.url)
    assert without.statistics and any("pgstattuple is not in this database" in note for note in without.notes)
    assert postgres.ask("select count(*) from pg_extension where extname = 'pgstattuple'") == [["0"]]
    for table in without.statistics.tables:
        ((size, of_indexes),) = postgres.ask(
            f"select pg_table_size('{table.name}'), pg_indexes_size('{table.name}')".replace("odd name", "odd Name")
        )
        assert [str(table.bytes), str(table.index_bytes)] == [size, of_indexes]
    instance = postgres.instance
    instance._server.stop(signal.SIGINT)
    instance._alone(NAME, "create extension pgstattuple", "grant pg_monitor to acidtest")
    instance.start(ledger)
    url = re.sub(r":\d+/", f":{instance.target().port}/", postgres.url)
    inspected = seen(url)
    assert postgres.password not in inspected.model_dump_json()
    assert inspected.statistics and inspected.statistics.source.startswith("pgstattuple")
    assert {table.name for table in inspected.statistics.tables} == {"customer", "shop.customer", '"odd name"'}
    assert len(inspected.statistics.indexes) == 3
    ((age, multi),) = postgres.ask(
        "select age(datfrozenxid), mxid_age(datminmxid) from pg_database where datname = current_database()"
    )
    assert 0 <= int(age or 0) - int(str(inspected.facts["transaction_age"])) < 50
    assert inspected.facts["multixact_age"] == int(multi or 0)
    assert inspected.facts["fsync"] == "off" and "fsync-off" in names(inspected)
    assert "vacuum-behind" in names(inspected)


@pytest.mark.one_of_a_family
@pytest.mark.parametrize("engine", ["mariadb-10.11", "mysql-9.7"], indirect=True)
def test_figures_of_an_innodb_server_are_its_own(engine: Engine, innodb: Own) -> None:
    inspected = seen(innodb.url, Options(read=None, limit_s=60))
    assert innodb.password not in inspected.model_dump_json()
    assert inspected.statistics and inspected.statistics.source.endswith("innodb_index_stats")
    rows = innodb.ask(
        "select table_name, table_rows, avg_row_length, data_length, index_length from information_schema.tables "
        "where table_schema = database()"
    )
    assert {row[0]: [int(number or 0) for number in row[1:]] for row in rows} == {
        table.name: [table.records, table.record_bytes, table.bytes, table.index_bytes]
        for table in inspected.statistics.tables
    }
    sizes = innodb.ask(
        "select lower(index_name), table_name, stat_value from mysql.innodb_index_stats "
        "where stat_name = 'size' and database_name = database() and index_name <> 'GEN_CLUST_INDEX'"
    )
    assert {(name, table): int(size or 0) * 16384 for name, table, size in sizes} == {
        (index.name, index.table): index.bytes for index in inspected.statistics.indexes
    }
    leaves = innodb.ask(
        "select table_name, stat_value from mysql.innodb_index_stats where stat_name = 'n_leaf_pages' "
        "and database_name = database() and index_name in ('PRIMARY', 'GEN_CLUST_INDEX')"
    )
    assert {table: int(value or 0) for table, value in leaves} == {
        table.name: table.data_pages for table in inspected.statistics.tables
    }
    assert isinstance(inspected.facts["history_list"], int)
    assert "no-primary-key" in names(inspected)
    assert inspected.reading and inspected.reading.names == ("first", "second") and not inspected.reading.is_cut
    assert not inspected.notes[1:], inspected.notes
    # The questions above have had MySQL 8 and later keep their figures for a day.
    innodb.ask("insert into nokey select a.id, 'new' from customer a, customer b limit 20000")
    before, after = (
        next(table.records for table in told.statistics.tables if table.name == "nokey")
        for told in (inspected, seen(innodb.url))
        if told.statistics
    )
    assert before and after and after >= before + 10_000


class OwnFirebird:
    """A server with a database that Firebird's own driver made, which it also knows by an alias."""

    def __init__(self, engine: Engine, made: Made, directory: Path, ledger: Ledger) -> None:
        directory.mkdir()
        self.instance: Any = engine.instance(directory, {}, None)
        self.path = Path(shutil.copy(made.path, self.instance.database_files()[0]))
        (self.instance.directory / "server" / "databases.conf").write_text(f"shop = {self.path}\n")
        self.instance.start(ledger)
        self.at = self.instance.target()

    def url(self, user: str = "sysdba", password: str | None = None, database: str = "") -> str:
        to = self.at.remote
        named = database or str(self.path).lstrip("/")
        return f"firebird://{user}:{password or to.password}@{to.host}:{to.port}/{named}"

    def do(self, ledger: Ledger, *statements: str) -> None:
        target = self.at.model_copy(update={"setup": list(statements)})
        for _ in converse(asking(target), ledger, self.instance.environment()):
            pass


@pytest.fixture
def firebird(engine: Engine, databases: Callable[[str], Made], tmp_path: Path, ledger: Ledger) -> Iterator[OwnFirebird]:
    server = OwnFirebird(engine, databases(engine.id.removesuffix("-server")), tmp_path / "own", ledger)
    try:
        yield server
    finally:
        server.instance.release()


@pytest.mark.parametrize("engine", ["firebird-3.0-server", "firebird-4.0-server"], indirect=True)
def test_a_firebird_server_counts_what_its_file_holds(engine: Engine, firebird: OwnFirebird, ledger: Ledger) -> None:
    by_url, by_alias = seen(firebird.url()), seen(firebird.url(database="shop"))
    assert not by_url.damaged and not by_url.notes
    assert firebird.at.remote.password not in by_url.model_dump_json()
    firebird.instance.release()
    by_file = seen(firebird.path)
    assert by_url.statistics and by_alias.statistics and by_file.statistics
    assert by_url.statistics.bytes == by_file.statistics.bytes
    for of_url, of_file in (
        (by_url.statistics.tables, by_file.statistics.tables),
        (by_url.statistics.indexes, by_file.statistics.indexes),
        (by_alias.statistics.tables, by_file.statistics.tables),
    ):
        agree_but_for_digits(of_url, of_file)
    # gstat does not tell how much of a table's pages its blobs take.
    fills = {table.name: table.real_fill_percent for table in by_url.statistics.tables}
    whole = {table.name: table.real_fill_percent for table in by_file.statistics.tables}
    assert fills["customer"] is None and fills["emptied"] == pytest.approx(whole["emptied"], abs=0.1)
    for fact in ("page_bytes", "fragments", "fragmented_records_max", "blob_bytes", "forced_writes", "sweep_interval"):
        assert by_url.facts[fact] == by_file.facts[fact], fact
    assert names(by_url) - names(by_file) == {"index-off"}
    header = firebird_header.read(firebird.path)
    assert (by_url.facts["page_bytes"], by_url.facts["forced_writes"]) == (header.page_size, header.forced_writes)


@pytest.mark.parametrize("engine", ["firebird-3.0-server", "firebird-4.0-server"], indirect=True)
def test_who_may_not_have_pages_counted_is_told_so(engine: Engine, firebird: OwnFirebird, ledger: Ledger) -> None:
    firebird.do(ledger, "create user joe password 'fine'")
    inspected = seen(firebird.url("joe", "fine"), Options(read=True, limit_s=10))
    assert inspected.statistics is None and inspected.statistics_said == server_inspection.NO_RIGHT
    assert inspected.facts["page_bytes"] == PAGE_SIZES[engine.id.removesuffix("-server")]
    assert inspected.reading is None and inspected.reading_said == server_inspection.NO_SCANS
    with pytest.raises(CellFailed) as told:
        seen(firebird.url("joe", "Secondhand"))
    assert "Secondhand" not in told.value.message + told.value.remedy and "\n" not in told.value.message


class Counted(FirebirdByUrlInstance):
    """One whose gstat finds other pages than it looks for."""

    def __init__(self, *damaged: str) -> None:
        header = {"Page size": "8192", "Oldest transaction": "1", "Oldest active": "2", "Next transaction": "3"}
        self._outputs = iter(gstat.Output(header, [], one) for one in damaged)

    def gstat(self, limit_s: float) -> gstat.Output:
        return next(self._outputs)


def test_a_page_is_damaged_if_gstat_says_so_twice() -> None:
    result = InspectionResult("Firebird 5.0", {"database_bytes": 8192}, None)
    for said, damaged, noted in (
        ((["page 7"] * 2), "page 7", False),
        (["page 7", ""], "", True),
        (["page 7", "page 9"], "", True),
        ([""], "", False),
    ):
        told = server_inspection.count_pages(Counted(*said), result)
        assert told.statistics and (told.damaged, bool(told.notes)) == (damaged, noted)
    left = server_inspection.count_pages(
        Counted(), InspectionResult("Firebird 5.0", {"database_bytes": 10**12}, None), 60
    )
    assert left.statistics is None and "1,000,000 MB" in left.statistics_said


@pytest.mark.parametrize("engine", ["postgresql-15"], indirect=True)
def test_what_is_wrong_with_a_server_is_told_without_the_password(engine: Engine, postgres: Own) -> None:
    wrong = (
        postgres.url.replace(postgres.password, "Seco/nd#hand"),
        postgres.url.replace(postgres.password, "Secondhand"),
    )
    for url in (
        *wrong,
        "postgresql://u:Secondhand@127.0.0.1:1/x",
        "oracle://u:Secondhand@h/x",
        "mysql://u:Secondhand@h",
    ):
        with pytest.raises((BadInput, CellFailed)) as told:
            seen(url)
        text = f"{told.value.message} {told.value.remedy}"
        assert "Seco" not in text and "hand" not in text and "\n" not in told.value.message
