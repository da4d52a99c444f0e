"""Rules over results, runs, logs and texts: one bench of which each speaks, and one of which it is silent."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from acidtest.audit.bench import (
    Bench,
    Configuration,
    Declared,
    EngineName,
    LogEntry,
    Published,
    Setting,
    Side,
    Statement,
    StatementKind,
    Where,
)
from acidtest.audit.rules import latencies, logs, method, over, rates, repetitions, state, stated
from acidtest.finding import Rule
from tables import over_benches

RUN = Published(Where("run.out", 3), "pgbench", "tpcb", rate=100.0, terminals=1, measured_s=600.0, engine="postgresql")
FLUSH = Published(
    Where("fsync.out", 7), "pg_test_fsync", "fdatasync", rate=400.0, terminals=1, unit="flushes", flushed=True
)
THROUGH = replace(FLUSH, name="fsync_writethrough", rate=390.0)
TRACED = replace(FLUSH, tool="strace", latency_ms={"p50": 2.5}, parameters={"calls": "9"})
DISK = Published(Where("fio.json", 9), "fio", "w write", rate=2900.0, terminals=8, unit="writes")
TPCC = Published(Where("hammerdb.log", 20), "hammerdb", "tpcc", nopm=43_000.0, tpm=100_000.0, warehouses=4000)
TABLE = Published(Where("README.md", 8), "", "a", rate=100.0, told=True)
OPEN = replace(RUN, asked_rate=100.0, latency_from="scheduled start", latency_ms={"p50": 2.0, "p99": 9.0, "max": 40.0})
LOOP = replace(RUN, latency_from="actual start", latency_ms={"p50": 2.0, "p99": 9.0}, series=(100.0,) * 60)
WOBBLE = tuple(100.0 + (n * 7 % 5) for n in range(60))


def bench(*published: Published, facts: tuple[Statement, ...] = (), **changes: Any) -> Bench:
    return Bench(**{"sides": [], "published": published, "facts": facts, **changes})


def says(kind: StatementKind, text: str = "", value: float | None = None) -> Statement:
    return Statement(Where("README.md", 5), kind, text or kind, value)


def side(engine: EngineName = "postgresql", *log: LogEntry, **settings: str) -> Side:
    where = Where("pg/postgresql.conf", 1)
    written = tuple(Setting(name, value, where) for name, value in settings.items())
    return Side("pg", engine, configurations=(Configuration(where, engine, "postgresql.conf", written),), log=log)


def logged(kind: str, engine: EngineName = "postgresql") -> Side:
    return Side("pg", engine, log=(LogEntry(Where("server.log", 12), engine, kind, "as it stands there", 3),))


def repeated(*of: float, name: str = "run-{}.out", sides: tuple[Side, ...] | list[Side] = ()) -> Bench:
    runs = (replace(RUN, rate=rate, where=Where(name.format(n), 3)) for n, rate in enumerate(of, start=1))
    return bench(*runs, sides=sides)


def kinds(*of: tuple[float, ...]) -> list[Published]:
    """Repetitions of several kinds of runs, which differ in the number of their clients."""
    return [
        replace(RUN, rate=rate, terminals=clients, where=Where(f"run-{n}.out", clients))
        for clients, rates in enumerate(of, start=1)
        for n, rate in enumerate(rates, start=1)
    ]


def numbered(file: str) -> Side:
    """A side whose configuration is called so."""
    return Side(file, "mysql", configurations=(Configuration(Where(file, 1), "mysql", "my.cnf", ()),))


FALLING = tuple(200.0 - 2 * n for n in range(60))
TURNS = (says("turns", "7,200 rpm", 7200.0), says("drive", "SATA"))
FAST = replace(RUN, rate=500.0)
SPOKEN = [
    (rates.faster_than_it_turns, bench(replace(FLUSH, rate=900.0), facts=TURNS), bench(replace(FLUSH, rate=119.0), facts=TURNS)),
    (rates.faster_than_it_turns, bench(FAST, facts=TURNS, sides=[side()]), bench(FAST, facts=(*TURNS, says("write-cache", "battery")), sides=[side()])),
    (rates.faster_than_it_turns, bench(FAST, facts=TURNS, sides=[side()]), bench(FAST, facts=TURNS, sides=[side(synchronous_commit="off")])),
    (rates.faster_than_it_turns, bench(FAST, facts=TURNS, sides=[side()]), bench(replace(FAST, terminals=8), facts=TURNS, sides=[side()])),
    (rates.faster_than_it_turns, bench(FAST, facts=TURNS, sides=[side()]), bench(FAST, facts=TURNS)),
    (rates.flush_as_memory, bench(replace(FLUSH, rate=500_000.0)), bench(FLUSH)),
    (rates.flush_as_memory, bench(replace(FLUSH, rate=90_000.0), replace(FLUSH, rate=100_000.0, unit="writes", flushed=False)), bench(FLUSH, replace(FLUSH, rate=230_000.0, unit="writes", flushed=False))),
    (rates.generator_threads, bench(replace(RUN, terminals=200, threads=1)), bench(replace(RUN, terminals=200, threads=8))),
    (rates.many_failed, bench(replace(RUN, errors=2000)), bench(replace(RUN, errors=20))),
    (rates.many_failed, bench(replace(TPCC, errors=1)), bench(TPCC)),
    (rates.load_failed, bench(replace(RUN, script="load", rate=0.0, errors=20)), bench(replace(RUN, script="load", errors=20))),
    (rates.load_failed, bench(replace(RUN, script="load", rate=0.0, errors=20)), bench(replace(RUN, rate=0.0, errors=20))),
    (latencies.percentile_at_ceiling, bench(replace(RUN, ceiling_ms=100_000.0, latency_ms={"p95": 100_000.0})), bench(replace(RUN, ceiling_ms=100_000.0, latency_ms={"p95": 900.0, "max": 100_000.0}))),
    (latencies.service_time_under_rate, bench(replace(OPEN, latency_from="actual start")), bench(OPEN)),
    (latencies.rate_not_kept, bench(replace(OPEN, rate=80.0)), bench(OPEN)),
    (latencies.latencies_out_of_range, bench(replace(RUN, where=Where("README.md", 9)), facts=(says("out of range", value=3.0),)), bench(replace(RUN, where=Where("README.md", 9), planned=True), facts=(says("out of range", value=3.0),))),
    (latencies.closed_loop_stall, bench(replace(LOOP, series=(100.0,) * 55 + (0.0,) * 5)), bench(LOOP)),
    (latencies.closed_loop_stall, bench(replace(LOOP, series=(100.0,) * 55 + (0.0,) * 5)), bench(replace(LOOP, series=(100.0,) * 55 + (0.0,) * 5, latency_ms={"p99": 5000.0}))),
    (method.no_steady_state, bench(replace(RUN, series=tuple(200.0 - 2 * n for n in range(60)))), bench(replace(RUN, series=WOBBLE))),
    (method.no_steady_state, bench(replace(RUN, series=tuple(200.0 - 2 * n for n in range(60)))), bench(replace(RUN, series=(20.0,) * 10 + WOBBLE))),
    (method.no_warm_up, bench(replace(RUN, warmup_s=0.0)), bench(replace(RUN, warmup_s=0.0, series=WOBBLE))),
    (method.no_warm_up, bench(replace(RUN, warmup_s=0.0)), bench(RUN)),
    (repetitions.few_repetitions, bench(RUN, replace(RUN, rate=130.0, terminals=8)), bench(RUN)),
    (repetitions.few_repetitions, bench(RUN, replace(RUN, rate=130.0, terminals=8)), repeated(100.0, 101.0, 99.0, 100.0, 102.0)),
    (repetitions.few_repetitions, bench(RUN, replace(RUN, rate=130.0, terminals=8)), repeated(100.0, 101.0, 99.0, 100.0, 102.0, name="rep{}/c8.out")),
    (state.state_inherited, repeated(100.0, 95.0, 90.0, 86.0, 80.0, name="rep{}/c8.out"), repeated(100.0, 95.0, 90.0, 86.0, 80.0, name="v{}/c8.out")),
    (repetitions.few_repetitions, bench(RUN, replace(RUN, rate=130.0, terminals=8)), bench(RUN, replace(RUN, rate=130.0, terminals=8), declared=Declared(Where("benchmark.toml")), facts=(replace(says("repeated", "repetitions = 5", 5.0), where=Where("benchmark.toml", 1)),))),
    (repetitions.few_repetitions, bench(TABLE, replace(TABLE, name="b", rate=130.0)), bench(replace(TABLE, runs=5), replace(TABLE, name="b", rate=130.0, runs=5))),
    (repetitions.few_repetitions, repeated(100.0, 70.0, name="res0{}/c8.out", sides=[numbered("my.cnf.01"), numbered("my.cnf.02")]), repeated(100.0, 99.0, 98.0, name="res0{}/c8.out", sides=[numbered("my.cnf")])),
    (method.wide_spread, repeated(100.0, 150.0, 101.0), repeated(100.0, 110.0, 101.0)),
    (method.wide_spread, repeated(100.0, 150.0, 101.0), bench(*(replace(RUN, rate=rate, where=Where("results.md", n)) for n, rate in enumerate((100.0, 150.0, 101.0))))),
    (repetitions.few_repetitions, bench(*(replace(RUN, rate=rate, where=Where("results.md", n)) for n, rate in enumerate((100.0, 150.0, 101.0)))), repeated(100.0, 150.0, 101.0)),
    (repetitions.few_repetitions, bench(*(replace(DISK, where=Where(f"{n}.json", 1)) for n in "abcd")), bench(DISK, replace(DISK, unit="reads"))),
    (repetitions.few_repetitions, bench(TABLE, replace(TABLE, name="b", rate=130.0)), bench(*(replace(TABLE, name=name, where=Where("README.md", 8 + 3 * n + at)) for at, name in enumerate("abc") for n in range(3)))),
    (method.no_steady_state, bench(replace(RUN, series=FALLING), replace(RUN, series=WOBBLE)), bench(replace(RUN, series=FALLING), *(replace(RUN, series=WOBBLE) for _ in range(9)))),
    (method.first_run_differs, repeated(60.0, 55.0, 100.0, 101.0, 99.0, 98.0, 100.0, 102.0), repeated(60.0, 100.0, 101.0, 99.0, 55.0, 98.0, 100.0, 102.0)),
    (method.wide_spread, repeated(100.0, 150.0, 101.0), bench(*repeated(100.0, 150.0, 101.0).published, *(replace(RUN, terminals=2 + n // 3, rate=100.0, where=Where(f"run-{1 + n % 3}.out", 9)) for n in range(30)))),
    (method.first_run_differs, bench(*kinds((60.0, 100.0, 101.0, 99.0), (100.0, 98.0, 60.0, 99.0), (60.0, 100.0, 101.0, 99.0))), bench(*kinds((60.0, 100.0, 101.0, 99.0), (100.0, 98.0, 60.0, 99.0), (99.0, 100.0, 60.0, 98.0)))),
    (state.state_inherited, repeated(100.0, 95.0, 90.0, 86.0, 80.0), bench(*kinds((100.0, 95.0, 90.0, 86.0, 80.0), *(((90.0, 110.0, 89.0, 100.0, 91.0),) * 60)))),
    (state.state_inherited, repeated(100.0, 95.0, 90.0, 86.0, 80.0), bench(*(replace(RUN, rate=100.0 - 5 * n, name=f"q{n}.sql", where=Where(f"run-{n}.out", 3)) for n in range(1, 6)))),
    (method.first_run_differs, repeated(60.0, 100.0, 101.0, 99.0), repeated(97.0, 100.0, 101.0, 99.0)),
    (state.state_inherited, repeated(100.0, 95.0, 90.0, 86.0, 80.0), repeated(100.0, 95.0, 96.0, 86.0, 80.0)),
    (state.state_inherited, repeated(100.0, 95.0, 90.0, 86.0, 80.0), bench(*(replace(RUN, rate=100.0 - 5 * n, where=Where(f"pg{14 + n}.out", 3)) for n in range(5)))),
    (stated.best_of, bench(RUN, facts=(says("best-of", "[Mix] 5"),)), bench(RUN)),
    (stated.tpc_words, bench(TPCC, facts=(says("tpc-word", "tpmC: 100"),)), bench(TPCC)),
    (logs.deadlocks_in_log, bench(sides=[logged("deadlock")]), bench(sides=[logged("update-conflict", "firebird")])),
    (logs.deadlocks_in_log, bench(sides=[logged("serialization")]), bench(sides=[logged("checkpoint")])),
    (logs.crash_in_log, bench(sides=[logged("crash")]), bench(sides=[logged("error")])),
    (logs.crash_in_log, bench(sides=[logged("crash", "firebird")]), bench(sides=[logged("error", "firebird")])),
    (logs.errors_in_log, bench(sides=[logged("error", "mariadb")]), bench(sides=[logged("error", "firebird")])),
    (logs.corruption_in_log, bench(sides=[logged("corruption")]), bench(sides=[logged("error")])),
    (logs.recovery_in_log, bench(sides=[logged("recovery")]), bench(sides=[logged("error")])),
    (logs.errors_in_log, bench(sides=[logged("error")]), bench(sides=[logged("checkpoint")])),
    (logs.checkpoints_frequent, bench(sides=[logged("checkpoints-frequent")]), bench(sides=[logged("checkpoint")])),
    (logs.checkpoints_frequent, bench(sides=[logged("checkpoints-forced")]), bench(sides=[logged("checkpoint")])),
    (logs.flush_stalls, bench(sides=[logged("flush-stall")]), bench(sides=[logged("checkpoint")])),
    (rates.flush_bounds_commits, bench(TRACED), bench(replace(TRACED, tool="ioping"))),
    (rates.fsync_does_not_flush, bench(replace(FLUSH, name="fsync", rate=9e3), THROUGH), bench(replace(FLUSH, name="fsync"), THROUGH)),
    (logs.flush_behind, bench(sides=[logged("flush-behind", "mysql")]), bench(sides=[logged("error", "mysql")])),
]  # fmt: skip

test_a_rule_speaks_of_the_one_and_not_of_the_other = over_benches(SPOKEN)


def test_every_rule_here_has_a_row() -> None:
    modules = (latencies, method, repetitions, state, logs)
    ours = {var.name for module in modules for var in vars(module).values() if isinstance(var, Rule)}
    assert ours <= {rule.name for rule, _, _ in SPOKEN}
    assert ours <= {one.name for one in over(Bench)}
