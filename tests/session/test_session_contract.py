"""What every session of the rig must do, seen through the protocol: on one engine after another."""

from __future__ import annotations

from pathlib import Path

import pytest

from acidtest import families
from acidtest.engine import Engine, Instance, catalogue
from acidtest.errors import CellFailed
from acidtest.journal.models import AT_WORK_IN
from acidtest.journal.protocol import (
    Checked,
    CheckPhase,
    Count,
    Counted,
    Counting,
    Duration,
    Event,
    Hello,
    Inspection,
    LoadPhase,
    OpenLoop,
    Result,
    RunPhase,
    Sampled,
    Sampling,
    Settings,
    WorkloadMessage,
)
from acidtest.place import Ledger
from acidtest.workload.iud import IudWorkload
from acidtest.workload.orders import OrdersWorkload
from acidtest.workload.scan import ScanWorkload
from acidtest.workload.tpcb import TpcbWorkload
from families import FAMILIES
from rig_jobs import COMMITS, of, run, talk

TPCB = TpcbWorkload(scale=1)
ORDERS = OrdersWorkload(products=5_000, orders_per_call=2, repeatable=False)
REPEATABLE = ORDERS.model_copy(update={"repeatable": True})
IUD = IudWorkload(rows=40)


def conditions(events: list[Event]) -> list[dict[str, bool]]:
    return [{c.name: c.holds for c in event.conditions} for event in of(Checked, events)]


def test_the_engine_names_its_version(engine: Engine, instance: Instance, ledger: Ledger) -> None:
    (hello,) = of(Hello, talk(instance, ledger, LoadPhase()))
    assert hello.engine_version.startswith(FAMILIES[engine.family].begins_version(engine.id))


def test_what_is_acknowledged_is_in_the_database_of_a_later_process(instance: Instance, ledger: Ledger) -> None:
    talk(instance, ledger, LoadPhase(), run(terminals=3))
    (found,) = conditions(talk(instance, ledger, CheckPhase()))
    # A process that acknowledged nothing finds 50 rows too many: the check compares, and does not nod.
    assert found == {"rows_match_acknowledged": False, "payloads_are_whole": True}


def test_runs_of_one_process_do_not_collide(instance: Instance, ledger: Ledger) -> None:
    events = talk(instance, ledger, LoadPhase(), CheckPhase(), run(terminals=2), run(terminals=3), CheckPhase())
    assert [r.counts.committed for r in of(Result, events)] == [50, 50]
    assert all(all(found.values()) for found in conditions(events))


def test_the_balances_hold_after_a_run(instance: Instance, ledger: Ledger) -> None:
    phases = [LoadPhase(), CheckPhase(), run(extent=Duration(seconds=0.5), warmup_s=0.2), CheckPhase()]
    events = talk(instance, ledger, *phases, workload=TPCB)
    before, after = conditions(events)
    assert all(before.values())
    assert all(after.values())
    assert set(before) == set(after) >= {"each_branch_equals_its_tellers", "accounts_sum_equals_history"}
    (result,) = of(Result, events)
    assert result.latency.count == result.counts.committed > 0
    assert sum(count for _, count in result.latency.buckets) == result.latency.count


@pytest.mark.parametrize("workload", [ORDERS, REPEATABLE, IUD], ids=["orders", "repeatable orders", "iud"])
def test_orders_and_rounds_hold_with_several_terminals(
    instance: Instance, ledger: Ledger, workload: WorkloadMessage
) -> None:
    events = talk(instance, ledger, LoadPhase(), CheckPhase(), run(terminals=3), CheckPhase(), workload=workload)
    before, after = conditions(events)
    assert all(before.values())
    assert all(after.values()), after
    (result,) = of(Result, events)
    assert (result.counts.committed, result.counts.errors) == (50, 0)
    assert sum(kind.committed for kind in result.kinds) == (50 if workload is IUD else 0)


@pytest.mark.parametrize("read", ["natural", "sorted", "indexed"])
def test_a_scan_is_read_by_the_plan_that_was_asked_for(instance: Instance, ledger: Ledger, read: str) -> None:
    workload = ScanWorkload(size_mb=3, read=read)
    phases = [LoadPhase(sessions=2), CheckPhase(), run(2, extent=Count(transactions=5)), CheckPhase()]
    events = talk(instance, ledger, *phases, workload=workload)
    before, after = conditions(events)
    assert before == after == {f"plan_is_{read}": True, "each_read_finds_what_was_loaded": True}, events
    (result,) = of(Result, events)
    assert (result.counts.committed, result.counts.errors) == (5, 0)
    assert [(kind.name, kind.committed) for kind in result.kinds] == [(read, 5)]


def test_a_scan_that_finds_other_rows_than_it_should_says_so(instance: Instance, ledger: Ledger) -> None:
    small, large = (ScanWorkload(size_mb=size_mb, read="natural") for size_mb in (1, 2))
    talk(instance, ledger, LoadPhase(), workload=small)
    (found,) = conditions(talk(instance, ledger, run(extent=Count(transactions=2)), CheckPhase(), workload=large))
    assert found == {"plan_is_natural": True, "each_read_finds_what_was_loaded": False}


# Unordered sums over what was written: ids differ between engines, and dates between days.
WRITTEN = (
    "select count(*) from orders",
    "select sum(customer_id * line_count) from orders",
    "select sum(netamount * customer_id) from orders",
    "select sum(tax) from orders",
    "select sum(totalamount) from orders",
    "select count(*) from orderline",
    "select sum(product_id * quantity) from orderline",
    "select sum(product_id * product_id) from orderline",
    "select sum(price * id) from product",
    "select sum(quantity * product_id) from inventory",
)


def written(instance: Instance, ledger: Ledger) -> list[str | None]:
    talk(instance, ledger, LoadPhase(), run(extent=Count(transactions=7)), workload=REPEATABLE)
    questions = [Inspection(name=sql, sql=sql) for sql in WRITTEN]
    events = talk(instance, ledger, workload=REPEATABLE, inspect=questions)
    return [setting.value for event in of(Settings, events) for setting in event.values]


def test_repeatable_orders_are_the_same_on_every_engine(instance: Instance, ledger: Ledger, tmp_path: Path) -> None:
    directory = tmp_path / "other"
    directory.mkdir()
    other = catalogue.find("sqlite").create(directory, {})
    assert written(instance, ledger) == written(other, ledger)


def test_writers_in_each_others_way_are_counted_and_none_is_lost(
    engine: Engine, instance: Instance, ledger: Ledger
) -> None:
    events = talk(
        instance, ledger, LoadPhase(), run(terminals=4, extent=Duration(seconds=0.5), retries=3), workload=TPCB
    )
    (result,) = of(Result, events)
    counts = result.counts
    assert counts.conflicts == counts.retries + counts.given_up
    assert sum(c.count for c in counts.classes) == counts.conflicts + counts.errors
    if engine.id in FAMILIES[engine.family].always_conflicts:
        assert counts.conflicts > 0  # one branch, four writers


def test_an_open_loop_serves_what_was_scheduled(instance: Instance, ledger: Ledger) -> None:
    pacing = OpenLoop(rate_per_s=100, arrivals="fixed")
    (result,) = of(Result, talk(instance, ledger, LoadPhase(), run(2, pacing=pacing, extent=Duration(seconds=1))))
    assert result.arrivals is not None
    assert result.arrivals.scheduled == result.counts.committed + result.arrivals.unfinished


def test_a_setting_that_cannot_be_asked_for_is_a_failure_that_names_it(instance: Instance, ledger: Ledger) -> None:
    nonsense = Inspection(name="nonsense", sql="select nothing from nowhere")
    with pytest.raises(CellFailed, match="select nothing from nowhere"):
        talk(instance, ledger, LoadPhase(), inspect=[*instance.inspections(), nonsense])


def test_a_database_that_is_not_there_is_a_failure_in_the_engines_words(instance: Instance, ledger: Ledger) -> None:
    missing = "/nonexistent/nowhere.db"
    field = "path" if hasattr(instance.target(), "path") else "database"
    with pytest.raises(CellFailed) as failed:
        talk(instance, ledger, CheckPhase(), target=instance.target().model_copy(update={field: missing}))
    assert failed.value.message.startswith("opening the database: ")
    assert "nowhere.db" in failed.value.message


# ------------------------------------------------------------------------------------------------ the engine's own counters


def counted(
    engine: Engine, instance: Instance, ledger: Ledger, phase: RunPhase, workload: WorkloadMessage
) -> Counted | None:
    """What the engine counted during ``phase``; None of a family that is not asked."""
    counters = instance.counters()
    assert (counters is not None) == bool(FAMILIES[engine.family].counts)
    events = talk(instance, ledger, LoadPhase(), phase, workload=workload, count=counters.asked() if counters else None)
    (result,) = of(Result, events)
    assert result.counts.errors == 0
    told = of(Counted, events)
    assert len(told) == (0 if counters is None else 1)
    for one in told:
        assert one.not_counted is None
        assert counters is not None
        assert [counter.name for counter in one.counters] == [counter.name for counter in counters.table]
        recorded = counters.recorded(one)
        assert (recorded.committed, len(recorded.counters)) == (one.committed, len(one.counters))
    return told[0] if told else None


def risen(engine: Engine, found: Counted) -> dict[str, int]:
    """By the suite's words what the terminals' sessions counted."""
    sessions = {counter.name: counter.sessions for counter in found.counters}
    figures = {word: sessions[name] for word, name in FAMILIES[engine.family].counts.items()}
    return {word: figure for word, figure in figures.items() if figure is not None}


def test_the_engine_counts_the_rows_that_the_workload_changes(
    engine: Engine, instance: Instance, ledger: Ledger
) -> None:
    # Two rounds of 40 inserts, 40 updates and 40 deletes, known without the engine. The load before them is not counted.
    found = counted(engine, instance, ledger, run(extent=Count(transactions=8)), IUD)
    if found is None:
        return
    figures = risen(engine, found)
    assert (found.committed, found.uncertain) == (8, 0)
    assert figures.pop("fetched") >= 3 * 80
    assert figures == {"inserted": 80, "updated": 80, "deleted": 80}
    rows = {name for word, name in FAMILIES[engine.family].counts.items() if word != "fetched"}
    for counter in found.counters:  # nobody else changes rows
        assert counter.name not in rows or counter.database in (None, counter.sessions), counter


def test_the_warm_up_is_not_counted(engine: Engine, instance: Instance, ledger: Ledger) -> None:
    phase = run(terminals=2, warmup_s=0.6, extent=Count(transactions=30))
    found = counted(engine, instance, ledger, phase, COMMITS)
    if found is None:
        return
    assert found.from_s < 0
    # One insert a commit; those under way at the first reading may lie on either side of it.
    inserted = risen(engine, found)["inserted"]
    assert found.committed >= 30
    assert 0 <= found.committed - inserted <= found.uncertain


def test_an_engine_that_does_not_answer_is_no_0_and_the_run_goes_on(instance: Instance, ledger: Ledger) -> None:
    asked = Counting(session="select 1 from nowhere_at_all", counted="select 1, 2 from nowhere_at_all", names=["x"])
    events = talk(instance, ledger, LoadPhase(), run(), CheckPhase(), count=asked)
    (told,) = of(Counted, events)
    assert told.not_counted is not None
    assert "nowhere_at_all" in told.not_counted.lower()
    assert told.counters == []
    assert [r.counts.committed for r in of(Result, events)] == [50]
    assert all(all(found.values()) for found in conditions(events))


# ------------------------------------------------------------------------------------------ where the engine stands


def test_the_engine_is_asked_each_second_for_where_it_stands(
    engine: Engine, instance: Instance, ledger: Ledger
) -> None:
    figures, family = instance.figures(), FAMILIES[engine.family]
    assert (figures is not None) == bool(family.rises) == families.FAMILIES[engine.family].has_figures
    phases = [LoadPhase(), run(2, extent=Duration(seconds=1.2), warmup_s=0.3), CheckPhase()]
    events = talk(instance, ledger, *phases, sample=figures.asked() if figures else None)
    told = of(Sampled, events)
    assert len(told) == (0 if figures is None else 1)
    for one in told:
        assert figures is not None
        recorded = figures.recorded(one)
        assert (recorded.not_sampled, len(recorded.samples)) == (None, len(one.samples))
        times = [sample.at_s for sample in one.samples]
        # At the beginning, at the first second, at the planned end, and when the last terminal had ended.
        assert times == sorted(times)
        assert 3 <= len(times) <= 4
        assert 0 <= times[0] < times[1]
        assert times[1] >= 1
        assert times[-1] >= 1.2
        names = [figure.name for figure in recorded.figures if not figure.name.startswith(AT_WORK_IN)]
        untold = family.untold.get(engine.id, ())
        table = [figure.name for figure in figures.table if not figure.name.startswith(AT_WORK_IN)]
        assert names == [name for name in table if name not in untold]
        place = names.index(family.rises)
        values = [sample.values[place] for sample in recorded.samples]
        assert None not in values
        assert values == sorted(values)
        assert values[-1] > values[0]


def test_a_question_that_the_engine_refuses_is_the_last_and_the_run_goes_on(instance: Instance, ledger: Ledger) -> None:
    asked = Sampling(questions=["select 'x', 1 from nowhere_at_all"], names=["x"])
    events = talk(instance, ledger, LoadPhase(), run(), CheckPhase(), sample=asked)
    (told,) = of(Sampled, events)
    assert "nowhere_at_all" in (told.not_sampled or "").lower()
    assert told.samples == []
    assert [r.counts.committed for r in of(Result, events)] == [50]
    assert all(all(found.values()) for found in conditions(events))
