"""Statistics of a SQLite database: dbstat, which visits every page of its B-trees; https://sqlite.org/dbstat.html."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from acidtest.engine.base import Ask
from acidtest.engine.reads import NOT_COUNTED, Keys, count_keys
from acidtest.errors import CellFailed
from acidtest.journal.models import DatabaseStatistics, IndexStatistics, TableStatistics

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
                versions=None,
                version_bytes=None,
                versions_max=None,
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
        took_s=0,
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
