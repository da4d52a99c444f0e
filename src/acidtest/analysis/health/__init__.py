"""What is unusual in a database that was inspected, and what to do about it: each a sentence with its figures, the
threshold that they are beyond, and the source of that. Pure: the same for a terminal, JSON or a page."""

from __future__ import annotations

from acidtest.analysis.health import every, firebird, innodb, postgresql, sqlite
from acidtest.analysis.health.base import Rule, Severity, Sign
from acidtest.journal.inspected import Inspected

__all__ = ["AT_RISK", "Severity", "Sign", "signs"]

# What is about the data's safety, and costs no time.
AT_RISK = frozenset(
    ("damaged", "checksum-failures", "forced-writes-off", "fsync-off", "full-page-writes-off", "doublewrite-off",
     "commits-not-flushed", "transaction-numbers-end")
)  # fmt: skip

RULES: tuple[Rule, ...] = (
    every.damaged,
    firebird.old_transaction,
    firebird.firebird_header,
    postgresql.wraparound,
    postgresql.horizon,
    postgresql.postgresql_settings,
    innodb.innodb,
    sqlite.sqlite,
    every.small_cache,
    every.free_pages,
    every.long_chains,
    every.low_fill,
    every.hollow,
    firebird.deep_indexes,
    every.repeated,
    *postgresql.LISTED,
    *innodb.LISTED,
    *firebird.LISTED,
)


def signs(inspected: Inspected) -> list[Sign]:
    """What is unusual: the severe first, of these what puts data at risk; otherwise in the order of the rules."""
    found = [sign for rule in RULES for sign in rule(inspected)]
    return sorted(found, key=lambda sign: (sign.severity != "severe", sign.name not in AT_RISK))
