"""Rules over results, asked of our own rows: planted recordings of which each speaks, and honest ones as near to them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import factory
from acidtest.analysis import samples
from acidtest.audit import own_journal
from acidtest.audit.bench import OURS
from acidtest.doubts import judge
from acidtest.finding import Finding
from acidtest.journal.models import BuildFacts, EngineFacts, GuestFacts, Recording
from acidtest.journal.protocol import ArrivalCounts, RunResult, Spread
from insides import database_size
from tables import rows

DISK = {"rotational": "yes", "write_cache": "write back", "device_model": "WDC WD10EZEX", "device": "/dev/sda1"}
PLATTER = "rotating, write cache 32 MiB, sectors of 4096 bytes"
GUEST = GuestFacts(
    kernel="linux-image-6.1", kernel_sha256="0", qemu="7.2", accelerator="tcg", cache="none", cpus=1, memory_mb=512
)


def recordings(
    rate: float = 1000.0,
    *,
    terminals: int = 1,
    place: dict[str, Any] | None = None,
    virtualization: str = "none",
    workload: dict[str, Any] | None = None,
    found: RunResult | None = None,
    repetitions: int = 5,
    engine: str = "sqlite",
    durability: str = "drive",
    **changes: Any,
) -> list[Recording]:
    """The repetitions of one row, on a rotating drive with a volatile write cache if nothing else is said."""
    kind = (workload or {}).get("kind", "commits")
    levels = {"workload": str(kind), "engine": engine, "durability": durability}
    made = []
    for n in range(1, repetitions + 1):
        run = found or factory.result(rate, terminals=terminals, seed=n)
        one = factory.recording(levels, n, found=run, **changes)
        one = one.model_copy(update={"workload": one.workload | {"kind": kind} | (workload or {})})
        one = one.model_copy(update={"machine": one.machine.model_copy(update={"virtualization": virtualization})})
        made.append(one.model_copy(update={"place": one.place.model_copy(update=DISK if place is None else place)}))
    return made


def findings(rule: str, *rows: list[Recording]) -> list[Finding]:
    journal = factory.journal([one for row in rows for one in row])
    return [one for one in own_journal.compared(journal) if one.rule.name == rule]


def simulated(disk: str) -> dict[str, Any]:
    return {"kind": "disk", "disk": disk, "image": "memory, 512 MiB", "rotational": "no", "write_cache": "write back"}


def kinds(**committed: int) -> RunResult:
    """A run of 10 s with so many commits of each kind."""
    of = [factory.kind(name, [1.0] * count) for name, count in committed.items()]
    rate = sum(committed.values()) / 10
    return factory.result(rate, measured_s=10.0, kinds=of)


FASTER = {
    "a drive that lies": recordings(1000),
    "just above what the fastest turn": recordings(256),
    "8 terminals, more than one turn each": recordings(2100, terminals=8),
    "a simulated disk whose cache lies": recordings(1000, place=simulated(f"{PLATTER}, lie-about-flush")),
    "a simulated controller with a dead battery": recordings(1000, place=simulated(f"{PLATTER}, controller with a dead battery")),
    "a simulated disk, just above its turns": recordings(123, place=simulated(PLATTER)),
    "ten commits in eight turns": recordings(found=factory.result(150, count=10), place=simulated(PLATTER)),
    "a slower simulated disk": recordings(100, place=simulated(f"rotating, rpm 5400, {PLATTER.partition(', ')[2]}")),
    "a simulated disk in a virtual machine": recordings(1000, place=simulated(PLATTER), virtualization="virtual machine"),
    "the writing part of a mix": recordings(found=kinds(new_order=2000, payment=1000, stock_level=400), workload={"kind": "tpcc"} ),
    "Firebird": recordings(1000, engine="firebird-5.0"),
    "an open loop": recordings(
        found=factory.result(
            1000, arrivals=ArrivalCounts(scheduled=12_000, late=0, unfinished=0, unfinished_wait_ms_max=0.0)
        ),
        workload={"rate_per_s": 1000.0},
    ),
}  # fmt: skip
AS_FAST_AS_IT_TURNS = {
    "a commit a turn": recordings(119),
    "a fast drive, a commit a turn": recordings(250),
    "ten commits in nine turns": recordings(found=factory.result(133, count=10), place=simulated(PLATTER)),
    "forty commits of four terminals in nine turns": recordings(found=factory.result(532, count=40, terminals=4), place=simulated(PLATTER)),
    "group commit of 8 terminals": recordings(1900, terminals=8),
    "a simulated disk that behaves": recordings(119, place=simulated(PLATTER)),
    "group commit on a simulated disk": recordings(900, terminals=8, place=simulated(PLATTER)),
    "a faster simulated disk": recordings(240, place=simulated(PLATTER.replace(",", ", rpm 15000,", 1))),
    "a simulated NVMe": recordings(20_000, place=simulated("nvme, write cache 32 MiB, sectors of 4096 bytes")),
    "a disk without timing": recordings(20_000, place=simulated("no timing, write cache 32 MiB")),
    "a cache that the drive calls safe": recordings(place=DISK | {"write_cache": "write through"}),
    "a cache that is not known": recordings(place=DISK | {"write_cache": "unknown"}),
    "a drive without a platter": recordings(place=DISK | {"rotational": "no"}),
    "a drive that is not known": recordings(place=DISK | {"rotational": "unknown"}),
    "a mapped device": recordings(place=DISK | {"device_model": "unknown", "device": "/dev/mapper/root"}),
    "a simulated controller with a good battery": recordings(1000, place=simulated(f"{PLATTER}, battery-backed controller")),
    "a controller": recordings(place=DISK | {"device_model": "PERC H730 Mini"}),
    "a virtual machine": recordings(virtualization="virtual machine"),
    "a machine that is not known": recordings(virtualization="unknown"),
    "a guest": recordings(place=DISK | {"kind": "guest", "guest": GUEST}, virtualization="none"),
    "an image": recordings(place=DISK | {"kind": "loop", "image": "/data/image, 512 MiB"}),
    "a journal on another drive": recordings(place=DISK | {"journal_device": "/dev/nvme0n1p3"}),
    "handed to the operating system": recordings(durability="os"),
    "in the engine's hands": recordings(durability="none"),
    "reads": recordings(workload={"kind": "scan", "size_mb": 10, "read": "natural"}),
    "a workload that is not known": recordings(workload={"kind": "mine"}),
    "the reading part of a mix": recordings(
        found=kinds(new_order=1000, payment=900, order_status=4000, stock_level=4000, delivery=900),
        workload={"kind": "tpcc"},
    ),
}  # fmt: skip


def test_each_row_is_held_against_its_own_drive() -> None:
    fast = [
        recording.model_copy(update={"levels": recording.levels | {"place.disk": "nvme"}, "cell": f"nvme#{n}"})
        for n, recording in enumerate(recordings(900, place=simulated("nvme, write cache 32 MiB")))
    ]
    slow = [
        recording.model_copy(update={"levels": recording.levels | {"place.disk": "rotating"}, "cell": f"rotating#{n}"})
        for n, recording in enumerate(recordings(1000, place=simulated(f"{PLATTER}, lie-about-flush")))
    ]
    (found,) = findings("faster-than-it-turns", fast, slow)
    assert found.text == (
        "commits, rotating: 1,000 durable transactions a second from 1 writer on a drive that turns 120 times a second."
    )


def watched(flush_us: int, *, writes: int = 2, flushes: int = 1, dropped: int = 0, **changes: Any) -> list[Recording]:
    """A row whose commits were watched, and spent so long in their flushes."""
    calls = factory.observed(writes=writes, flushes=flushes)
    assert calls.per_commit is not None
    took = Spread(min=flush_us, median=flush_us, max=flush_us, mean=float(flush_us))
    calls = calls.model_copy(
        update={"per_commit": calls.per_commit.model_copy(update={"flush_us": took}), "dropped": dropped}
    )
    return recordings(100, place={}, calls=calls, **changes)


MEMORY = {
    "250,000 commits a second": recordings(250_000, place={}),
    "a million, 4 terminals": recordings(1_000_000, terminals=4, place={}),
    "flushes that take 2 microseconds": watched(2),
    "flushes that take no time": watched(0),
}
MEDIUM = {
    "150,000 commits a second": recordings(150_000, place={}),
    "a million, 8 terminals": recordings(1_000_000, terminals=8, place={}),
    "not asked to flush": recordings(250_000, place={}, durability="os"),
    "reads": recordings(250_000, place={}, workload={"kind": "scan", "size_mb": 10, "read": "natural"}),
    "a flush of 6 microseconds": watched(6),
    "nothing was written": watched(1, writes=0),
    "nothing was flushed": watched(0, flushes=0),
    "events were lost": watched(1, dropped=3),
    "watched, and not asked to flush": watched(1, durability="os"),
}


def stalled(seconds: int, usual: float = 100.0, length: int = 60, **changes: Any) -> RunResult:
    rates = [usual] * (length - seconds) + [0.0] * seconds
    latency = factory.histogram([int(1e9 / usual)] * 20_000)
    return factory.result(usual, seconds=length, rates=rates, **({"latency": latency} | changes))


OPEN = ArrivalCounts(scheduled=6000, late=0, unfinished=0, unfinished_wait_ms_max=0.0)
STALLS = {
    "a second in sixty": recordings(found=stalled(1), place={}),
    "of an open loop's kind, without a rate": recordings(found=stalled(5), place={}, workload={"kind": "tpcb"}),
    "a run by count": recordings(found=stalled(5), place={}, workload={"count": 5500, "duration_s": None}),
}
NO_STALLS = {
    "an even rate": recordings(found=stalled(0), place={}),
    "a second in two hundred": recordings(found=stalled(1, length=200), place={}, repetitions=1),
    "an open loop": recordings(found=stalled(5, arrivals=OPEN), place={}, workload={"rate_per_s": 100.0}),
    "terminals that think": recordings(found=stalled(5), place={}, workload={"think_ms": 500.0}),
    "terminals that key": recordings(found=stalled(5), place={}, workload={"kind": "tpcc", "keying": True}),
    "a percentile that shows it": recordings(
        found=stalled(5, latency=factory.histogram([10_000_000] * 900 + [900_000_000] * 600)), place={}
    ),
    "too few seconds": recordings(found=stalled(1, length=9), place={}, repetitions=1),
}


UPDATE_CONFLICT = (
    "host\tSat Nov 21 10:31:00 2026\n\tUpdate conflict: unable to get a stable set of rows in the source tables\n"
    "\tafter 10 attempts of restart.\n\tQuery:\nupdate STOCK set\n"
)
LOGS = [
    ("restarts-in-log", "firebird-5.0", 2 * UPDATE_CONFLICT, 10),
    ("corruption-in-log", "postgresql-15", "WARNING: page verification failed, calculated checksum 1 (3 times)", 15),
    ("checkpoints-frequent", "postgresql-15", "LOG: checkpoints are occurring too frequently (2 seconds apart)", 5),
    ("flush-behind", "mariadb-10.11", "2026-11-21 10:00:00 0 [Note] InnoDB: page_cleaner: 1000ms intended loop took 9", 5),
    ("crash-in-log", "mariadb-10.11", "261121 10:00:00 [ERROR] mysqld got signal 11 ;", 5),
]  # fmt: skip


@rows(*LOGS)
def test_the_engine_s_log_is_read_as_that_of_others(rule: str, engine: str, log: str, times: int) -> None:
    (found,) = findings(rule, recordings(100, engine=engine, place={}, engine_log=log))
    assert f"{times} times" in found.text
    assert found.evidence[0].file == "journal.jsonl"
    assert findings(rule, recordings(100, engine=engine, place={})) == []


def repeated(*rates: float, grows: bool = True) -> list[Recording]:
    """Repetitions one after the other, on one database if it grows."""
    size = database_size(None) if grows else None
    return [
        recording.model_copy(update={"result": factory.result(rate), "database_size": size})
        for recording, rate in zip(recordings(place={}, repetitions=len(rates)), rates, strict=True)
    ]


Rows = dict[str, list[Recording]]
# A rule, how severe its finding is, rows of which it speaks and rows of which it does not.
SPOKEN: list[tuple[str, str, Rows, Rows]] = [
    ("faster-than-it-turns", "invalid", FASTER, AS_FAST_AS_IT_TURNS),
    ("flush-as-memory", "invalid", MEMORY, MEDIUM),
    ("closed-loop-stall", "doubtful", STALLS, NO_STALLS),
    ("state-inherited", "doubtful",
     {"faster": repeated(100, 105, 110, 115, 120), "slower": repeated(120, 115, 110, 105, 100)},
     {"no order": repeated(100, 105, 120, 115, 110), "copies": repeated(120, 115, 110, 105, 100, grows=False)}),
    ("first-run-differs", "doubtful", {"the first": repeated(80, 100, 101, 99)},
     {"none": repeated(95, 100, 101, 99), "copies": repeated(80, 100, 101, 99, grows=False)}),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "severity", "spoken", "silent"), SPOKEN, ids=[row[0] for row in SPOKEN])
def test_a_rule_speaks_of_these_rows_and_not_of_those(rule: str, severity: str, spoken: Rows, silent: Rows) -> None:
    said = {what: [finding.severity for finding in findings(rule, row)] for what, row in spoken.items()}
    assert said == {what: [severity] for what in spoken}
    assert {what: found for what, row in silent.items() if (found := findings(rule, row))} == {}


def test_what_rules_over_rows_say_is_not_said_twice() -> None:
    """Messages that are notes on their row, and rules over results whose like there is over rows."""
    journal = factory.journal(
        recordings(100, engine="postgresql-15", place={}, engine_log="ERROR: out of memory\nERROR: deadlock detected")
    )
    assert [one for one in own_journal.compared(journal) if one.rule.name.endswith("-in-log")] == []
    ramp = factory.result(900, rates=[1000.0 - 10 * n for n in range(40)], warmup_s=0.0)
    late = factory.result(
        80, arrivals=ArrivalCounts(scheduled=2000, late=0, unfinished=900, unfinished_wait_ms_max=9e3)
    )
    names = {
        finding.rule.name
        for found in (ramp, late)
        for journal in [factory.journal(recordings(found=found, place={}, repetitions=2))]
        for finding in (*judge.findings(journal), *own_journal.compared(journal))
    }
    assert {"not-steady", "unfinished-arrivals", "too-few-repetitions"} <= names
    assert not names & {"no-steady-state", "few-repetitions", "no-warm-up"}


def test_results_of_others_are_told_from_ours() -> None:
    journal = factory.journal(recordings(100))
    (found,) = own_journal.bench(journal, samples.rows(journal.header, journal.recordings)).published
    assert found.tool == OURS and found.terminals == 1 and found.durable_rate == pytest.approx(100, rel=0.01)
    assert replace(found, tool="pgbench") != found


def test_two_builds_that_are_one_file_are_told() -> None:
    def built(name: str, sha256: str, mode: str = "server") -> list[Recording]:
        facts = BuildFacts(file="/opt/bin/postgres", sha256=sha256, options=[], series="postgresql-17")
        engine = EngineFacts(id=name, version="17.1", architecture="x86-64", source="/opt", mode=mode, build=facts)
        return [recording.model_copy(update={"engine": engine}) for recording in recordings(engine=name)]

    (found,) = findings("same-build", built("old", "a" * 64), built("new", "a" * 64), built("other", "b" * 64))
    assert found.text == "old and new are the same file."
    assert found.severity == "doubtful"
    assert findings("same-build", built("old", "a" * 64), built("new", "b" * 64)) == []
    assert findings("same-build", built("old", "a" * 64), built("new", "a" * 64, "embedded")) == []
