"""What is the same for all versions of an engine family; below every layer, so that each may look it up.

A family shares its settings and its files; its products are what people name: MySQL and MariaDB are two products of one
family, for InnoDB is the same in both. What an engine does is in ``acidtest.engine``; here is only what others must
know of it without asking it: names, ports, sizes, what its files are called.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from acidtest.filesystems import flushes_each_write
from acidtest.risk import ANY_COMMITS, ANYHOW, NO_RISK, Risk, Settings


@dataclass(frozen=True)
class Product:
    """An engine as people name it. The ids of its versions begin with ``name``: "mariadb-10.11"."""

    name: str
    title: str  # as its makers write it
    programs: tuple[str, ...]  # regular expressions of its programs' and libraries' names, in lower case
    words: tuple[str, ...] = ()  # what else it is called, in URLs and by other people's tools


@dataclass(frozen=True)
class PageCache:
    """The setting with the size of an engine's own page cache."""

    setting: str
    unit_bytes: int | None  # in which it counts; None: in pages of the database
    each_session: bool = False  # every session has one of its own

    def value(self, megabytes: int, page_bytes: int) -> int:
        """The setting's value for a cache of so many MiB, of a database with pages of that size."""
        return (megabytes << 20) // (self.unit_bytes or page_bytes)


@dataclass(frozen=True)
class Family:
    """Engines with the same settings. ``name`` is the prefix of these in an experiment: "mysql.log_bin"."""

    name: str
    products: tuple[Product, ...]
    # Of a database without any tables, with pages of 4 kB on SQLite and the engines' own elsewhere.
    empty_bytes: int
    load_bytes_per_s: float  # assumed until a load was measured
    # What a durability level may lose, under settings of these names; what they do not name is as acidtest sets it.
    risk: Callable[[str, Settings], Risk]
    # What a file is to the engine, by regular expressions of its path; the first that is found counts.
    file_roles: tuple[tuple[str, str], ...]
    cache: PageCache
    page_size: str | None = None  # the setting with the bytes of a page; None: each build has one size
    has_figures: bool = True  # tells where it stands while load is measured
    has_procedures: bool = True  # stored in the database; without them the client runs a workload's statements itself
    server_port: int | None = None  # the usual one of servers by URL; None: the family has no servers by URL
    server_since: tuple[int, ...] = ()  # the oldest version of such servers that is known here
    server_sockets: bool = True  # whether such a server may be reached through a Unix socket
    server_shared: bool = False  # whether a server that acidtest starts can be reached from other machines too
    server_schemas: bool = False  # whether a database on such a server has schemas beside the one that it begins with
    # Settings of ours that have another name in the configuration files of other people.
    configured_as: Mapping[str, str] = field(default_factory=dict)
    # What its levels do not say: by the beginning of an engine's id, in a few words.
    faults: Mapping[str, str] = field(default_factory=dict)

    # Faults that the engine's own check shows: a regular expression of its words, and what they are known to mean.
    signs: tuple[tuple[str, str], ...] = ()

    def known_by(self, said: str) -> str:
        """The known fault that the engine's own check shows by these words; "" where they show none."""
        return next((means for words, means in self.signs if re.search(words, said)), "")

    def risk_on(self, level: str, settings: Settings, filesystem: str, mount_options: str) -> Risk:
        """``risk`` on a file system with these mount options. Where each write is flushed, a crash of the OS or a power
        cut takes what the end of the engine's process takes, and beyond that what it may take at ``drive``."""
        risk = self.risk(level, settings)
        if not flushes_each_write(filesystem, mount_options):
            return risk
        breaks = ANYHOW if risk.breaks_when_killed else self.risk("drive", settings).breaks
        return replace(risk, lost=risk.lost_when_killed, breaks=breaks)

    def fault(self, engine: str) -> str:
        """What the engine of this id was seen to lose at any level; "" when nothing is known."""
        return next((words for begins, words in self.faults.items() if engine.startswith(begins)), "")


def _sqlite_risk(level: str, settings: Settings) -> Risk:
    """https://sqlite.org/pragma.html#pragma_synchronous"""
    if level == "os":
        return Risk(lost="the commits since the last checkpoint")
    if level == "none":
        return replace(ANY_COMMITS, breaks_when_killed=settings.get("journal_mode") in ("memory", "off"))
    return NO_RISK


def _firebird_risk(level: str, settings: Settings) -> Risk:
    """Without Forced Writes nothing keeps the order of writes, which is what its pages rely on."""
    return NO_RISK if level == "drive" else ANY_COMMITS


def _postgresql_risk(level: str, settings: Settings) -> Risk:
    """A commit that does not wait is in the server's memory until the WAL writer comes to it, which is at most three
    times ``wal_writer_delay`` later. https://www.postgresql.org/docs/current/wal-async-commit.html"""
    torn = "where a page of 8 kB is torn" if settings.get("full_page_writes") == "false" else ""
    if level == "drive":
        return Risk(breaks=torn)
    last = f"up to {3 * _seconds(settings.get('wal_writer_delay'), 0.2):g} s of commits" if level == "none" else ""
    if level == "none" and settings.get("fsync") != "false":
        return Risk(lost=last, lost_when_killed=last, breaks=torn)
    return replace(ANY_COMMITS, lost_when_killed=last)


def _innodb_risk(level: str, settings: Settings) -> Risk:
    """The log is flushed once in ``innodb_flush_log_at_timeout``, and the order of writes kept at every level.

    https://mariadb.com/kb/en/innodb-system-variables/, https://dev.mysql.com/doc/refman/5.5/en/innodb-parameters.html
    """
    seconds = _seconds(settings.get("innodb_flush_log_at_timeout"), 1)
    last = "about the last second of commits" if seconds == 1 else f"about the last {seconds:g} s of commits"
    never = settings.get("innodb_flush_method") == "nosync"
    return Risk(
        lost="" if level == "drive" else "commits" if never else last,
        lost_when_killed=last if level == "none" else "",
        breaks=" and ".join(_innodb_doubts(settings)),
    )


def innodb_skips_flushes(settings: Settings) -> tuple[str, str] | None:
    """The setting by which InnoDB's log lets go of what only the OS has, or commits are not flushed; and why."""
    method = settings.get("innodb_flush_method")
    if method == "nosync":
        return "innodb_flush_method", "neither commits nor checkpoints wait for a flush"
    if method == "littlesync":
        return "innodb_flush_method", "it promises no flush of data files"
    through = settings.get("innodb_data_file_write_through") == "true"
    buffered = settings.get("innodb_data_file_buffering") == "true" and not through
    if settings.get("innodb_doublewrite") == "fast" and buffered:
        return "innodb_doublewrite", "checkpoints do not wait for a flush of data files"
    return None


def _innodb_doubts(settings: Settings) -> list[str]:
    """Why, or where, a power cut may break the database."""
    doubts = []
    if skips := innodb_skips_flushes(settings):
        doubts.append(f"since {skips[1]}")
    elif _relies_on_finished_writes(settings):
        doubts.append("where a finished direct write of a data file is not yet on the drive")
    if settings.get("innodb_doublewrite") in ("false", "DETECT_ONLY"):  # which says that a page is torn, no more
        doubts.append("where the drive can tear a page")
    return doubts


def _relies_on_finished_writes(settings: Settings) -> bool:
    """Whether a direct write of a data file is taken for durable when it has ended, which depends on the place."""
    if settings.get("innodb_data_file_write_through") == "true":
        return False
    method, doublewrite = settings.get("innodb_flush_method"), settings.get("innodb_doublewrite")
    return method == "O_DIRECT_NO_FSYNC" or doublewrite == "fast"


def _seconds(value: str | None, usual: float) -> float:
    """Of "200 ms", "1 s" or "1"; ``usual`` where it does not say."""
    match = re.fullmatch(r"(\d{1,9}) ?(ms|s)?", value or "")
    return float(match[1]) / (1000 if match[2] == "ms" else 1) if match else usual


SQLITE = Family(
    name="sqlite",
    products=(
        Product(
            "sqlite",
            "SQLite",
            programs=(r"(lib)?sqlite3?(\.exe|\.dll|\.so[\d.]*)",),
        ),
    ),
    empty_bytes=100_000,
    load_bytes_per_s=15e6,
    risk=_sqlite_risk,
    file_roles=(
        (r"-journal$", "journal"),
        (r"-wal$", "log"),
        (r"-shm$", "shared memory"),
        (r"etilqs_", "temp"),
        (r"\.db$", "database"),
    ),
    cache=PageCache("cache_size_kb", 1024, each_session=True),
    page_size="page_size",
    has_figures=False,
    has_procedures=False,
)

FIREBIRD = Family(
    name="firebird",
    products=(
        Product(
            "firebird",
            "Firebird",
            programs=(
                r"(fbserver|fb_inet_server|fb_smp_server|firebird|fbguard)(\.exe)?",
                r"(lib)?(fbclient|fbembed|gds32|engine\d\d)(\.dll|\.so[\d.]*)",
            ),
        ),
    ),
    empty_bytes=2_500_000,
    load_bytes_per_s=6e6,
    risk=_firebird_risk,
    file_roles=(
        (r"\.fdb$", "database"),
        (r"/?fb_(sort|undo|blob|recbuf|merge|table|backup)\w*", "temp"),
        (r"/?fb\w*_(lock|event|trace|monitor|user_mapping|tpc|snap|init)\w*", "lock table"),
        (r"firebird\.log$", "messages"),
    ),
    cache=PageCache("page_buffers", None),
    page_size="page_size",
    server_port=3050,
    server_since=(3,),
    server_sockets=False,
    configured_as={
        "server_mode": "servermode",
        "read_consistency": "readconsistency",
        "use_file_system_cache": "usefilesystemcache",
        "file_system_cache_threshold_pages": "filesystemcachethreshold",
    },
    faults={"firebird-": "a known fault can hide committed rows after a crash (acidtest help docs/ENGINES.md)"},
    signs=(
        (
            r"bits \{0x\w+ [^}]*\bempty\b[^}]*\} are not consistent with data page",
            "the engine's validation warns of pages that are marked as empty and are not: a known fault of Firebird "
            "hides committed rows so, and gfix -v -full brings them back (acidtest help docs/ENGINES.md)",
        ),
    ),
)

POSTGRESQL = Family(
    name="postgresql",
    products=(
        Product(
            "postgresql",
            "PostgreSQL",
            programs=(r"postgres(\.exe)?",),
            words=("postgres",),
        ),
    ),
    empty_bytes=7_500_000,
    load_bytes_per_s=15e6,
    risk=_postgresql_risk,
    file_roles=(
        (r"(^|/)pg_wal/", "log"),
        (r"pgsql_tmp", "temp"),
        (r"(^|/)(base|global|pg_tblspc)/", "database"),
        (r"(^|/)pg_(xact|multixact|subtrans|commit_ts)/", "transaction status"),
        (r"(^|/)pg_(stat|stat_tmp|logical|replslot|dynshmem|notify)/", "bookkeeping"),
        (r"^/dev/shm/", "shared memory"),
    ),
    cache=PageCache("shared_buffers_mb", 1 << 20),
    server_port=5432,
    server_shared=True,
    server_schemas=True,
)

MYSQL = Family(
    name="mysql",
    products=(
        Product(
            "mysql",
            "MySQL",
            programs=(r"mysqld(-debug|-nt)?(\.exe)?",),
        ),
        Product(
            "mariadb",
            "MariaDB",
            programs=(r"mariadbd(\.exe)?",),
        ),
    ),
    empty_bytes=5_000_000,
    load_bytes_per_s=6e6,
    risk=_innodb_risk,
    file_roles=(
        (r"ib_(logfile|redo)|#ib_redo", "log"),
        (r"(binlog|mysql-bin|-bin)[.\d]*", "binary log"),
        (r"dblwr|ib_doublewrite", "double write"),
        (r"ibtmp|#sql|#innodb_temp|\.MAI$|\.MAD$", "temp"),
        (r"ibdata|\.ibd$|undo\d*", "database"),
        (r"aria_log|tc\.log|ddl_recovery", "log of the server"),
        (r"\.frm$|\.MYI$|\.MYD$", "tables of the server"),
    ),
    cache=PageCache("innodb_buffer_pool_mb", 1 << 20),
    page_size="innodb_page_size",
    server_port=3306,
    server_shared=True,
)

FIREBIRD_CLASSIC_BUFFERS = (256, 2048)  # its default, and where copies of pages cost more to keep alike than they save

# By name, in the order in which they are told.
FAMILIES: Mapping[str, Family] = {family.name: family for family in (SQLITE, FIREBIRD, POSTGRESQL, MYSQL)}
PRODUCTS: Mapping[str, Product] = {product.name: product for family in FAMILIES.values() for product in family.products}
# Those that have servers by URL.
SERVERS: Mapping[str, Family] = {name: family for name, family in FAMILIES.items() if family.server_port is not None}


def firebird_buffers(pages: int) -> str:
    """How many page buffers suit a database of so many pages, by the server's mode: for all who advise on it."""
    least, most = FIREBIRD_CLASSIC_BUFFERS
    return (
        f"SuperServer has one cache for all connections: give it up to as many buffers as the database has pages, "
        f"{pages:,}, as far as its memory allows. Classic and SuperClassic have one for each connection: {least:,} to "
        f"{most:,} (gfix -buffers)."
    )


def of_engine(id: str) -> Family | None:  # noqa: A002
    """The family of an engine's id, "mariadb-10.11"; None where it does not say, as of a server by URL."""
    return of_word(_first_word(id))


def of_word(word: str) -> Family | None:
    """The family of a product by one of its names: "postgres", as in a URL; None when it is not known."""
    return next((f for f in FAMILIES.values() if any(word in (p.name, *p.words) for p in f.products)), None)


def product_of_engine(id: str) -> Product | None:  # noqa: A002
    """The product of an engine's id, "mariadb-10.11"; None as in ``of_engine``."""
    return PRODUCTS.get(_first_word(id))


def role_of_file(engine: str, path: str) -> str:
    """What the file ``path`` is to an engine of this id; "other" when its name does not say."""
    family = of_engine(engine)
    roles = family.file_roles if family else ()
    return next((role for pattern, role in roles if re.search(pattern, path)), "other")


def _first_word(id: str) -> str:  # noqa: A002
    return re.split("[^a-z]", id, maxsplit=1)[0]
