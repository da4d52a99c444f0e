"""Every rule: one row of which it speaks and one of which it is silent."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

import factory
from acidtest.analysis.samples import Row
from acidtest.audit import doubts
from acidtest.journal.models import SettingInForce, Warning
from acidtest.journal.protocol import RunResult

LEVELS = {"workload": "tpcb", "engine": "sqlite", "durability": "drive"}
SOUND = factory.result(rate=100.0)


def row(*runs: RunResult, **changes: Any) -> Row:
    """A row of these runs; ``changes`` replace fields of every recording."""
    done = [factory.recording(LEVELS, n, found=run, **changes) for n, run in enumerate(runs, start=1)]
    return Row(LEVELS, done, invalid=[], failed=[])


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


def pipeline(value: str) -> list[SettingInForce]:
    return [SettingInForce(name="pipeline", asked=value, in_force=value, agrees=True, source="the rig's job")]


def scan(read: str = "sorted", **settings: str) -> Row:
    """A read of 100 MB under these settings."""
    told = [SettingInForce(name=k, asked=None, in_force=v, agrees=True, source="told") for k, v in settings.items()]
    return row(SOUND, workload={"name": "scan", "kind": "scan", "size_mb": 100, "read": read}, settings=told)


def kinds(each_ms: float, count: int = 1000, limit_ms: float | None = 5000.0) -> RunResult:
    return run(kinds=[factory.kind("new_order", [each_ms] * count, limit_ms), factory.kind("delivery", [1.0] * 1000)])


def of_size(database_mib: int, limit_mib: int | None) -> Row:
    return row(SOUND, memory=factory.memory(limit_mib), database_bytes=database_mib << 20)


COUNTED = factory.recording(LEVELS, found=SOUND).workload | {"count": 500, "duration_s": None}
RAMP = over(*(1000 - 40 * second for second in range(12)))
SHORT = over(1000, 400, 1000)
SERVICE_US = SOUND.service.mean_ns / 1000
EIGHT_CORES = 8 * SOUND.measured_s
INVALID = factory.failed(LEVELS, 2, "balances differ", status="invalid")
LOGGED = Warning(code="engine-log", about="settings", text="The engine wrote to its log: sweep.")

Case = tuple[Callable[[Row], Iterator[Warning]], str, Row, Row]
CASES: list[Case] = [
    (doubts.too_few_repetitions, "too-few-repetitions", row(*[SOUND] * 4), row(*[SOUND] * 5)),
    (doubts.cells_missing, "cells-missing", replace(row(SOUND), invalid=[INVALID]), row(SOUND)),
    (doubts.wide_spread, "wide-spread", row(*rates(90, 100, 121)), row(*rates(90, 100, 119))),
    (
        doubts.generator_bound,
        "generator-bound",
        row(*[cpu(generator_us_per_transaction=SERVICE_US * 0.21)] * 2, SOUND),
        row(cpu(generator_us_per_transaction=SERVICE_US * 0.21), SOUND, SOUND),
    ),
    (doubts.generator_bound, "generator-bound", server(0.91), server(0.89)),
    (doubts.generator_bound, "generator-bound", server(0.91), server(0.91, mode="embedded")),
    (doubts.pipelined, "pipelined", row(SOUND, settings=pipeline("true")), row(SOUND, settings=pipeline("false"))),
    (doubts.response_limit, "response-limit", row(kinds(5001.0)), row(kinds(5000.0))),
    (doubts.response_limit, "response-limit", row(kinds(5001.0)), row(kinds(5001.0, limit_ms=None))),
    (doubts.response_limit, "response-limit", row(kinds(5001.0)), row(kinds(5001.0, count=99))),
    (
        doubts.processor_bound,
        "processor-bound",
        row(cpu(process_user_s=0.6 * EIGHT_CORES, process_system_s=0.31 * EIGHT_CORES)),
        row(cpu(process_user_s=0.6 * EIGHT_CORES, process_system_s=0.29 * EIGHT_CORES)),
    ),
    (doubts.conflicts, "given-up", row(SOUND, run(counts=factory.counts(retries=9, given_up=1))), row(SOUND)),
    (doubts.conflicts, "retries", row(SOUND, run(counts=factory.counts(retries=9))), row(SOUND)),
    (
        doubts.row_missed,
        "row-missed",
        row(SOUND, run(counts=factory.counts(deadlock=1, row_missed=1))),
        row(run(counts=factory.counts(deadlock=1))),
    ),
    (
        doubts.errors,
        "errors",
        row(SOUND, run(counts=factory.counts(errors=1), error_samples=[factory.error("disk I/O error")])),
        row(run(counts=factory.counts(retries=1, deadlock=1), error_samples=[factory.error("deadlock")])),
    ),
    (
        doubts.late_arrivals,
        "unfinished-arrivals",
        row(factory.open_loop(late=500, unfinished=1), SOUND),
        row(SOUND),
    ),
    (
        doubts.late_arrivals,
        "late-arrivals",
        row(*[factory.open_loop(late=11, unfinished=0)] * 2),
        row(*[factory.open_loop(late=10, unfinished=0)] * 2),
    ),
    (doubts.not_steady, "not-steady", row(SOUND, RAMP), row(SOUND, SHORT)),
    (doubts.not_steady, "not-steady", row(over(*[1000] * 6, *[600] * 6)), row(RAMP, workload=COUNTED)),
    (doubts.not_steady, "too-short", row(SHORT, SHORT), row(SHORT, SHORT, workload=COUNTED)),
    (doubts.flush_costs_nothing, "flush-costs-nothing", row(latency(19)), row(latency(21))),
    (doubts.sort_in_memory, "sort-in-memory", scan(work_mem_mb="100"), scan(work_mem_mb="4")),
    (doubts.sort_in_memory, "sort-in-memory", scan(sort_buffer_mb="100000000 bytes"), scan(sort_buffer_mb="2")),
    (doubts.sort_in_memory, "sort-in-memory", scan(cache_size_kb="100000"), scan(cache_size_kb="2000")),
    (
        doubts.sort_in_memory,
        "sort-in-memory",
        scan(cache_size_kb="13000 pages", page_size="8192"),
        scan(cache_size_kb="12000 pages", page_size="8192"),
    ),
    (doubts.sort_in_memory, "sort-in-memory", scan(temp_cache_limit_mb="100"), scan(temp_cache_limit_mb="64")),
    (doubts.sort_in_memory, "sort-memory-unknown", scan(), scan("natural")),
    (doubts.swapped, "swapped", row(SOUND, memory=factory.memory(swap=4096)), row(SOUND, memory=factory.memory())),
    (doubts.at_the_limit, "at-the-limit", of_size(70, limit_mib=64), of_size(130, limit_mib=64)),
    (doubts.at_the_limit, "at-the-limit", of_size(60, limit_mib=64), of_size(60, limit_mib=None)),
    (
        doubts.too_late_for_the_hint,
        "hint-late",
        row(run(measured_s=0.9), memory=factory.memory(access="random")),
        row(run(measured_s=0.9), memory=factory.memory()),
    ),
    (doubts.noted, "engine-log", row(SOUND, warnings=[LOGGED]), row(SOUND)),
]


@pytest.mark.parametrize(("rule", "code", "spoken", "silent"), CASES, ids=[case[1] for case in CASES])
def test_a_rule_speaks_and_stays_silent(
    rule: Callable[[Row], Iterator[Warning]], code: str, spoken: Row, silent: Row
) -> None:
    (doubt,) = rule(spoken)
    assert doubt.code == code
    assert doubt.about in ("goodput_per_s", "latency", "settings")
    assert doubt in doubts.of_row(spoken)
    assert list(rule(silent)) == []


def test_every_rule_has_a_case() -> None:
    assert {case[0] for case in CASES} == set(doubts.RULES)


def test_a_sound_row_raises_no_doubt() -> None:
    assert doubts.of_row(row(*[SOUND] * 5)) == []


def test_runs_that_do_not_count_raise_no_doubt_but_that_they_are_missing() -> None:
    bad = run(counts=factory.counts(given_up=3, errors=3), error_samples=[factory.error("no")])
    invalid = [factory.recording(LEVELS, 1, found=bad, status="invalid", reason="why")]
    assert doubts.of_row(Row(LEVELS, [], invalid, failed=[])) == []
    beside = doubts.of_row(Row(LEVELS, row(*[SOUND] * 5).done, invalid, failed=[]))
    assert [doubt.code for doubt in beside] == ["cells-missing"]


def test_doubts_stand_most_general_first() -> None:
    codes = [doubt.code for doubt in doubts.of_row(row(latency(5, count=2000), RAMP, warnings=[LOGGED]))]
    assert codes == ["too-few-repetitions", "not-steady", "flush-costs-nothing", "engine-log"]


def test_a_generator_that_was_not_sampled_is_not_judged() -> None:
    unknown = cpu(generator_us_per_transaction=10 * SERVICE_US, sampled_transactions=0)
    assert list(doubts.generator_bound(row(unknown))) == []


def test_kinds_that_were_too_slow_are_named_with_their_limits() -> None:
    (doubt,) = doubts.response_limit(row(kinds(5001.0)))
    assert "new-order (5 s)" in doubt.text
    assert "delivery" not in doubt.text


def test_the_first_error_is_quoted_and_cut() -> None:
    failing = run(counts=factory.counts(errors=2), error_samples=[factory.error("x" * 500), factory.error("second")])
    (doubt,) = doubts.errors(row(failing))
    assert doubt.text == "Transactions failed: " + "x" * 160


@pytest.mark.parametrize(
    "found",
    [
        row(latency(5), durability="os"),
        row(latency(5, terminals=4)),
        row(latency(5, count=19)),
    ],
    ids=["not asked to flush", "commits may share a flush", "too few for a median"],
)
def test_a_fast_commit_is_no_doubt_where_no_flush_is_shown(found: Row) -> None:
    assert list(doubts.flush_costs_nothing(found)) == []


def test_the_same_line_of_the_log_is_told_once() -> None:
    other = Warning(code="engine-log", about="settings", text="Another line.")
    assert list(doubts.noted(row(SOUND, SOUND, warnings=[LOGGED, other]))) == [LOGGED, other]


@pytest.mark.parametrize(
    ("facts", "code"),
    [
        ({"filesystem": "tmpfs"}, "in-memory"),
        ({"filesystem": "ramfs", "write_cache": "unknown"}, "in-memory"),
        ({"write_cache": "unknown"}, "write-cache-unknown"),
        ({"write_cache": "write through"}, "write-through"),
        ({"write_cache": "write back"}, None),
    ],
)
def test_of_place(facts: dict[str, str], code: str | None) -> None:
    place = factory.recording(LEVELS, found=SOUND).place.model_copy(update=facts)
    found = doubts.of_place(place)
    assert [doubt.code for doubt in found] == ([code] if code else [])
    assert all(doubt.about == "place" and doubt.text.endswith(".") for doubt in found)
