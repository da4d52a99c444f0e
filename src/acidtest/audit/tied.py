"""Which sides were measured, as far as a kit shows it: several configurations of one engine may lie in it, and only
some of them, or none, are those of its results."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from pathlib import PurePosixPath

from acidtest.audit.bench import Bench, Side

RESULTS_MAX = 2_000  # that are looked through for the names of sides
TOKEN_MIN = 3  # characters of a word that tells a side from another
GENERIC = re.compile(
    r"my|mysqld?|mysql|mariadbd?|postgres(?:ql)?|pg|pgsql|firebird|fb|conf|cnf|ini|cfg|config|configuration|server|db|"
    r"database|etc|txt"
)


def measured(bench: Bench) -> list[Side]:
    """The sides that were measured. Each folder of an engine is one; of configurations that lie side by side those are
    that have their name in a result. All where there are no results."""
    return [side for group, known in _groups(bench) if known for side in group]


def alternatives(bench: Bench) -> list[list[Side]]:
    """Configurations of one engine, of which nothing shows with which of them any result was measured."""
    return [group for group, known in _groups(bench) if not known]


def _groups(bench: Bench) -> list[tuple[list[Side], bool]]:
    """The sides, those together that only their configuration tells apart, and whether they are known to be
    measured."""
    alike: dict[tuple[str | None, str], list[Side]] = defaultdict(list)
    for side in bench.sides:
        alike[side.engine, side.version].append(side)
    told = list(dict.fromkeys((one.where.file, one.name) for one in bench.others))[:RESULTS_MAX]
    groups = []
    for sides in alike.values():
        own = [side for side in sides if _was_started(side)]
        rest = [side for side in sides if not _was_started(side)]
        declared = bench.declared is not None and bool(bench.declared.sides)
        if len(sides) == 1 or declared or not bench.others or not any(map(_is_file, rest)):
            groups.append((sides, True))
            continue
        named = [side for side in rest if any(_is_of(file, name, side) for file, name in told)]
        known = [*own, *named]
        groups.append((known or rest, bool(known)))
    return groups


def _was_started(side: Side) -> bool:
    """Whether it was a server, by what is there of it beside a configuration."""
    told = any(one.side or one.source == "dump" for one in side.configurations)
    return told or bool(side.binaries or side.log or side.databases)


def _is_file(side: Side) -> bool:
    """Whether it is one of several configurations in a folder."""
    return any(one.where.file == side.name for one in side.configurations)


def _is_of(file: str, name: str, side: Side) -> bool:
    """Whether a result of that name in that file says that it is of this side."""
    path, own = PurePosixPath(file), PurePosixPath(side.name).name.lower().partition(".")[0]
    parts = {part.lower().partition(".")[0] for part in path.parts}
    if any(str(folder) == side.name for folder in path.parents) or (not GENERIC.fullmatch(own) and own in parts):
        return True
    words, number, told = _tokens(side), _number(side), f"{file} {name}".lower()
    if number and re.search(rf"(?<!\d){number}(?!\d)", file):
        return True
    return bool(words) and all(re.search(rf"(?<![a-z0-9]){re.escape(word)}(?![a-z0-9])", told) for word in words)


def _tokens(side: Side) -> Sequence[str]:
    """The words of a side's own name that are not every side's."""
    words = re.findall(r"[a-z]+\d*", PurePosixPath(side.name).name.lower())
    return [word for word in words if len(word) >= TOKEN_MIN and not GENERIC.fullmatch(word)]


def _number(side: Side) -> str:
    """A number with a zero before it, by which files of one set are told apart: "01" of "my.cnf.01"."""
    found = re.findall(r"(?<!\d)0\d{1,3}(?!\d)", PurePosixPath(side.name).name)
    return found[-1] if found else ""
