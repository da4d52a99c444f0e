"""Which parts of a kit become one side, whatever file or folder they come from."""

from __future__ import annotations

from typing import Any

from acidtest.audit.bench import Binary, Configuration, Database, EngineName, LogEntry, Mount, Setting, Side, Where
from acidtest.audit.importers import engines
from acidtest.audit.importers.file import Part
from tables import rows


def configuration(
    file: str, engine: EngineName = "postgresql", *, settings: dict[str, str] | None = None, **more: Any
) -> Configuration:
    values = tuple(Setting(name, value, Where(file, n)) for n, (name, value) in enumerate((settings or {}).items(), 1))
    return Configuration(Where(file), engine, more.pop("kind", "postgresql.conf"), values, **more)


def binary(file: str, engine: EngineName = "postgresql", version: str = "") -> Binary:
    return Binary(Where(file), engine, 64, "x86-64", "Linux", version, debug=False)


def sides(*parts: Part) -> list[Side]:
    return engines.sides([(part.where.file, part) for part in parts])


def told(*parts: Part) -> dict[str, list[str]]:
    """Each side's name and the files of its configurations."""
    return {side.name: [configuration.where.file for configuration in side.configurations] for side in sides(*parts)}


A, B = {"work_mem": "4MB"}, {"work_mem": "64MB"}
APART: list[tuple[str, list[Part], dict[str, list[str]]]] = [
    ("engines in one folder", [configuration("etc/postgresql.conf"), configuration("etc/my.cnf", "mysql")],
     {"etc/postgresql.conf": ["etc/postgresql.conf"], "etc/my.cnf": ["etc/my.cnf"]}),
    ("programs in one folder", [binary("bin/postgres"), binary("bin/mysqld", "mysql")], {"bin/mysqld": [], "bin/postgres": []}),
    ("what sets nothing", [configuration("c/a.conf"), configuration("c/b.conf", settings=A)], {"c": ["c/a.conf", "c/b.conf"]}),
    ("forks in one folder", [configuration("c/mysql.cnf", "mysql"), configuration("c/mariadb.cnf", "mariadb")],
     {"c/mysql.cnf": ["c/mysql.cnf"], "c/mariadb.cnf": ["c/mariadb.cnf"]}),
    ("two whole configurations", [configuration("c/a.conf", settings=A), configuration("c/b.conf", settings=B)],
     {"c/a.conf": ["c/a.conf"], "c/b.conf": ["c/b.conf"]}),
    ("two copies of one", [configuration("c/a.conf", settings=A), configuration("c/b.conf", settings=A)],
     {"c": ["c/a.conf", "c/b.conf"]}),
    ("one and what adds to it", [configuration("c/postgresql.conf", settings=A), configuration("c/more.conf", settings={"jit": "off"})],
     {"c": ["c/postgresql.conf", "c/more.conf"]}),
    ("one and an older one", [configuration("c/postgresql.conf", settings=A), configuration("c/postgresql.conf.bak", settings=B)],
     {"c": ["c/postgresql.conf"]}),
    ("a folder whose files are all read", [configuration("c/my.cnf", "mysql", settings=A), configuration("c/x.d/y.cnf", "mysql", settings=B)],
     {"c": ["c/my.cnf", "c/x.d/y.cnf"]}),
    ("services of one file", [configuration("compose.yml", side="one", source="command line"), configuration("compose.yml", side="two", source="command line")],
     {"one": ["compose.yml"], "two": ["compose.yml"]}),
    ("a service and its folder", [configuration("one/postgresql.conf"), configuration("two/postgresql.conf"),
                                  configuration("compose.yml", side="one", source="command line"),
                                  configuration("compose.yml", side="other", source="command line")],
     {"one": ["one/postgresql.conf", "compose.yml"], "two": ["two/postgresql.conf"], "other": ["compose.yml"]}),
    ("a service and the file that it mounts", [configuration("x/small.conf", settings=A), configuration("x/large.conf", settings=B),
                                               configuration("compose.yml", side="db", source="command line", reads=("x/large.conf",))],
     {"x/small.conf": ["x/small.conf"], "x/large.conf": ["x/large.conf", "compose.yml"]}),
    ("two services that mount one file", [configuration("x/p.conf"),
                                          configuration("compose.yml", side="a", source="command line", reads=("x/p.conf",)),
                                          configuration("compose.yml", side="b", source="command line", reads=("x/p.conf",))],
     {"a": ["x/p.conf", "compose.yml"], "b": ["x/p.conf", "compose.yml"]}),
    ("the only service and the only folder", [configuration("x/p.conf"), configuration("compose.yml", side="db", source="command line")],
     {"x": ["x/p.conf", "compose.yml"]}),
    ("services of one name in two files", [configuration("a/compose.yml", side="db", source="command line"),
                                           configuration("b/compose.yml", side="db", source="command line")],
     {"a: db": ["a/compose.yml"], "b: db": ["b/compose.yml"]}),
    ("a command line joins the only side", [configuration("pg/p.conf"), configuration("run.sh", source="command line")],
     {"pg": ["pg/p.conf", "run.sh"]}),
    ("a command line joins the side of its name", [configuration("pg15/p.conf"), configuration("pg16/p.conf"), configuration("run-pg15.sh", source="command line")],
     {"pg15": ["pg15/p.conf", "run-pg15.sh"], "pg16": ["pg16/p.conf"]}),
    ("a command line of nobody is of all", [configuration("pg15/p.conf"), configuration("pg16/p.conf"), configuration("run.sh", source="command line")],
     {"pg15": ["pg15/p.conf", "run.sh"], "pg16": ["pg16/p.conf", "run.sh"]}),
    ("a dump joins the side of its version", [binary("a/bin/postgres", version="15.4"), binary("b/bin/postgres", version="16.2"),
                                              configuration("all.txt", source="dump", version="16.2")],
     {"a": [], "b": ["all.txt"]}),
    ("dumps of two servers", [configuration("one.txt", source="dump", version="15.4"),
                              configuration("two.txt", source="dump", version="16.2")],
     {"one.txt": ["one.txt"], "two.txt": ["two.txt"]}),
    ("dumps of one server", [configuration("one.txt", source="dump", version="15.4", settings={"pid": "7"}),
                             configuration("two.txt", source="dump", version="15.4", settings={"pid": "9"})],
     {"one.txt": ["one.txt", "two.txt"]}),
    ("two starts of one server", [configuration("a.sh", source="command line", settings=A), configuration("b.sh", source="command line", settings=B),
                                  configuration("c.sql", source="statement", settings=A)],
     {"a.sh": ["a.sh", "c.sql"], "b.sh": ["b.sh", "c.sql"]}),
    ("another engine's command line", [configuration("pg/p.conf"), configuration("run.sh", "mysql", source="command line")],
     {"pg": ["pg/p.conf"], "run.sh": ["run.sh"]}),
    ("one for all beside the folders", [binary("a/bin/postgres"), binary("b/bin/postgres"), configuration("p.conf")],
     {"a": ["p.conf"], "b": ["p.conf"]}),
    ("one beside a folder with its own", [configuration("p.conf", settings=A), configuration("a/p.conf", settings=B)],
     {"a": ["a/p.conf"], "p.conf": ["p.conf"]}),
]  # fmt: skip


@rows(*APART)
def test_what_is_one_side(_: str, parts: list[Part], wanted: dict[str, list[str]]) -> None:
    assert told(*parts) == wanted


def test_a_configuration_beside_a_fork_is_that_forks() -> None:
    (side,) = sides(binary("db/bin/mariadbd", "mariadb", "10.11.6"), configuration("db/my.cnf", "mysql"))
    assert (side.engine, side.version) == ("mariadb", "10.11.6")


def test_a_program_serves_each_configuration_beside_it() -> None:
    parts = [binary("pg/bin/postgres", version="16.2"), configuration("pg/a.conf", settings=A), configuration("pg/b.conf", settings=B)]  # fmt: skip
    assert [(side.name, side.version) for side in sides(*parts)] == [("pg/a.conf", "16.2"), ("pg/b.conf", "16.2")]


def test_what_lies_in_the_folder_of_another_engine_is_none_of_it() -> None:
    log = LogEntry(Where("pg/old/mysqld.err"), "mysql", "error", "an error")
    database = Database(Where("pg/data.fdb"), "data.fdb", "firebird")
    found = sides(configuration("pg/p.conf"), log, database)
    assert [(side.name, side.engine, len(side.log), len(side.databases)) for side in found] == [
        ("pg", "postgresql", 0, 0),
        ("pg/old/mysqld.err", "mysql", 1, 0),
        ("pg/data.fdb", "firebird", 0, 1),
    ]


def test_a_mount_of_a_service_is_of_that_side() -> None:
    services = [configuration("compose.yml", side=name, source="command line") for name in ("a", "b")]
    mount = Mount(Where("compose.yml", 9), "/data", "tmpfs", frozenset(), side="b")
    assert [(side.name, len(side.mounts)) for side in sides(*services, mount)] == [("a", 0), ("b", 1)]


def test_what_a_text_tells_of_joins_the_engine_that_is_there() -> None:
    said = configuration("README.md", settings=A, prose=True)
    assert told(said, configuration("pg/p.conf")) == {"pg": ["pg/p.conf", "README.md"]}
    assert told(said) == {"README.md": ["README.md"]}
