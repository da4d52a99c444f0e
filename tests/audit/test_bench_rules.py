"""Every rule over benchmarks: one of which it speaks and one, as near to it as can be, of which it is silent."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from types import ModuleType
from typing import Any

from acidtest.audit import measured_sides
from acidtest.audit import rules as all_rules
from acidtest.audit.bench import (
    Bench,
    Binary,
    Configuration,
    Database,
    Draw,
    LogEntry,
    Mount,
    Published,
    Routine,
    Setting,
    Side,
    Statement,
    Where,
    Write,
)
from acidtest.audit.rules import builds, data_size, durability, firebird, routines, settings, systems, vacuum
from acidtest.finding import Rule
from acidtest.settings import numbers
from settings_kits import SPOKEN as OVER_KITS
from tables import over_benches, rows

HERE = Where("file", 1)
RUN = Published(Where("run.out", 3), "pgbench", "tpcb", rate=100.0)


def side(name: str = "a", of: str = "firebird 3.0.14", *parts: Any, **configured: Any) -> Side:
    """A side of an engine and version, with what else is known of it; ``configured`` is its configuration."""
    engine, _, version = of.partition(" ")
    values = tuple(
        Setting(key, str(value), Where(f"{name}.conf", n)) for n, (key, value) in enumerate(configured.items(), 1)
    )
    return Side(
        name=name,
        engine=engine,  # type: ignore[arg-type]
        version=version,
        binaries=tuple(part for part in parts if isinstance(part, Binary)),
        configurations=(Configuration(Where(f"{name}.conf"), engine, "conf", values),),  # type: ignore[arg-type]
        databases=tuple(part for part in parts if isinstance(part, Database)),
        log=tuple(part for part in parts if isinstance(part, LogEntry)),
        mounts=tuple(part for part in parts if isinstance(part, Mount)),
    )  # fmt: skip


def two(one: str, other: str, *, of: str = "", **configured: tuple[Any, Any]) -> Bench:
    """Two sides; each setting has a value in either, None where it is not set."""
    first = {name: a for name, (a, _) in configured.items() if a is not None}
    second = {name: b for name, (_, b) in configured.items() if b is not None}
    return Bench([side("a", one or of, **first), side("b", other or of, **second)])


def beside(of: str, **configured: tuple[Any, Any]) -> Bench:
    """Two configurations in one folder, as sides."""
    apart = two("", "", of=of, **configured)
    return replace(apart, sides=[replace(side, name=side.configurations[0].where.file) for side in apart.sides])


def bench(*sides: Side, **more: Any) -> Bench:
    return Bench(sides, **more)


def binary(
    bits: int = 64, machine: str = "x86-64", system: Any = "Linux", *, debug: bool = False, version: str = ""
) -> Binary:
    return Binary(HERE, "firebird", bits, machine, system, version, debug)


def called(name: str, identity: str) -> Binary:
    return replace(binary(), called=name, identity=identity)


def database(buffers: int | None = None, page: int | None = 16384, size: int | None = None, *, fw: bool | None = None,
             name: str = "orders.fdb") -> Database:  # fmt: skip
    return Database(HERE, name, "firebird", None, size, page, buffers, fw)


def windows(version: str, *parts: Any, bits: int = 64, **configured: Any) -> Bench:
    return bench(side("a", f"firebird {version}", binary(bits, system="Windows"), *parts, **configured))


RAND = Draw(HERE, "RAND()", "random")
NUMBER = Draw(HERE, "GEN_ID(N, 1)", "sequence")
COLUMN = Draw(HERE, "PRODUCT", "column")
BY_RAND = Routine(HERE, "SELL", writes=(Write(HERE, "update", "STOCK", (RAND,)),))
BY_PARAMETER = replace(BY_RAND, writes=(Write(HERE, "update", "STOCK"),))
SOLD = Routine(HERE, "SOLD", "trigger", "LINE", writes=(Write(HERE, "update", "STOCK", (COLUMN,)),))
INSERTS_RAND = replace(BY_RAND, writes=(Write(HERE, "insert", "LINE", columns=(("PRODUCT", (RAND,)),)),))
INSERTS_NUMBER = replace(BY_RAND, writes=(Write(HERE, "insert", "LINE", columns=(("PRODUCT", (NUMBER,)),)),))
RESTARTED = LogEntry(HERE, "firebird", "update-conflict", "after 10 attempts of restart. execute procedure SELL(9)")
ANOTHER = replace(RESTARTED, text="after 10 attempts of restart. execute procedure OTHER(9)")
IN_A_HUNDRED = replace(BY_PARAMETER, loop=100, loop_where=HERE)
DRIVE_TEST = Statement(HERE, "drive test", 'measures = "drive"')
NO_BARRIER = Mount(HERE, "/data", "ext4", frozenset(("rw", "nobarrier")))
BARRIER = replace(NO_BARRIER, options=frozenset(("rw", "noatime")))

SPOKEN: list[tuple[Rule[Bench], Bench, Bench]] = [
    (builds.word_size, bench(side("a", "firebird 3.0.5", binary(32, "x86")), side("b", "firebird 4.0.0", binary())),
     bench(side("a", "firebird 3.0.5", binary()), side("b", "firebird 4.0.0", binary()))),
    (builds.old_build, bench(side("a", "firebird 3.0.5"), side("b", "firebird 4.0.0")),
     bench(side("a", "firebird 3.0.7"), side("b", "firebird 4.0.0"))),
    (builds.old_build, bench(side("a", "mysql 8.0.20"), side("b", "mysql 8.4.0")),
     bench(side("a", "mysql 8.0.36"), side("b", "mysql 8.4.0"))),
    (builds.old_build, bench(side("a", "mariadb 10.6.8"), side("b", "mariadb 11.4.5")),
     bench(side("a", "mariadb 10.6.20"), side("b", "mariadb 11.4.5"))),
    (builds.old_build, bench(side("a", "mariadb 10.6.8-MariaDB"), side("b", "mariadb 11.4.5-MariaDB")),
     bench(side("a", "mariadb 10.6.80"), side("b", "mariadb 11.4.5"))),
    (builds.old_build, bench(side("a", "postgresql 15.2"), side("b", "postgresql 17.1")),
     bench(side("a", "postgresql 15.8"), side("b", "postgresql 17.1"))),
    (builds.old_build, bench(side("a", "postgresql 9.6.3"), side("b", "mysql 8.0.30")),
     bench(side("a", "postgresql 9.6.24"), side("b", "mysql 8.0.30"))),
    (builds.old_build, bench(side("a", "sqlite 3.45.0"), side("b", "sqlite 3.49.0")),
     bench(side("a", "sqlite 3.45.3"), side("b", "sqlite 3.49.0"))),
    (builds.debug_build, bench(side("a", "firebird 5.0.1", binary(debug=True))),
     bench(side("a", "firebird 5.0.1", binary()))),
    (builds.same_build, bench(side("a", "firebird 5.0.1", called("one", "f1")), side("b", "firebird 5.0.1", called("two", "f1"))),
     bench(side("a", "firebird 5.0.1", called("one", "f1")), side("b", "firebird 5.0.1", called("one", "f1")))),
    (systems.system_differs, bench(side("a", "firebird 5.0.1", binary()), side("b", "firebird 5.0.1", binary(system="Windows"))),
     bench(side("a", "firebird 5.0.1", binary(), binary(system="Windows")), side("b", "firebird 5.0.1", binary(system="Windows"), binary()))),
    (settings.settings_all_default, bench(side(remoteserviceport=3130)), bench(side(remoteserviceport=3130, tempcachelimit="2G"))),
    (settings.settings_all_default, bench(side("a", "firebird 2.5.9")), bench(side("a", "firebird 2.5.9", tempcachelimit=134217728))),
    (settings.setting_differs, two("postgresql 16.1", "postgresql 17.0", jit=("off", None)), two("postgresql 16.1", "postgresql 17.0", jit=("on", None))),
    (settings.settings_all_default, bench(side("a", "postgresql 17.1", port=5433, shared_buffers="128MB")),
     bench(side("a", "postgresql 17.1", port=5433, shared_buffers="8GB"))),
    (settings.setting_differs, two("", "", of="firebird 3.0.14", tempcachelimit=("2G", "64M")),
     two("", "", of="firebird 3.0.14", tempcachelimit=("65536K", None))),
    (settings.setting_differs, two("", "", of="postgresql 17.1", work_mem=("64MB", None)),
     replace(two("", "", of="postgresql 17.1", work_mem=("64MB", None)), factors=frozenset(["work_mem"]))),
    (settings.setting_differs, two("mysql 8.0.36", "mysql 5.7.44", innodb_io_capacity=(2000, None)),
     two("mysql 8.0.36", "postgresql 17.1", innodb_io_capacity=(2000, None))),
    (settings.settings_of_run_unknown, replace(beside("postgresql 17.1", work_mem=("64MB", "4MB")), published=[RUN]),
     replace(beside("postgresql 17.1", work_mem=("64MB", "4MB")), published=[replace(RUN, where=Where("b/run.out", 3))])),
    (settings.settings_of_run_unknown, replace(beside("postgresql 17.1", work_mem=("64MB", "4MB")), published=[RUN]),
     replace(two("", "", of="postgresql 17.1", work_mem=("64MB", "4MB")), published=[RUN])),
    (settings.settings_all_default, bench(side("a", "postgresql 13.3", wal_buffers="4MB", checkpoint_timeout="300", seq_page_cost="1")),
     bench(side("a", "postgresql 13.3", wal_buffers="4MB", checkpoint_timeout="900"))),
    (settings.settings_all_default, bench(side("a", "mysql 8.0.36", key_buffer_size="64M")),
     bench(side("a", "mysql 8.0.36", key_buffer_size="64M", default_storage_engine="MyISAM"))),
    (durability.durability_given_up, replace(beside("postgresql 17.1", fsync=("off", None)), published=[RUN]),
     replace(beside("postgresql 17.1", fsync=("off", None)), published=[replace(RUN, where=Where("b/run.out", 3))])),
    (durability.durability_differs, two("", "", of="postgresql 17.1", fsync=("off", None)),
     replace(beside("postgresql 17.1", fsync=("off", None)), published=[RUN])),
    (durability.durability_differs, two("postgresql 17.1", "postgresql 18.0", fsync=("off", None)),
     replace(two("", "", of="postgresql 17.1", fsync=("off", "off")), published=[RUN])),
    (durability.durability_given_up, bench(side("a", "postgresql 17.1", full_page_writes="off")),
     bench(side("a", "postgresql 17.1", replace(BARRIER, filesystem="zfs"), full_page_writes="off"))),
    (settings.binary_log_differs, two("mysql 8.0.36", "mariadb 11.4.5", innodb_buffer_pool_size=("8G", "8G")),
     two("mysql 8.0.36", "mariadb 11.4.5", skip_log_bin=("ON", None))),
    (durability.durability_differs, two("mysql 8.0.36", "postgresql 17.1", innodb_flush_log_at_trx_commit=(2, None)),
     two("mysql 8.0.36", "postgresql 17.1", innodb_flush_log_at_trx_commit=(1, None))),
    (durability.durability_differs, two("", "", of="postgresql 17.1", full_page_writes=("off", None)),
     two("", "", of="postgresql 17.1", full_page_writes=("off", "off"))),
    (durability.durability_differs, two("", "", of="mysql 8.0.36", innodb_doublewrite=("OFF", None)),
     two("", "", of="mysql 8.0.36", innodb_doublewrite=("ON", None))),
    (durability.durability_differs, two("", "", of="postgresql 17.1", fsync=("off", None)),
     replace(two("", "", of="postgresql 17.1", fsync=("off", None)), factors=frozenset(["durability"]))),
    (durability.durability_differs, bench(side("a", "firebird 3.0.14", database(fw=False)), side("b", "firebird 4.0.7", database(fw=True))),
     bench(side("a", "firebird 3.0.14", database(fw=True)), side("b", "firebird 4.0.7", database(fw=True)))),
    (durability.durability_differs, bench(side("a", "postgresql 17.1", NO_BARRIER), side("b", "postgresql 17.1", BARRIER)),
     bench(side("a", "postgresql 17.1", BARRIER), side("b", "postgresql 17.1", BARRIER))),
    (durability.durability_differs, two("", "", of="mysql 8.0.36", sync_binlog=(0, 1)),
     two("", "", of="mysql 8.0.36", sync_binlog=(0, 1), skip_log_bin=("ON", "ON"))),
    (durability.durability_given_up, two("", "", of="postgresql 17.1", fsync=("off", "off")),
     two("", "", of="postgresql 17.1", fsync=("on", "off"))),
    (builds.pre_release, bench(side("a", "postgresql 18beta1", binary(version="18beta1"))), bench(side("a", "postgresql 18.1", binary(version="18.1")))),
    (firebird.page_size_differs, bench(side("a", "firebird 3.0.7", database()), side("b", "firebird 4.0.0", database(page=32768))),
     bench(side("a", "firebird 3.0.7", database()), side("b", "firebird 4.0.0", database()))),
    (firebird.buffers_in_header, bench(side("a", "firebird 3.0.7", database(9000))), bench(side("a", "firebird 3.0.7", database(0)))),
    (firebird.buffers_smallest, bench(side("a", "firebird 3.0.7", database(50))), bench(side("a", "firebird 3.0.7", database(75)))),
    (firebird.buffers_smallest, bench(side(defaultdbcachepages=50)), bench(side(defaultdbcachepages="50K"))),
    (firebird.buffers_classic, bench(side("a", "firebird 3.0.7", database(5000), servermode="Classic")),
     bench(side("a", "firebird 3.0.7", database(2048), servermode="Classic"))),
    (firebird.buffers_classic, bench(side("a", "firebird 3.0.7", database(5000), servermode="Classic")),
     bench(side("a", "firebird 3.0.7", database(5000)))),
    (firebird.buffers_classic, bench(side("a", "firebird 3.0.7", database(5000), servermode="Classic")),
     bench(side("a", "firebird 3.0.7", database(5000), servermode="Super"))),
    (firebird.buffers_classic, bench(side("a", "firebird 4.0.7", database(2049), servermode="SuperClassic")),
     bench(side("a", "firebird 4.0.7", database(2048), servermode="SuperClassic"))),
    (firebird.buffers_super, bench(side("a", "firebird 3.0.7", database(5000), servermode="Super")),
     bench(side("a", "firebird 3.0.7", database(8192), servermode="Super"))),
    (firebird.server_mode_differs, two("", "", of="firebird 3.0.14", servermode=("Classic", "Super")),
     two("", "", of="firebird 3.0.14", servermode=(None, "Super"))),
    (firebird.read_consistency_differs, two("firebird 3.0.14", "firebird 4.0.7"),
     two("firebird 3.0.14", "firebird 4.0.7", readconsistency=(None, 0))),
    (firebird.restarts_in_log, bench(side("a", "firebird 4.0.0", RESTARTED)),
     bench(side("a", "firebird 4.0.0", replace(RESTARTED, kind="error")))),
    (firebird.drive_test_in_file_cache, bench(side("a", "firebird 4.0.0"), facts=[DRIVE_TEST]),
     bench(side("a", "firebird 4.0.0", usefilesystemcache="false"), facts=[DRIVE_TEST])),
    (firebird.drive_test_in_file_cache, bench(side("a", "firebird 3.0.7", database(50))),
     bench(side("a", "firebird 3.0.7", database(50), filesystemcachethreshold=1))),
    (firebird.drive_test_in_file_cache, bench(side("a", "firebird 2.5.9", database(50, name="drive.fdb"))),
     bench(side("a", "firebird 2.5.9", database(100_000, name="drive.fdb")))),
    (data_size.database_too_small, bench(side("a", "firebird 3.0.7", database(50, size=55_000_000))),
     bench(side("a", "firebird 3.0.7", database(50, size=50_000_000_000)))),
    (data_size.database_too_small,
     bench(side("a", "firebird 3.0.7", database(50, size=9 << 30)), facts=[Statement(HERE, "memory", "memory_gb = 32", 32 << 30)]),
     bench(side("a", "firebird 3.0.7", database(9000, size=9 << 30)), facts=[Statement(HERE, "memory", "memory_gb = 32", 32 << 30)])),
    (routines.routine_not_repeatable, bench(routines=[BY_RAND]), bench(routines=[BY_PARAMETER])),
    (routines.routine_not_repeatable, bench(routines=[INSERTS_RAND, SOLD]), bench(routines=[INSERTS_RAND])),
    (routines.routine_not_repeatable, bench(routines=[INSERTS_RAND, SOLD]), bench(routines=[INSERTS_NUMBER, SOLD])),
    (routines.restarts_not_repeatable, bench(side("a", "firebird 4.0.0", RESTARTED), routines=[BY_RAND]),
     bench(side("a", "firebird 4.0.0", ANOTHER), routines=[BY_RAND])),
    (routines.work_in_one_call, bench(routines=[IN_A_HUNDRED]), bench(routines=[replace(IN_A_HUNDRED, loop=15)])),
    (routines.work_in_one_call, bench(routines=[replace(INSERTS_RAND, loop=100), SOLD]),
     bench(routines=[replace(INSERTS_RAND, loop=100)])),
    (vacuum.autovacuum_off, bench(side("a", "postgresql 17.1", autovacuum="off")), bench(side("a", "postgresql 17.1", autovacuum="on"))),
    (firebird.windows_cache_unlimited, windows("2.5.1", filesystemcachesize=0), windows("2.5.1")),
    (firebird.windows_cache_unlimited, windows("2.1.4"), windows("2.5.2")),
]  # fmt: skip
MODULES: list[ModuleType] = [builds, data_size, settings, durability, firebird, routines, systems, vacuum]

test_a_rule_speaks_of_the_one_and_not_of_the_other = over_benches(SPOKEN)


def test_every_rule_is_in_the_table() -> None:
    mine = {var.name for module in MODULES for var in vars(module).values() if isinstance(var, Rule)}
    over_kits = {name for name, *_ in OVER_KITS}
    assert mine - over_kits == {rule.name for rule, _, _ in SPOKEN} - over_kits


@rows(*all_rules.over(Bench))
def test_no_rule_speaks_of_nothing_at_all(rule: Rule[Bench]) -> None:
    assert list(rule(Bench(sides=[]))) == []
    assert list(rule(Bench(sides=[Side("a"), Side("b")]))) == []
    assert rule.remedy and rule.source and rule.says.endswith((".", "!"))


def bench_of(**configured: Any) -> Bench:
    return bench(side("a", "firebird 4.0.0", **configured))


def test_defaults_of_note_are_named_with_what_they_mean() -> None:
    (found,) = settings.settings_all_default(bench_of(remoteserviceport=3140))
    for name in (
        "DefaultDbCachePages = 2048",
        "UseFileSystemCache = true",
        "TempCacheLimit = 64M",
        "ReadConsistency = 1",
    ):
        assert name in found.text


def test_of_an_unknown_version_only_what_all_have_is_said() -> None:
    (found,) = settings.settings_all_default(bench(side("a", "firebird", remoteserviceport=3140)))
    assert "DefaultDbCachePages = 2048" in found.text
    assert not any(name in found.text for name in ("ReadConsistency", "UseFileSystemCache", "FileSystemCacheThreshold"))


def test_a_level_that_every_row_of_ours_says_is_no_finding() -> None:
    wrong = bench(side("a", "postgresql 17.1", fsync="off"))
    (configuration,) = wrong.sides[0].configurations
    ours = replace(wrong.sides[0], configurations=(replace(configuration, kind="settings in force"),))
    assert list(durability.durability_given_up(wrong))
    assert list(durability.durability_given_up(bench(ours))) == []


@rows("firebird", "mysql", "mariadb", "postgresql", "sqlite")
def test_releases_are_of_their_series_and_in_order_of_time(engine: str) -> None:
    known = builds._releases(engine)
    assert len(known) > 30 and len({release.version for release in known}) == len(known)
    for one, later in pairwise(sorted(known, key=lambda release: numbers(release.version))):
        assert f"{one.version}.".startswith(f"{one.series}.")
        assert builds._release(engine, f"{one.version}.27139") == one
        assert one.series != later.series or one.date <= later.date
    assert [release.date for release in known] == sorted(release.date for release in known)


def test_what_differs_between_two_sides_is_one_finding() -> None:
    apart = two("", "", of="postgresql 17.1", work_mem=("64MB", None), jit=("off", None), custom_thing=("1", "2"))
    (found,) = settings.setting_differs(apart)
    assert found.text == (
        "3 settings differ: custom_thing (1 in a, 2 in b); jit (off in a, on in b); work_mem (64MB in a, 4MB in b)."
    )
    assert len(found.evidence) == 6


def test_sides_of_one_name_are_told_apart() -> None:
    (found,) = durability.durability_differs(two("", "", of="postgresql 17.1", fsync=("off", None)))
    assert "holds for PostgreSQL 17.1 (b), and not for PostgreSQL 17.1 (a)" in found.text


# Configurations, as files, or as folders that end in "/"; results; and which of the former were measured.
MEASURED = [
    (["a.cnf"], ["run.out"], ["a.cnf"]),
    (["pg/default/", "pg/tuned/"], ["results/tuned-1.out"], ["pg/default/", "pg/tuned/"]),
    (["pg/default.conf", "pg/tuned.conf"], ["results/tuned-1.out"], ["pg/tuned.conf"]),
    (["c/my.cnf.01", "c/my.cnf.02"], ["c/res02/run.out", "c/res01/run.out"], ["c/my.cnf.01", "c/my.cnf.02"]),
    (["c/a.cnf", "c/b.cnf"], ["c/run.out"], []),
    (["c/x/", "c/b.cnf"], ["c/run.out"], []),
    (["c/x/", "c/b.cnf"], ["c/x/run.out"], ["c/x/"]),
    (["c/a.cnf", "c/b.cnf"], [], ["c/a.cnf", "c/b.cnf"]),
]


@rows(*MEASURED)
def test_which_sides_were_measured(names: list[str], results: list[str], wanted: list[str]) -> None:
    def configured(name: str) -> Side:
        file = Where(f"{name}my.cnf" if name.endswith("/") else name)
        return Side(name.rstrip("/"), "mysql", configurations=(Configuration(file, "mysql", "my.cnf", ()),))

    of = bench(*map(configured, names), published=[replace(RUN, where=Where(file, 1)) for file in results])
    assert [one.name for one in measured_sides.measured(of)] == [name.rstrip("/") for name in wanted]
    assert bool(measured_sides.alternatives(of)) == (not wanted)
