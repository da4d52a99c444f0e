"""A journal of ours as a benchmark like any other, for the rules that compare sides."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from acidtest import families
from acidtest.analysis import samples
from acidtest.analysis.samples import Row
from acidtest.audit import judge
from acidtest.audit.bench import Bench, Binary, Configuration, Database, Setting, Side, Where
from acidtest.audit.logged import logged
from acidtest.audit.published import published
from acidtest.doubts.judge import claimed, levels_of, where, without_own
from acidtest.finding import Finding
from acidtest.journal.models import Journal, Recording
from acidtest.journal.reader import NAME
from acidtest.settings import alike

# Unless somebody sets it Firebird goes by FileSystemCacheThreshold, and RDB$CONFIG tells the default all the same.
HEEDED_IF_SET = ("use_file_system_cache",)


def compared(journal: Journal) -> list[Finding]:
    """What is wrong with what a run compares."""
    return judge.of_bench(bench(journal, samples.rows(journal.header, journal.recordings)))


def compared_searches(journal: Journal) -> list[Finding]:
    """The same of the rates that searches claim."""
    return without_own(judge.of_bench(bench(journal, claimed(journal))))


def bench(journal: Journal, rows: Sequence[Row]) -> Bench:
    """The rows that have a number, as sides that differ in the experiment's factors."""
    factors = samples.varying(rows)
    varied = {*factors, *_set_by_levels(journal.header.experiment)}
    sides = [(row, _side(journal, row, factors)) for row in rows if row.done]
    return Bench(
        sides=[side for _, side in sides],
        published=[
            one for row, side in sides for one in published(row, side.name, _where(journal, row.done[0]), side.engine)
        ],
        factors=frozenset(part for name in varied for part in (name, name.rpartition(".")[2])),
        read=[(NAME, "journal")],
    )


def _set_by_levels(experiment: Mapping[str, Any]) -> Iterator[str]:
    """Settings that differ because a level of a factor sets them: { name = "…", set = { "mysql.log_bin" = true } }."""
    for levels in experiment.get("factors", {}).values():
        for level in levels if len(levels) > 1 else ():
            if isinstance(level, dict):
                yield from level.get("set", {})


def _side(journal: Journal, row: Row, factors: Sequence[str]) -> Side:
    recording = row.done[0]
    where = _where(journal, recording)
    facts = recording.engine
    family = families.of_engine(facts.known_as) if facts else None
    product = families.product_of_engine(facts.known_as) if facts else None
    version = facts.version if facts else ""
    if facts is None or family is None or product is None:
        return Side(name=_name(row, factors), version=version)
    engine = product.name
    settings = tuple(
        Setting(family.configured_as.get(s.name, s.name.lower()), s.in_force, where, s.name)
        for s in recording.settings
        if s.in_force is not None and (s.asked is not None or s.name not in HEEDED_IF_SET)
    )
    asked = {s.name: s.in_force for s in recording.settings if s.asked is not None and s.in_force is not None}
    buffers = asked.get("page_buffers", "")
    forced = asked.get("forced_writes")
    page = next((s.value for s in settings if s.name == "page_size" and s.value.isdecimal()), None)
    return Side(
        name=_name(row, factors),
        engine=engine,
        version=version,
        binaries=(
            Binary(
                where,
                engine,
                64 if "64" in facts.architecture else 32,
                facts.architecture,
                "Linux",
                version,
                debug="debug" in version.lower(),
                called=facts.id,
                identity=facts.identity,
            ),
        ),
        configurations=(Configuration(where, engine, "settings in force", settings),),
        log=tuple(logged(engine, [(r.engine_log, _where(journal, r)) for r in row.done])),
        databases=(
            Database(
                where=where,
                name=_name(row, factors),
                engine=engine,
                bytes=recording.database_bytes or None,
                page_bytes=int(page) if page else None,
                page_buffers=int(buffers) if buffers.isdecimal() else None,
                forced_writes=None if forced is None else alike(forced) == "on",
            ),
        ),
    )


def _where(journal: Journal, recording: Recording) -> Where:
    at = where(journal, recording, "")
    return Where(at.file, at.line)


def _name(row: Row, factors: Sequence[str]) -> str:
    return levels_of(row.levels, ["workload", *factors])
