"""Workloads over a database that the user has made: what their keys allow, and what is said before anything is done."""

from __future__ import annotations

import sqlite3
import struct
from pathlib import Path

import pytest

from acidtest.errors import BadInput
from acidtest.experiment import parse
from acidtest.workload import database_file
from acidtest.workload.base import OfTheUser, Runner
from acidtest.workload.of_folder import UNCHECKED
from workloads import SHOP

LOG = Path(__file__).parents[1] / "logs" / "postgresql.csv"
BEGIN = 'name = "t"\nengine = "postgresql-17"\ndurability = "drive"\n[workload.t]\n'
REPLAY = f'kind = "replay"\npath = "{LOG}"\n'
SCRIPT = f'kind = "sql"\npath = "{SHOP}/look.sql"\ncount = 1\n'
SERVER = Runner(family="postgresql", release=(), private=False, raw=False)
PRIVATE = Runner(family="postgresql", release=(17,), private=True, raw=False)


def read(keys: str, base: Path = Path()) -> database_file.Refused | object:
    return parse(BEGIN + keys, "t.toml", base=base).workload["t"]


@pytest.fixture
def accounts(tmp_path: Path) -> Path:
    path = tmp_path / "accounts.db"
    with sqlite3.connect(path) as made:
        made.execute("create table account (id integer primary key)")
    made.close()
    return path


@pytest.mark.parametrize("kind", [REPLAY, SCRIPT])
@pytest.mark.parametrize(
    ("keys", "said"),
    [
        (
            'restore = "sh restore.sh"\ndatabase = "SHOP"',
            "restore: brings a prepared database back: add prepared = true",
        ),
        ('prepared = true\ndatabase_file = "accounts.db"', "keep one of them"),
        ('prepared = true\nrestore = "sh \'restore.sh"', "restore: No closing quotation in sh 'restore.sh"),
        ('prepared = true\nrestore = " "', "restore: names no program"),
        ('prepared = "yes"', "prepared"),
        ('database_file = "missing.db"', "missing.db: is missing"),
        ('database_file = "."', "is no regular file"),
        ("database_file = 3", "database_file"),
        ("prepared = true\nrestore = 3", "restore"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(kind: str, keys: str, said: str, accounts: Path, tmp_path: Path) -> None:
    with pytest.raises(BadInput) as refused:
        read(kind + keys.replace("SHOP", str(SHOP)), tmp_path)
    assert said in refused.value.message
    assert "\n" not in refused.value.message


def test_a_replay_needs_a_database_of_some_kind() -> None:
    with pytest.raises(BadInput, match=r"database: is missing, the folder .* prepared = true .* or database_file"):
        read(REPLAY)


@pytest.mark.parametrize("kind", [REPLAY, SCRIPT])
def test_of_a_prepared_database_nothing_is_loaded_and_the_folder_gives_its_conditions_alone(kind: str) -> None:
    one = read(f'{kind}prepared = true\nrestore = "sh \'a b.sh\' 1"\ndatabase = "{SHOP}"\n', Path("/somewhere"))
    message = one.database_message()
    assert (message.schema_, message.load_sql, message.indexes, message.tables) == (None, None, None, ())
    assert message.conditions is not None
    assert one.of_the_user() == OfTheUser(
        restore=("sh", "a b.sh", "1"), directory=Path("/somewhere"), limit_s=one.statement_limit_s
    )
    assert one.loaded_bytes() == 0
    assert one.load_s() == 0
    assert any(
        line.endswith("Before each run your command brings it back: sh 'a b.sh' 1") for line in one.told_before()
    )
    assert UNCHECKED not in one.told_before()
    assert one.refused(SERVER) is None
    refused = one.refused(PRIVATE)
    assert refused is not None
    assert refused.key == "prepared"
    # Where a factor sets something else of it, all of that stays.
    again = one.varied({"retries": 3})
    assert again.of_the_user() == one.of_the_user()


@pytest.mark.parametrize("kind", [REPLAY, SCRIPT])
def test_without_restore_it_is_said_that_runs_follow_one_another(kind: str) -> None:
    one = read(f"{kind}prepared = true\n")
    told = one.told_before()
    assert any("Each run begins with what the one before it has left" in line for line in told)
    assert UNCHECKED in told
    assert one.of_the_user() == OfTheUser(directory=Path(), limit_s=one.statement_limit_s)
    # Journals of before these keys are resumed, whose experiment had none of them.
    loaded = read(f'{kind}database = "{SHOP}"\n')
    assert not {"prepared", "restore", "database_file"} & loaded.model_dump().keys()
    assert loaded.of_the_user() is None


def test_a_file_is_another_template_than_a_load_and_than_another_file(accounts: Path, tmp_path: Path) -> None:
    keys = 'database_file = "accounts.db"\n'
    first = read(SCRIPT + keys, tmp_path)
    assert first.loaded_bytes() == accounts.stat().st_size
    assert first.local_files() == (str(accounts),)
    assert first.files["accounts.db"] == database_file.read(accounts).sha256
    with sqlite3.connect(accounts) as changed:
        changed.execute("insert into account values (1)")
    changed.close()
    second = read(SCRIPT + keys, tmp_path)
    loaded = read(f'{SCRIPT}database = "{SHOP}"\n')
    assert len({one.loaded_text() for one in (first, second, loaded)}) == 3
    assert first.varied({"retries": 3}).of_the_user() == first.of_the_user()


def _firebird(major: int, minor: int, dialect: int = 3) -> bytes:
    """The bytes of a header page that are looked at."""
    page = bytearray(1024)
    page[0] = 1
    struct.pack_into("<HH", page, 16, 8192, major | 0x8000)
    struct.pack_into("<H", page, 42, 0x10 if dialect == 3 else 0)
    struct.pack_into("<H", page, 64, minor)
    return bytes(page)


@pytest.mark.parametrize(
    ("structure", "release", "opens"),
    [
        ((12, 0), (3, 0), True), ((12, 2), (3, 0), True), ((12, 2), (4, 0), False), ((13, 0), (4, 0), True),
        ((13, 1), (4, 0), False), ((13, 0), (5, 0), True), ((13, 1), (5, 0), True), ((13, 0), (3, 0), False),
    ],
)  # fmt: skip
def test_a_firebird_opens_structures_of_its_own_major_number_that_are_no_newer(
    structure: tuple[int, int], release: tuple[int, int], opens: bool, tmp_path: Path
) -> None:
    path = tmp_path / "a.fdb"
    path.write_bytes(_firebird(*structure))
    on = Runner(family="firebird", release=release, private=True, raw=False)
    assert (database_file.read(path).refused(on) is None) == opens


def test_a_file_with_a_part_beside_it_is_not_all_of_a_database(accounts: Path, tmp_path: Path) -> None:
    firebird = tmp_path / "a.fdb"
    firebird.write_bytes(_firebird(13, 1))
    for path, beside in ((accounts, "-wal"), (accounts, "-journal"), (firebird, ".delta")):
        other = path.with_name(path.name + beside)
        other.write_bytes(b"")
        database_file.read(path)
        other.write_bytes(b"x" * 100)
        with pytest.raises(BadInput, match=f"is not all of a database: {other.name}"):
            database_file.read(path)
        other.unlink()
    # A journal that is kept begins with zeroes.
    (tmp_path / "accounts.db-journal").write_bytes(bytes(512))
    database_file.read(accounts)
    firebird.write_bytes(_firebird(13, 1, dialect=1))
    with pytest.raises(BadInput, match="is of SQL dialect 1"):
        database_file.read(firebird)
