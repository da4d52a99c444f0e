"""What is the same for all versions of an engine family; below every layer, so that each may look it up.

A family shares its settings and its files; its products are what people name: MySQL and MariaDB are two products of one
family, for InnoDB is the same in both. What an engine does is in ``acidtest.engine``; here is only what others must
know of it without asking it: names, ports, sizes, what its files are called.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Product:
    """An engine as people name it. The ids of its versions begin with ``name``: "mariadb-10.11"."""

    name: str
    title: str  # as its makers write it
    programs: tuple[str, ...]  # regular expressions of its programs' and libraries' names, in lower case
    version_in_program: bytes  # a regular expression; how a build says its version, somewhere among its bytes
    words: tuple[str, ...] = ()  # what else it is called, in URLs and by other people's tools


@dataclass(frozen=True)
class Family:
    """Engines with the same settings. ``name`` is the prefix of these in an experiment: "mysql.log_bin"."""

    name: str
    products: tuple[Product, ...]
    # Of a database without any tables, with pages of 4 kB on SQLite and the engines' own elsewhere.
    empty_bytes: int
    load_bytes_per_s: float  # assumed until a load was measured
    # What a file is to the engine, by regular expressions of its path; the first that is found counts.
    file_roles: tuple[tuple[str, str], ...]
    has_procedures: bool = True  # stored in the database; without them the client runs a workload's statements itself
    server_port: int | None = None  # the usual one of servers by URL; None: the family has no servers by URL
    server_schemas: bool = False  # whether a database on such a server has schemas beside the one that it begins with
    # Settings of ours that have another name in the configuration files of other people.
    configured_as: Mapping[str, str] = field(default_factory=dict)


SQLITE = Family(
    name="sqlite",
    products=(
        Product(
            "sqlite",
            "SQLite",
            programs=(r"(lib)?sqlite3?(\.exe|\.dll|\.so[\d.]*)",),
            version_in_program=rb"SQLite version (3\.\d{1,3}\.\d{1,3})",
        ),
    ),
    empty_bytes=100_000,
    load_bytes_per_s=15e6,
    file_roles=(
        (r"-journal$", "journal"),
        (r"-wal$", "log"),
        (r"-shm$", "shared memory"),
        (r"etilqs_", "temp"),
        (r"\.db$", "database"),
    ),
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
            version_in_program=rb"[A-Z]{2}-[VTDBX](\d{1,2}\.\d{1,2}\.\d{1,3}\.\d{1,6})",
        ),
    ),
    empty_bytes=2_500_000,
    load_bytes_per_s=6e6,
    file_roles=(
        (r"\.fdb$", "database"),
        (r"/?fb_(sort|undo|blob|recbuf|merge|table|backup)\w*", "temp"),
        (r"/?fb\w*_(lock|event|trace|monitor|user_mapping|tpc|snap|init)\w*", "lock table"),
        (r"firebird\.log$", "messages"),
    ),
    configured_as={
        "server_mode": "servermode",
        "read_consistency": "readconsistency",
        "use_file_system_cache": "usefilesystemcache",
        "file_system_cache_threshold_pages": "filesystemcachethreshold",
    },
)

POSTGRESQL = Family(
    name="postgresql",
    products=(
        Product(
            "postgresql",
            "PostgreSQL",
            programs=(r"postgres(\.exe)?",),
            version_in_program=rb"PostgreSQL (\d{1,2}(?:\.\d{1,2}){1,2})",
            words=("postgres",),
        ),
    ),
    empty_bytes=7_500_000,
    load_bytes_per_s=15e6,
    file_roles=(
        (r"(^|/)pg_wal/", "log"),
        (r"pgsql_tmp", "temp"),
        (r"(^|/)(base|global|pg_tblspc)/", "database"),
        (r"(^|/)pg_(xact|multixact|subtrans|commit_ts)/", "transaction status"),
        (r"(^|/)pg_(stat|stat_tmp|logical|replslot|dynshmem|notify)/", "bookkeeping"),
        (r"^/dev/shm/", "shared memory"),
    ),
    server_port=5432,
    server_schemas=True,
)

MYSQL = Family(
    name="mysql",
    products=(
        Product(
            "mysql",
            "MySQL",
            programs=(r"mysqld(-debug|-nt)?(\.exe)?",),
            version_in_program=rb"mysqld-(\d{1,2}\.\d{1,2}\.\d{1,3})",
        ),
        Product(
            "mariadb",
            "MariaDB",
            programs=(r"mariadbd(\.exe)?",),
            version_in_program=rb"(\d{1,2}\.\d{1,2}\.\d{1,3})-MariaDB",
        ),
    ),
    empty_bytes=5_000_000,
    load_bytes_per_s=6e6,
    file_roles=(
        (r"ib_(logfile|redo)|#ib_redo", "log"),
        (r"(binlog|mysql-bin|-bin)[.\d]*", "binary log"),
        (r"dblwr|ib_doublewrite", "double write"),
        (r"ibtmp|#sql|#innodb_temp|\.MAI$|\.MAD$", "temp"),
        (r"ibdata|\.ibd$|undo\d*", "database"),
        (r"aria_log|tc\.log|ddl_recovery", "log of the server"),
        (r"\.frm$|\.MYI$|\.MYD$", "tables of the server"),
    ),
    server_port=3306,
)

FAKELITE = Family(
    name="fakelite",
    products=(
        Product(
            "fakelite",
            "Fakelite",
            programs=(r"(lib)?fakelite(\.exe|\.dll|\.so[\d.]*)",),
            version_in_program=rb"Fakelite version (3\.\d{1,3}\.\d{1,3})",
        ),
    ),
    empty_bytes=SQLITE.empty_bytes,
    load_bytes_per_s=SQLITE.load_bytes_per_s,
    file_roles=SQLITE.file_roles,
    has_procedures=False,
)

# By name, in the order in which they are told.
FAMILIES: Mapping[str, Family] = {family.name: family for family in (SQLITE, FIREBIRD, POSTGRESQL, MYSQL, FAKELITE)}
PRODUCTS: Mapping[str, Product] = {one.name: one for family in FAMILIES.values() for one in family.products}
# Those that have servers by URL.
SERVERS: Mapping[str, Family] = {name: family for name, family in FAMILIES.items() if family.server_port is not None}


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
