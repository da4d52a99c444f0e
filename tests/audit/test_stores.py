"""Stores that are compared, and what each promises of a write when nobody sets anything."""

from __future__ import annotations

from pathlib import Path

from acidtest.audit import judge
from tables import read, speaks_only_of

SERVED = "services:\n  one:\n    image: {one}\n  two:\n    image: {two}\n"
RATES = "# {title}\n\n| Store | {what} per second |\n|---|---|\n| {one} | 4100 |\n| {two} | 9200 |\n"


def kit(one: str, two: str, *, what: str = "inserts", images: tuple[str, str] | None = None) -> dict[str, str]:
    first, second = images or (one.lower(), two.lower())
    readme = RATES.format(title="Two stores", what=what, one=one, two=two)
    return {"README.md": readme, "compose.yaml": SERVED.format(one=first, two=second)}


MONGO = ("postgres:16.4", "mongo:7")
REDIS = ("postgres:16.4", "redis:7")
TEXT = {"README.md": RATES.format(title="Bulk", what="inserts", one="PostgreSQL", two="MySQL")}
UNSAID = {"run.py": 'connect(options="-c synchronous_commit=off")\n'}
# Kits of which durability-differs speaks, and of which it does not.
WRONG = [
    kit("PostgreSQL", "MongoDB", images=("postgres:16.4", "docker.io/mongodb/mongodb-community-server:8.0")),
    kit("MySQL", "Redis", images=("mysql:8.4.2", "redis:7")),
    kit("MongoDB", "Redis", images=("mongo:7", "redis:7")),
    kit("CockroachDB", "Tarantool", images=("cockroachdb/cockroach:v24.1", "tarantool/tarantool:2.11")),
    TEXT | {"load.sql": "CREATE UNLOGGED TABLE t (id int);\n"},
    TEXT | UNSAID,
]
RIGHT = [
    kit("PostgreSQL", "MongoDB", images=MONGO) | {"src/Client.java": "write(WriteConcern.JOURNALED);\n"},
    kit("PostgreSQL", "MongoDB", images=MONGO) | {"run.js": "const options = { w: 1, j: true };\n"},
    kit("PostgreSQL", "MongoDB", images=MONGO) | {"start.sh": "mongod --replSet rs0\n"},
    kit("PostgreSQL", "Redis", images=REDIS) | {"redis.conf": "appendonly yes\nappendfsync always\n"},
    kit("PostgreSQL", "CockroachDB", images=("postgres:16.4", "cockroachdb/cockroach:v24.1")),
    kit("PostgreSQL", "MongoDB", what="reads", images=MONGO),
    kit("PostgreSQL", "MariaDB", images=("postgres:16.4", "redis:7")),  # started as somebody's cache
    {  # two studies
        "cache/README.md": RATES.format(title="Caches", what="inserts", one="Redis", two="our own map"),
        "db/README.md": TEXT["README.md"],
    },
    TEXT | {"load.sql": "CREATE TABLE t (id int);\n"},
    TEXT | {"load.py": "# not with CREATE UNLOGGED TABLE\n"},
]


def test_stores_that_promise_less(tmp_path: Path) -> None:
    speaks_only_of("durability-differs", "doubtful", WRONG, RIGHT, tmp_path)


def test_one_side_that_gives_it_up_is_not_all(tmp_path: Path) -> None:
    found = {finding.rule.name: finding for finding in judge.of_bench(read(tmp_path, TEXT | UNSAID))}
    assert "durability-given-up" not in found
    assert (found["durability-differs"].certainty, "PostgreSQL" in found["durability-differs"].text) == (
        "guessed",
        True,
    )
