"""What a rule is, and what several families' rules share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from acidtest.journal.inspected import Inspected
from acidtest.words import counted, first_of

Severity = Literal["severe", "note"]

HITS_MIN_PERCENT, READS_MIN = 90, 1_000_000
OPEN_MAX_S = 3_600  # of a transaction
NAMED_MAX = 3  # others of a kind

GSTAT = "Firebird's gstat and its manual, https://firebirdsql.org/file/documentation/html/en/firebirddocs/gstat"


@dataclass(frozen=True)
class Sign:
    name: str  # "old-transaction"
    severity: Severity
    says: str  # one sentence with its figures
    threshold: str  # from which on it is told
    do: str  # one sentence
    source: str
    evidence: tuple[str, ...] = ()  # all of the kind, the worst first, where there are several


Rule = Callable[[Inspected], Iterator[Sign]]


def number(inspected: Inspected, fact: str) -> int:
    """A fact that is a number; 0 where it is not told."""
    value = inspected.facts.get(fact)
    return int(value) if isinstance(value, int | float) else 0


def missed(setting: str, hits: int, reads: int, source: str) -> Sign:
    """Of a cache by the name of the setting that sizes it."""
    return Sign(
        "cache-misses",
        "note",
        f"{100 * hits / (hits + reads):.1f} % of {hits + reads:,} page requests found the page in the engine's cache.",
        f"{HITS_MIN_PERCENT} %, and {READS_MIN:,} pages that were not there",
        f"Try a larger {setting} (acidtest init --question page-and-cache), or find the queries that read much.",
        source,
    )


def alike(others: Iterable[str]) -> str:
    """Behind a sentence on the first of a kind: what else is like it, by name."""
    names = list(others)
    if not names:
        return ""
    lead = "Another is" if len(names) == 1 else counted(len(names), "other is", "others are")
    return f" {lead} like it: {first_of(names, NAMED_MAX)}."


def listed(name: str, fact: str, head: str, threshold: str, do: str, source: str) -> Rule:
    """A rule over things that were listed because they are unusual."""

    def rule(inspected: Inspected) -> Iterator[Sign]:
        if lines := inspected.listed.get(fact):
            says = f"{head}: {lines[0]}.{alike(line.partition(':')[0] for line in lines[1:])}"
            yield Sign(name, "note", says, threshold, do, source, tuple(lines))

    return rule
