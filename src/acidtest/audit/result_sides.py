"""Whose a result is: the sides of a benchmark as its results tell them apart."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath

from acidtest.audit.bench import Bench, Published
from acidtest.families import PRODUCTS

WORDS = re.compile(r"[a-z]+|\d+(?:\.\d+)*", re.IGNORECASE)
# As they are called in names of files and folders, beside the names of the products.
PRODUCTS_BY_WORD = {
    "postgres": "postgresql",
    "pg": "postgresql",
    "pgsql": "postgresql",
    "maria": "mariadb",
    "fb": "firebird",
}
OTHERS = frozenset(
    ("mongodb", "redis", "tidb", "cockroachdb", "cockroach", "yugabyte", "oracle", "cassandra", "mssql", "valkey")
)


def by_side(bench: Bench, results: Sequence[Published]) -> Mapping[str, list[Published]]:
    """The results of each side, by the side's title: of each engine where several are distinguished, else of each folder
    that a side has for itself. Results that no side can be told of are left out; fewer than two sides: nothing."""
    by_engine: dict[str, list[Published]] = defaultdict(list)
    for result in results:
        if engine := product(result):
            by_engine[PRODUCTS[engine].title if engine in PRODUCTS else engine].append(result)
    if len(by_engine) > 1:
        return by_engine
    homes = {side.name: side for side in bench.sides if (side.binaries or side.configurations) and side.name}
    by_home: dict[str, list[Published]] = defaultdict(list)
    for result in results:
        above = f"/{PurePosixPath(result.where.file).parent}/"
        mine = [home for home in homes if f"/{home}/" in above]
        if len(mine) == 1:
            by_home[mine[0]].append(result)
    return by_home if len(by_home) > 1 else {}


def product(one: Published) -> str | None:
    """The product that a result is of, as its tool says, or as its name or its file does if that names one only."""
    if one.engine:
        return one.engine
    named = {found for word in WORDS.findall(f"{one.where.file} {one.name}".lower()) if (found := _of_word(word))}
    return named.pop() if len(named) == 1 else None


def _of_word(word: str) -> str | None:
    return word if word in PRODUCTS or word in OTHERS else PRODUCTS_BY_WORD.get(word)


def without_products(text: str) -> str:
    """``text`` in lower case without names of products, so that scripts for several can be compared."""
    return "".join("" if _of_word(word) else word for word in re.split(r"([a-z]+)", text.lower()))
