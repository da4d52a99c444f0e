"""Which files of a kit belong to one engine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath

from acidtest.audit.bench import Account, Binary, Configuration, Database, LogEntry, Mount, Side
from acidtest.audit.importers.file import Part

# Folders of an installation that are never its root.
INNER = frozenset(
    ("bin", "sbin", "lib", "lib64", "plugins", "plugin", "etc", "conf", "conf.d", "mysql.conf.d", "intl", "data", "log", "logs", "share", "udf")  # noqa: E501
)  # fmt: skip
# Firebird's on-disk structure and the series that creates it; 4.0 and 5.0 share the major version.
ODS_SERIES = {
    (10, 1): "1.5",
    (11, 0): "2.0",
    (11, 1): "2.1",
    (11, 2): "2.5",
    (12, 0): "3.0",
    (12, 2): "3.0",
    (13, 0): "4.0",
    (13, 1): "5.0",
}


def homes(names: Iterable[str]) -> set[str]:
    """The folders that hold one engine each, given the names of all programs and configurations."""
    folders = set()
    for name in names:
        home = PurePosixPath(name).parent
        while home.name.lower() in INNER and home.parent != home:
            home = home.parent
        folders.add(home)
    # One within another is a part of that installation; but the kit's own folder holds them all and is none of them.
    whole = {home for home in folders if not any(above in folders for above in home.parents if str(above) != ".")}
    return {str(home) for home in whole if str(home) != "." or len(whole) == 1}


def side(home: str, parts: Sequence[Part]) -> Side:
    """What lies in one folder, as one side."""
    binaries = tuple(part for part in parts if isinstance(part, Binary))
    configurations = tuple(part for part in parts if isinstance(part, Configuration))
    databases = tuple(part for part in parts if isinstance(part, Database))
    log = tuple(part for part in parts if isinstance(part, LogEntry))
    engines = Counter(part.engine for part in parts if isinstance(part, Binary | Configuration | Database | LogEntry))
    versions = Counter(binary.version for binary in binaries if binary.version)
    name = home if home not in ("", ".") else parts[0].where.file
    return Side(
        name=name,
        engine=engines.most_common(1)[0][0] if engines else None,
        version=versions.most_common(1)[0][0] if versions else "",
        binaries=binaries,
        configurations=configurations,
        databases=databases,
        log=log,
        mounts=tuple(part for part in parts if isinstance(part, Mount)),
        accounts=tuple(part for part in parts if isinstance(part, Account)),
    )


def made(side: Side, part: Database | LogEntry) -> bool:
    """Whether ``part``, which lies elsewhere, can have come from this side."""
    if part.engine != side.engine:
        return False
    series = ODS_SERIES.get(part.ods) if isinstance(part, Database) and part.ods else None
    return series is None or not side.version or side.version.startswith(f"{series}.")
