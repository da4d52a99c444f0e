"""Verdicts on power cuts brought together: the worst of them holds for all; pure."""

from __future__ import annotations

from collections.abc import Iterable

from acidtest.journal.models import Verdict

WORST_FIRST: tuple[Verdict, ...] = ("lost", "unknown", "survived")


def merge(first: Verdict, *others: Verdict) -> Verdict:
    """The worst of the verdicts: one ``lost`` is enough, and ``survived`` takes all of them.

    Source: ``merge-valid`` in jepsen's ``checker.clj``, whose ``:unknown`` stands between ``false`` and ``true`` too.
    """
    return min((first, *others), key=WORST_FIRST.index)


def checker_names(names: Iterable[str], *, of_program: bool) -> list[str]:
    """As tables show the names of checkers: a program acknowledges items, and is no engine."""
    if not of_program:
        return list(names)
    return [
        name.replace("engine", "program").replace("commits", "items").replace("transactions", "items") for name in names
    ]
