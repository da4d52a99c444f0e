"""A SQLite database by its file: how it may be opened so that nothing is written, and what it says of itself.

Its statistics are those of dbstat, which visits every page of its B-trees. https://sqlite.org/dbstat.html,
https://sqlite.org/fileformat.html, https://sqlite.org/uri.html, https://sqlite.org/wal.html#read_only_databases
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from acidtest.engine.base import Ask
from acidtest.engine.inspection import NOT_COUNTED, InspectionResult, Keys, TolerantSession, count_keys, number
from acidtest.engine.sqlite.settings import SqliteTarget
from acidtest.errors import BadInput, CellFailed
from acidtest.formats.sqlite_header import MAGIC, is_hot, page_size
from acidtest.journal.models import DatabaseStatistics, IndexStatistics, Scalar, TableStatistics
from acidtest.words import counted

# The path of a page has a slash for each level down to it: "/" is the root.
READ = (
    "select name, pagetype, count(*), sum(ncell), sum(payload), sum(unused), sum(pgsize), "
    "max(length(path) - length(replace(path, '/', ''))) from dbstat group by name, pagetype"
)
TABLES = (
    "select name, wr, '\"' || replace(name, '\"', '\"\"') || '\"' from pragma_table_list "
    "where schema = 'main' and type = 'table' and name not like 'sqlite\\_%' escape '\\' order by name"
)
# Without columns where it holds expressions, or not every row: its keys are then not counted.
INDEXES = (
    'select t.name, i.name, i."unique", iif(i.partial or exists (select 1 from pragma_index_info(i.name) c '
    "where c.name is null), null, (select group_concat('\"' || replace(c.name, '\"', '\"\"') || '\"') "
    "from pragma_index_info(i.name) c)) from pragma_table_list t, pragma_index_list(t.name) i "
    "where t.schema = 'main' and t.type = 'table' and t.name not like 'sqlite\\_%' escape '\\' order by i.name"
)
STORED = ("rowid", "primary key")  # an index that is the table itself: its keys are whole rows
WAL_VERSION = 2  # of the bytes 18 and 19 of the header
WAL_HEADER, FRAME_HEADER = 32, 24
BUSY_TIMEOUT_MS = 5_000
# Pages of each B-tree in the order of its keys, and those that do not lie right behind the one before them.
ORDER = (
    "select count(*), sum(pageno <> before + 1) from (select pageno, "
    "lag(pageno) over (partition by name order by path) as before from dbstat "
    "where pagetype = 'leaf') where before is not null"
)
AUTO_VACUUM = ("none", "full", "incremental")
HAS_STATISTICS = "select count(*) from sqlite_schema where name = 'sqlite_stat1'"


@dataclass(frozen=True)
class Opening:
    """How the file is opened, and what that means for the figures."""

    parameters: str  # of the URI
    journal: str  # "wal", or "rollback"
    wal_bytes: int
    note: str = ""


def opening(path: Path, *, is_held: bool) -> Opening:
    """Judge by the files beside it, and by whether another program has them open. Raises BadInput where it cannot be
    read without being changed."""
    with path.open("rb") as file:
        header = file.read(100)
    journal, wal, shm = (path.with_name(f"{path.name}{end}") for end in ("-journal", "-wal", "-shm"))
    if header[18:20] != bytes((WAL_VERSION, WAL_VERSION)):
        if not is_held and _bytes(journal) > 0 and is_hot(journal):
            raise BadInput(
                f"{path}: beside it lies {journal.name}, of a transaction that was interrupted: who opens the database "
                "rolls that back, which is writing",
                "open it once with its own program, or inspect a copy of both files",
            )
        return Opening("mode=ro", "rollback", 0)
    wal_bytes = _bytes(wal)
    if wal_bytes <= WAL_HEADER:
        # Nobody has changed it since the last checkpoint. A reader would make -wal and -shm, if they are not there.
        return Opening("mode=ro&immutable=1", "wal", wal_bytes)
    if shm.exists():
        return Opening("mode=ro&readonly_shm=1", "wal", wal_bytes)
    frames = (wal_bytes - WAL_HEADER) // (page_size(header) + FRAME_HEADER)
    return Opening(
        "mode=ro&immutable=1",
        "wal",
        wal_bytes,
        f"{counted(frames, 'frame')} of the write-ahead log {'is' if frames == 1 else 'are'} not in these figures, "
        "which are as of the last checkpoint: "
        f"without {shm.name} the log can be read only by who may write to the database.",
    )


def target(path: Path, how: Opening) -> SqliteTarget:
    """A session that cannot write."""
    uri = f"file:{quote(str(path.absolute()))}?{how.parameters}"
    return SqliteTarget(path=uri, setup=["pragma query_only = on"], busy_timeout_ms=BUSY_TIMEOUT_MS)


def is_database(head: bytes) -> bool:
    return head.startswith(MAGIC)


def inspect(ask: Ask, how: Opening) -> InspectionResult:
    """The figures; without the size of the file. Raises CellFailed."""
    session = TolerantSession(ask)

    def pragma(name: str) -> str | None:
        return next(iter(session.row(name, f"pragma {name}")), None)

    written_by = number(pragma("application_id"))
    facts: dict[str, Scalar] = {
        "page_bytes": number(pragma("page_size")),
        "pages": number(pragma("page_count")),
        "free_pages": number(pragma("freelist_count")),
        "auto_vacuum": AUTO_VACUUM[min(2, number(pragma("auto_vacuum")))],
        "journal": how.journal,
        "wal_bytes": how.wal_bytes,
        "encoding": pragma("encoding"),
        "schema_version": number(pragma("schema_version")),
        "application_id": written_by,
        "has_statistics": bool(number(next(iter(session.row("the schema", HAS_STATISTICS)), None))),
    }
    statistics, why, damaged = None, "", ""
    try:
        statistics = of_dbstat("sqlite", ask(READ), ask)
    except CellFailed as error:
        why = error.message.removeprefix(f"{READ}: ")
        damaged = why if any(word in why for word in ("malformed", "corrupt")) else ""
    if statistics is not None:
        leaves, apart = (session.row("the order of pages", ORDER) or [None, None])[:2]
        facts |= {"leaves_followed": number(leaves), "leaves_apart": number(apart)}
    version = next(iter(session.row("the version", "select sqlite_version()")), "")
    return InspectionResult(
        version=f"SQLite (read by {version})",
        facts=facts,
        statistics=statistics,
        statistics_said=why,
        notes=[*filter(None, [how.note]), *session.refused],
        damaged=damaged,
    )


def _bytes(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


@dataclass
class BTree:
    """Sums over the pages of one B-tree. ``rows``: only its leaves hold keys, as of a table with row numbers."""

    rows: bool
    bytes: int = 0
    depth: int = 0
    payload: int = 0
    keys: int = 0
    pages: int = 0  # that hold keys, or where long ones go on
    page_bytes: int = 0
    used: int = 0  # of those
    leaf_bytes: int = 0
    leaf_used: int = 0

    def see(self, pagetype: str, numbers: Sequence[int]) -> None:
        pages, cells, payload, unused, size, depth = numbers
        self.bytes += size
        self.payload += payload
        if pagetype != "internal" or not self.rows:
            self.keys += cells
            self.pages += pages
            self.page_bytes += size
            self.used += size - unused
        if pagetype != "overflow":
            self.depth = max(self.depth, depth)
        if pagetype == "leaf":
            self.leaf_bytes += size
            self.leaf_used += size - unused

    @property
    def mean_payload(self) -> float | None:
        return self.payload / self.keys if self.keys else None


def of_dbstat(name_of: str, rows: list[list[str | None]], ask: Ask) -> DatabaseStatistics:
    """The figures, out of the answer to ``READ``; without size and times of the database. Errors begin with
    ``name_of``."""
    named = [(str(name), without_rowid == "1", str(quoted)) for name, without_rowid, quoted in ask(TABLES)]
    trees: dict[str, BTree] = {name: BTree(rows=not without_rowid) for name, without_rowid, _ in named}
    for name, pagetype, *numbers in rows:
        if pagetype not in ("leaf", "internal", "overflow"):
            what = f"could not take its statistics: dbstat says that a page of {name} is {pagetype}"
            raise CellFailed(f"{name_of}: {what}")
        trees.setdefault(str(name), BTree(rows=False)).see(pagetype, [int(number or 0) for number in numbers])
    # The B-tree that a table is stored in, by its row numbers or by its primary key.
    indexes = [
        _index("primary key" if without_rowid else "rowid", name, trees[name], Keys(trees[name].keys, 0, 0))
        for name, without_rowid, _ in named
    ]
    own = {index.table: index.bytes for index in indexes}
    quoted_as = {name: quoted for name, _, quoted in named}
    for table, name, unique, columns in ask(INDEXES):
        if (tree := trees.get(str(name))) is None:
            continue  # a primary key that the table is stored in
        keys = NOT_COUNTED
        if unique == "1" or columns:
            keys = count_keys(ask, quoted_as[str(table)], str(columns), tree.keys, all_differ=unique == "1")
        indexes.append(_index(str(name), str(table), tree, keys))
    tables = []
    for name, *_ in named:
        tree = trees[name]
        tables.append(
            TableStatistics(
                name=name.lower(),
                records=tree.keys,
                record_bytes=tree.mean_payload,
                data_pages=tree.pages,
                bytes=tree.bytes,
                index_bytes=sum(index.bytes for index in indexes if index.table == name.lower()) - own[name.lower()],
                fill_percent=100 * tree.used / tree.page_bytes if tree.page_bytes else None,
                # Whatever is in use is of live rows: SQLite keeps no versions in its pages.
                real_fill_percent=100 * tree.used / tree.page_bytes if tree.page_bytes and tree.keys else None,
            )
        )
    return DatabaseStatistics(
        source="dbstat",
        page_bytes=int(ask("pragma page_size")[0][0] or 0),
        bytes=0,
        read_bytes=sum(tree.bytes for tree in trees.values()),
        tables=tables,
        indexes=indexes,
    )


def _index(name: str, table: str, tree: BTree, keys: Keys) -> IndexStatistics:
    return IndexStatistics(
        name=name.lower(),
        table=table.lower(),
        depth=tree.depth,
        keys=tree.keys,
        key_bytes=None if name in STORED else tree.mean_payload,
        duplicates=keys.duplicates,
        duplicates_max=keys.duplicates_max,
        unique=keys.unique,
        bytes=tree.bytes,
        fill_percent=100 * tree.leaf_used / tree.leaf_bytes if tree.leaf_bytes else None,
    )
