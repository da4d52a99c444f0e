"""An engine's own trace of statements agrees with what its counters say, and tells why where there is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from acidtest.engine import Engine, Instance
from acidtest.journal.models import TracedStatements
from acidtest.journal.protocol import Begins, CheckPhase, Counted, LoadPhase, Result
from acidtest.place import Ledger
from acidtest.place.trees import copy_tree
from acidtest.workload.iud import IudWorkload
from acidtest.workload.tpcb import TpcbWorkload
from families import FAMILIES
from rig_jobs import of, run, talking

ROWS, ROUNDS = 40, 2
firebirds = pytest.mark.parametrize("engine", FAMILIES["firebird"].engines, indirect=True)  # others have no trace
OF_RECORDS = ("inserts", "updates", "deletes", "seq_reads", "idx_reads")


def traced(instance: Instance, ledger: Ledger) -> tuple[TracedStatements, Counted]:
    """A load, two rounds of as many inserts, updates and deletes as there are rows, and a check."""
    trace, counters = instance.statement_trace(), instance.counters()
    assert trace is not None
    assert counters is not None
    events = talking(
        instance, ledger, LoadPhase(), run(1, 4 * ROUNDS), CheckPhase(), workload=IudWorkload(rows=ROWS),
        inspect=instance.inspections(), count=counters.asked(),
    )  # fmt: skip
    told: list[Counted] = []
    committed = 0
    try:
        trace.begin()
        for event in events:
            match event:
                case Begins():
                    trace.terminals_begin(event)
                case Counted():
                    told.append(event)
                case Result():
                    committed = event.counts.committed
        (counted,) = told
        return trace.finish(committed), counted
    finally:
        trace.end()


@firebirds
def test_the_trace_and_the_counters_agree(instance: Instance, ledger: Ledger) -> None:
    found, counted = traced(instance, ledger)
    assert found.not_traced is None
    assert not found.lost, found
    assert found.commits == found.committed == 4 * ROUNDS
    (inserted,) = [statement for statement in found.statements if statement.text.startswith("insert into iud")]
    assert (inserted.count, inserted.record_inserts, inserted.failed) == (ROWS * ROUNDS, ROWS * ROUNDS, 0)
    kinds = {statement.kind: statement.count for statement in found.statements if statement.kind}
    assert kinds == {"commit": 4 * ROUNDS, "start of a transaction": 4 * ROUNDS}
    texts = " ".join(statement.text for statement in found.statements)
    assert "mon$" not in texts, "settings that are read are no statements of the terminals"
    assert "count(distinct" not in texts, "nor is a check"
    # Two counts of the engine's own, by ways of their own.
    risen = {counter.name: counter.sessions for counter in counted.counters}
    for name in OF_RECORDS:
        assert sum(getattr(statement, f"record_{name}") for statement in found.statements) == risen[f"record_{name}"], (
            name
        )
    for name in ("reads", "writes", "fetches", "marks"):  # what begins a transaction has no figures in the trace
        assert sum(getattr(statement, name) for statement in found.statements) <= (risen[f"page_{name}"] or 0), name


@firebirds
def test_an_instance_that_cannot_trace_says_why(
    engine: Engine, database: list[Path], tmp_path: Path, ledger: Ledger
) -> None:
    for path in database:
        copy_tree(path, tmp_path / path.name)
    instance = engine.adopt(tmp_path, {}, "os")
    try:
        # Before the start: a server loads it where it looks at its security database.
        plugins = list(instance.directory.glob("**/plugins/libfbtrace.so"))
        assert plugins
        for plugin in plugins:
            plugin.unlink()
        instance.start(ledger)
        found, counted = traced(instance, ledger)
    finally:
        instance.release()
    assert found.not_traced is not None
    assert "trace" in found.not_traced.lower()
    assert "\n" not in found.not_traced
    assert found.statements == []
    assert counted.committed == 4 * ROUNDS


@pytest.mark.parametrize("engine", ["firebird-5.0"], indirect=True)
def test_what_the_engines_log_had_no_room_for_is_told(instance: Instance, ledger: Ledger) -> None:
    trace = instance.statement_trace()
    assert trace is not None
    counters = instance.counters()
    assert counters is not None
    events = talking(instance, ledger, LoadPhase(), run(1, 5), workload=TpcbWorkload(scale=2), count=counters.asked())
    try:
        trace.begin()
        # Nobody reads until all is over: the statements of the load, 16 MB of trace, fill the engine's log.
        (begins,) = of(Begins, events)
        trace.terminals_begin(begins)
        found = trace.finish(5)
    finally:
        trace.end()
    assert found.not_traced is None
    assert found.suspended >= 1
    assert found.lost
    assert found.commits < found.committed == 5
