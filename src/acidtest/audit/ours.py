"""A journal of ours, audited: its rows, its storage, and all of it as a benchmark like any other."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePath
from typing import Any

from acidtest import families
from acidtest.analysis import database, hosts, samples
from acidtest.analysis.samples import Row
from acidtest.analysis.search import Search, searches
from acidtest.analysis.survival import survivals
from acidtest.audit import judge
from acidtest.audit.bench import Bench, Binary, Configuration, Database, Setting, Side, Where
from acidtest.audit.finding import Evidence, Finding
from acidtest.audit.logged import logged
from acidtest.audit.published import published
from acidtest.audit.settings import alike
from acidtest.audit.unchecked import Unchecked
from acidtest.audit.unchecked import cuts as of_power_cuts
from acidtest.audit.unchecked import run as of_run
from acidtest.journal.models import NOT_APPLICABLE, Journal, Recording
from acidtest.journal.reader import NAME

# What a search judges by itself, by bounds that it states: arrivals that wait at a run's end, and whether a queue grew.
# In an open loop the rate of commits is the schedule's.
JUDGED_BY_SEARCHES = ("unfinished-arrivals", "not-steady")
# Unless somebody sets it Firebird goes by FileSystemCacheThreshold, and RDB$CONFIG tells the default all the same.
HEEDED_IF_SET = ("use_file_system_cache",)


def findings(journal: Journal) -> list[Finding]:
    """Everything that there is to say of a journal, each thing once, with the rows that it concerns."""
    return _of_rows(journal, samples.rows(journal.header, journal.recordings))


def of_searches(journal: Journal) -> list[Finding]:
    """What there is to say of a journal of searches: of each the rate that it claims, and the runs that confirm it.

    The other runs are the way there: single ones, many of them at rates that the server cannot serve, as they must be.
    """
    found = _of_rows(journal, _claimed(journal))
    return [one for one in found if one.rule.name not in JUDGED_BY_SEARCHES]


def _claimed(journal: Journal) -> list[Row]:
    return [row_of(one) for one in searches(journal.header, journal.recordings) if one.confirmed]


def row_of(search: Search) -> Row:
    """A search as a row of its combination, with the runs that confirm its rate; of none with its first recording."""
    fresh = search.confirmed.taken if search.confirmed else ()
    done = [search.recording(one) for one in fresh if one.step.phase == "confirming"]
    return Row(search.levels, done, [], [] if done else [search.first])


def unchecked_searches(journal: Journal) -> list[Unchecked]:
    """What the rates that were found do not show."""
    return list(of_run.unchecked(_claimed(journal), []))


def _of_rows(journal: Journal, rows: Sequence[Row]) -> list[Finding]:
    factors = samples.varying(rows)
    doubts = [
        replace(one, evidence=(*one.evidence, _where(journal, row.first).says(_name(row, factors))))
        for row in rows
        for one in judge.of_row(row)
    ]
    places = {json.dumps(r.place.alike()): r for r in journal.recordings if r.result}
    doubts += [
        replace(one, evidence=(_where(journal, recording).says(recording.place.path),))
        for recording in places.values()
        for one in judge.of_place(recording.place)
    ]
    doubts += [one for by_size in database.by_size(rows) for one in judge.of_statistics(by_size)]
    of_fleet = hosts.hosts(journal, rows)
    return [
        *_gathered(doubts),
        *judge.of_bench(bench(journal, rows)),
        *(judge.of_hosts(of_fleet) if of_fleet else []),
    ]


def of_cuts(journal: Journal) -> list[Finding]:
    """What there is to say of a journal of power cuts."""
    first = {tuple(one.levels.values()): one for one in reversed(journal.recordings)}
    return _gathered(
        replace(
            one, evidence=(_where(journal, first[tuple(row.levels.values())]).says(_levels(row.levels, [*row.levels])),)
        )
        for row in survivals(journal.recordings)
        for one in judge.of_cuts(row)
    )


def unchecked(journal: Journal | None, cuts: Journal | None) -> list[Unchecked]:
    """What a run, its power cuts or both do not show."""
    was_cut = cuts.recordings if cuts else []
    rows = samples.rows(journal.header, journal.recordings) if journal else []
    return [*of_run.unchecked(rows, was_cut), *of_power_cuts.unchecked(was_cut)]


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
    return Where(PurePath(journal.path).name, journal.lines.get(recording.cell))


def _name(row: Row, factors: Sequence[str]) -> str:
    return _levels(row.levels, ["workload", *factors])


def _levels(levels: Mapping[str, str], factors: Sequence[str]) -> str:
    return ", ".join(dict.fromkeys(levels[one] for one in factors if levels.get(one, NOT_APPLICABLE) != NOT_APPLICABLE))


def _gathered(doubts: Iterable[Finding]) -> list[Finding]:
    """The same words said of several rows are one finding."""
    held: dict[tuple[str, str], tuple[Finding, list[Evidence]]] = {}
    for one in doubts:
        held.setdefault((one.rule.name, one.text), (one, []))[1].extend(one.evidence)
    return [replace(one, evidence=tuple(evidence)) for one, evidence in held.values()]
