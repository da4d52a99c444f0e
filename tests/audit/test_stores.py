"""Stores that are compared, and what each promises of a write when nobody sets anything."""

from __future__ import annotations

from pathlib import Path

from acidtest.audit import importers, judge
from audit.tables import rows

SERVED = "services:\n  one:\n    image: {one}\n  two:\n    image: {two}\n"
RATES = "# {title}\n\n| Store | {what} per second |\n|---|---|\n| {one} | 4100 |\n| {two} | 9200 |\n"


def said(at: Path, files: dict[str, str]) -> list[tuple[str, str, str]]:
    """Severity, certainty and sentence of what is found of durability."""
    for name, text in files.items():
        file = at / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    found = judge.of_bench(importers.read(at))
    return [(one.severity, one.certainty, one.text) for one in found if one.rule.name == "durability-differs"]


def kit(one: str, two: str, *, what: str = "inserts", images: tuple[str, str] | None = None) -> dict[str, str]:
    first, second = images or (one.lower(), two.lower())
    readme = RATES.format(title="Two stores", what=what, one=one, two=two)
    return {"README.md": readme, "compose.yaml": SERVED.format(one=first, two=second)}


@rows(
    ("PostgreSQL", "MongoDB", ("postgres:16.4", "docker.io/mongodb/mongodb-community-server:8.0")),
    ("MySQL", "Redis", ("mysql:8.4.2", "redis:7")),
    ("MongoDB", "Redis", ("mongo:7", "redis:7")),
    ("CockroachDB", "Tarantool", ("cockroachdb/cockroach:v24.1", "tarantool/tarantool:2.11")),
)
def test_stores_that_promise_less_by_default(one: str, two: str, images: tuple[str, str], tmp_path: Path) -> None:
    [(severity, certainty, text)] = said(tmp_path, kit(one, two, images=images))
    assert (severity, certainty) == ("doubtful", "guessed")
    assert one in text and two in text


MONGO = ("postgres:16.4", "mongo:7")
REDIS = ("postgres:16.4", "redis:7")


@rows(
    (kit("PostgreSQL", "MongoDB", images=MONGO), {"src/Client.java": "write(WriteConcern.JOURNALED);\n"}),
    (kit("PostgreSQL", "MongoDB", images=MONGO), {"run.js": "const options = { w: 1, j: true };\n"}),
    (kit("PostgreSQL", "MongoDB", images=MONGO), {"start.sh": "mongod --replSet rs0\n"}),
    (kit("PostgreSQL", "Redis", images=REDIS), {"redis.conf": "appendonly yes\nappendfsync always\n"}),
    (kit("PostgreSQL", "CockroachDB", images=("postgres:16.4", "cockroachdb/cockroach:v24.1")), {}),
    (kit("PostgreSQL", "MongoDB", what="reads", images=MONGO), {}),
    (kit("PostgreSQL", "MariaDB", images=("postgres:16.4", "redis:7")), {}),  # started as somebody's cache
)
def test_stores_that_are_set_or_promise_the_same(files: dict[str, str], more: dict[str, str], tmp_path: Path) -> None:
    assert not said(tmp_path, files | more)


def test_stores_of_two_studies_are_not_compared(tmp_path: Path) -> None:
    one = RATES.format(title="Caches", what="inserts", one="Redis", two="our own map")
    other = RATES.format(title="Engines", what="inserts", one="PostgreSQL", two="MySQL")
    assert not said(tmp_path, {"cache/README.md": one, "db/README.md": other})


def test_a_table_in_no_log_promises_nothing(tmp_path: Path) -> None:
    files = {"README.md": RATES.format(title="Bulk", what="rows", one="PostgreSQL", two="MySQL")}
    assert not said(tmp_path / "a", files | {"load.sql": "CREATE TABLE t (id int);\n"})
    assert not said(tmp_path / "b", files | {"load.py": "# not with CREATE UNLOGGED TABLE\n"})
    assert said(tmp_path / "c", files | {"load.sql": "CREATE UNLOGGED TABLE t (id int);\n"})


def test_one_side_that_gives_it_up_is_not_all(tmp_path: Path) -> None:
    files = {"README.md": RATES.format(title="Loads", what="inserts", one="PostgreSQL", two="MySQL")}
    found = said(tmp_path, files | {"run.py": 'connect(options="-c synchronous_commit=off")\n'})
    rules = {one.rule.name for one in judge.of_bench(importers.read(tmp_path))}
    assert found and "durability-given-up" not in rules
