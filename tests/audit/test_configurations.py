"""Configurations: what each line sets, what they include, which files are one; and what then holds on a side."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

import makes
from acidtest import settings as known_settings
from acidtest.audit import unchecked as kit
from acidtest.audit.bench import Bench, Configuration, Setting, Side, Where
from acidtest.audit.importers.configurations import mysql_option
from acidtest.audit.rules import firebird
from acidtest.audit.rules import settings as rules
from tables import read, rows


def one(path: Path, files: dict[str, str | bytes]) -> Side:
    (side,) = read(path, files).sides
    return side


LINES = [
    ("postgresql.conf", "fsync = off", {"fsync": "off"}),
    ("postgresql.conf", "fsync off  # why", {"fsync": "off"}),
    ("postgresql.conf", "fsync=off", {"fsync": "off"}),
    ("postgresql.conf", "Work_Mem='64 MB'", {"work_mem": "64 MB"}),
    ("postgresql.conf", "search_path = 'a ''b'' # c'  # d", {"search_path": "a 'b' # c"}),
    ("postgresql.conf", "a.b = 1", {"a.b": "1"}),
    ("postgresql.conf", "#fsync = off", {}),
    ("postgresql.conf", "work_mem = 'never closed", {}),
    ("postgresql.conf", "two words and more", {}),
    ("my.cnf", "[mysqld]\nsync-binlog = 1 # why", {"sync_binlog": "1"}),
    ("my.cnf", "[mysqld]\nloose-innodb-flush-log-at-trx-commit=2", {"innodb_flush_log_at_trx_commit": "2"}),
    ("my.cnf", "[mysqld]\nskip-innodb-doublewrite", {"innodb_doublewrite": "OFF"}),
    ("my.cnf", "[mysqld]\nskip-log-bin\nskip-name-resolve", {"log_bin": "OFF", "skip_name_resolve": "ON"}),
    ("my.cnf", "[mysqld]\nlog_bin", {"log_bin": "ON"}),
    ("my.cnf", "[client]\nport = 1\n[mysqld_safe]\nnice = 1\n[mysql]\npager = x", {}),
    ("my.cnf", "[mysqld-8.0]\nsync_binlog = 1", {"sync_binlog": "1"}),
    ("my.cnf", '[server]\nsocket = "/a#b"', {"socket": "/a#b"}),
    ("firebird.conf", "TempCacheLimit = 2G  # why", {"tempcachelimit": "2G"}),
    ("firebird.conf", 'RootDirectory = "/x y"', {"rootdirectory": "/x y"}),
    ("firebird.conf", "#TempCacheLimit = 2G", {}),
    ("postgresql.conf", "shared_buffers = {{ memory }}", {}),
]  # fmt: skip


@rows(*LINES)
def test_what_a_line_sets(name: str, text: str, wanted: dict[str, str], tmp_path: Path) -> None:
    (configuration,) = one(tmp_path, {name: text}).configurations
    assert {setting.name: setting.value for setting in configuration.settings} == wanted


def test_a_name_stays_as_it_was_written(tmp_path: Path) -> None:
    (configuration,) = one(tmp_path, {"my.cnf": "[mysqld]\nLoose-Sync-Binlog = 1"}).configurations
    assert [setting.says().text for setting in configuration.settings] == ["Loose-Sync-Binlog = 1"]


@rows(
    ("enable-log-bin", ("log_bin", "ON")),
    ("disable_log_bin", ("log_bin", "OFF")),
    ("skip-networking", ("skip_networking", "ON")),
)
def test_forms_of_an_option(name: str, meant: tuple[str, str]) -> None:
    assert mysql_option(name, None) == meant


# Where the files lie, and what shared_buffers or innodb_buffer_pool_size then is.
INCLUDED: list[tuple[str, dict[str, str | bytes], str, str | None]] = [
    ("what comes later holds", {"postgresql.conf": "work_mem = 1MB\ninclude 'x.inc'", "x.inc": "work_mem = 2MB"}, "work_mem", "2MB"),
    ("also after an include", {"postgresql.conf": "include 'x.inc'\nwork_mem = 1MB", "x.inc": "work_mem = 2MB"}, "work_mem", "1MB"),
    ("a folder, in order of names", {"postgresql.conf": "include_dir = 'd'", "d/b.conf": "work_mem = 2MB", "d/a.conf": "work_mem = 1MB", "d/c.txt": "work_mem = 3MB"}, "work_mem", "2MB"),
    ("a file of an included file", {"postgresql.conf": "include 'd/a'", "d/a": "include 'b'", "d/b": "work_mem = 5MB"}, "work_mem", "5MB"),
    ("a path that was absolute", {"pg/postgresql.conf": "include '/etc/postgresql/16/tuned.conf'", "pg/tuned.conf": "work_mem = 5MB"}, "work_mem", "5MB"),
    ("of the folder above", {"c/postgresql.conf": "include '../all.inc'", "all.inc": "work_mem = 5MB"}, "work_mem", "5MB"),
    ("itself", {"postgresql.conf": "work_mem = 1MB\ninclude 'postgresql.conf'"}, "work_mem", "1MB"),
    ("what ALTER SYSTEM wrote", {"postgresql.auto.conf": "work_mem = '9MB'", "postgresql.conf": "work_mem = 1MB"}, "work_mem", "9MB"),
    ("of MySQL", {"my.cnf": "[mysqld]\nsync_binlog=1\n!include /etc/mysql/x.cnf", "x.cnf": "[mysqld]\nsync_binlog=0"}, "sync_binlog", "0"),
    ("a folder of MySQL", {"my.cnf": "!includedir /etc/mysql/conf.d/\n[mysqld]", "conf.d/x.cnf": "[mysqld]\nsync_binlog=7"}, "sync_binlog", "7"),
    ("of Firebird", {"firebird.conf": "include $(dir_conf)/more.conf", "more.conf": "TempCacheLimit = 1G"}, "tempcachelimit", "1G"),
    ("several of Firebird", {"firebird.conf": "include conf/*.inc", "conf/a.inc": "TempCacheLimit = 1G", "conf/b.inc": "TempCacheLimit = 3G"}, "tempcachelimit", "3G"),
]  # fmt: skip


@rows(*INCLUDED)
def test_what_is_included_is_read_in_its_place(
    _: str, files: dict[str, str | bytes], name: str, value: str, tmp_path: Path
) -> None:
    bench = read(tmp_path, files)
    (side,) = bench.sides
    holds = side.in_force(name)
    assert holds and holds.setting.value == value
    assert side.tells_all
    assert set(bench.unread) <= {"d/c.txt"}


MISSING = [
    {"postgresql.conf": "port = 5433\ninclude 'tuned.conf'"},
    {"postgresql.conf": "port = 5433\ninclude_dir 'conf.d'"},
    {"postgresql.conf": "include 'a'", "a": "include 'b'"},
    {"my.cnf": "!includedir /etc/mysql/conf.d/\n[mysqld]\nport=3307"},
    {"firebird.conf": "include elsewhere.conf\nRemoteServicePort = 3051"},
]


@rows(*MISSING)
def test_with_a_missing_include_nothing_is_known_to_be_at_its_default(
    files: dict[str, str | bytes], tmp_path: Path
) -> None:
    bench = read(tmp_path, files)
    assert list(rules.settings_all_default(bench)) == []
    assert [bench.sides[0].name in one.what and "not in the kit" in one.why for one in kit.unchecked(bench)][-1]
    assert rules.held(bench.sides[0], "fsync")[0] is None


def test_a_bomb_of_includes_ends(tmp_path: Path) -> None:
    names = [f"{n}.inc" for n in range(12)]
    files: dict[str, str | bytes] = {
        name: "".join(f"include '{other}'\n" for other in names for _ in range(20)) for name in names
    }
    assert read(tmp_path, {"postgresql.conf": "include '0.inc'", **files}).sides


# Files of other names, and of which engine they are; "" of none.
BY_CONTENT = [
    ("my-huge.cnf", "[mysqld]\nkey_buffer_size = 384M", "mysql"),
    ("my.cnf.01", "[mysqld]\ninnodb_buffer_pool_size = 16G", "mysql"),
    ("tuned.ini", "[mariadb]\ninnodb_buffer_pool_size = 16G", "mariadb"),
    ("mysql-vs-mariadb/mysql/a.cnf", "[mysqld]\nsync_binlog = 1", "mysql"),
    ("mysql-vs-mariadb/mariadb/a.cnf", "[mysqld]\nsync_binlog = 1", "mariadb"),
    ("mariadb-10.11/etc/mysql/my.cnf", "[mysqld]\nsync_binlog = 1", "mariadb"),
    ("postgresql.conf.tuned", "shared_buffers = 8GB\nport = 1", "postgresql"),
    ("pg.conf", "shared_buffers = 8GB\n", "postgresql"),
    ("nvme.conf", "shared_buffers = 8GB\nmax_wal_size = 64GB\ncheckpoint_timeout = 30min\n", "postgresql"),
    ("fb4.conf", "DefaultDbCachePages = 50K\nTempCacheLimit = 1G\nServerMode = Classic\n", "firebird"),
    ("nginx.conf", "worker_processes 4;\nevents { worker_connections 1024; }", ""),
    ("grafana.ini", "[server]\nhttp_port = 3000\n", ""),
    ("pgbouncer.ini", "[databases]\nx = host=1\n[pgbouncer]\npool_mode = session", ""),
    ("pg_hba.conf", "local all all trust\nhost all all 0.0.0.0/0 md5\n", ""),
    ("some.conf", "port = 1\nfsync = off\nuser = x\n", ""),
    ("README.md", "[mysqld]\nkey_buffer_size = 384M", ""),
    ("server.properties", "port = 1\nlisten_addresses = x\n", ""),
]  # fmt: skip


@rows(*BY_CONTENT)
def test_configurations_are_known_by_what_they_hold(name: str, text: str, engine: str, tmp_path: Path) -> None:
    bench = read(tmp_path, {name: text, "firebird.log": ""})
    known = [
        side.engine for side in bench.sides if any(not configuration.prose for configuration in side.configurations)
    ]
    assert known == ([engine] if engine else [])


def test_servers_of_one_option_file_are_sides(tmp_path: Path) -> None:
    text = "[mysqld]\nsync_binlog = 1\n[mysqld1]\nport = 1\n[mysqld2]\nport = 2\nsync_binlog = 0\n"
    sides = read(tmp_path, {"my.cnf": text}).sides
    assert [(side.name, [setting.value for setting in side.settings("sync_binlog")]) for side in sides] == [
        ("mysqld1", ["1"]),
        ("mysqld2", ["0"]),
    ]


def test_a_group_of_another_version_or_fork_sets_nothing(tmp_path: Path) -> None:
    text = "[mysqld]\nsync_binlog = 1\n[mysqld-8.0]\nsync_binlog = 8\n[mysqld-8.4]\nsync_binlog = 9\n[mariadb]\nsync_binlog = 10\n"
    program = makes.elf(64, b"mysqld-8.0.36\0")
    side = one(tmp_path, {"m/my.cnf": text, "m/bin/mysqld": program})
    assert side.version == "8.0.36"
    assert [setting.value for setting in side.settings("sync_binlog")] == ["8"]


OF_ORDERS = {"f/firebird.conf": "DefaultDbCachePages = 40\n", "f/bin/firebird": makes.elf(64, b"LI-V3.0.14.33856")}
SHIPPED = "employee.fdb = $(dir_sampleDb)/employee.fdb\nsecurity.db = $(dir_secDb)/security3.fdb\n{\n\tRemoteAccess = false\n\tDefaultDbCachePages = 50\n}\n"


def test_what_firebird_ships_is_no_setting_of_a_benchmark(tmp_path: Path) -> None:
    bench = read(
        tmp_path,
        {
            "f/firebird.conf": "RemoteServicePort = 3053\n",
            "f/databases.conf": SHIPPED,
            "f/bin/firebird": makes.elf(64, b"LI-V3.0.14.33856 Firebird 3.0"),
            "f/security3.fdb": makes.header_page(8192, (12, 0), 50),
            "f/x/SECURITY4.FDB": makes.header_page(8192, (13, 0), 50),
        },
    )
    assert bench.sides[0].databases == ()
    assert list(firebird.buffers_smallest(bench)) == []
    assert list(rules.settings_all_default(bench))
    apart = OF_ORDERS | {"f/databases.conf": SHIPPED + ORDERS}
    assert list(firebird.buffers_smallest(read(tmp_path / "all", OF_ORDERS)))
    assert list(firebird.buffers_smallest(read(tmp_path / "apart", apart))) == []


ORDERS = "orders = /db/orders.fdb {\n  TempCacheLimit = 2G\n}\n"
AGREE = [
    ({"a/firebird.conf": "", "a/databases.conf": ORDERS, "b/firebird.conf": "TempCacheLimit = 2G"}, False),
    ({"a/firebird.conf": "TempCacheLimit = 2G", "a/databases.conf": SHIPPED, "b/firebird.conf": ""}, True),
    ({"a/firebird.conf": "", "a/databases.conf": SHIPPED, "b/firebird.conf": "", "b/databases.conf": "x = y\n"}, False),
    ({"a/firebird.conf": "include elsewhere.conf", "b/firebird.conf": "TempCacheLimit = 1G"}, False),
]  # fmt: skip


@rows(*AGREE)
def test_what_is_set_for_a_database_alone_is_not_known_of_the_server(
    files: dict[str, str | bytes], differs: bool, tmp_path: Path
) -> None:
    found = list(rules.setting_differs(read(tmp_path, files)))
    assert bool(found) == differs
    assert all(one.text.startswith("TempCacheLimit differs: ") for one in found)


def configuration(source: Any, *values: str, kind: str = "conf", file: str = "f", **more: Any) -> Configuration:
    own = tuple(Setting("fsync", value, Where(file, n)) for n, value in enumerate(values, 1))
    return Configuration(Where(file), "postgresql", kind, own, source=source, **more)


RANKED = [
    ([configuration("command line", "off"), configuration("file", "on")], "off", False),
    ([configuration("dump", "on"), configuration("statement", "off")], "on", False),
    ([configuration("file", "on", "off")], "off", False),
    ([configuration("file", "on"), configuration("file", "off")], "off", False),
    ([configuration("command line", "off", file="a"), configuration("command line", "on", file="b")], None, True),
    ([configuration("command line", "off", file="a"), configuration("command line", "false", file="b")], "false", False),
    ([configuration("statement", "off", "on")], None, True),
    ([configuration("dump", "off", file="a"), configuration("dump", "on", file="b")], None, True),
    ([configuration("file", "on"), configuration("file", "off", prose=True)], "on", False),
    ([configuration("file", "on", kind="postgresql.auto.conf"), configuration("file", "off")], "on", False),
    ([configuration("statement", "off", "on"), configuration("dump", "off")], "off", False),
]  # fmt: skip


@rows(*RANKED)
def test_the_later_place_holds_and_of_equals_nobody_knows(
    places: list[Configuration], value: str | None, contested: bool
) -> None:
    side = Side("s", "postgresql", "16.2", configurations=tuple(places))
    holds = side.in_force("FSYNC")
    assert holds and bool(holds.contested) == contested
    assert rules.held(side, "fsync")[0] == value


@rows(("8.0.29", "48M"), ("8.0.30", None), ("8.0", None), ("5.7", "48M"), ("5", None), ("", None))
def test_a_default_of_a_series_is_known_where_all_of_it_have_it(version: str, default: str | None) -> None:
    assert known_settings.of("mysql").known["innodb_log_file_size"].default(version) == default


@rows(("18beta1", (18,)), ("10.6.8-MariaDB-1", (10, 6, 8)), ("8.0.36-28.1", (8, 0, 36)), ("devel", ()))
def test_a_version_is_what_stands_before_its_words(version: str, of: tuple[int, ...]) -> None:
    assert known_settings.numbers(version) == of


def test_the_defaults_of_a_dump_are_defaults(tmp_path: Path) -> None:
    everything = {f"x{n}": "1" for n in range(60)} | {"fsync": "on", "shared_buffers": "128MB"}
    values = tuple(Setting(name, value, Where("all.txt", 1)) for name, value in everything.items())
    for changed, speaks in ((values, True), ((*values, Setting("work_mem", "64MB", Where("all.txt", 9))), False)):
        dump = Configuration(Where("all.txt"), "postgresql", "settings", changed, source="dump")
        found = list(rules.settings_all_default(Bench([Side("s", "postgresql", "16.2", configurations=(dump,))])))
        assert bool(found) == speaks


TEXTS = ["include ", "'", "x", "=", " ", "\n", "{", "}", "[mysqld]", "!include a.cnf", "!includedir .", "#", "include_dir '.'", "*", "work_mem = 1", "a.conf"]  # fmt: skip


@hypothesis_settings(max_examples=60, deadline=None)
@given(texts=st.lists(st.lists(st.sampled_from(TEXTS), max_size=30).map("".join), min_size=3, max_size=3))
def test_any_text_is_followed(tmp_path_factory: pytest.TempPathFactory, texts: list[str]) -> None:
    path = tmp_path_factory.mktemp("any")
    names = ("postgresql.conf", "my.cnf", "databases.conf")
    read(path, dict(zip(names, texts, strict=True)) | {"a.conf": texts[0], "a.cnf": texts[1]})


ALIKE = [
    ("postgresql", "shared_buffers", "5242880", "40GB", True),
    ("postgresql", "shared_buffers", "5242880", "5242880kB", False),
    ("postgresql", "work_mem", "4096", "4MB", True),
    ("postgresql", "max_wal_size", "1024", "1GB", True),
    ("postgresql", "checkpoint_timeout", "300", "5min", True),
    ("postgresql", "checkpoint_timeout", "300s", "300min", False),
    ("postgresql", "deadlock_timeout", "1000", "1s", True),
    ("postgresql", "checkpoint_completion_target", "0.50", "0.5", True),
    ("postgresql", "hash_mem_multiplier", "2", "2.0", True),
    ("postgresql", "random_page_cost", "4.0", "4", True),
    ("postgresql", "seq_page_cost", "1", "1.0", True),
    ("postgresql", "seq_page_cost", "1.5", "1.50", True),
    ("postgresql", "shared_buffers", "1.5GB", "1536MB", True),
    ("postgresql", "fsync", "ON", "true", True),
    ("mysql", "innodb_buffer_pool_size", "134217728", "128M", True),
    ("firebird", "tempcachelimit", "64M", "67108864", True),
    ("firebird", "defaultdbcachepages", "2048", "2K", True),
]  # fmt: skip


@rows(*ALIKE)
def test_what_an_engine_takes_for_the_same(engine: str, name: str, one_value: str, other: str, same: bool) -> None:
    of = known_settings.of(engine)
    assert (of.alike(name, one_value) == of.alike(name, other)) == same
