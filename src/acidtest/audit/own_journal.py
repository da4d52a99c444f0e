"""A journal of ours as a benchmark like any other, for the rules that compare sides."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from acidtest import families
from acidtest.analysis import samples
from acidtest.analysis.latency import SHOWN, merge, percentile
from acidtest.analysis.samples import Row
from acidtest.analysis.steady import rates_per_s
from acidtest.analysis.summary import median
from acidtest.audit import judge
from acidtest.audit.bench import (
    OURS,
    Bench,
    Binary,
    Configuration,
    Database,
    EngineName,
    LogEntry,
    Published,
    Setting,
    Side,
    Statement,
    Where,
)
from acidtest.audit.log_lines import MYSQL, POSTGRESQL, Kinds, of_firebird, of_server
from acidtest.doubts.judge import claimed, levels_of, where, without_own
from acidtest.doubts.rules.storage import turns_per_s
from acidtest.finding import Finding
from acidtest.journal.models import Journal, Recording
from acidtest.journal.protocol import RunResult
from acidtest.journal.reader import NAME
from acidtest.settings import alike
from acidtest.workload import WorkloadSpec, recorded, unit

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


# ---------------------------------------- results


def published(row: Row, name: str, where: Where, engine: EngineName | None) -> Iterator[Published]:
    """The rate of a row that is done, and the time of its flushes where somebody watched them.

    Rates are medians of the repetitions; the rate over time and the latencies are of all of them.
    """
    results = row.results
    first, workload = row.done[0], row.first.workload
    one_drive = len({str(r.place.alike()) for r in row.done}) == 1
    turns = turns_per_s(first.place, first.machine) if one_drive else None
    rate = median(row.goodput_per_s)
    orders = [per_min for result in results if (per_min := result.new_order_per_min) is not None]
    arrivals = [(result.arrivals.scheduled, result.measured_s) for result in results if result.arrivals]
    # A terminal that thinks is idle on purpose: seconds without commits are no stall then.
    idle = bool(workload.get("think_ms") or workload.get("keying") or workload.get("stages"))
    # A mix of the user's own is no TPC-C-like one.
    own_mix = any(one.get("mix") for one in workload.get("classes", ()))
    yield Published(
        where=where,
        tool=OURS,
        name=name,
        rate=rate,
        attempts=median([result.throughput_per_s for result in results]),
        tpm=60 * rate if orders and rate is not None and not own_mix else None,
        nopm=None if own_mix else median(orders),
        terminals=max(result.terminals for result in results),
        measured_s=median(row.seconds),
        warmup_s=median([result.warmup_s for result in results]),
        asked_rate=median([scheduled / seconds for scheduled, seconds in arrivals if seconds > 0]),
        latency_ms=_latencies(results),
        latency_from="scheduled start" if arrivals else "actual start",
        series=() if arrivals or idle else tuple(rate for result in results for _, rate in rates_per_s(result.series)),
        unit="reads" if unit(str(workload.get("kind"))) == "reads" else "transactions",
        engine=engine,
        durable_rate=_durable_rate(row),
        turns=Statement(where, "turns", turns[1], 60 * turns[0]) if turns else None,
        in_turn=_in_turn(row),
    )
    if (flush_us := _flush_us(row)) is not None:
        yield Published(
            where=where, tool=OURS, name=f"{name}: the flushes of a commit", rate=1e6 / max(flush_us, 1), terminals=1,
            unit="flushes", flushed=True, engine=engine,
        )  # fmt: skip


def _durable_rate(row: Row) -> float | None:
    """Commits a second, each on the drive before the next of its terminal began; None where that is not claimed.

    Several terminals may share a flush; of one terminal each commit waits for a flush of its own. The first one of each
    terminal is not counted: it may find the drive anywhere in its turn.
    """
    spec = recorded(row.first.workload)
    if spec is None or not (spec.always_writes() or spec.writing_kinds()):
        return None
    if any(recording.durability != "drive" for recording in row.done):
        return None
    return median(
        [
            max(0.0, _written(result, spec) - result.terminals) / result.measured_s
            for result in row.results
            if result.measured_s > 0
        ]
    )


def _written(result: RunResult, spec: WorkloadSpec) -> float:
    """The commits that have changed rows."""
    if spec.always_writes():
        return result.goodput_per_s * result.measured_s
    return sum(of.committed for of in result.kinds if of.name in spec.writing_kinds())


def _in_turn(row: Row) -> tuple[float, ...]:
    """Of a database that grows, each repetition finds what those before it left; any others have a copy each."""
    ended = sorted((r for r in row.done if r.database_size), key=lambda one: one.order)
    return tuple(one.result.goodput_per_s for one in ended if one.result)


def _flush_us(row: Row) -> float | None:
    """The time that half the commits spent in flushes, at most; None of commits that wrote or flushed nothing, and
    where nobody watched."""
    watched = [r.calls.per_commit for r in row.done if r.durability == "drive" and r.calls and not r.calls.dropped]
    return median([float(one.flush_us.median) for one in watched if one and one.writes.median and one.flushes.median])


def _latencies(results: Sequence[RunResult]) -> dict[str, float]:
    merged = merge([result.latency for result in results])
    percentiles = [percentile(merged, share) for share in (*SHOWN, 1.0)]
    return {percentile.name: percentile.value_ms for percentile in percentiles if percentile.value_ms is not None}


# ---------------------------------------- logs

SERVERS: Mapping[str, Kinds] = {"mysql": MYSQL, "mariadb": MYSQL, "postgresql": POSTGRESQL}
# A recording has each message of PostgreSQL once: "ERROR: invalid page in block 3 (2 times)".
POSTGRESQL_MESSAGE = re.compile(r"(?P<severity>[A-Z]+): +(?P<text>.*?)(?: \((?P<times>\d+) times\))?")
# Every message is a note on its row already, and conflicts are counted by the rig.
SAID_ELSEWHERE = ("error", "deadlock", "serialization")


def logged(engine: EngineName, logs: Iterable[tuple[str, Where]]) -> Iterator[LogEntry]:
    """One entry of each kind over all ``logs`` of one engine, each with the place of its recording."""
    by_kind: dict[str, LogEntry] = {}
    for text, at in logs:
        for entry in _entries(engine, text.splitlines(), at):
            first = by_kind.setdefault(entry.kind, replace(entry, count=0))
            by_kind[entry.kind] = replace(first, count=first.count + entry.count)
    yield from (one for one in by_kind.values() if one.kind not in SAID_ELSEWHERE)


def _entries(engine: EngineName, lines: Sequence[str], where: Where) -> Iterable[LogEntry]:
    if engine == "firebird":
        return of_firebird(lines, lambda line: where)
    if engine == "postgresql":
        return [log_entry for line in lines for log_entry in _of_message(line, where)]
    return of_server(lines, lambda line: where, engine, SERVERS.get(engine, ()))


def _of_message(line: str, where: Where) -> Iterator[LogEntry]:
    """What a message of PostgreSQL is, with how often it stood in the log."""
    message = POSTGRESQL_MESSAGE.fullmatch(line)
    written = f"{message['severity']}:  {message['text']}" if message else line  # two spaces, as in the log itself
    for log_entry in of_server([written], lambda line: where, "postgresql", POSTGRESQL):
        yield replace(log_entry, count=int(message["times"] or 1) if message else 1)
