"""What ``acidtest inspect`` says of files that acidtest did not make is what the engines' own tools say of them."""

from __future__ import annotations

import json
import shutil
import sqlite3
import struct
import subprocess
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acidtest.conductor.inspect import Options
from acidtest.conductor.rig import converse
from acidtest.engine import Engine
from acidtest.engine.firebird import inspection
from acidtest.errors import BadInput, CellFailed
from acidtest.files import find_rig
from acidtest.journal.protocol import EVENT, Pages, PagesJob
from acidtest.place import Ledger
from inspecting import PAGE_SIZES, Made, names, seen
from support import FIREBIRDS

# What gstat prints beside the figures that are compared: numbers of pages, and what takes a row's format to know.
NOT_COUNTED = {
    "primary pointer page", "index root page", "root page", "total formats", "used formats", "average unpacked length",
    "compression ratio", "table size", "average key length", "ratio", "level", "total length",
}  # fmt: skip


@pytest.fixture
def database(databases: Callable[[str], Made], engine: Engine, tmp_path: Path) -> Path:
    """A copy that a test may damage."""
    return Path(shutil.copy(databases(engine.id).path, tmp_path / "copy.fdb"))


def pages_of(path: Path, ledger: Ledger) -> Pages:
    return next(event for event in converse(PagesJob(path=str(path)), ledger, {}) if isinstance(event, Pages))


@pytest.mark.parametrize("engine", FIREBIRDS, indirect=True)
def test_every_figure_is_gstats(engine: Engine, databases: Callable[[str], Made], ledger: Ledger) -> None:
    made = databases(engine.id)
    before = made.path.read_bytes(), made.path.stat().st_mtime_ns
    ours = inspection.as_gstat(pages_of(made.path, ledger))
    assert (made.path.read_bytes(), made.path.stat().st_mtime_ns) == before
    theirs = made.gstat()
    assert theirs.tables and not theirs.damaged and not ours.damaged
    assert {part.name for part in ours.tables} == {part.name for part in theirs.tables} >= {"CUSTOMER", "odd Name"}
    assert {(part.table, part.name) for part in ours.indexes} == {(part.table, part.name) for part in theirs.indexes}
    figures = {(part.table, part.name): part.figures for part in ours.parts}
    compared = 0
    for part in theirs.parts:
        for words, value in part.figures.items():
            if words in NOT_COUNTED:
                continue
            digits = 0 if words == "average fill" else 2
            assert f"{figures[part.table, part.name][words]:.{digits}f}" == f"{value:.{digits}f}", (part, words)
            compared += 1
    assert compared > 120
    assert figures["", "WIDE"]["total fragments"] > 0 < figures["", "CUSTOMER"]["max versions"]
    assert figures["", "CUSTOMER"]["blob pages"] > 0
    for words in ("Page size", "ODS version", "Oldest transaction", "Oldest active", "Oldest snapshot"):
        assert ours.header[words] == theirs.header[words]


@pytest.mark.parametrize("engine", FIREBIRDS, indirect=True)
def test_health_of_a_firebird_database(engine: Engine, database: Path) -> None:
    inspected = seen(database)
    assert inspected.version.startswith(engine.id.replace("firebird-", "Firebird "))
    assert inspected.facts["in_limbo"] == 1
    # Who attached since the program died has written into the inventory that its transactions are rolled back.
    assert sum(int(str(inspected.facts[state])) for state in ("rolled_back", "not_ended")) >= 2
    assert {"in-limbo", "index-duplicates"} <= names(inspected)
    assert "forced-writes-off" not in names(inspected) and "damaged" not in names(inspected)
    # Neither lies the table with blobs hollow, nor is the oldest transaction far behind.
    assert "oldest-transaction-stuck" not in names(inspected)


@pytest.mark.parametrize("engine", ["firebird-5.0"], indirect=True)
def test_the_header_says_what_is_unusual(engine: Engine, database: Path) -> None:
    content = bytearray(database.read_bytes())
    (flags,) = struct.unpack_from("<H", content, 42)
    struct.pack_into("<H", content, 42, flags & ~0x2)
    struct.pack_into("<I", content, 36, 90_000)  # the next transaction
    database.write_bytes(content)
    inspected = seen(database)
    assert {"forced-writes-off", "transaction-stays-open"} <= names(inspected)
    struct.pack_into("<H", content, 42, flags | 0x40)
    database.write_bytes(content)
    encrypted = seen(database)
    assert encrypted.statistics is None and "encrypted" in encrypted.statistics_said
    assert encrypted.facts["next_transaction"] == 90_000


def last_data_page(content: bytes, page: int) -> int:
    """The last one that the pointer pages of some table of a user name: of the others that look so, some are free."""
    named = []
    for start in range(0, len(content), page):
        count, relation = struct.unpack_from("<HH", content, start + 24)
        if content[start] == 4 and relation >= 128:
            named += [number for number in struct.unpack_from(f"<{count}I", content, start + 32) if number]
    return max(named)


@pytest.mark.parametrize("engine", FIREBIRDS, indirect=True)
def test_a_damaged_page_is_told_and_the_others_are_counted(engine: Engine, database: Path) -> None:
    whole = seen(database)
    page = PAGE_SIZES[engine.id]
    content = bytearray(database.read_bytes())
    at = last_data_page(content, page) * page
    content[at : at + page] = b"\0" * page
    database.write_bytes(content)
    inspected = seen(database)
    assert f"page {at // page} is empty, where a data page should be" in inspected.damaged
    assert "damaged" in names(inspected)
    assert whole.statistics and inspected.statistics
    lost = sum((table.records or 0) for table in whole.statistics.tables)
    lost -= sum((table.records or 0) for table in inspected.statistics.tables)
    assert 0 <= lost < 2000
    database.write_bytes(content[: 20 * page])
    with pytest.raises(CellFailed) as cut:
        seen(database)
    assert "\n" not in cut.value.message and str(database) in cut.value.message


@given(
    changes=st.lists(st.tuples(st.integers(0, 2**31), st.integers(0, 255)), min_size=1, max_size=40), near=st.booleans()
)
@settings(max_examples=40)
def test_whatever_the_bytes_are_the_reading_ends(
    databases: Callable[[str], Made], changes: list[tuple[int, int]], near: bool, tmp_path_factory: Any
) -> None:
    content = bytearray(databases("firebird-5.0").path.read_bytes())
    page = PAGE_SIZES["firebird-5.0"]
    for at, byte in changes:
        # Near: the first bytes of a page, where its kind, its counts and its links are.
        place = at % (len(content) // page) * page + at // 7 % 64 if near else at % len(content)
        content[place] = byte
    path = tmp_path_factory.mktemp("mutated") / "x.fdb"
    path.write_bytes(content)
    ran = subprocess.run(
        [find_rig(), "pages"], input=PagesJob(path=str(path)).model_dump_json(), capture_output=True, text=True,
        check=False, timeout=300,
    )  # fmt: skip
    path.unlink()
    assert ran.returncode in (0, 1), ran.stderr
    assert [EVENT.validate_json(line) for line in ran.stdout.splitlines()][-1].event in ("done", "failed")


@pytest.mark.parametrize("engine", ["firebird-5.0"], indirect=True)
def test_a_database_in_use_is_not_read_whole_unless_it_is_asked_for(engine: Engine, database: Path) -> None:
    with subprocess.Popen(["sleep", "600"], stdin=database.open("rb")) as other:
        try:
            held = seen(database, Options(read=None, limit_s=10))
            asked = seen(database, Options(read=True, limit_s=10))
        finally:
            other.kill()
    assert held.reading is None and "another program has it open" in held.reading_said
    assert any("Another program has it open" in note for note in held.notes)
    assert asked.reading is not None


# ------------------------------------------------------------------------------------------------ SQLite


@pytest.fixture
def sqlite_file(tmp_path: Path) -> Path:
    """Made by Python's SQLite."""
    path = tmp_path / "their own.db"
    database = sqlite3.connect(path)
    database.execute("create table a (id integer primary key, x text, k int)")
    database.execute("create index ak on a (k)")
    database.execute("create table b (k text primary key, v blob) without rowid")
    database.executemany("insert into a values (?, ?, ?)", ((i, "x" * (i % 200), i % 50) for i in range(30_000)))
    database.executemany(
        "insert into b values (?, ?)", ((f"{i * 7919 % 10007:05}{i}", b"v" * 40) for i in range(9_000))
    )
    database.commit()
    database.execute("delete from a where id % 3 < 2")
    database.commit()
    database.close()
    return path


def beside(path: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in sorted(path.parent.iterdir())}


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
def test_figures_of_a_sqlite_file_are_dbstats(engine: Engine, sqlite_file: Path) -> None:
    before = beside(sqlite_file)
    inspected = seen(sqlite_file)
    assert beside(sqlite_file) == before
    database = sqlite3.connect(sqlite_file)
    pages = database.execute(
        "select name, path, pagetype, ncell, payload, unused, pgsize, pageno from dbstat"
    ).fetchall()
    facts = {
        name: database.execute(f"pragma {name}").fetchone()[0] for name in ("page_size", "page_count", "freelist_count")
    }
    database.close()
    assert [inspected.facts[name] for name in ("page_bytes", "pages", "free_pages")] == list(facts.values())
    assert inspected.facts["auto_vacuum"] == "none" and inspected.facts["journal"] == "rollback"
    assert inspected.statistics and {table.name for table in inspected.statistics.tables} == {"a", "b"}
    for table in inspected.statistics.tables:
        own = [page for page in pages if page[0] == table.name]
        assert table.bytes == sum(page[6] for page in own)
    for index, tree in (("rowid", "a"), ("ak", "ak"), ("primary key", "b")):
        told = next(one for one in inspected.statistics.indexes if one.name == index)
        own = [page for page in pages if page[0] == tree]
        leaves = [page for page in own if page[2] == "leaf"]
        assert told.depth == max(page[1].count("/") for page in own)
        assert told.bytes == sum(page[6] for page in own)
        assert told.fill_percent == pytest.approx(100 * sum(p[6] - p[5] for p in leaves) / sum(p[6] for p in leaves))
    order: dict[str, list[int]] = {}
    for name, _path, kind, *_, number in sorted(pages, key=lambda page: page[1]):
        if kind == "leaf":
            order.setdefault(name, []).append(number)
    steps = [after == before + 1 for tree in order.values() for before, after in pairwise(tree)]
    assert (inspected.facts["leaves_followed"], inspected.facts["leaves_apart"]) == (len(steps), steps.count(False))
    assert {"free-pages", "never-analyzed", "leaves-scattered"} <= names(inspected)


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
def test_a_write_ahead_log_in_use_is_read_and_nothing_beside_it_is_written(engine: Engine, sqlite_file: Path) -> None:
    writer = sqlite3.connect(sqlite_file)
    writer.execute("pragma journal_mode = wal")
    writer.execute("pragma wal_autocheckpoint = 0")
    writer.executemany("insert into a (x, k) values (?, 7)", (("new",) for _ in range(1_000)))
    writer.commit()
    before = beside(sqlite_file)
    inspected = seen(sqlite_file)
    assert beside(sqlite_file) == before
    (a,) = (table for table in inspected.statistics.tables if table.name == "a") if inspected.statistics else ()
    assert a.records == 11_000  # with what is in the log only
    copy = sqlite_file.with_name("copy.db")
    for end in ("", "-wal"):
        shutil.copy(f"{sqlite_file}{end}", f"{copy}{end}")
    writer.close()
    before = beside(sqlite_file)
    of_copy = seen(copy)
    assert beside(sqlite_file) == before
    (a,) = (table for table in of_copy.statistics.tables if table.name == "a") if of_copy.statistics else ()
    assert a.records == 10_000 and any("write-ahead log are not in these figures" in note for note in of_copy.notes)


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
def test_an_interrupted_transaction_is_left_to_its_program(engine: Engine, sqlite_file: Path) -> None:
    sqlite_file.with_name(f"{sqlite_file.name}-journal").write_bytes(b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7" + b"\1" * 504)
    before = beside(sqlite_file)
    with pytest.raises(BadInput, match="was interrupted"):
        seen(sqlite_file)
    assert beside(sqlite_file) == before


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
def test_a_file_is_read_cold_then_warm_up_to_the_limit_of_time(engine: Engine, sqlite_file: Path) -> None:
    reading = seen(sqlite_file, Options(read=None, limit_s=600)).reading
    assert reading and reading.names == ("cold", "warm") and not reading.is_cut
    cold, warm = reading.passes
    assert cold.bytes == warm.bytes == reading.all_bytes == sqlite_file.stat().st_size
    assert cold.cached_bytes_before is not None and cold.cached_bytes_before <= cold.bytes
    cut = seen(sqlite_file, Options(read=None, limit_s=0)).reading
    assert cut and cut.is_cut and cut.passes[0].bytes == cut.passes[1].bytes < cut.all_bytes


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
def test_a_damaged_sqlite_file_is_told(engine: Engine, sqlite_file: Path) -> None:
    content = bytearray(sqlite_file.read_bytes())
    content[40 * 4096 : 44 * 4096] = b"\xff" * 4 * 4096
    sqlite_file.write_bytes(content)
    inspected = seen(sqlite_file)
    assert inspected.statistics is None and "damaged" in names(inspected)


def test_what_is_no_database_is_refused(tmp_path: Path) -> None:
    empty, text = tmp_path / "empty", tmp_path / "text.fdb"
    empty.write_bytes(b"")
    text.write_text(json.dumps({"no": "database"}) * 200)
    for path in (empty, text, tmp_path, tmp_path / "absent"):
        with pytest.raises(BadInput) as told:
            seen(path)
        assert str(path) in told.value.message and told.value.remedy
