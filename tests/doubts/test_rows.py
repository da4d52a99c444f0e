"""Every rule: one row of which it speaks and one of which it is silent."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import factory
from acidtest.analysis import samples
from acidtest.analysis.latency import percentile_ns
from acidtest.analysis.samples import Row
from acidtest.analysis.survival import Survival, survivals
from acidtest.audit import own_journal
from acidtest.audit import rules as all_rules
from acidtest.audit.bench import Bench
from acidtest.doubts import judge
from acidtest.journal.models import Cut, Generator, SettingInForce, SteadyWait, Transactions, Warning
from acidtest.journal.protocol import RunResult
from acidtest.workload import recorded
from insides import database_size, index, statistics, table
from tables import rows

LEVELS = {"workload": "tpcb", "engine": "sqlite", "durability": "drive"}
SOUND = factory.result(rate=100.0)


def row(*runs: RunResult, **changes: Any) -> Row:
    """A row of these runs; ``changes`` replace fields of every recording."""
    done = [factory.recording(LEVELS, n, found=run, **changes) for n, run in enumerate(runs, start=1)]
    return Row(LEVELS, done, invalid=[], failed=[])


def awaited(*, reached: bool = True) -> Row:
    """Two runs that were to begin with a steady rate."""
    wait = SteadyWait(
        earliest_s=2, limit_s=40, window_s=8, windows=4, waited_s=14 if reached else 40, reached=reached,
        state="steady" if reached else "drifts", change=0.01 if reached else -0.3, per_s=[100.0] * 13,
    )  # fmt: skip
    return row(SOUND, SOUND, steady_wait=wait)


def run(**changes: Any) -> RunResult:
    return SOUND.model_copy(update=changes)


def rates(*values: float) -> list[RunResult]:
    return [run(goodput_per_s=value) for value in values]


def cpu(**changes: float) -> RunResult:
    return run(cpu=SOUND.cpu.model_copy(update=changes))


def latency(each_us: float, count: int = 1000, terminals: int = 1) -> RunResult:
    return run(latency=factory.histogram([int(each_us * 1000)] * count), terminals=terminals)


def over(*per_second: float) -> RunResult:
    return run(series=factory.series(list(per_second)))


def server(busy: float, **changes: Any) -> Row:
    """A row on a server whose load came from two threads, this part of their time busy."""
    seconds = SOUND.cpu.model_copy(
        update={"process_user_s": 1.5 * busy * SOUND.measured_s, "process_system_s": 0.5 * busy * SOUND.measured_s}
    )
    engine = factory.recording(LEVELS).engine.model_copy(update={"mode": "server"} | changes)
    return row(run(threads=2, cpu=seconds), engine=engine)


def together(**changes: Any) -> Row:
    """A row whose load came from two machines, the second of which is as ``changes`` say."""
    of = {
        "host": "db1", "terminals": 2, "threads": 1, "committed": 4800, "ended": 4800, "measured_s": SOUND.measured_s,
        "cpu": SOUND.cpu, "cpu_count": 4, "service_mean_ns": SOUND.service.mean_ns, "lateness_ms_p99": 0.1,
        "lateness_ms_max": 0.5, "stood_still_ms_max": 0.5, "began_late_ms": 0.2, "clock_offset_s": 0.0, "clock_error_s": 0.001,
    }  # fmt: skip
    return row(SOUND, generators=[Generator(**of), Generator(**(of | {"host": "db2"} | changes))])


def busy_for(seconds: float) -> dict[str, Any]:
    return {"cpu": SOUND.cpu.model_copy(update={"process_user_s": seconds, "process_system_s": 0.0})}


def pipeline(value: str) -> list[SettingInForce]:
    return [SettingInForce(name="pipeline", asked=value, in_force=value, agrees=True, source="the rig's job")]


def scan(read: str = "sorted", **settings: str) -> Row:
    """A read of 100 MB under these settings."""
    told = [SettingInForce(name=k, asked=None, in_force=v, agrees=True, source="told") for k, v in settings.items()]
    return row(SOUND, workload={"name": "scan", "kind": "scan", "size_mb": 100, "read": read}, settings=told)


def read_from(start: str, times: int, kind: str = "scan") -> Row:
    """So many reads of a table, whose file cache began like this."""
    parameters = {"name": kind, "kind": kind} | ({"size_mb": 100, "read": "natural"} if kind == "scan" else {})
    found = run(counts=factory.counts(committed=times))
    return row(found, workload=parameters, memory=factory.memory(start=start))


def kinds(each_ms: float, count: int = 1000, limit_ms: float | None = 5000.0) -> RunResult:
    return run(kinds=[factory.kind("new_order", [each_ms] * count, limit_ms), factory.kind("delivery", [1.0] * 1000)])


def of_size(database_mib: int, limit_mib: int | None) -> Row:
    return row(SOUND, memory=factory.memory(limit_mib), database_bytes=database_mib << 20)


def cached(cache_mib: int, limit_mib: int | None) -> Row:
    return row(SOUND, memory=factory.memory(limit_mib, cache_bytes=cache_mib << 20))


def inside(*parts: Any, **changes: Any) -> Row:
    return row(SOUND, database_size=database_size(statistics(*parts, **changes)))


COUNTED = factory.recording(LEVELS, found=SOUND).workload | {"count": 500, "duration_s": None}
RAMP = over(*(1000 - 40 * second for second in range(12)))
SHORT = over(1000, 400, 1000)
SERVICE_US = SOUND.service.mean_ns / 1000
P99_MS = percentile_ns(SOUND.latency, 0.99) / 1e6
EIGHT_CORES = 8 * SOUND.measured_s
INVALID = factory.failed(LEVELS, 2, "balances differ", status="invalid")
LOGGED = Warning(code="engine-log", about="settings", text="The engine wrote to its log: sweep.")

Case = tuple[str, Row, Row]  # a rule, and rows of which it speaks and is silent
CASES: list[Case] = [
    ("too-few-repetitions", row(*[SOUND] * 4), row(*[SOUND] * 5)),
    ("cells-missing", replace(row(SOUND), invalid=[INVALID]), row(SOUND)),
    ("wide-spread", row(*rates(90, 100, 121)), row(*rates(90, 100, 119))),
    ("generator-bound", row(*[cpu(generator_us_per_transaction=SERVICE_US * 0.21)] * 2, SOUND),
     row(cpu(generator_us_per_transaction=SERVICE_US * 0.21), SOUND, SOUND)),
    ("generator-bound", server(0.91), server(0.89)),
    ("generator-bound", server(0.91), server(0.91, mode="embedded")),
    ("generator-bound", together(**busy_for(0.91 * SOUND.measured_s)), together(**busy_for(0.89 * SOUND.measured_s))),
    ("generator-bound", together(cpu_count=1, threads=2, **busy_for(0.91 * SOUND.measured_s)),
     together(cpu_count=2, threads=2, **busy_for(0.91 * SOUND.measured_s))),
    ("generator-late", together(lateness_ms_p99=P99_MS * 0.51), together(lateness_ms_p99=P99_MS * 0.49)),
    ("generator-late", together(stood_still_ms_max=21 * SOUND.measured_s), together(stood_still_ms_max=19 * SOUND.measured_s)),
    ("generator-late", together(began_late_ms=2001), together(began_late_ms=1999)),
    ("pipelined", row(SOUND, settings=pipeline("true")), row(SOUND, settings=pipeline("false"))),
    ("response-limit", row(kinds(5001.0)), row(kinds(5000.0))),
    ("response-limit", row(kinds(5001.0)), row(kinds(5001.0, limit_ms=None))),
    ("response-limit", row(kinds(5001.0)), row(kinds(5001.0, count=99))),
    ("processor-bound", row(cpu(process_user_s=0.6 * EIGHT_CORES, process_system_s=0.31 * EIGHT_CORES)),
     row(cpu(process_user_s=0.6 * EIGHT_CORES, process_system_s=0.29 * EIGHT_CORES))),
    ("given-up", row(SOUND, run(counts=factory.counts(retries=9, given_up=1))), row(SOUND)),
    ("retries", row(SOUND, run(counts=factory.counts(retries=9))), row(SOUND)),
    ("row-missed", row(SOUND, run(counts=factory.counts(deadlock=1, row_missed=1))), row(run(counts=factory.counts(deadlock=1)))),
    ("errors", row(SOUND, run(counts=factory.counts(errors=1), error_samples=[factory.error("disk I/O error")])),
     row(run(counts=factory.counts(retries=1, deadlock=1), error_samples=[factory.error("deadlock")]))),
    ("unfinished-arrivals", row(factory.open_loop(late=500, unfinished=1), SOUND), row(SOUND)),
    ("late-arrivals", row(*[factory.open_loop(late=11, unfinished=0)] * 2), row(*[factory.open_loop(late=10, unfinished=0)] * 2)),
    ("not-steady", row(SOUND, RAMP), row(SOUND, SHORT)),
    ("not-steady", row(over(*[1000] * 6, *[600] * 6)), row(RAMP, workload=COUNTED)),
    ("steady-not-awaited", awaited(reached=False), awaited()),
    ("steady-awaited", awaited(), awaited(reached=False)),
    ("too-short", row(SHORT, SHORT), row(SHORT, SHORT, workload=COUNTED)),
    ("flush-costs-nothing", row(latency(19)), row(latency(21))),
    ("sort-in-memory", scan(work_mem_mb="100"), scan(work_mem_mb="4")),
    ("sort-in-memory", scan(sort_buffer_mb="100000000 bytes"), scan(sort_buffer_mb="2")),
    ("sort-in-memory", scan(cache_size_kb="100000"), scan(cache_size_kb="2000")),
    ("sort-in-memory", scan(cache_size_kb="13000 pages", page_size="8192"), scan(cache_size_kb="12000 pages", page_size="8192")),
    ("sort-in-memory", scan(temp_cache_limit_mb="100"), scan(temp_cache_limit_mb="64")),
    ("sort-memory-unknown", scan(), scan("natural")),
    ("cold-and-cached-reads", read_from("cold", 2), read_from("cold", 1)),
    ("cold-and-cached-reads", read_from("cold-machine", 2), read_from("warm", 2)),
    ("cold-and-cached-reads", read_from("cold", 2), read_from("cold", 2, "tpcb")),
    *(
        ("log-not-reused", row(SOUND, sizes=factory.sizes(10, 12, 14, 16, 18, 20)), row(SOUND, sizes=silent))
        for silent in (
            factory.sizes(1, 2, 3, 4, 5, 6),  # on its way to the size from which it is reused
            factory.sizes(10, 12, 14, 14, 14, 14),  # reused from then on
            factory.sizes(10, 40, 70, 5, 60, 90),  # emptied once
            factory.sizes(10, 12, 14, 16, 18, 20, limit_mb=None),
            factory.sizes(10, 20, 30),  # too short to tell
            factory.sizes(*[None] * 6),
        )
    ),
    ("swapped", row(SOUND, memory=factory.memory(swap=4096)), row(SOUND, memory=factory.memory())),
    ("at-the-limit", of_size(70, limit_mib=64), of_size(130, limit_mib=64)),
    ("at-the-limit", of_size(60, limit_mib=64), of_size(60, limit_mib=None)),
    ("cache-above-limit", cached(64, limit_mib=64), cached(63, limit_mib=64)),
    ("cache-above-limit", cached(64, limit_mib=63), cached(64, limit_mib=None)),
    ("hint-late", row(run(measured_s=0.9), memory=factory.memory(access="random")), row(run(measured_s=0.9), memory=factory.memory())),
    ("pages-empty", inside(table(fill_percent=40.0)), inside(table())),
    ("pages-hollow", inside(table(real_fill_percent=40.0)), inside(table())),
    ("versions-many", inside(table(versions_max=500)), row(SOUND)),
    ("oldest-transaction-stuck", inside(table(), transactions=Transactions(oldest=9, oldest_active=9, next=99_999)), inside(table())),
    ("index-duplicates", inside(index(unique=10)), row(SOUND, database_size=database_size(None))),
]  # fmt: skip


BY_NAME = {rule.name: rule for rule in all_rules.rules() if rule.over is not Bench}


@pytest.mark.parametrize("name", dict.fromkeys(name for name, _, _ in CASES))
def test_a_rule_speaks_and_stays_silent(name: str) -> None:
    for spoken, silent in [row[1:] for row in CASES if row[0] == name]:
        (finding,) = BY_NAME[name](spoken)
        assert finding.about in ("goodput_per_s", "latency", "settings")
        assert finding in judge.of_row(spoken)
        assert list(BY_NAME[name](silent)) == []


def test_an_index_that_gets_deeper_is_found_in_a_journal() -> None:
    """Once for each database that grew, with the sizes."""
    found = []
    for number, size in enumerate(("1 GB", "2 GB"), start=2):
        levels = LEVELS | {"size": size}
        held = database_size(statistics(table(fill_percent=10.0), index(depth=number)), size)
        found.append(factory.recording(levels, found=SOUND, database_size=held))
    said = {finding.rule.name: finding for finding in judge.findings(factory.journal(found))}
    assert said["index-deeper"].text == (
        "Indexes get deeper as it grows (tpcb, sqlite, drive): index pk_t of t, depth 2 at 1 GB, 3 at 2 GB."
    )
    assert len(said["pages-empty"].evidence) == 4  # the same words of both sizes, and where each stands


def test_every_rule_over_rows_has_a_case() -> None:
    assert {case[0] for case in CASES} == {one.name for one in all_rules.over(Row)}


def test_a_sound_row_raises_nothing() -> None:
    assert judge.of_row(row(*[SOUND] * 5)) == []


def test_runs_that_do_not_count_raise_nothing_but_that_they_are_missing() -> None:
    bad = run(counts=factory.counts(given_up=3, errors=3), error_samples=[factory.error("no")])
    invalid = [factory.recording(LEVELS, 1, found=bad, status="invalid", reason="why")]
    assert judge.of_row(Row(LEVELS, [], invalid, failed=[])) == []
    beside = judge.of_row(Row(LEVELS, row(*[SOUND] * 5).done, invalid, failed=[]))
    assert [finding.rule.name for finding in beside] == ["cells-missing"]


def test_the_worst_stands_first() -> None:
    codes = [finding.rule.name for finding in judge.of_row(row(latency(5, count=2000), RAMP, warnings=[LOGGED]))]
    assert codes == ["flush-costs-nothing", "not-steady", "too-few-repetitions", "engine-log"]


def of_kind(kind: str, found: RunResult, **more: Any) -> Row:
    given = {"name": kind, "kind": kind, "terminals": 1, "warmup_s": 2.0, "duration_s": 12.0, "count": None} | more
    assert recorded(given) is not None
    return row(found, workload=given)


READS = latency(5).model_copy(
    update={"kinds": [factory.kind("look", [0.005] * 1000), factory.kind("pay", [8.0] * 100)]}
)
COUNTED_READS = latency(5).model_copy(update={"kinds": [factory.kind("order_status", [0.005] * 1000)]})


@rows(
    ("not sampled", "generator-bound", row(cpu(generator_us_per_transaction=10 * SERVICE_US, sampled_transactions=0))),
    ("not asked to flush", "flush-costs-nothing", row(latency(5), durability="os")),
    ("commits may share a flush", "flush-costs-nothing", row(latency(5, terminals=4))),
    ("too few for a median", "flush-costs-nothing", row(latency(5, count=19))),
    ("transactions that may only read", "flush-costs-nothing", of_kind("sql", READS, path="shop/")),
    ("reads", "flush-costs-nothing", of_kind("scan", latency(5), read="natural")),
    ("a kind that reads", "flush-costs-nothing", of_kind("tpcc", COUNTED_READS)),
)
def test_a_rule_is_silent_where_nothing_is_shown(_: str, name: str, found: Row) -> None:
    assert list(BY_NAME[name](found)) == []


FAILING = run(counts=factory.counts(errors=2), error_samples=[factory.error("x" * 500), factory.error("second")])
SLOW_READS = latency(9000).model_copy(
    update={"kinds": [factory.kind("insert", [0.005] * 100), factory.kind("read", [9.0] * 1000)]}
)


@rows(
    ("generator-bound", together(**busy_for(0.95 * SOUND.measured_s)), "db2", "db1"),
    ("generator-late", together(lateness_ms_p99=2000.0, lateness_ms_max=3000.0), "db2", "db1"),
    ("response-limit", row(kinds(5001.0)), "new-order (5 s)", "delivery"),
    ("errors", row(FAILING), "Transactions failed: " + "x" * 160, "x" * 161),
    ("flush-costs-nothing", of_kind("iud", SLOW_READS), "less than 20 microseconds", "milliseconds"),
)
def test_a_finding_names_the_one_and_not_the_other(name: str, found: Row, said: str, unsaid: str) -> None:
    (finding,) = BY_NAME[name](found)
    assert said in finding.text
    assert unsaid not in finding.text


def test_the_same_line_of_the_log_is_told_once() -> None:
    other = Warning(code="engine-log", about="settings", text="Another line.")
    told = [one for one in judge.of_row(row(SOUND, SOUND, warnings=[LOGGED, other])) if one.rule.name == "engine-log"]
    assert [one.text for one in told] == [LOGGED.text, other.text]


@rows(
    ({"filesystem": "tmpfs"}, "in-memory"),
    ({"filesystem": "ramfs", "write_cache": "unknown"}, "in-memory"),
    ({"write_cache": "unknown"}, "write-cache-unknown"),
    ({"write_cache": "unknown", "disk": "nvme, write cache 32 MiB"}, None),
    ({"write_cache": "write through"}, "write-through"),
    ({"write_cache": "write back"}, None),
    ({"mount_options": "rw,nobarrier"}, "no-barriers"),
    ({"mount_options": "rw,relatime", "image_on": "ext4 (/dev/sda1, rw,barrier=0)"}, "no-barriers"),
    ({"mount_options": "rw,nobarrier", "disk": "nvme, write cache 32 MiB"}, "no-barriers"),
    ({"mount_options": "rw,nobarrier", "disk": "nvme, write cache off"}, None),
    ({"mount_options": "rw,nobarrier", "write_cache": "write through"}, "write-through"),
    ({"mount_options": "rw,nobarrier", "write_cache": "unknown"}, "write-cache-unknown"),
)
def test_of_place(facts: dict[str, str], code: str | None) -> None:
    place = factory.recording(LEVELS, found=SOUND).place.model_copy(update=facts)
    found = judge.of(place)
    assert [finding.rule.name for finding in found] == ([code] if code else [])
    assert all(one.about == "place" and one.advice.endswith(".") for one in found)


def survival(*cuts: Cut, durability: str = "drive") -> Survival:
    """The power cuts of one combination."""
    levels = {"workload": "numbered", "engine": "sqlite", "durability": durability}
    (found,) = survivals(factory.recording(levels, n, cut=cut, durability=durability) for n, cut in enumerate(cuts, 1))
    return found


CUTS = [
    ("commits-lost", survival(factory.cut("lost", lost=3)), survival(factory.cut())),
    ("commits-lost", survival(factory.cut("lost", lost=3)), survival(factory.cut("lost", lost=3), durability="os")),
    ("commits-lost", survival(factory.cut("lost", lost=3)), survival(factory.cut("lost", lost=3, drive="lie-about-flush"))),
    ("commits-lost", survival(factory.cut("lost", lost=3)), survival(factory.cut("lost", lost=3, failure="dropped-flush"))),
    # The level announces that the last commits may be missing, and no more than that.
    ("commits-lost", survival(factory.cut("lost", lost=3, damage=["the database is broken"]), durability="os"),
     survival(factory.cut("lost", lost=3, damage=[]), durability="os")),
    ("commits-lost", survival(factory.cut("lost", lost=3, damage=["the database is broken"]), durability="os"),
     survival(factory.cut("lost", lost=3, damage=["the database is broken"]), durability="none")),
    ("cuts-unknown", survival(factory.cut(), factory.cut("unknown")), survival(factory.cut(), factory.cut("lost"))),
    ("served-wrong-silently", survival(factory.cut("lost", lost=3, failure="rot", storage=factory.storage("silent", "wrong"))),
     survival(factory.cut("lost", lost=3, failure="rot", storage=factory.storage("noticed", "refused", "session")))),
    ("cuts-without-commits", survival(factory.cut(acknowledged=0)), survival(factory.cut(acknowledged=1))),
]  # fmt: skip


@rows(*CUTS)
def test_a_rule_over_power_cuts_speaks_and_stays_silent(name: str, spoken: Survival, silent: Survival) -> None:
    (finding,) = BY_NAME[name](spoken)
    assert finding.about == "place" and finding in judge.of(spoken)
    assert list(BY_NAME[name](silent)) == []


def test_every_rule_over_power_cuts_has_a_case() -> None:
    assert {case[0] for case in CUTS} == {one.name for one in all_rules.over(Survival)}


def test_what_a_level_sets_differs_on_purpose() -> None:
    with_log = {"name": "mariadb-binlog", "set": {"engine": "mariadb-10.11", "mysql.log_bin": True}}
    alone = {"name": "drive", "set": {"durability": "drive"}}
    factors = {"engine": [{"name": "sqlite", "set": {"engine": "sqlite"}}, with_log], "durability": [alone]}
    journal = factory.journal([factory.recording(LEVELS, found=SOUND)], factors=factors)
    found = own_journal.bench(journal, samples.rows(journal.header, journal.recordings)).factors
    assert {"log_bin", "mysql.log_bin", "engine"} <= found and "durability" not in found
