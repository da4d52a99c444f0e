"""A PostgreSQL database: what pgstattuple, which reads every page of tables and indexes, says of a database of ours; by
URL the same where the extension is there, else what the catalogues and the server's statistics say.

By URL nothing is set but in our own session, which may only read. See
https://www.postgresql.org/docs/current/pgstattuple.html.
"""

from __future__ import annotations

from acidtest.engine.base import Ask
from acidtest.engine.inspection import (
    NOT_COUNTED,
    InspectionResult,
    Scan,
    ServerInspection,
    TolerantSession,
    count_keys,
    number,
)
from acidtest.errors import CellFailed
from acidtest.journal.models import DatabaseStatistics, IndexStatistics, Scalar, TableStatistics, Transactions

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
READ_INDEXES = (
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
SETUP = (
    "set default_transaction_read_only = on",
    "set lock_timeout = '5s'",
    # A count(*) is to read the table, by one process, as acidtest's own statistics do.
    "set enable_indexonlyscan = off",
    "set max_parallel_workers_per_gather = 0",
)
HAS_PGSTATTUPLE = "select count(*) from pg_extension where extname = 'pgstattuple'"
SETTINGS = (
    "autovacuum", "fsync", "full_page_writes", "synchronous_commit", "autovacuum_freeze_max_age",
    "autovacuum_multixact_freeze_max_age", "data_checksums", "shared_buffers",
)  # fmt: skip
DATABASE = (
    "select pg_database_size(current_database()), current_setting('block_size'), age(datfrozenxid), "
    "mxid_age(datminmxid), current_setting('server_version'), pg_is_in_recovery() from pg_database "
    "where datname = current_database()"
)
ACTIVITY = (
    "select blks_hit, blks_read, deadlocks, temp_bytes, extract(epoch from now() - stats_reset)::bigint "
    "from pg_stat_database where datname = current_database()"
)
CHECKSUM_FAILURES = "select checksum_failures from pg_stat_database where datname = current_database()"  # from 12 on
# Who holds back the removal of dead rows, and how long it has been at it.
HOLDER = (
    "select what, age, seconds from ("
    "select format('session %s, %s', pid, coalesce(state, 'without state')) as what, age(backend_xmin) as age, "
    "extract(epoch from now() - xact_start)::bigint as seconds from pg_stat_activity "
    "where pid <> pg_backend_pid() and backend_xmin is not null union all "
    "select format('prepared transaction %L', gid), age(transaction), extract(epoch from now() - prepared)::bigint "
    "from pg_prepared_xacts union all "
    "select format('replication slot %s', slot_name), greatest(age(xmin), age(catalog_xmin)), null "
    "from pg_replication_slots where coalesce(xmin, catalog_xmin) is not null) h order by age desc limit 1"
)
IDLE = (
    "select count(*), max(extract(epoch from now() - xact_start)::bigint) from pg_stat_activity "
    "where state like 'idle in transaction%' and pid <> pg_backend_pid()"
)
SLOTS = (
    "select count(*), max(pg_wal_lsn_diff(case when pg_is_in_recovery() then pg_last_wal_replay_lsn() else "
    "pg_current_wal_lsn() end, restart_lsn))::bigint from pg_replication_slots where not active"
)
DEAD = (
    "select relid::regclass::text, n_live_tup, n_dead_tup, coalesce(last_vacuum, last_autovacuum) is null "
    "from pg_stat_user_tables where n_dead_tup > current_setting('autovacuum_vacuum_threshold')::bigint + "
    "current_setting('autovacuum_vacuum_scale_factor')::float8 * n_live_tup order by n_dead_tup desc"
)
UNUSED = (
    "select s.indexrelid::regclass::text, s.relid::regclass::text, pg_relation_size(s.indexrelid) "
    "from pg_stat_user_indexes s join pg_index i using (indexrelid) where s.idx_scan = 0 and not i.indisunique "
    "and pg_relation_size(s.indexrelid) > 100 * current_setting('block_size')::bigint order by 3 desc"
)
INVALID = "select indexrelid::regclass::text, indrelid::regclass::text from pg_index where not indisvalid"
NOT_ANALYZED = (
    "select relid::regclass::text, n_live_tup from pg_stat_user_tables "
    "where coalesce(last_analyze, last_autoanalyze) is null and n_live_tup > 1000 order by n_live_tup desc"
)
# Without pgstattuple: sizes are exact, rows are estimates of the last vacuum or analyze. Widths are pg_stats'.
TABLES = (
    "select c.oid::regclass::text, "  # noqa: S608
    "(case when c.reltuples > 0 then c.reltuples else coalesce(s.n_live_tup, 0) end)::bigint, "
    "coalesce(s.n_dead_tup, 0), "
    "pg_relation_size(c.oid), pg_table_size(c.oid), pg_indexes_size(c.oid), (select sum(p.avg_width * "
    "(1 - p.null_frac)) from pg_stats p where p.schemaname = n.nspname and p.tablename = c.relname) "
    "from pg_class c join pg_namespace n on n.oid = c.relnamespace left join pg_stat_all_tables s on s.relid = c.oid "
    f"where c.relkind in ('r', 'm') and {OURS} order by 1"
)
INDEXES = (
    "select c.oid::regclass::text, x.indrelid::regclass::text, nullif(greatest(c.reltuples, 0), 0)::bigint, "  # noqa: S608
    "pg_relation_size(c.oid), x.indisunique from pg_index x join pg_class c on c.oid = x.indexrelid "
    f"join pg_namespace n on n.oid = c.relnamespace where c.relkind = 'i' and {OURS} order by 1"
)
SCANS = (
    "select c.oid::regclass::text, format('%I.%I', n.nspname, c.relname), pg_relation_size(c.oid) "  # noqa: S608
    "from pg_class c join pg_namespace n on n.oid = c.relnamespace "
    f"where c.relkind in ('r', 'm') and {OURS} and has_table_privilege(c.oid, 'select') order by 3 desc, 1"
)
TUPLE_BYTES = 24 + LINE_POINTER_BYTES  # a row's header, aligned, and its line pointer


def of_pgstattuple(rows: list[list[str | None]], ask: Ask, *, counted: bool = True) -> DatabaseStatistics:
    """The figures, out of the answer to ``READ``; without the times. Different keys are counted, or left out."""
    tables: list[TableStatistics] = []
    quoted: dict[str, str] = {}
    read_bytes = 0
    database_bytes, page_bytes = map(number, ask(DATABASE)[0][:2])
    for name, full_name, *figures in (row[1:] for row in rows if row[0] == "table"):
        size, index_size, length, live, live_bytes, dead, dead_bytes = map(number, figures)
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
    for name, table, unique, tuple_bytes, columns, whole in ask(READ_INDEXES):
        size, level, leaves = map(number, trees[str(name)][:3])
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
                key_bytes=number(tuple_bytes) / keys if keys else None,
                duplicates=repeat.duplicates,
                duplicates_max=repeat.duplicates_max,
                unique=repeat.unique,
                bytes=size,
                fill_percent=float(density) if leaves and density else None,
            )
        )
    version = ask("select extversion from pg_extension where extname = 'pgstattuple'")[0][0]
    return DatabaseStatistics(
        source=f"pgstattuple {version}",
        page_bytes=page_bytes,
        bytes=database_bytes,
        read_bytes=read_bytes,
        tables=tables,
        indexes=indexes,
        transactions=_transactions(ask(TRANSACTIONS)[0]),
    )


def _transactions(counters: list[str | None]) -> Transactions:
    """Of the answer to ``TRANSACTIONS``."""
    active, following, held = map(number, counters)
    return Transactions(oldest=min(active, following - held), oldest_active=active, next=following)


def inspect(ask: Ask) -> InspectionResult:
    """Raises CellFailed where the server does not answer at all."""
    size, page_bytes, xid_age, mxid_age, version, in_recovery = ask(DATABASE)[0]
    session = TolerantSession(ask)
    statistics, why = _statistics(ask, session)
    facts: dict[str, Scalar] = {
        "database_bytes": number(size),
        "page_bytes": number(page_bytes),
        "transaction_age": number(xid_age),
        "multixact_age": number(mxid_age),
        "in_recovery": in_recovery == "t",
    }
    facts |= _settings(session)
    if activity := session.row("the database's activity", ACTIVITY):
        hit, read, deadlocks, temp_bytes, reset_s = activity
        facts |= {
            "buffer_hits": number(hit),
            "buffer_reads": number(read),
            "deadlocks": number(deadlocks),
            "temp_bytes": number(temp_bytes),
            "counted_for_s": number(reset_s) if reset_s else None,
        }
    if failures := session.row("checksum failures", CHECKSUM_FAILURES):
        facts["checksum_failures"] = number(failures[0])
    if holder := session.row("what holds back old row versions", HOLDER):
        what, age, seconds = holder
        facts |= {"held_by": what, "held_age": number(age), "held_s": number(seconds) if seconds else None}
    if idle := session.row("idle transactions", IDLE):
        facts |= {"idle_in_transaction": number(idle[0]), "idle_in_transaction_s": number(idle[1])}
    if slots := session.row("replication slots", SLOTS):
        facts |= {"inactive_slots": number(slots[0]), "inactive_slots_wal_bytes": number(slots[1])}
    listed = {
        "not_vacuumed": [
            f"{table}: {number(dead):,} dead, {number(live):,} live rows" + (", never vacuumed" if never == "t" else "")
            for table, live, dead, never in session.rows("dead rows", DEAD)
        ],
        "unused_indexes": [
            f"{index} of {table}: {number(bytes_) / 1e6:,.1f} MB"
            for index, table, bytes_ in session.rows("the use of indexes", UNUSED)
        ],
        "invalid_indexes": [f"{index} of {table}" for index, table in session.rows("invalid indexes", INVALID)],
        "not_analyzed": [
            f"{table}: {number(live):,} rows" for table, live in session.rows("the planner's statistics", NOT_ANALYZED)
        ],
    }
    scans = [
        Scan(str(name), f"select count(*) from {quoted}", number(bytes_))  # noqa: S608 - a name that the server quoted
        for name, quoted, bytes_ in session.rows("the tables", SCANS)
    ]
    return InspectionResult(
        version=f"PostgreSQL {str(version).split(' ', maxsplit=1)[0]}",
        facts=facts,
        statistics=statistics,
        notes=[*filter(None, [why]), *session.refused],
        listed={name: lines for name, lines in listed.items() if lines},
        scans=scans,
    )


def _settings(session: TolerantSession) -> dict[str, Scalar]:
    names = ", ".join(f"'{name}'" for name in SETTINGS)
    rows = session.rows("settings", f"select name, setting from pg_settings where name in ({names})")  # noqa: S608
    return {str(name): int(value) if value and value.isdecimal() else value for name, value in rows}


def _statistics(ask: Ask, session: TolerantSession) -> tuple[DatabaseStatistics, str]:
    """By pgstattuple, or what the catalogues say; and why not by pgstattuple."""
    try:
        if ask(HAS_PGSTATTUPLE) == [["1"]]:
            return of_pgstattuple(ask(READ), ask, counted=False), ""
        why = "the extension pgstattuple is not in this database, and acidtest creates nothing"
    except CellFailed as error:
        words = error.message.removeprefix(f"{READ}: ").removeprefix(f"{READ_INDEXES}: ")
        why = f"pgstattuple could not be asked: {words}"
    return _by_catalogue(ask, session), f"Rows and fill are estimates of the last vacuum or analyze: {why}."


def _by_catalogue(ask: Ask, session: TolerantSession) -> DatabaseStatistics:
    size, page_bytes = (number(value) for value in ask(DATABASE)[0][:2])
    tables = []
    for name, live, dead, length, whole, of_indexes, width in ask(TABLES):
        records, room = number(live), number(length)
        row_bytes = float(width) + TUPLE_BYTES if width else None
        real = min(100.0, 100 * records * row_bytes / room) if row_bytes and room and records else None
        tables.append(
            TableStatistics(
                name=str(name).lower(),
                records=records,
                record_bytes=row_bytes,
                versions=number(dead),
                data_pages=room // page_bytes,
                bytes=number(whole),
                index_bytes=number(of_indexes),
                real_fill_percent=real,
            )
        )
    indexes = [
        IndexStatistics(
            name=str(name).lower(),
            table=str(table).lower(),
            keys=number(keys) if keys else None,
            duplicates=0 if unique == "t" else None,
            duplicates_max=0 if unique == "t" else None,
            unique=number(keys) if keys and unique == "t" else None,
            bytes=number(bytes_),
        )
        for name, table, keys, bytes_, unique in ask(INDEXES)
    ]
    counters = session.row("transactions", TRANSACTIONS)
    return DatabaseStatistics(
        source="pg_class, pg_stats, pg_stat_user_tables",
        estimated=[
            "records: as of the last vacuum or analyze",
            "versions: as the server has counted changes",
            "record_bytes: by the average widths of pg_stats",
            "real_fill_percent: by the average widths of pg_stats",
            "keys: as of the last vacuum or analyze",
        ],
        page_bytes=page_bytes,
        bytes=size,
        tables=tables,
        indexes=indexes,
        transactions=_transactions(counters) if counters else None,
    )


SERVER_INSPECTION = ServerInspection(inspect, SETUP)
