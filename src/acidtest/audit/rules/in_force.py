"""Settings that are written where they do not reach the work that is measured."""

from __future__ import annotations

from collections.abc import Iterator

from acidtest.audit.bench import Bench, Statement
from acidtest.audit.said import and_more
from acidtest.finding import Evidence, Found, rule


@rule(
    "setting-not-in-force",
    severity="doubtful",
    says="A setting is made where it does not hold for the work that is measured.",
    remedy="Make it on every connection that works: in its address, or in what runs when it is opened.",
    disproved_by="the setting as the connections that are measured report it",
    source="SQLite's documentation, PRAGMA statements: all but journal_mode=WAL are of the connection; Go's "
    "database/sql: a DB is a pool of connections",
    about="settings",
)
def setting_not_in_force(bench: Bench) -> Iterator[Found]:
    opens = {one.where.file: set(one.text.split(",")) for one in bench.said("opens-sqlite")}
    lost = [one for one in bench.said("set-and-closed") if _works_without(one, opens)]
    if lost:
        first = lost[0]
        names = {one.text.partition(" ")[0] for one in lost}
        others = [file for file, set_ in opens.items() if _beside(first, file) and not names <= set_]
        more = and_more(len(lost) - 1, "setting", before="the like of ")
        text = (
            f"{first.where.file} sets {first.text} on a connection that it closes again; in {others[0]} "
            f"another one is opened without it{more}."
        )
        evidence = [one.where.says(one.text) for one in lost]
        yield Found(text, (*evidence, *(Evidence("opens the database", file) for file in others)), "guessed")
    pooled = bench.said("set-in-pool")
    if pooled:
        more = and_more(len(pooled) - 1, "setting", before="the like of ")
        text = (
            f"In {pooled[0].where.file} whichever connection of a pool is free gets {pooled[0].text}: those that are "
            f"opened later do not have it{more}."
        )
        # With one statement after the other the pool may never open a second one.
        yield Found(text, tuple(one.where.says(one.text) for one in pooled), "guessed", noted=True)


def _beside(one: Statement, file: str) -> bool:
    return file != one.where.file and file.rpartition("/")[0] == one.where.file.rpartition("/")[0]


def _works_without(one: Statement, opens: dict[str, set[str]]) -> bool:
    """Whether another program of the same folder opens the database and does not make the setting."""
    name = one.text.partition(" ")[0]
    return any(_beside(one, file) and name not in set_ for file, set_ in opens.items())
