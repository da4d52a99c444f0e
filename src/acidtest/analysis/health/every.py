"""Rules over databases of every family: damage, free pages, and what growth runs are judged by too."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from acidtest.analysis import database
from acidtest.analysis.database import PAGES_MIN, Unusual
from acidtest.analysis.health.base import GSTAT, Rule, Sign, alike, number
from acidtest.analysis.health.firebird import end_it
from acidtest.families import firebird_buffers
from acidtest.journal.inspected import Inspected
from acidtest.journal.models import DatabaseStatistics
from acidtest.words import counted

FREE_MIN_PERCENT = 25
CACHE_SHARE_MIN = 0.1  # of the database
# By family: the fact with the cache's size, the bytes that it counts in (0: the database's pages), the least of it that
# the engine itself would take, what to do, and where that stands.
CACHES = {
    "firebird": (
        "page_buffers", 0, 256, "",  # by its mode and the size of the database
        "firebird.conf, DefaultDbCachePages: 2048 pages for SuperServer, and 256 for each attachment of Classic",
    ),
    "postgresql": (
        "shared_buffers", 0, 16_384, "Raise shared_buffers: a quarter of the memory is usual.",
        "PostgreSQL's manual, shared_buffers: 128 MB where nobody sets it, and a quarter of the memory to begin with",
    ),
    "mysql": (
        "innodb_buffer_pool_size", 1, 128 << 20, "Raise innodb_buffer_pool_size.",
        "MySQL's manual, innodb_buffer_pool_size: 128 MiB where nobody sets it",
    ),
}  # fmt: skip

RULES_SOURCE = "acidtest help docs/STATISTICS.md, What is pointed out"


def damaged(inspected: Inspected) -> Iterator[Sign]:
    if inspected.damaged:
        yield Sign(
            "damaged",
            "severe",
            f"The database is damaged, or was changed while it was read: {inspected.damaged}.",
            "one page that is not what it must be",
            {
                "firebird": "Inspect it again while nobody uses it; if that stays, copy the file and run gfix "
                "-validate -full on the copy.",
                "sqlite": "Copy the file, run PRAGMA integrity_check on the copy, and take the last good backup.",
            }.get(inspected.family, "Take the last good backup."),
            "acidtest help docs/INSPECT.md",
        )


def small_cache(inspected: Inspected) -> Iterator[Sign]:
    """A page cache that was set to less than the engine takes by itself, and holds little of the database."""
    if inspected.family not in CACHES:
        return
    fact, unit, least, do, source = CACHES[inspected.family]
    statistics = inspected.statistics
    page = number(inspected, "page_bytes") or (statistics.page_bytes if statistics else 0)
    database = number(inspected, "pages") * page or (statistics.bytes if statistics else 0)
    units = number(inspected, fact)
    cache = units * (unit or page)
    if 0 < units < least and cache < CACHE_SHARE_MIN * database:
        yield Sign(
            "cache-small",
            "note",
            f"The engine's page cache is set to {cache / 1e6:,.1f} MB ({fact} = {units:,}), for a database of "
            f"{database / 1e6:,.1f} MB.",
            f"less than the engine's own {least * (unit or page) / 1e6:,.1f} MB, and than {CACHE_SHARE_MIN:.0%} of the "
            "database",
            do or firebird_buffers(database // page),
            source,
        )


def free_pages(inspected: Inspected) -> Iterator[Sign]:
    pages, free = number(inspected, "pages"), number(inspected, "free_pages")
    if free < PAGES_MIN or 100 * free < FREE_MIN_PERCENT * pages:
        return
    room = free * number(inspected, "page_bytes") / 1e6
    do = "Back it up and restore it with gbak, if the room is needed: Firebird gives none back by itself."
    if inspected.family == "sqlite":
        vacuum = inspected.facts.get("auto_vacuum")
        do = "Run VACUUM, if the room is needed" + (
            "; PRAGMA incremental_vacuum gives it back in steps." if vacuum == "incremental" else "."
        )
    yield Sign(
        "free-pages",
        "note",
        f"{free:,} of {counted(pages, 'page')} ({100 * free / pages:.0f} %, {room:,.1f} MB) are free and stay in the "
        "file.",
        f"{FREE_MIN_PERCENT} % of the pages, and {PAGES_MIN} of them",
        do,
        "https://sqlite.org/lang_vacuum.html" if inspected.family == "sqlite" else GSTAT,
    )


def _of_statistics(
    name: str,
    ask: Callable[[DatabaseStatistics], list[Unusual]],
    head: str,
    threshold: str,
    do: Callable[[Inspected], str],
    source: str,
) -> Rule:
    """A rule over what growth runs are judged by too."""

    def rule(inspected: Inspected) -> Iterator[Sign]:
        unusual = ask(inspected.statistics) if inspected.statistics else []
        if unusual and not (name == "versions-many" and "not_vacuumed" in inspected.listed):  # which tells the same
            first, *others = unusual
            says = f"{head}: {first.where}, {first.text}.{alike(other.where for other in others)}"
            evidence = tuple(f"{one.where}: {one.text}" for one in unusual)
            yield Sign(name, "note", says, threshold, do(inspected), source, evidence)

    return rule


def _rebuild(inspected: Inspected) -> str:
    return {
        "firebird": "Back it up and restore it with gbak; one index is rebuilt by ALTER INDEX ... ACTIVE.",
        "postgresql": "REINDEX INDEX CONCURRENTLY rebuilds an index; VACUUM FULL or pg_repack a table.",
        "mysql": "OPTIMIZE TABLE rebuilds a table with its indexes.",
        "sqlite": "Run VACUUM, or REINDEX for one index.",
    }[inspected.family]


def _collect(inspected: Inspected) -> str:
    return {
        "firebird": end_it(inspected),
        "postgresql": "Look for what holds the rows back, then VACUUM the table; lower its "
        "autovacuum_vacuum_scale_factor if autovacuum comes too seldom.",
    }.get(inspected.family, "Let the garbage be collected.")


long_chains = _of_statistics(
    "versions-many",
    database.long_chains,
    "Many old versions are kept",
    f"{database.VERSIONS_MIN:,} old versions and a fifth of the records, or {database.CHAIN_MIN} of one record",
    _collect,
    RULES_SOURCE,
)
low_fill = _of_statistics(
    "pages-empty",
    database.low_fill,
    "Pages are largely empty",
    f"{database.TABLE_FILL_MIN_PERCENT:.0f} % of a table's pages, {database.INDEX_FILL_MIN_PERCENT:.0f} % of an "
    f"index's, of {PAGES_MIN} pages or more",
    _rebuild,
    RULES_SOURCE,
)
hollow = _of_statistics(
    "pages-hollow",
    database.hollow,
    "Pages are full of what is no live record",
    f"{database.HOLLOW_MIN_PERCENT:.0f} points between both fills",
    _collect,
    RULES_SOURCE,
)
repeated = _of_statistics(
    "index-duplicates",
    database.repeated,
    "An index tells few rows apart",
    f"{database.KEYS_MIN:,} keys, and {database.KEYS_PER_VALUE_MIN} to a value",
    lambda _: "Add a column that tells rows apart, or drop the index, unless rare values are looked for.",
    RULES_SOURCE,
)
