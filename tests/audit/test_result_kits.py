"""A kit of results in which everything is wrong, and one in which nothing is."""

from __future__ import annotations

from pathlib import Path

from acidtest.audit import importers, judge

KITS = Path(__file__).parents[1] / "kits"
EXPECTED = {
    "faster-than-it-turns": "pg/pgbench.out:2",
    "flush-as-memory": "pg/pg_test_fsync.out:5",
    "percentile-at-ceiling": "sysbench.out:1",
    "no-warm-up": "hammerdb.log:6",
    "not-disclosed": "hammerdb.log:6",
    "few-repetitions": "hammerdb.log:6",
}


def test_each_fault_is_named_with_its_place() -> None:
    found = judge.of_bench(importers.read(KITS / "unfair-results"))
    places = {(finding.rule.name, f"{seen.file}:{seen.line}") for finding in found for seen in finding.evidence}
    assert set(EXPECTED.items()) - places == set()


def test_nothing_is_said_of_the_fair_one() -> None:
    assert judge.of_bench(importers.read(KITS / "fair-results")) == []
