"""A MySQL or MariaDB database by URL: what information_schema, InnoDB's own tables and its monitor say.

Nothing is set but in our own session, which may only read. InnoDB samples most of its figures; these are told as such.
"""

from __future__ import annotations

from acidtest.engine.base import Ask
from acidtest.engine.inspection import Looked, Patient, Scan, ServerLooks, number
from acidtest.engine.mysql.statistics import PRIMARY, transactions_of
from acidtest.errors import CellFailed
from acidtest.journal.models import DatabaseStatistics, IndexStatistics, Scalar, TableStatistics

# From MySQL 8.0 on, information_schema tells figures of up to a day ago unless it is told not to keep them. MariaDB
# passes over a comment for MySQL 8 (docs: Comment Syntax), as older servers do.
SETUP = (
    "set session transaction read only",
    "set session lock_wait_timeout = 5 /*!80000 , session information_schema_stats_expiry = 0 */",
)
VARIABLES = (
    "innodb_page_size", "innodb_flush_log_at_trx_commit", "innodb_doublewrite", "innodb_buffer_pool_size",
    "sync_binlog", "log_bin", "innodb_file_per_table",
)  # fmt: skip
STATUS = ("Innodb_buffer_pool_reads", "Innodb_buffer_pool_read_requests", "Innodb_row_lock_waits", "Uptime")
TABLES = (
    "select table_name, table_rows, avg_row_length, data_length, index_length, data_free "
    "from information_schema.tables where table_schema = database() and engine = 'InnoDB' order by table_name"
)
OTHER_ENGINES = (
    "select table_name, engine, data_length + index_length from information_schema.tables "
    "where table_schema = database() and table_type = 'BASE TABLE' and engine <> 'InnoDB' order by 3 desc"
)
WITHOUT_KEY = (
    "select t.table_name, t.table_rows from information_schema.tables t where t.table_schema = database() "
    "and t.engine = 'InnoDB' and not exists (select 1 from information_schema.statistics s "
    "where s.table_schema = t.table_schema and s.table_name = t.table_name and s.index_name = 'PRIMARY') "
    "order by 2 desc"
)
KEYS = (
    "select table_name, index_name, min(non_unique), max(cardinality) from information_schema.statistics "
    "where table_schema = database() and index_type = 'BTREE' group by table_name, index_name "
    "order by table_name, index_name"
)
# What InnoDB keeps of its own samples, from MySQL 5.6 and MariaDB 10.0 on.
SIZES = (
    "select table_name, index_name, max(case when stat_name = 'size' then stat_value end), "
    "max(case when stat_name = 'n_leaf_pages' then stat_value end) from mysql.innodb_index_stats "
    "where database_name = database() group by table_name, index_name"
)
HISTORY = "select max(count) from information_schema.innodb_metrics where name = 'trx_rseg_history_len'"
OLDEST = (
    "select count(*), max(timestampdiff(second, trx_started, now())), max(trx_rows_modified) "
    "from information_schema.innodb_trx"
)
UNDO = (
    "select count(*), sum(file_size) from information_schema.innodb_tablespaces where space_type = 'Undo'"  # MySQL 8.0
)
FREE_MIN_PERCENT, FREE_MIN_PAGES = 25, 100


def look(ask: Ask) -> Looked:
    """Raises CellFailed where the server does not answer at all."""
    version = str(ask("select version()")[0][0])
    patient = Patient(ask)
    facts = _variables(patient)
    page_bytes = number(str(facts.get("innodb_page_size") or 16384))
    tables = ask(TABLES)
    if (history := patient.one("the history list", HISTORY)) and history[0] is not None:
        facts["history_list"] = number(history[0])
    if oldest := patient.one("open transactions", OLDEST):
        facts |= {"open_transactions": number(oldest[0]), "oldest_transaction_s": number(oldest[1])}
    if not version.startswith("5.") and "MariaDB" not in version and (undo := patient.one("undo tablespaces", UNDO)):
        facts |= {"undo_tablespaces": number(undo[0]), "undo_bytes": number(undo[1])}
    free = [(str(t), number(f), number(d) + number(i)) for t, _, _, d, i, f in tables]
    facts["free_in_tables_bytes"] = sum(bytes_ for _, bytes_, _ in free)
    listed = {
        "hollow_files": [
            f"{table}: {bytes_ / 1e6:,.1f} MB of {(bytes_ + used) / 1e6:,.1f} MB"
            for table, bytes_, used in sorted(free, key=lambda one: -one[1])
            if bytes_ >= FREE_MIN_PAGES * page_bytes and 100 * bytes_ >= FREE_MIN_PERCENT * (bytes_ + used)
        ],
        "without_primary_key": [
            f"{table}: about {number(rows):,} rows" for table, rows in patient.rows("primary keys", WITHOUT_KEY)
        ],
        "other_engines": [
            f"{table}: {engine}, {number(bytes_) / 1e6:,.1f} MB"
            for table, engine, bytes_ in patient.rows("other engines' tables", OTHER_ENGINES)
        ],
    }
    told = _statistics(tables, patient, page_bytes)
    try:
        transactions = transactions_of(ask)
    except CellFailed as error:
        transactions = None
        patient.refused.append(f"InnoDB's monitor could not be asked for: {error.message.rpartition(': ')[2]}")
    told = told.model_copy(update={"transactions": transactions})
    if transactions and transactions.history is not None:
        facts["history_list"] = transactions.history
    with_key = {index.table for index in told.indexes if index.name == PRIMARY.lower()}
    scans = [
        Scan(
            str(table),
            f"select count(*) from {quoted(str(table))}"  # noqa: S608
            + (" force index (primary)" if str(table).lower() in with_key else ""),
            number(data),
        )
        for table, _, _, data, _, _ in sorted(tables, key=lambda row: -number(row[3]))
    ]
    product = "MariaDB" if "MariaDB" in version else "MySQL"
    return Looked(
        version=f"{product} {version.split('-', maxsplit=1)[0]}",
        facts=facts,
        statistics=told,
        notes=[
            "Rows, row lengths and different keys are InnoDB's samples, and sizes are of room that is set aside. Not "
            "looked at: depth of indexes and fill of pages. No table of the server has them; innodb_buffer_page has "
            "the fill of pages that are cached, and slows the server down while it is asked.",
            *patient.refused,
        ],
        listed={name: lines for name, lines in listed.items() if lines},
        scans=scans,
    )


def _variables(patient: Patient) -> dict[str, Scalar]:
    facts: dict[str, Scalar] = {}
    for what, names in (("variables", VARIABLES), ("status", STATUS)):
        listed = ", ".join(f"'{name}'" for name in names)
        for name, value in patient.rows(what, f"show global {what} where variable_name in ({listed})"):
            facts[str(name).lower()] = int(value) if value and value.isdecimal() else value
    return facts


def _statistics(rows: list[list[str | None]], patient: Patient, page_bytes: int) -> DatabaseStatistics:
    sizes = {
        (str(table), str(index)): (number(size), number(leaves))
        for table, index, size, leaves in patient.rows("mysql.innodb_index_stats", SIZES)
    }
    records = {str(table): number(count) for table, count, *_ in rows}
    indexes = []
    for table, name, non_unique, cardinality in patient.rows("indexes", KEYS):
        if str(table) not in records:
            continue  # another engine's
        count, size = records[str(table)], sizes.get((str(table), str(name)))
        unique = count if non_unique == "0" else min(count, number(cardinality)) if cardinality else None
        indexes.append(
            IndexStatistics(
                name=str(name).lower(),
                table=str(table).lower(),
                depth=None,
                keys=count,
                key_bytes=None,
                duplicates=None if unique is None else max(0, count - unique),
                duplicates_max=None,
                unique=unique,
                bytes=size[0] * page_bytes if size else 0,
                fill_percent=None,
            )
        )
    tables = []
    for table, rows_of, mean, data, of_indexes, _ in rows:
        stored = sizes.get((str(table), PRIMARY)) or sizes.get((str(table), "GEN_CLUST_INDEX"))
        tables.append(
            TableStatistics(
                name=str(table).lower(),
                records=number(rows_of),
                record_bytes=float(mean) if mean and number(rows_of) else None,
                versions=None,
                version_bytes=None,
                versions_max=None,
                data_pages=stored[1] if stored else None,
                bytes=number(data),
                index_bytes=number(of_indexes),
                fill_percent=None,
                real_fill_percent=None,
            )
        )
    return DatabaseStatistics(
        source="information_schema, mysql.innodb_index_stats" if sizes else "information_schema",
        estimated=[f"{name}: InnoDB's sample" for name in ("records", "record_bytes", "keys", "unique", "duplicates")],
        page_bytes=page_bytes,
        bytes=sum(number(data) + number(of_indexes) for _, _, _, data, of_indexes, _ in rows),
        took_s=0,
        tables=tables,
        indexes=indexes,
    )


def quoted(name: str) -> str:
    """A name as SQL takes it, whatever is in it."""
    return "`" + name.replace("`", "``") + "`"


LOOKS = ServerLooks(look, SETUP)
