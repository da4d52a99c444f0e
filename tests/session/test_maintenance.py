"""Backup, restore, nbackup and sweep on every Firebird: what is made holds what it was made of, and a check that nods is
noticed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from acidtest import families
from acidtest.engine import Engine, Instance, catalogue
from acidtest.errors import CellFailed
from acidtest.journal.protocol import AskPhase, Checked, CheckPhase, LoadPhase, Maintained, Phase, Result
from acidtest.place import Ledger
from acidtest.workload.maintenance import Maintenance
from families import FAMILIES
from rig_jobs import of, run, talk

NEWER = ("firebird-4.0", "firebird-5.0", "firebird-4.0-server")
WORKERS = ("firebird-5.0",)
LOADED = Maintenance(count=1).message()


@pytest.fixture(scope="module", params=FAMILIES["firebird"].private)
def engine(request: pytest.FixtureRequest, engines_installed: None) -> Engine:
    return catalogue.find(request.param)


@pytest.fixture(scope="module")
def database(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """A loaded and sealed one of each engine."""
    ledger = Ledger()
    instance = engine.create(tmp_path_factory.mktemp("loaded"), {})
    try:
        instance.start(ledger)
        talk(instance, ledger, LoadPhase(sessions=2), workload=LOADED)
        instance.seal()
        return instance.database_files()
    finally:
        instance.release()
        ledger.close()


def done(instance: Instance, ledger: Ledger, spec: Maintenance, between: list[Phase] | None = None) -> tuple:
    """What was done, the conditions after it, and the run's result."""
    phases = [CheckPhase(), spec.run_phase(), *(between or []), CheckPhase()]
    events = talk(instance, ledger, *phases, workload=spec.message())
    (maintained,), (result,) = of(Maintained, events), of(Result, events)
    before, after = (
        {condition.name: (condition.holds, condition.detail) for condition in event.conditions}
        for event in of(Checked, events)
    )
    assert all(holds for holds, _ in before.values()), before
    assert set(before) == set(after) == set(spec.conditions())
    return maintained, after, result


def check(after: dict[str, tuple[bool, str]]) -> None:
    assert {name: said for name, (holds, said) in after.items() if not holds} == {}


def test_every_backup_is_restored_and_is_its_source(instance: Instance, ledger: Ledger) -> None:
    spec = Maintenance(count=2, changed_percent=10, garbage_collect=False)
    maintained, after, result = done(instance, ledger, spec)
    check(after)
    assert (result.counts.committed, result.counts.errors) == (2, 0)
    assert [kind.name for kind in result.kinds] == ["backup"]
    files = sorted(instance.directory.glob("made-*.fbk"))
    assert [operation.backup_bytes for operation in maintained.operations] == [file.stat().st_size for file in files]
    assert all(operation.database_bytes > operation.backup_bytes > 1_000_000 for operation in maintained.operations)
    assert all(operation.seconds >= operation.flush_s >= 0 for operation in maintained.operations)
    assert not (instance.directory / "verified.fdb").exists()


def test_a_restored_database_has_the_pages_that_were_asked_for(instance: Instance, ledger: Ledger) -> None:
    maintained, after, _ = done(instance, ledger, Maintenance(operation="restore", page_size=16_384, replace=True))
    check(after)
    assert after["restored_page_size_is_as_asked"][1] == "[16384] bytes a page, asked for 16384"
    (operation,) = maintained.operations
    assert operation.database_bytes % 16_384 == 0


@pytest.mark.parametrize("level", [0, 1])
def test_increments_together_are_the_database(instance: Instance, ledger: Ledger, level: int) -> None:
    spec = Maintenance(operation="incremental_backup", level=level, changed_percent=10, flush=False)
    maintained, after, _ = done(instance, ledger, spec)
    check(after)
    (operation,) = maintained.operations
    assert operation.flush_s is None
    if level == 1:
        assert 0 < operation.backup_bytes < operation.database_bytes / 2
    else:
        assert operation.backup_bytes >= operation.database_bytes * 0.9


def test_a_sweep_removes_old_versions_and_moves_the_oldest_transaction(instance: Instance, ledger: Ledger) -> None:
    maintained, after, _ = done(instance, ledger, Maintenance(operation="sweep", changed_percent=30))
    check(after)
    assert maintained.before.versions > 0
    assert maintained.after.versions == 0
    assert maintained.before.oldest < maintained.before.next - 1
    assert maintained.after.oldest > maintained.before.oldest


@pytest.mark.sampled(1)  # the rig compares, alike for every version
def test_what_was_changed_after_a_backup_is_noticed(instance: Instance, ledger: Ledger) -> None:
    """The restored database is held against the source as it is: a comparison that nods would not see this."""
    change = AskPhase(questions=["update tellers set filler = 'changed' where tid = 3"])
    _, after, _ = done(instance, ledger, Maintenance(count=1), [change])
    broken = {name: said for name, (holds, said) in after.items() if not holds}
    assert broken == {"restored_equals_source": "tellers has other rows than the source's 10"}


@pytest.mark.sampled(1)  # the rig compares, alike for every version
def test_what_was_wrong_in_the_source_is_wrong_in_what_is_restored(instance: Instance, ledger: Ledger) -> None:
    spec = Maintenance(count=1)
    change = AskPhase(questions=["update branches set bbalance = 7"])
    events = talk(instance, ledger, change, spec.run_phase(), CheckPhase(), workload=spec.message())
    (checked,) = of(Checked, events)
    broken = {condition.name: condition.detail for condition in checked.conditions if not condition.holds}
    assert broken["branches_sum_equals_history"] == "7 and 0"
    assert broken["restored_keeps_conditions"].endswith("branches_sum_equals_history: 7 and 0")
    assert "restored_equals_source" not in broken


def test_options_of_newer_versions(engine: Engine, instance: Instance, ledger: Ledger) -> None:
    newer, workers = engine.id in NEWER, engine.id in WORKERS
    maintained, after, _ = done(instance, ledger, Maintenance(count=1, compress=newer, parallel=3 if workers else 1))
    check(after)
    (operation,) = maintained.operations
    assert (operation.workers is not None) is workers
    # The text that fills each row is the same: compressed it is a small part.
    assert (operation.backup_bytes < operation.database_bytes / 4) is newer


def test_workers_are_there_from_5_0_on_and_an_error_before(
    engine: Engine, anew: Callable[[], Instance], ledger: Ledger
) -> None:
    """The plan refuses them before; where it did not, nothing would pass for done."""
    for operation in ("backup", "restore", "sweep"):
        spec = Maintenance(operation=operation, parallel=2)
        if engine.id in WORKERS:
            _, after, _ = done(anew(), ledger, spec)
            check(after)
        else:
            with pytest.raises(CellFailed):
                talk(anew(), ledger, spec.run_phase(), workload=spec.message())


def test_another_engine_says_that_it_offers_nothing_of_the_kind(tmp_path: Path, ledger: Ledger) -> None:
    assert families.of_engine("sqlite") is not None
    (tmp_path / "instance").mkdir()
    instance = catalogue.find("sqlite").create(tmp_path / "instance", {})
    with pytest.raises(CellFailed, match="does not know how SQLite is backed up or restored"):
        talk(instance, ledger, LoadPhase(), run(1, 1), workload=LOADED)
