"""Which tests ``make test-fast``, ``make test`` and ``make test-long`` run.

- ``make test-long`` runs every test.
- ``make test`` leaves out what is marked ``long``, and some of the parameters of a test that is marked ``covering`` or
  ``sampled``: those that differ from the others in nothing that another test does not see.
- ``make test-fast`` runs those of ``make test`` that ask nothing of the machine and are not marked ``slow``.
"""

from __future__ import annotations

import functools
import itertools
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from families import FAMILIES

TESTS = Path(__file__).parent
# Suites that ask nothing of the machine. What opens a browser is no part of them.
PURE = {
    "analysis", "audit", "cli", "doubts", "experiment", "fuzz", "journal", "layers", "plan", "protocol", "question", "reference",
    "report", "studies", "workload",
}  # fmt: skip
CONTRACTS = {"engine", "session"}  # over the engines; those that ask nothing of the machine run over one
FAST_ENGINE = "sqlite"


def mark(items: list[pytest.Item]) -> None:
    """Mark as ``long`` what only ``make test-long`` runs, and as ``fast`` what ``make test-fast`` runs."""
    by_function: dict[tuple[Path, str], list[pytest.Item]] = defaultdict(list)
    for item in items:
        by_function[item.path, getattr(item, "originalname", item.name)].append(item)
    for same in by_function.values():
        for item in _left_out(same):
            item.add_marker("long")
    for item in items:
        if not item.get_closest_marker("long") and _asks_little(item) and not item.get_closest_marker("slow"):
            item.add_marker("fast")


def suite(item: pytest.Item) -> str:
    return _suite(item.path)


@functools.cache
def _suite(file: Path) -> str:
    return file.relative_to(TESTS).parts[0]


def asks_much(suite: Path) -> bool:
    """Whether this is the directory of a suite of which ``make test-fast`` runs nothing."""
    return suite.parent == TESTS and suite.is_dir() and suite.name not in PURE | CONTRACTS


def engine(item: pytest.Item) -> str:
    """The engine whose turn it is in a contract suite; "" of other tests."""
    return str(_parameters(item).get("engine", ""))


def _parameters(item: pytest.Item) -> dict[str, Any]:
    call = getattr(item, "callspec", None)
    return dict(call.params) if call else {}


def _asks_little(item: pytest.Item) -> bool:
    if suite(item) in CONTRACTS:
        return engine(item) == FAST_ENGINE
    return suite(item) in PURE and "browser" not in getattr(item, "fixturenames", ())


def _left_out(same: list[pytest.Item]) -> list[pytest.Item]:
    """Of the tests of one function, over its parameters."""
    kept = same
    if engine(same[0]) and not same[0].get_closest_marker("every_engine"):
        typical = _typical({engine(item) for item in kept}, same[0].get_closest_marker("one_of_a_family") is not None)
        kept = [item for item in kept if engine(item) in typical]
    if covering := same[0].get_closest_marker("covering"):
        kept = _covering(kept, *covering.args)
    if sampled := same[0].get_closest_marker("sampled"):
        count = min(*sampled.args, len(kept))
        kept = [kept[position * len(kept) // count] for position in range(count)]
    return [item for item in same if item not in kept]


def _typical(engines: set[str], one: bool) -> set[str]:
    """Of these engines the typical ones of each family, or the first of them; where none is typical, the family's first."""
    kept = set[str]()
    for family in FAMILIES.values():
        of = [engine for engine in family.engines if engine in engines]
        typical = [engine for engine in family.typical if engine in of] or of[:1]
        kept |= set(typical[:1] if one else typical)
    return kept


def _covering(items: list[pytest.Item], strength: int = 1) -> list[pytest.Item]:
    """Few of them, in which each combination of ``strength`` parameters' values stands that stands in any of them.

    Greedy, as in Cohen, Dalal, Fredman and Patton: The AETG System (IEEE Transactions on Software Engineering 23, 1997).
    """
    covers = {id(item): _combinations(item, strength) for item in items}
    missing = set().union(*covers.values())
    kept = []
    while missing:
        best = max(items, key=lambda item: len(covers[id(item)] & missing))
        missing -= covers[id(best)]
        kept.append(best)
    return [item for item in items if item in kept]


def _combinations(item: pytest.Item, strength: int) -> set[tuple[str, ...]]:
    """Names that are given values together, as in ``parametrize(("a", "b"), ...)``, are one parameter."""
    given = _parameters(item)
    marks = [mark.args[0] for mark in item.iter_markers("parametrize")]
    together = [names.replace(",", " ").split() if isinstance(names, str) else list(names) for names in marks]
    alone = [[name] for name in given if name not in itertools.chain(*together)]
    values = sorted(repr([(name, given.get(name)) for name in names]) for names in together + alone)
    return set(itertools.combinations(values, min(strength, len(values))))
