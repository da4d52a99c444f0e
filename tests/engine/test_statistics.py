"""Statistics of every engine agree with what the engine's own tool says of the same files, figure by figure."""

from __future__ import annotations

import re
import signal
import sqlite3
import struct
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from acidtest.engine import Engine, Instance, foreign, inspection
from acidtest.engine.base import Ask
from acidtest.engine.postgres import PostgresByUrl
from acidtest.engine.postgres.instance import LOADING, NAME
from acidtest.errors import CellFailed
from acidtest.journal.models import DatabaseStatistics, IndexStatistics, TableStatistics
from acidtest.journal.protocol import LoadPhase
from acidtest.place import Ledger, filecache
from acidtest.workload.oltp import OltpWorkload
from inspecting import agree_but_for_digits, seen
from rig_jobs import ask, run, talk

WORKLOAD = OltpWorkload(tables=2, table_rows=5000)  # with an index whose values repeat
RUN = run(2, 150, retries=100)  # which leaves versions
TABLES = ("sbtest1", "sbtest2")


@dataclass
class Taken:
    instance: Instance
    told: DatabaseStatistics
    ask: Ask

    def table(self, name: str) -> TableStatistics:
        return next(table for table in self.told.tables if table.name == name)

    def index(self, table: str, name: str) -> IndexStatistics:
        return next(index for index in self.told.indexes if (index.table, index.name) == (table, name))


def asking(instance: Instance, ledger: Ledger) -> Ask:
    return partial(ask, instance, ledger, workload=WORKLOAD)


def forgetting(instance: Instance) -> Callable[[], None]:
    return lambda: filecache.drop(filecache.files_below(instance.database_files())) and None


@pytest.fixture
def loaded(loading: Instance, ledger: Ledger) -> Instance:
    """A database that was loaded and then used."""
    talk(loading, ledger, LoadPhase(), RUN, workload=WORKLOAD)
    return loading


@pytest.fixture
def taken(loaded: Instance, ledger: Ledger) -> Taken:
    question = asking(loaded, ledger)
    return Taken(loaded, loaded.statistics(question, forgetting(loaded)), question)


@pytest.mark.one_of_a_family
def test_statistics_are_the_engines_own_and_of_a_damaged_database_there_are_none(
    engine: Engine, taken: Taken, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = taken.told
    assert [table.name for table in told.tables] == list(TABLES)
    assert told.read_s_cold and told.read_s_warm and told.took_s > told.read_s_cold + told.read_s_warm
    size = sum(file.stat().st_size for file in filecache.files_below(taken.instance.database_files()))
    assert told.read_bytes and told.read_bytes <= told.bytes <= size
    assert told.page_bytes in (4096, 8192, 16384)
    for table in told.tables:
        assert table.fill_percent and 50 < table.fill_percent <= 100
        assert table.real_fill_percent and table.fill_percent - 5 < table.real_fill_percent <= 100
    match engine.family:  # of a family that is not named only what is asserted above
        case "firebird":
            agrees_with_its_pages(taken)
        case "postgresql":
            agrees_with_pgstattuple(taken, monkeypatch)
        case "sqlite":
            agrees_with_dbstat(taken)
        case "mysql":
            agrees_with_innodb(taken, ledger, monkeypatch)
    a_damaged_database_has_none_and_one_line_says_so(engine, taken.instance, ledger)


# ------------------------------------------------------------------------------------------------ Firebird


def agrees_with_its_pages(taken: Taken) -> None:
    """As the rig counts them, which tests/engine/test_inspect.py holds against all that gstat prints."""
    (database,) = taken.instance.database_files()
    counted = seen(database).statistics
    assert counted is not None
    for ours, theirs in ((taken.told.tables, counted.tables), (taken.told.indexes, counted.indexes)):
        agree_but_for_digits(ours, theirs)
    counters, following = taken.told.transactions, counted.transactions
    assert counters and following and counters.oldest <= counters.oldest_active <= counters.next <= following.next
    assert sum(table.versions or 0 for table in taken.told.tables) > 0


# ------------------------------------------------------------------------------------------------ PostgreSQL


def agrees_with_pgstattuple(taken: Taken, monkeypatch: pytest.MonkeyPatch) -> None:
    def row(question: str) -> list[str]:
        return [str(value) for value in taken.ask(question)[0]]

    # Who reads a page as a query does tidies it up: nothing is to be read so before it is compared.
    monkeypatch.setattr(inspection, "COUNTED_MAX", 0)
    uncounted = Taken(taken.instance, taken.instance.statistics(taken.ask), taken.ask)
    assert uncounted.told.read_s_cold is uncounted.told.read_s_warm is None
    assert [uncounted.index(name, f"k_{name[-1]}").unique for name in TABLES] == [None, None]
    for name in TABLES:
        table = uncounted.table(name)
        length, live, live_bytes, dead, dead_bytes, free_percent = row(
            "select table_len, tuple_count, tuple_len, dead_tuple_count, dead_tuple_len, free_percent "
            f"from pgstattuple('{name}')"
        )
        assert table.records == int(live) == int(row(f"select count(*) from {name}")[0])
        assert (table.records * (table.record_bytes or 0)) == pytest.approx(int(live_bytes))
        assert (table.versions, table.versions_max) == (int(dead), None)
        assert (table.versions or 0) * (table.version_bytes or 0) == pytest.approx(int(dead_bytes))
        assert (table.data_pages or 0) * 8192 == int(length)
        filled = int(live_bytes) + int(dead_bytes) + 4 * (int(live) + int(dead))
        assert table.fill_percent == pytest.approx(100 * filled / int(length))
        assert table.fill_percent <= 100 - float(free_percent)
        assert [table.bytes, table.index_bytes] == [
            int(size) for size in row(f"select pg_table_size('{name}'), pg_indexes_size('{name}')")
        ]
    assert sum(table.versions or 0 for table in taken.told.tables) > 0
    for index in taken.told.indexes:
        level, size, density = row(f"select tree_level, index_size, avg_leaf_density from pgstatindex('{index.name}')")
        assert index.depth == int(level) + 1
        assert index.bytes == int(size)
        assert index.fill_percent == float(density)
        column = "k" if index.name.startswith("k_") else "id"
        keys_agree(taken, index, column)
    (before, after), counters = row("select txid_current(), txid_current()"), taken.told.transactions
    assert counters and counters.oldest == counters.oldest_active == counters.next <= int(before) <= int(after)


def keys_agree(taken: Taken, index: IndexStatistics, column: str) -> None:
    ((values, rows, most),) = taken.ask(
        f"select count(*), sum(n), max(n) from (select count(*) as n from {index.table} group by {column}) g"
    )
    assert (index.keys, index.unique) == (int(rows or 0), int(values or 0))
    assert index.duplicates == int(rows or 0) - int(values or 0)
    assert index.duplicates_max == int(most or 0) - 1


# ------------------------------------------------------------------------------------------------ SQLite


def agrees_with_dbstat(taken: Taken) -> None:
    """Another SQLite's dbstat, added up page by page."""
    (path,) = taken.instance.database_files()
    database = sqlite3.connect(path)
    try:
        pages = database.execute("select name, path, pagetype, ncell, payload, unused, pgsize from dbstat").fetchall()
        counts = {name: database.execute(f"select count(*) from {name}").fetchone()[0] for name in TABLES}
    finally:
        database.close()
    for name in TABLES:
        table, rowid = taken.table(name), taken.index(name, "rowid")
        own = [page for page in pages if page[0] == name]
        leaves = [page for page in own if page[2] == "leaf"]
        assert table.records == rowid.keys == counts[name] == sum(page[3] for page in leaves)
        assert table.data_pages == len(leaves)  # no row is too long for its page
        assert table.bytes == rowid.bytes == sum(page[6] for page in own)
        assert (table.record_bytes or 0) * (table.records or 0) == pytest.approx(sum(page[4] for page in own))
        assert table.fill_percent == pytest.approx(
            100 * sum(page[6] - page[5] for page in leaves) / sum(page[6] for page in leaves)
        )
        assert rowid.depth == max(page[1].count("/") for page in own)
        index = taken.index(name, f"k_{name[-1]}")
        of_index = [page for page in pages if page[0] == index.name]
        assert index.keys == counts[name] == sum(page[3] for page in of_index)
        assert index.bytes == table.index_bytes == sum(page[6] for page in of_index)
        assert index.depth == max(page[1].count("/") for page in of_index)
        assert (index.key_bytes or 0) * index.keys == pytest.approx(sum(page[4] for page in of_index))
        keys_agree(taken, index, "k")


# ------------------------------------------------------------------------------------------------ InnoDB


def agrees_with_innodb(taken: Taken, ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server's own statistics, which count leaf pages where it keeps them (not 5.5), and the level in root pages."""
    instance: Any = taken.instance
    introduce = type(instance)._introduction

    def introduction(self: Any) -> str:
        host = "%" if self._version.remembers else "localhost"
        return str(introduce(self) + f"grant select on mysql.* to 'acidtest'@'{host}';\n")

    monkeypatch.setattr(type(instance), "_introduction", introduction)
    instance.start(ledger)
    has_ids = taken.ask("select count(*) from information_schema.tables where lower(table_name) = 'innodb_index_stats'")
    page = taken.told.page_bytes
    roots = {(name, "primary"): 3 for name in TABLES}  # the first page that is not of the file itself
    if has_ids != [["0"]]:
        taken.ask(f"analyze table {', '.join(TABLES)}")
        leaves = {
            (str(table), str(index).lower()): int(value or 0)
            for table, index, value in taken.ask(
                "select table_name, index_name, stat_value from mysql.innodb_index_stats "
                "where stat_name = 'n_leaf_pages' and database_name = database()"
            )
        }
        sys = "" if taken.ask("select version() like '5.%' or version() like '%maria%'") == [["0"]] else "sys_"
        told_roots = taken.ask(
            "select substring_index(t.name, '/', -1), lower(i.name), i.page_no "
            f"from information_schema.innodb_{sys}indexes i join information_schema.innodb_{sys}tables t "
            "on t.table_id = i.table_id where t.name like 'acidtest/%'"
        )
        roots = {(str(table), str(name)): int(number or 0) for table, name, number in told_roots}
        assert {name: taken.table(name).data_pages for name in TABLES} == {n: leaves[n, "primary"] for n in TABLES}
    for (table, name), root in roots.items():
        index = taken.index(table, name)
        file = next(path for path in filecache.files_below(instance.database_files()) if path.name == f"{table}.ibd")
        (level,) = struct.unpack_from(">H", file.read_bytes(), root * page + 64)
        assert index.depth == level + 1
        keys_agree(taken, index, "k" if name.startswith("k_") else "id")
        assert taken.table(table).records == index.keys
    for name, data, other, rows, mean in taken.ask(
        "select table_name, data_length, index_length, table_rows, avg_row_length from information_schema.tables "
        "where table_schema = database()"
    ):
        table = taken.table(str(name))
        # Theirs is of pages that are set aside, ours of those in use; their rows are a sample.
        assert 0.5 * int(data or 0) < table.bytes <= int(data or 0)
        assert 0.3 * int(other or 0) < table.index_bytes <= int(other or 0)
        assert table.records == pytest.approx(int(rows or 0), rel=0.2)
        assert (table.record_bytes or 0) < int(mean or 0)
    assert taken.told.transactions and (taken.told.transactions.history or 0) >= 0


# ------------------------------------------------------------------------------------------------ what cannot be read


def a_damaged_database_has_none_and_one_line_says_so(engine: Engine, instance: Instance, ledger: Ledger) -> None:
    (path,) = instance.database_files()
    if engine.family == "postgresql":
        path /= str(asking(instance, ledger)("select pg_relation_filepath('sbtest1')")[0][0])
    elif engine.family == "mysql":
        path = next(file for file in filecache.files_below([path]) if file.name == "sbtest1.ibd")
    instance.seal()
    damage(path, {"sqlite": 4096, "mysql": 16384}.get(engine.family, 8192), engine.family)
    with pytest.raises(CellFailed) as found:
        instance.start(ledger)
        instance.statistics(asking(instance, ledger), forgetting(instance))
    assert "\n" not in found.value.message and "select" not in found.value.message
    assert found.value.message.startswith(f"{engine.id}: ")
    words = {
        "sqlite": "corrupt|malformed",
        "firebird": "Expected data on page",
        "postgresql": "invalid page in block",
        "mysql": ".",  # it may die of it
    }
    assert re.search(words.get(engine.family, "."), found.value.message), found.value.message


def damage(file: Path, page: int, family: str) -> None:
    """Overwrite a page with what is no page, where rows lie."""
    content = bytearray(file.read_bytes())
    numbers = list(range(len(content) // page))
    if family == "firebird":
        numbers = [number for number in numbers if content[number * page] == 5]  # data pages
    if family == "mysql":
        numbers = [number for number in numbers if content[number * page + 24 : number * page + 26] == b"\x45\xbf"]
    at = numbers[len(numbers) // 3] * page
    content[at : at + page] = (b"\0" if family == "firebird" else b"\xff") * page  # ones would mean encryption there
    file.write_bytes(content)


def test_of_a_server_by_url_there_are_none(tmp_path: Path) -> None:
    engine = PostgresByUrl("theirs", foreign.Address("127.0.0.1", 5432, "me", None, "db", None))
    with pytest.raises(CellFailed, match="server by URL"):
        engine.adopt(tmp_path, {}, "drive").statistics(lambda question: [])


@pytest.mark.parametrize("engine", ["postgresql-15"], indirect=True)
def test_a_transaction_that_stays_open_keeps_the_oldest_behind_and_versions_in_the_table(
    loaded: Instance, ledger: Ledger
) -> None:
    instance: Any = loaded
    before = instance.statistics(asking(instance, ledger))
    instance._server.stop(signal.SIGINT)
    instance._write({**LOADING, "max_prepared_transactions": "1"})
    update = "update sbtest1 set k = k where id = 1"
    instance._alone(NAME, "begin", update, "prepare transaction 'left behind'")
    instance.start(ledger)
    talk(instance, ledger, RUN, workload=WORKLOAD)
    after = instance.statistics(asking(instance, ledger))
    assert before.transactions.oldest == before.transactions.next
    assert after.transactions.oldest == after.transactions.oldest_active <= after.transactions.next - 150
    versions, versions_before = (sum(table.versions for table in told.tables) for told in (after, before))
    assert versions > versions_before + 300  # four rows a transaction get a new version


@pytest.mark.parametrize("engine", ["postgresql-15"], indirect=True)
def test_postgresql_without_its_contrib_modules_says_what_to_install(
    loaded: Instance, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("acidtest.engine.postgres.inspection.PREPARE", ("create extension pgstattuple_that_is_absent",))
    with pytest.raises(CellFailed) as found:
        loaded.statistics(asking(loaded, ledger))
    assert "contrib" in found.value.remedy
