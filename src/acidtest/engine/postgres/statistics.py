"""Statistics of a PostgreSQL database: pgstattuple, which reads every page of tables and indexes.

See https://www.postgresql.org/docs/current/pgstattuple.html.
"""

from __future__ import annotations

from acidtest.engine.base import Ask
from acidtest.engine.reads import NOT_COUNTED, count_keys
from acidtest.journal.models import DatabaseStatistics, IndexStatistics, TableStatistics, Transactions

# One line each, as single-user mode reads them. The role: what sessions of others hold back is hidden without it.
PREPARE = ("create extension if not exists pgstattuple", "grant pg_monitor to acidtest")
OURS = "n.nspname <> 'information_schema' and n.nspname !~ '^pg_'"
# Tables, then indexes: one question, so that one session's opening is timed with it.
READ = (
    # As the session names them: with the schema where it would not find them without.
    "select 'table', c.oid::regclass::text, format('%I.%I', n.nspname, c.relname), "  # noqa: S608 - our words
    "pg_table_size(c.oid), pg_indexes_size(c.oid), "
    "s.table_len, s.tuple_count, s.tuple_len, s.dead_tuple_count, s.dead_tuple_len "
    "from pg_class c join pg_namespace n on n.oid = c.relnamespace cross join lateral pgstattuple(c.oid::regclass) s "
    f"where c.relkind in ('r', 'm') and {OURS} union all "
    "select 'index', c.oid::regclass::text, null, s.index_size, s.tree_level, s.leaf_pages, s.avg_leaf_density, "
    "null, null, null "
    "from pg_class c join pg_namespace n on n.oid = c.relnamespace join pg_am a on a.oid = c.relam "
    "cross join lateral pgstatindex(c.oid::regclass) s "
    f"where c.relkind = 'i' and a.amname = 'btree' and {OURS} order by 2"
)
# A key that several rows share is stored once with a list of rows: tuples are then fewer than keys. Columns are null
# where the index holds expressions, or not every row.
INDEXES = (
    "select c.oid::regclass::text, t.oid::regclass::text, x.indisunique, s.tuple_len, "  # noqa: S608
    "case when x.indpred is null and x.indexprs is null then "
    "(select string_agg(quote_ident(a.attname), ',' order by a.attnum) from pg_attribute a where a.attrelid = t.oid "
    "and a.attnum = any (x.indkey[0:x.indnkeyatts - 1])) end, x.indpred is null "
    "from pg_index x join pg_class c on c.oid = x.indexrelid join pg_class t on t.oid = x.indrelid "
    "join pg_namespace n on n.oid = c.relnamespace join pg_am a on a.oid = c.relam "
    "cross join lateral pgstattuple(c.oid::regclass) s "
    f"where a.amname = 'btree' and {OURS} order by 1"
)
# What the oldest snapshot, prepared transaction or replication slot may still see, as an age in transactions.
TRANSACTIONS = (
    "select txid_snapshot_xmin(txid_current_snapshot()), txid_snapshot_xmax(txid_current_snapshot()), "
    "coalesce(greatest((select max(age(backend_xmin)) from pg_stat_activity where pid <> pg_backend_pid()), "
    "(select max(age(transaction)) from pg_prepared_xacts), "
    "(select max(greatest(age(xmin), age(catalog_xmin))) from pg_replication_slots)), 0)"
)
LINE_POINTER_BYTES = 4  # ItemIdData of each row, beside the row with its header


def of_pgstattuple(rows: list[list[str | None]], ask: Ask, *, counted: bool = True) -> DatabaseStatistics:
    """The figures, out of the answer to ``READ``; without the times. Different keys are counted, or left out."""
    tables: list[TableStatistics] = []
    quoted: dict[str, str] = {}
    read_bytes = 0
    page_bytes, database_bytes = map(
        _number, ask("select current_setting('block_size'), pg_database_size(current_database())")[0]
    )
    for name, full_name, *figures in (row[1:] for row in rows if row[0] == "table"):
        size, index_size, length, live, live_bytes, dead, dead_bytes = map(_number, figures)
        live_room, dead_room = live_bytes + live * LINE_POINTER_BYTES, dead_bytes + dead * LINE_POINTER_BYTES
        quoted[str(name)] = str(full_name)
        read_bytes += length
        tables.append(
            TableStatistics(
                name=str(name).lower(),
                records=live,
                record_bytes=live_bytes / live if live else None,
                versions=dead,
                version_bytes=dead_bytes / dead if dead else None,
                versions_max=None,
                data_pages=length // page_bytes,
                bytes=size,
                index_bytes=index_size,
                # Not by its free space: it counts none in pages that a table was extended by and that are still empty.
                fill_percent=100 * (live_room + dead_room) / length if length else None,
                real_fill_percent=100 * live_room / length if length else None,
            )
        )
    trees = {str(row[1]): row[3:] for row in rows if row[0] == "index"}
    records = {table.name: table.records or 0 for table in tables}
    indexes: list[IndexStatistics] = []
    for name, table, unique, tuple_bytes, columns, whole in ask(INDEXES):
        size, level, leaves = map(_number, trees[str(name)][:3])
        density = trees[str(name)][3]
        read_bytes += size
        keys = records[str(table).lower()] if whole == "t" else None
        repeat = NOT_COUNTED
        if keys is not None and (unique == "t" or (columns and counted)):
            repeat = count_keys(ask, quoted[str(table)], str(columns), keys, all_differ=unique == "t")
        indexes.append(
            IndexStatistics(
                name=str(name).lower(),
                table=str(table).lower(),
                depth=level + 1,
                keys=keys,
                key_bytes=_number(tuple_bytes) / keys if keys else None,
                duplicates=repeat.duplicates,
                duplicates_max=repeat.duplicates_max,
                unique=repeat.unique,
                bytes=size,
                fill_percent=float(density) if leaves and density else None,
            )
        )
    oldest_active, following, held = map(_number, ask(TRANSACTIONS)[0])
    version = ask("select extversion from pg_extension where extname = 'pgstattuple'")[0][0]
    return DatabaseStatistics(
        source=f"pgstattuple {version}",
        page_bytes=page_bytes,
        bytes=database_bytes,
        took_s=0,
        read_bytes=read_bytes,
        tables=tables,
        indexes=indexes,
        transactions=Transactions(
            oldest=min(oldest_active, following - held), oldest_active=oldest_active, next=following
        ),
    )


def _number(value: str | None) -> int:
    return int(value or 0)
