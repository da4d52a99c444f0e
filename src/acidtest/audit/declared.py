"""What follows from what a study says of itself: which files are of which side, what differs on purpose, and what its
machines are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from acidtest import settings
from acidtest.audit.bench import (
    Bench,
    Declared,
    DeclaredSide,
    Side,
    Statement,
    StatementKind,
    of_one_series,
)
from acidtest.errors import BadInput, Problems, not_among
from acidtest.families import PRODUCTS
from acidtest.finding import Finding


@dataclass(frozen=True)
class Factor:
    """Something that a study may vary on purpose."""

    rules: tuple[str, ...] = ()  # whose findings are none then
    settings: tuple[str, ...] = ()  # that may differ then


DURABILITY = (
    "innodb_flush_log_at_trx_commit", "innodb_flush_method", "innodb_doublewrite", "sync_binlog", "fsync",
    "synchronous_commit", "full_page_writes", "wal_sync_method", "synchronous", "journal_mode", "forcedwrites",
)  # fmt: skip
CACHES = (
    "innodb_buffer_pool_size", "innodb_buffer_pool_instances", "key_buffer_size", "query_cache_size",
    "query_cache_type", "shared_buffers", "effective_cache_size", "defaultdbcachepages", "filesystemcachesize",
    "filesystemcachethreshold", "usefilesystemcache", "cache_size",
)  # fmt: skip
ISOLATION = ("transaction_isolation", "tx_isolation", "default_transaction_isolation", "readconsistency")
VARIES: Mapping[str, Factor] = {
    "engine": Factor(),
    "version": Factor(("old-build",)),
    "build": Factor(("debug-build", "old-build")),
    "word_size": Factor(("word-size",)),
    "architecture": Factor(("word-size",)),
    "system": Factor(("system-differs",)),
    "machine": Factor(("machine-differs",)),  # with all that belongs to it
    "processor": Factor(),
    "memory": Factor(),
    "drive": Factor(("data-on-tmpfs",)),
    "file_system": Factor(),
    "durability": Factor(("durability-differs", "durability-given-up", "binary-log-differs"), DURABILITY),
    "binary_log": Factor(("binary-log-differs",), ("log_bin", "sync_binlog")),
    "page_size": Factor(("page-size-differs",), ("innodb_page_size", "page_size")),
    "caches": Factor(("buffers-smallest", "buffers-classic", "buffers-super", "database-too-small"), CACHES),
    "server_mode": Factor(("server-mode-differs",), ("servermode",)),
    "isolation": Factor(("read-consistency-differs",), ISOLATION),
    "autovacuum": Factor(("autovacuum-off",), ("autovacuum",)),
    "workload": Factor(("workload-differs",)),
    "scale": Factor(("database-too-small",)),
    "clients": Factor(),
    "query_mode": Factor(),
    "connections": Factor(("connect-per-transaction",)),
    "settings": Factor(("setting-differs", "settings-all-default")),  # whole configurations, one of them as it comes
}


def applied(bench: Bench, declared: Declared, sides_of: Callable[[Sequence[str]], Sequence[Side]]) -> Bench:
    """The bench with the sides, the machines and the factors that the study declares.

    ``sides_of`` gives the sides of those parts that lie in certain files and folders. Raises BadInput for a word that
    names nothing that can vary.
    """
    sides = [_side(side, bench.sides, sides_of) for side in declared.sides] or list(bench.sides)
    _check(declared, sides)
    factors = {name for word in declared.names for name in (word, *_factor(word).settings)}
    facts = list(_facts(declared))
    told = {fact.kind for fact in facts}
    return replace(
        bench,
        sides=sides,
        facts=[*facts, *(fact for fact in bench.facts if fact.kind != "memory" or "memory" not in told)],
        factors=bench.factors | factors,
        declared=declared,
    )


OF_MACHINES: Mapping[str, tuple[StatementKind, float]] = {  # and in what the amounts count
    "drive": ("drive", 0),
    "file_system": ("file-system", 0),
    "write_cache": ("write-cache", 0),
    "memory_gb": ("memory", 2**30),
    "rpm": ("turns", 1),
}


def _facts(declared: Declared) -> Iterator[Statement]:
    """What is declared of the machines that hold a side, and of the whole."""
    of_sides = {side.machine for side in declared.sides} - {""}
    machines = [machine for machine in declared.machines if not of_sides or machine.name in of_sides]
    for fact in (fact for machine in machines for fact in machine.facts):
        kind, unit = OF_MACHINES.get(fact.name, (None, 0))
        if kind:
            text = f"{fact.name} = {fact.value}" if unit else fact.value
            yield Statement(fact.where, kind, text, float(fact.value) * unit if unit else None)
    if declared.measures and declared.measures.value == "drive":
        yield Statement(declared.measures.where, "drive test", 'measures = "drive"')
    if size := declared.database_mb:
        yield Statement(size.where, "database size", f"{size.value} MB", 1e6 * float(size.value))
    if runs := declared.repetitions:
        yield Statement(runs.where, "repeated", f"repetitions = {runs.value}", float(runs.value))


def _factor(word: str) -> Factor:
    return VARIES.get(word, Factor((), (word,)))


def _check(declared: Declared, sides: Iterable[Side]) -> None:
    known = {name for product in PRODUCTS for name in settings.of(product).known}
    known |= {setting.name for side in sides for conf in side.configurations for setting in conf.settings}
    problems = Problems()
    for vary in declared.varies or ():
        if vary.name not in VARIES and vary.name not in known:
            allowed = not_among("varies:", vary.written, VARIES)
            problems.add(BadInput(f"{vary.where.file}: {allowed}", "or name a setting of the kit"))
    problems.check()


def _side(declared: DeclaredSide, found: Sequence[Side], sides_of: Callable[[Sequence[str]], Sequence[Side]]) -> Side:
    """What is known of a side: by its files; else the side of its name, or the only one of its engine and version."""
    if declared.files:
        of = [
            side for side in sides_of(declared.files) if declared.engine in (None, side.engine) or side.engine is None
        ]
    else:
        of = [side for side in found if side.name == declared.name]
        if not of and declared.engine:
            of = [
                side
                for side in found
                if side.engine == declared.engine
                and (not declared.version or not side.version or of_one_series(declared.version, side.version))
            ]
            of = of if len(of) == 1 else []
    return Side(
        name=declared.name,
        engine=declared.engine or next((one.engine for one in of if one.engine), None),
        version=declared.version or next((one.version for one in of if one.version), ""),
        binaries=tuple(part for one in of for part in one.binaries),
        configurations=tuple(part for one in of for part in one.configurations),
        databases=tuple(part for one in of for part in one.databases),
        log=tuple(part for one in of for part in one.log),
        mounts=tuple(dict.fromkeys(part for one in of for part in one.mounts)),
    )


def is_of(name: str, files: Iterable[str]) -> bool:
    """Whether a file is one of those named, or in one of these folders."""
    return any(file in ("", ".") or name == file or name.startswith(f"{file}/") for file in files)


def on_purpose(finding: Finding, declared: Declared | None) -> bool:
    """Whether it is a difference that the study declares."""
    return declared is not None and any(finding.rule.name in _factor(word).rules for word in declared.names)
