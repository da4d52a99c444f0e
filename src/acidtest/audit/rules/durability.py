"""What each side promises of a commit: whether it survives a power cut, and whether torn pages are repaired."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from acidtest import settings
from acidtest.audit import measured_sides, stores
from acidtest.audit.bench import Bench, Side
from acidtest.audit.rules.builds import all_named
from acidtest.audit.rules.settings import binary_log, files, held
from acidtest.families import PRODUCTS
from acidtest.filesystems import WITHOUT_FLUSHES
from acidtest.finding import Evidence, Found, listed, rule
from acidtest.formats import linear

WRITES = re.compile(
    r"insert|updat|writ|delet|upsert|\bload|ingest|\bset\b|tpc|oltp(?!.?read.?only)|workload_?[abdf]\b|mixed|creat",
    re.IGNORECASE,
)
READS = re.compile(r"read(?!me)|select|quer|search|scan|lookup|analy", re.IGNORECASE)
WHOLE = frozenset(("zfs",))  # https://www.postgresql.org/docs/current/runtime-config-wal.html#GUC-FULL-PAGE-WRITES

# What decides about a commit or a page, as settings and people call it.
KNOB = (
    r"fsync|synchronous(?:[_ -]?commit)?|sync[_ -]?commit|flush[_ -]?log\w*|trx[_ -]?commit|sync[_ -]?binlog|"
    r"double[_ -]?write|full[_ -]?page[_ -]?writes|fpw|durab\w*|forced[_ -]?writes|barriers?|write[_ -]?concern|"
    r"appendfsync|wal[_ -]?mode|journal[_ -]?mode"
)
HEAD = linear.compile(rf"[\w ]{{0,20}}\b(?:{KNOB})\b[\w ]{{0,30}}", linear.I)
LEVELS = linear.compile(
    r"on|off|[0-3]|full|normal|extra|local|remote_\w+|yes|no|true|false|always|everysec|none", linear.I
)
# In names of configurations and folders.
NAMED = re.compile(
    r"sync|flush|commit|trx|durab|(?<![a-z])(?:un)?safe|double_?write|fpw|relaxed|barrier|"
    r"(?:^|[/_.-])(?:on|off|[012])(?:[/_.-]|$)",
    re.IGNORECASE,
)

MANUALS = (
    "The manuals: MySQL, innodb_flush_log_at_trx_commit; PostgreSQL, Reliability and the Write-Ahead Log; "
    "Firebird, gfix -write; MongoDB, Write Concern; Redis, Persistence; Cassandra, commitlog_sync; Tarantool, "
    "wal_mode; mount(8), barrier; TPC-C, clause 3.5: durability"
)
Promise = Literal["a commit is on the drive when it returns", "a page torn by a power cut is repaired"]
COMMIT: Promise = "a commit is on the drive when it returns"
PAGES: Promise = "a page torn by a power cut is repaired"


def _on(value: str) -> bool:
    return settings.alike(value) not in ("off",)


@dataclass(frozen=True)
class Keeper:
    """A setting without which a promise is not kept."""

    engines: tuple[str, ...]
    setting: str
    promise: Promise
    keeps: Callable[[str], bool]


KEEPERS = (
    Keeper(("mysql", "mariadb"), "innodb_flush_log_at_trx_commit", COMMIT, lambda value: value.strip() in ("1", "3")),
    Keeper(("mysql", "mariadb"), "innodb_flush_method", COMMIT, lambda v: v.lower() not in ("nosync", "littlesync")),
    Keeper(("mysql", "mariadb"), "innodb_doublewrite", PAGES, lambda v: _on(v) and v.lower() != "detect_only"),
    Keeper(("postgresql",), "fsync", COMMIT, _on),
    Keeper(("postgresql",), "synchronous_commit", COMMIT, _on),
    Keeper(("postgresql",), "full_page_writes", PAGES, _on),
)  # fmt: skip


@dataclass(frozen=True)
class Kept:
    promise: Promise
    kept: bool
    evidence: tuple[Evidence, ...]


def promises(side: Side, whole_pages: bool = False) -> Iterator[Kept]:
    """What is known of each promise on a side: what breaks it, or what keeps it. Nothing where nothing is known.
    ``whole_pages``: its file system tears none."""
    facts: list[tuple[Promise, bool, Evidence]] = []
    for keeper in KEEPERS:
        if side.engine in keeper.engines:
            value, evidence = held(side, keeper.setting)
            if value is not None and not (keeper.promise == PAGES and whole_pages):
                facts.append((keeper.promise, keeper.keeps(value), evidence))
    log = binary_log(side)
    often, evidence = held(side, "sync_binlog")
    if log and log[0] and often is not None:
        # Recovery rolls back what is not in the binary log.
        facts.append((COMMIT, often == "1", evidence))
    for database in side.databases:
        if database.forced_writes is not None:
            state = "on" if database.forced_writes else "off"
            facts.append((COMMIT, database.forced_writes, database.says("forced_writes", f"Forced Writes {state}")))
    for mount in side.mounts:
        off = sorted(mount.options & WITHOUT_FLUSHES)
        if off:
            facts.append((COMMIT, False, mount.where.says(f"{mount.point}: {mount.filesystem} with {off[0]}")))
    for promise in (COMMIT, PAGES):
        about = [(kept, evidence) for of, kept, evidence in facts if of == promise]
        if about:
            kept = all(kept for kept, _ in about)
            yield Kept(promise, kept, tuple(evidence for one, evidence in about if one == kept))


def _by_promise(bench: Bench) -> Iterator[tuple[Promise, list[tuple[Side, Kept]]]]:
    """The sides that were measured, by what is known of each promise; of alternatives, where all say the same."""
    whole = _writes_whole_pages(bench)
    sides = measured_sides.measured(bench)
    for promise in (COMMIT, PAGES):
        known = [(side, kept) for side in sides for kept in promises(side, whole) if kept.promise == promise]
        for group in measured_sides.alternatives(bench):
            of = [(side, kept) for side in group for kept in promises(side, whole) if kept.promise == promise]
            if len(of) == len(group) and len({kept.kept for _, kept in of}) == 1:
                known += of
        yield promise, known


def _writes_whole_pages(bench: Bench) -> bool:
    """Whether databases may lie on a file system that never overwrites a page, so that none can be torn."""
    said = any(fact.kind == "file-system" and fact.text.lower() in WHOLE for fact in bench.facts)
    return said or any(mount.filesystem in WHOLE for side in bench.sides for mount in side.mounts)


@rule(
    "durability-differs",
    severity="invalid",
    says="One side may lose what another must keep: one that waits for the drive is compared with one that does not.",
    remedy="Give every side the same promise, or make the level of durability a factor.",
    disproved_by="a dump of the settings in force while it was measured, with one promise on all sides",
    source=MANUALS,
)
def durability_differs(bench: Bench) -> Iterator[Found]:
    if "durability" in bench.factors:
        return
    differs = False
    for promise, sides in _by_promise(bench):
        broken = [(side, kept) for side, kept in sides if not kept.kept]
        if broken and len(broken) < len(sides):
            differs = True
            meant = _meant(bench, [side for side, _ in sides])
            names = all_named((side for side, _ in broken), bench.sides)
            others = all_named((side for side, kept in sides if kept.kept), bench.sides)
            evidence = (
                *(e for _, kept in broken for e in kept.evidence),
                *(_counterpart(kept.evidence, broken) for _, kept in sides if kept.kept),
            )
            told = f"; taken as meant, because {meant}" if meant else ""
            text = f"{_quoted(promise)} holds for {others}, and not for {names}{told}."
            # Of one engine in one version the setting itself may be what is compared, unless it is declared what is.
            one_engine = len({(side.engine, side.version) for side, _ in sides}) == 1
            open_ = one_engine and not (bench.declared and bench.declared.varies is not None)
            # What the servers say of themselves is as certain of one engine as of several.
            dumped = all(
                any(configuration.source == "dump" for configuration in side.configurations) for side, _ in sides
            )
            yield Found(text, evidence, "guessed" if open_ and not dumped else None, noted=bool(meant))
    if not differs:
        yield from _differs_by_default(bench)


def _counterpart(evidence: Sequence[Evidence], broken: Sequence[tuple[Side, Kept]]) -> Evidence:
    """What is said of the setting that breaks the promise elsewhere, else the first."""
    settings_ = {said.text.partition(" ")[0] for _, kept in broken for said in kept.evidence}
    return next((said for said in evidence if said.text.partition(" ")[0] in settings_), evidence[0])


def _differs_by_default(bench: Bench) -> Iterator[Found]:
    for together in stores.compared(bench):
        known = _of_stores(bench, together)
        if len({promise for promise, _ in known.values()}) < 2 or not _writes(bench):
            continue
        text = "; ".join(
            f"{stores.MEANS[level]} in {stores.titles(of)}"
            for level in sorted(stores.MEANS, reverse=True)
            if (of := [name for name, (promise, _) in known.items() if promise == level])
        )
        evidence = dict.fromkeys(said for _, of in known.values() for said in of)
        yield Found(f"As far as the kit sets it, a write is {text}.", tuple(evidence), "guessed")


def _of_stores(bench: Bench, together: Mapping[str, list[Evidence]]) -> dict[str, tuple[int, list[Evidence]]]:
    """Of each store that is compared, when it acknowledges a write and where that is seen: as it is set, or by default.
    Not of one of which something is set that is not understood, nor where a certain finding says the same."""
    sides = measured_sides.measured(bench)
    set_, starts = stores.set_otherwise(bench), stores.started(bench)
    unlogged = bench.said("unlogged")
    found: dict[str, tuple[int, list[Evidence]]] = {}
    by_default = False
    for name, named in together.items():
        of = [kept for side in sides if side.engine == name for kept in promises(side) if kept.promise == COMMIT]
        seen = [said for kept in of for said in kept.evidence]
        if name == "postgresql" and unlogged:
            gone = [one.where.says(one.text) for one in unlogged]
            found[name] = (stores.IN_MEMORY, [*seen, *gone, *named])
            by_default = True
        elif of and len({kept.kept for kept in of}) == 1:
            found[name] = (stores.ON_DRIVE if of[0].kept else stores.IN_LOG, [*seen, *named])
        elif not of and name not in set_:
            by_default = True
            title, promise = stores.STORES[name].title, stores.STORES[name].promise
            begun = [
                start.where.says(f"{title} is started here, and nothing sets it") for start in starts.get(name, ())
            ]
            found[name] = (promise, [*begun, *named])
    return found if by_default and len(found) > 1 else {}


def _writes(bench: Bench) -> bool:
    """Whether something that was measured may write: nothing says that all only read."""
    results = [f"{other.where.file} {other.name} {other.script}" for other in bench.others]
    results += [" ".join((*row.head, *row.cells[:2])) for row in bench.rows]
    if any(WRITES.search(text) for text in results):
        return True
    return not any(READS.search(text) for text in results)


@rule(
    "durability-given-up",
    severity="doubtful",
    says="No side keeps the promise: the figures are of an engine that may lose commits or pages.",
    remedy="Measure with the promise kept, or state beside each figure that it is not.",
    disproved_by="a dump of the settings in force while it was measured, in which the promise is kept",
    source=MANUALS,
)
def durability_given_up(bench: Bench) -> Iterator[Found]:
    ours = all(side.configurations and not files(side) for side in bench.sides)  # says its level beside each number
    if "durability" in bench.factors or ours:
        return
    for group in measured_sides.alternatives(bench):
        for promise in (COMMIT, PAGES):
            known = [
                (side, k) for side in group for k in promises(side, _writes_whole_pages(bench)) if k.promise == promise
            ]
            broken = [(side, kept) for side, kept in known if not kept.kept]
            if broken and len(broken) < len(known):
                names = listed(side.name for side, _ in broken)
                meant = _meant(bench, group)
                told = f"taken as meant, because {meant}" if meant else "and no result tells what it was measured with"
                text = f"{_quoted(promise)} does not hold with {names}, {told}."
                yield Found(text, tuple(one for _, kept in broken for one in kept.evidence), noted=bool(meant))
    compared = {name for together in stores.compared(bench) for name in together}
    unknown = compared & set(PRODUCTS) - {side.engine for side in bench.sides}
    for promise, sides in _by_promise(bench):
        if sides and not unknown and not any(kept.kept for _, kept in sides):
            # What all sides give up alike distorts no comparison between them.
            yield Found(
                f"{_quoted(promise)} holds for no side.",
                tuple(one for _, kept in sides for one in kept.evidence),
                noted=bool(_meant(bench, [s for s, _ in sides])) or promise == PAGES or len(sides) > 1,
            )


def _quoted(promise: Promise) -> str:
    """The promise as the subject of a sentence."""
    return f"“{promise[0].upper()}{promise[1:]}”"


def _meant(bench: Bench, sides: Sequence[Side]) -> str:
    """By what a difference between sides of one engine seems to be meant; "" by nothing, or where it is declared what
    varies."""
    if (bench.declared and bench.declared.varies is not None) or len(
        {(side.engine, side.version) for side in sides}
    ) > 1:
        return ""
    if len(sides) > 1 and all(NAMED.search(side.name) for side in sides):
        return f"the sides are named {listed(side.name for side in sides)}"
    for row in bench.rows:
        for at, head in enumerate(row.head[: len(row.cells)]):
            if HEAD.fullmatch(head.strip("*_` ")) and LEVELS.fullmatch(row.cells[at].strip("*_` ")):
                return "a table has a column of its levels"
    return ""
