"""What is read out of files: procedures of three dialects, listings, texts, configurations; and any bytes at all."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import makes
from acidtest.audit import importers, judge
from acidtest.audit.bench import Bench, Routine
from acidtest.audit.importers.file import Broken, File, Part
from acidtest.audit.rules.routines import moved
from tables import read, rows


def routine(tmp_path: Path, source: str) -> Routine:
    (found,) = read(tmp_path, {"a.sql": source}).routines
    return found


PSQL = "SET TERM ^ ;\nCREATE OR ALTER PROCEDURE P (A INTEGER) AS DECLARE VARIABLE K INTEGER; {} BEGIN\n {}\nEND^\nSET TERM ; ^"
PLPGSQL = "CREATE FUNCTION p(a int) RETURNS void LANGUAGE plpgsql AS $x$ DECLARE k int; {} BEGIN\n {}\nEND $x$;"
PSM = "DELIMITER //\nCREATE PROCEDURE p(IN a INT) BEGIN DECLARE k INT; {}\n {}\nEND //\nDELIMITER ;"

# A body, its declarations, in which dialect; the tables whose rows it chooses by what it draws.
CHOOSES = [
    (PSQL, "", "K = CAST(RAND() * 10 AS INTEGER); UPDATE T SET V = 1 WHERE ID = :K;", ["T"]),
    (PSQL, "", "UPDATE T SET V = 1 WHERE ID = CAST(RAND() * 10 AS INTEGER);", ["T"]),
    (PSQL, "", "UPDATE T SET V = 1 WHERE ID = :A;", []),
    (PSQL, "", "K = RAND(); UPDATE T SET V = :K WHERE ID = :A;", []),
    (PSQL, "", "K = RAND(); UPDATE T SET V = 1 WHERE K = :A;", []),  # K is a column here
    (PSQL, "", "K = GEN_ID(G, 1); INSERT INTO T (ID) VALUES (:K); UPDATE T SET V = 1 WHERE ID = :K;", []),
    (PSQL, "", "K = GEN_ID(G, 0); UPDATE T SET V = 1 WHERE ID = :K;", []),
    (PSQL, "", "SELECT FIRST 1 ID FROM T ORDER BY RAND() INTO :K; DELETE FROM T WHERE ID = :K;", ["T"]),
    (PSQL, "", "FOR SELECT ID FROM T WHERE V > RAND() INTO :K DO UPDATE U SET V = 1 WHERE ID = :K;", ["U"]),
    (PSQL, "", "K = RAND(); UPDATE OR INSERT INTO T (ID, V) VALUES (:K, 1) MATCHING (ID);", ["T"]),
    (PSQL, "", "K = RAND(); UPDATE OR INSERT INTO T (ID, V) VALUES (:A, :K) MATCHING (ID);", []),
    (PSQL, "", "K = RAND(); SELECT V FROM T WHERE ID = :K WITH LOCK INTO :A;", ["T"]),
    (PSQL, "", "K = RAND(); SELECT V FROM T WHERE ID = :K INTO :A;", []),
    (PSQL, "", "IF (A > 1) THEN BEGIN K = 1; END IF (A > 2) THEN UPDATE T SET V = 1 WHERE ID = RAND();", ["T"]),
    (PSQL, "", "/* K = RAND(); */ -- RAND()\n UPDATE T SET V = 'RAND()' WHERE ID = :K;", []),
    (PSQL, "", "INSERT INTO T (V) VALUES (RAND()) RETURNING ID INTO :K; UPDATE T SET V = 2 WHERE ID = :K;", []),
    (PSQL, "", "K = RAND(); INSERT INTO T (ID) VALUES (:K); UPDATE T SET V = 1 WHERE ID = :K;", []),
    (PSQL, "", "K = RAND(); INSERT INTO T (ID) VALUES (:K); UPDATE U SET V = 1 WHERE ID = :K;", ["U"]),
    (PSQL, "", "K = NEXT VALUE FOR G; UPDATE OR INSERT INTO T (ID, V) VALUES (:K, 1) MATCHING (ID);", []),
    (PSQL, "", "SELECT NEXT VALUE FOR G FROM RDB$DATABASE INTO :K; UPDATE OR INSERT INTO T (ID) VALUES (:K);", []),
    (PLPGSQL, "", "INSERT INTO t (v) VALUES (random()) RETURNING * INTO k; UPDATE t SET v = 2 WHERE id = k.id;", []),
    (PLPGSQL, "", "INSERT INTO t (id, v) VALUES (gen_random_uuid(), 1) ON CONFLICT (id) DO UPDATE SET v = 2;", []),
    (PSM, "", "SET k = RAND(); INSERT INTO t (id, p) VALUES (k, 1); DELETE FROM t WHERE p = 1 AND t.id = k;", []),
    (PLPGSQL, "", "k := floor(random() * 10); UPDATE s.t SET v = 1 WHERE id = k;", ["T"]),
    (PLPGSQL, "n int := random();", "UPDATE t SET v = 1 WHERE id = n;", ["T"]),
    (PLPGSQL, "", "SELECT id INTO k FROM t ORDER BY random() LIMIT 1; PERFORM 1 FROM t WHERE id = k FOR UPDATE;", []),
    (PLPGSQL, "", "k := random(); SELECT v INTO a FROM t WHERE id = k FOR UPDATE;", ["T"]),
    (PLPGSQL, "", "k := random(); INSERT INTO t (id, v) VALUES (k, 1) ON CONFLICT (id) DO UPDATE SET v = 2;", ["T"]),
    (PLPGSQL, "", "UPDATE t SET v = CASE WHEN a > 1 THEN random() ELSE 2 END WHERE id = a;", []),
    (PSM, "", "SET k = FLOOR(RAND() * 10); UPDATE `t` SET v = 1 WHERE id = k;", ["T"]),
    (PSM, "DECLARE n INT DEFAULT RAND();", "UPDATE t SET v = 1 WHERE id = n;", ["T"]),
    (PSM, "", "IF a > 1 THEN SET k = 1; END IF; # RAND()\n UPDATE t SET v = 'it\\'s' WHERE id = k;", []),
    (PSM, "", "CASE a WHEN 1 THEN SET k = RAND(); END CASE; UPDATE t SET v = 1 WHERE id = k;", ["T"]),
    (PSM, "", "INSERT INTO t (id) VALUES (RAND()) ON DUPLICATE KEY UPDATE v = 2;", ["T"]),
]


@rows(*CHOOSES)
def test_rows_chosen_by_what_is_drawn(
    dialect: str, declared: str, body: str, tables: Sequence[str], tmp_path: Path
) -> None:
    found = read(tmp_path, {"a.sql": dialect.format(declared, body)})
    assert [routine.name for routine in found.routines] == ["P"]
    assert [one.table for one in moved(found)] == list(tables)


LOOPS = [
    (PSQL, "K = 100; WHILE (K > 0) DO BEGIN K = K - 1; END", 100),
    (PSQL, "K = RAND(); WHILE (K > 0) DO BEGIN K = K - 1; END", None),
    (PLPGSQL, "FOR i IN 1..100 LOOP k := i; END LOOP;", 100),
    (PLPGSQL, "k := 0; LOOP k := k + 1; EXIT WHEN k >= 25; END LOOP;", 26),
    (PSM, "SET k = 0; WHILE k < 100 DO SET k = k + 1; END WHILE;", 100),
    (PSM, "SET k = 1; REPEAT SET k = k + 1; UNTIL k > 30 END REPEAT;", 29),
]


@rows(*LOOPS)
def test_how_often_a_loop_runs(dialect: str, body: str, count: int | None, tmp_path: Path) -> None:
    assert routine(tmp_path, dialect.format("", body)).loop == count


TRIGGERS = [
    "SET TERM ^; CREATE TRIGGER T1 FOR LINE ACTIVE AFTER INSERT POSITION 0 AS BEGIN UPDATE STOCK SET N = N - NEW.Q WHERE ID = NEW.P; END^",
    "SET TERM ^; CREATE TRIGGER T1 ACTIVE AFTER INSERT ON LINE AS DECLARE X INT; BEGIN X = NEW.P; UPDATE STOCK SET N = 1 WHERE ID = :X; END^",
    "DELIMITER //\nCREATE DEFINER=`root`@`%` TRIGGER t1 AFTER INSERT ON line FOR EACH ROW BEGIN UPDATE stock SET n = 1 WHERE id = NEW.p; END //",
    "CREATE TRIGGER t1 AFTER INSERT ON shop.line FOR EACH ROW UPDATE stock SET n = n - NEW.q WHERE id = NEW.p;",
    "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN UPDATE stock SET n = 1 WHERE id = NEW.p; RETURN NEW; END $$;"
    "CREATE TRIGGER t1 AFTER INSERT ON line FOR EACH ROW EXECUTE FUNCTION f();",
    "DELIMITER ;;\n/*!50003 CREATE*/ /*!50017 DEFINER=`a`@`b`*/ /*!50003 TRIGGER `t1` AFTER INSERT ON `line` FOR EACH ROW BEGIN\n"
    "UPDATE stock SET n = 1 WHERE id = NEW.p; END */;;",
]


@rows(*TRIGGERS)
def test_a_trigger_is_keyed_by_what_is_inserted(trigger: str, tmp_path: Path) -> None:
    inserts = PSM.format("", "SET k = RAND(); INSERT INTO line (p, q) VALUES ({}, 1);")
    (found,) = moved(read(tmp_path, {"a.sql": trigger, "b.sql": inserts.replace("{}", "k")}))
    assert (found.table, found.trigger) == ("STOCK", "T1")
    assert list(moved(read(tmp_path, {"a.sql": trigger, "b.sql": inserts.replace("{}", "a")}))) == []


KEYED = [
    ("CREATE TABLE t (number INT NOT NULL PRIMARY KEY, p INT);", "number", []),
    ("CREATE TABLE IF NOT EXISTS t (number INT, p INT, CONSTRAINT x PRIMARY KEY (number));", "number", []),
    ("CREATE TABLE t (number INT, p INT); ALTER TABLE t ADD CONSTRAINT x PRIMARY KEY (number);", "number", []),
]


@rows(*KEYED)
def test_a_row_of_its_own_is_known_by_its_key(table: str, column: str, tables: list[str], tmp_path: Path) -> None:
    body = f"SET k = RAND(); INSERT INTO t ({column}) VALUES (k); UPDATE t SET v = 1 WHERE {column} = k;"
    found = read(tmp_path, {"a.sql": f"{table}\n{PSM.format('', body)}"})
    assert [one.table for one in moved(found)] == tables


def test_a_trigger_that_changes_the_row_it_is_fired_for_meets_no_other(tmp_path: Path) -> None:
    inserts = PSM.format("", "INSERT INTO line (id, p) VALUES (RAND(), 1);")
    for column, others in (("id", 0), ("p2", 1)):
        trigger = (
            "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
            f"UPDATE line SET v = 1 WHERE {column} = NEW.id; RETURN NEW; END $$;"
            "CREATE TRIGGER t1 AFTER INSERT ON line FOR EACH ROW EXECUTE FUNCTION f();"
        )
        assert len(list(moved(read(tmp_path, {"a.sql": trigger, "b.sql": inserts})))) == others


def test_prose_says_nothing_and_a_listing_does(tmp_path: Path) -> None:
    bench = read(
        tmp_path, {"README.md": "A drive test, with a 55 MB database and 32 GB of RAM.\n", "my.cnf": "[mysqld]\n"}
    )
    assert not bench.facts
    (passed,) = bench.passed
    assert (passed.file, "[[claim]]" in passed.text) == ("README.md", True)
    (memory,) = read(tmp_path, {"meminfo": "MemTotal:       24576000 kB\n"}).facts
    assert (memory.kind, memory.value, memory.where.line) == ("memory", 24576000 << 10, 1)


def test_mounts_are_said_of_all_sides(tmp_path: Path) -> None:
    listed = "/dev/sda1 on /data type ext4 (rw,nobarrier)\nproc on /proc type proc (rw)\n"
    bench = read(tmp_path, {"mount.txt": listed, "a/postgresql.conf": "", "b/postgresql.conf": "fsync = off"})
    assert [[mount.point for mount in side.mounts] for side in bench.sides] == [["/data"], ["/data"]]


def test_a_default_in_a_comment_sets_nothing_and_shows_where_it_stands(tmp_path: Path) -> None:
    ((configuration,),) = (
        side.configurations for side in read(tmp_path, {"firebird.conf": "# TempCacheLimit: sorting\n#TempCacheLimit = 64M\n"}).sides
    )  # fmt: skip
    assert configuration.settings == ()
    assert [(comment.name, comment.where.line) for comment in configuration.comments] == [("tempcachelimit", 2)]


def test_a_database_elsewhere_goes_to_the_side_that_can_have_made_it(tmp_path: Path) -> None:
    bench = read(
        tmp_path,
        {
            "a/firebird": makes.elf(64, b"LI-V3.0.14.33856"),
            "b/firebird": makes.elf(64, b"LI-V4.0.7.3271"),
            "x.fdb": makes.header_page(8192, (13, 0), 50),
            "y.bin": makes.header_page(8192, (12, 0), 50),
        },
    )
    assert [[database.name for database in side.databases] for side in bench.sides] == [["y.bin"], ["x.fdb"]]


def test_what_may_not_be_read_is_a_note(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As for a user without the rights; whoever runs the tests may have them."""
    (tmp_path / "closed").mkdir()
    (tmp_path / "listed").mkdir()
    read(tmp_path, {"firebird.conf": "#Port = 1\n", "secret.conf": "x", "listed/a.conf": "x"})
    really, scan = os.open, os.scandir

    def refuse(path: Any, *rest: Any, **named: Any) -> int:
        if path in ("secret.conf", "closed"):
            raise PermissionError(13, "Permission denied", str(path))
        return really(path, *rest, **named)

    def unseen(descriptor: int) -> Any:
        if Path(f"/proc/self/fd/{descriptor}").readlink().name == "listed":
            raise PermissionError(13, "Permission denied")
        return scan(descriptor)

    monkeypatch.setattr(os, "open", refuse)
    monkeypatch.setattr(os, "scandir", unseen)
    bench = importers.read(tmp_path)
    assert [(one.file, one.text) for one in bench.broken] == [
        (name, "cannot be read: Permission denied") for name in ("secret.conf", "closed", "listed")
    ]
    assert bench.read == [("firebird.conf", "configuration")]


EMPTY = ("firebird.conf", "postgresql.conf", "firebird.exe", "a.fdb", "x.log", "p.json", "q.csv", "s.sql", "README.md")


@rows(b"", bytes(range(256)) * 20)
def test_files_of_nothing_and_of_no_text_are_read_refused_or_listed(content: bytes, tmp_path: Path) -> None:
    for name in EMPTY:
        (tmp_path / name).write_bytes(content)
    bench = importers.read(tmp_path)
    lines = [*(name for name, _ in bench.read), *bench.unread, *(one.file for one in (*bench.broken, *bench.passed))]
    assert sorted(lines) == sorted(EMPTY)
    assert not [finding for finding in judge.of_bench(bench) if finding.severity == "invalid"]


IMPORTERS = [
    importer
    for importer in importers.importers()
    if importer.kind in ("SQL script", "text", "listing of a machine", "configuration")
]
BASES = ("a.sql", "readme.txt", "mount.txt", "my.cnf", "firebird.conf", "postgresql.conf")
WORDS = ["CREATE PROCEDURE P AS", "CREATE TRIGGER T FOR X", "BEGIN", "END", "CASE", "WHEN", "THEN", "$$", "$a$", "(", ")", ",", ";", ":",
         "'", '"', "/*", "*/", "INSERT INTO T", "VALUES", "SELECT", "INTO", "UPDATE", "SET", "WHERE", "=", ":=", "NEW.A", "RAND()", "1",
         "..", "FOR", "IN", "LOOP", "WHILE", "DO", "UNTIL", "EXIT WHEN", "DECLARE", "DELIMITER //", "SET TERM ^", "GEN_ID(", "MERGE", "ON",
         "FOR UPDATE", "RETURNS", "DEFAULT", "\\", "`", "#", "--", "\n", "NEXT VALUE FOR"]  # fmt: skip


def parts(path: Path, base: str, raw: bytes) -> list[Part]:
    (path / base).write_bytes(raw)
    found: list[Part] = []
    for importer in IMPORTERS:
        try:
            found += importer.read(File(path / base, base)) or []
        except Broken:
            continue
    return found


@settings(max_examples=100, deadline=None)
@given(raw=st.binary(max_size=2000) | st.lists(st.sampled_from(WORDS), max_size=200).map(lambda w: " ".join(w).encode()),
       base=st.sampled_from(BASES))  # fmt: skip
def test_any_bytes_are_read_or_refused(tmp_path_factory: pytest.TempPathFactory, raw: bytes, base: str) -> None:
    path = tmp_path_factory.getbasetemp()
    bench = Bench(sides=[], routines=[part for part in parts(path, base, raw) if isinstance(part, Routine)])
    list(moved(bench))


PIECES = [
    "(",
    "'",
    "CASE ",
    "$a$ ",
    "K = K + RAND();",
    "CREATE FUNCTION f() AS $a$",
    "BEGIN",
    "INSERT INTO T (A",
    "CREATE TABLE T (",
    "ALTER TABLE T ADD ",
    "INSERT INTO T (A) VALUES (B) RETURNING A INTO B;",
    "SET A = B; SET B = A;",
]


@rows(*PIECES)
def test_time_grows_with_length_only(piece: str, tmp_path: Path) -> None:
    begin = time.process_time()
    parts(tmp_path, "a.sql", b"CREATE PROCEDURE P AS BEGIN\n" + (piece + "\n").encode() * (60_000 // len(piece)))
    assert time.process_time() - begin < 30
