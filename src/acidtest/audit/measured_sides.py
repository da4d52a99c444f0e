"""Which sides were measured, as far as a kit shows it: several configurations of one engine may lie in it, and only
some of them, or none, are those of its results."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence, Set
from functools import lru_cache
from pathlib import PurePosixPath

from acidtest.audit.bench import Bench, Side, Where, once
from acidtest.audit.result_sides import product
from acidtest.audit.stores import compared

RESULTS_MAX = 2_000  # that are looked through for the names of sides
DEEP = 2  # folders
TOKEN_MIN = 3  # characters of a word that tells a side from another
GENERIC = re.compile(
    r"my|mysqld?|mysql|mariadbd?|postgres(?:ql)?|pg|pgsql|firebird|fb|conf|cnf|ini|cfg|config|configuration|server|db|"
    r"database|etc|txt"
)
# What names of settings begin with, and what any result is in.
ANYWHERE = re.compile(r"innodb|myisam|xtradb|rocksdb|myrocks|aria|heap|results?|bench|benchmarks?|tests?|data|run")


# Tools that measure one engine alone, and forks whose results nobody distinguishes.
OF_ONE = {"pgbench": "postgresql", "mysqlslap": "mysql", "tpcc-mysql": "mysql", "oltp-emul": "firebird"}
FORKS = frozenset(("mysql", "mariadb"))


def in_use(bench: Bench, sides: Sequence[Side]) -> list[Side]:
    """The sides of engines that results or tables name, where each result says of which engine it is: a helper's
    database beside them was not measured. All where that cannot be told."""
    named: set[str] = set()
    for other in bench.others[:RESULTS_MAX]:
        engine = product(other) or OF_ONE.get(other.tool)
        if engine is None and not other.told:
            return list(sides)
        named |= {engine} if engine else set()
    named |= {store for together in compared(bench) for store in together}
    named |= FORKS if named & FORKS else frozenset()
    mine = [side for side in sides if side.engine in named]
    return mine or list(sides)


def measured(bench: Bench) -> list[Side]:
    """The sides that were measured. Each folder of an engine is one; of configurations that lie side by side those are
    that have their name in a result. All where there are no results."""
    return in_use(bench, [side for group, known in _groups(bench) if known for side in group])


def alternatives(bench: Bench) -> list[list[Side]]:
    """Configurations of one engine, of which nothing shows with which of them any result was measured."""
    return [group for group, known in _groups(bench) if not known]


@once
def _groups(bench: Bench) -> list[tuple[list[Side], bool]]:
    """The sides, those together that only their configuration distinguishes, and whether they are known to be
    measured."""
    alike: dict[tuple[str | None, str], list[Side]] = defaultdict(list)
    for side in bench.sides:
        alike[side.engine, side.version].append(side)
    told = list(dict.fromkeys((other.where.file, other.name) for other in bench.others))[:RESULTS_MAX]
    groups = []
    for sides in alike.values():
        shared = _shared(sides)
        own = [side for side in sides if _was_started(side, shared)]
        rest = [side for side in sides if not _was_started(side, shared)]
        declared = bench.declared is not None and bool(bench.declared.sides)
        if len(sides) == 1 or declared or not bench.others or not any(map(_is_file, rest)):
            groups.append((sides, True))
            continue
        named = [side for side in rest if any(_is_of(file, name, side.name) for file, name in told)]
        known = [*own, *named]
        groups.append((known or rest, bool(known)))
    return _without_strangers(bench, groups) if len(groups) > 1 and not bench.declared else groups


def _shared(sides: Sequence[Side]) -> set[Where]:
    """Dumps that are of none of them in particular, for several have them."""
    held = Counter(
        configuration.where for side in sides for configuration in side.configurations if configuration.source == "dump"
    )
    return {where for where, many in held.items() if many > 1}


def _was_started(side: Side, shared: Set[Where]) -> bool:
    """Whether it was a server, by what is there of it beside a configuration."""
    told = any(
        configuration.side or (configuration.source == "dump" and configuration.where not in shared)
        for configuration in side.configurations
    )
    return told or bool(side.binaries or side.log or side.databases)


def _without_strangers(bench: Bench, groups: list[tuple[list[Side], bool]]) -> list[tuple[list[Side], bool]]:
    """Where results have the names of their configurations: without those that lie deep in a folder of the kit in which
    nothing was measured. They are another tool's, which lies in the same repository."""
    results = [other for other in bench.others if not other.planned]
    tied = [sides for sides, known in groups if known and len(sides) > 1]
    named = {product(result) for result in results} - {None}
    if not tied:
        return groups
    used = {top(result.where.file) for result in results} | {top(side.name) for sides in tied for side in sides}
    left = []
    for sides, known in groups:
        if sides in tied or (known and any(side.engine in named for side in sides)):
            left.append((sides, known))
        elif mine := [side for side in sides if not (_is_deep_file(side) and top(side.name) not in used)]:
            left.append((mine, known))
    return left or groups


def top(name: str) -> str:
    return name.partition("/")[0] if "/" in name else ""


def _is_deep_file(side: Side) -> bool:
    """Whether nothing of it alone is there but files that would configure it, in a folder within others."""
    if side.name.count("/") < DEEP:
        return False
    own = any(configuration.side for configuration in side.configurations)
    return not (own or side.binaries or side.log or side.databases)


def _is_file(side: Side) -> bool:
    """Whether it is one of several configurations in a folder."""
    return any(configuration.where.file == side.name for configuration in side.configurations)


@lru_cache(maxsize=1 << 16)
def _is_of(file: str, name: str, side: str) -> bool:
    """Whether a result of that name in that file says that it is of the side of this name. Every rule that compares
    sides asks it."""
    path, own = PurePosixPath(file), PurePosixPath(side).name.lower().partition(".")[0]
    parts = {part.lower().partition(".")[0] for part in path.parts}
    if any(str(folder) == side for folder in path.parents) or (not GENERIC.fullmatch(own) and own in parts):
        return True
    words, number, told = _tokens(side), _number(side), f"{file} {name}".lower()
    if number and re.search(rf"(?<!\d){number}(?!\d)", file):
        return True
    return bool(words) and all(re.search(rf"(?<![a-z0-9]){re.escape(word)}(?![a-z0-9])", told) for word in words)


def _tokens(side: str) -> Sequence[str]:
    """The words of a side's own name that are not every side's."""
    words = re.findall(r"[a-z]+\d*", PurePosixPath(side).name.lower())
    return [
        word for word in words if len(word) >= TOKEN_MIN and not (GENERIC.fullmatch(word) or ANYWHERE.fullmatch(word))
    ]


def _number(side: str) -> str:
    """A number with a zero before it, by which files of one set are distinguished: "01" of "my.cnf.01"."""
    found = re.findall(r"(?<!\d)0\d{1,3}(?!\d)", PurePosixPath(side).name)
    return found[-1] if found else ""
