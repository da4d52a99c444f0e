"""What the workload of an administrator asks for, refuses and doubts."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from acidtest.journal.protocol import Maintenance as Done
from acidtest.journal.protocol import OperationDone
from acidtest.workload import Runner
from acidtest.workload.maintenance import Maintenance

FIREBIRD_5 = Runner("firebird", (5, 0), private=True, raw=False)


def runner(**changes: object) -> Runner:
    return Runner(**{**vars(FIREBIRD_5), **changes})  # type: ignore[arg-type]


def test_one_operation_is_done_where_nothing_says_how_many() -> None:
    assert Maintenance().count == 1
    assert Maintenance(duration_s=60).count is None


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"terminals": 2}, "one administrator is at work"),
        ({"observe": True}, "threads of the engine do the work"),
        ({"operation": "restore", "page_size": 5000}, '"page_size" must be 4096, 8192, 16384 or 32768, not 5000'),
        ({"operation": "sweep", "count": 2}, "what a sweep needs is there once in each cell"),
        ({"operation": "sweep", "duration_s": 9}, "what a sweep needs"),
        ({"operation": "incremental_backup", "level": 1, "count": 3}, "what an incremental backup of level 1 needs"),
        ({"operation": "restore", "replace": True, "warmup_s": 1}, "what a restore with replace needs"),
    ],
)
def test_what_cannot_be_is_refused_in_plain_words(given: dict[str, object], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        Maintenance.model_validate(given)


def test_what_means_nothing_to_an_operation_does_not_bind_it() -> None:
    """As where a factor varies the operation beside what is fixed for one of them."""
    spec = Maintenance(operation="backup", level=1, replace=True, count=4)
    assert (spec.message().level, spec.message().changed_percent) == (0, 0)


@pytest.mark.parametrize(
    ("spec", "percent"),
    [
        (Maintenance(operation="sweep"), 20),
        (Maintenance(operation="incremental_backup", level=1), 20),
        (Maintenance(operation="incremental_backup"), 0),
        (Maintenance(), 0),
        (Maintenance(changed_percent=5), 5),
        (Maintenance(operation="sweep", changed_percent=0), 0),
    ],
)
def test_rows_are_changed_where_the_operation_is_about_that(spec: Maintenance, percent: int) -> None:
    assert spec.message().changed_percent == percent


def test_every_operation_of_one_size_begins_with_the_same_database() -> None:
    databases = {
        Maintenance(operation=operation, flush=False, parallel=2).loaded_text()  # type: ignore[arg-type]
        for operation in ("backup", "restore", "incremental_backup", "sweep")
    }
    assert len(databases) == 1
    assert Maintenance(data="tpcc").loaded_text() not in databases


@pytest.mark.parametrize(
    ("spec", "on", "why", "key"),
    [
        (Maintenance(), runner(family="mysql"), "has no services that back up", ""),
        (Maintenance(), runner(private=False), "is a server by URL", ""),
        (Maintenance(), runner(raw=True), "this is a raw device", ""),
        (Maintenance(parallel=2), runner(release=(4, 0)), "no parallel workers before 5.0", "parallel"),
        (Maintenance(compress=True), runner(release=(3, 0)), "compresses from 4.0 on", "compress"),
        (Maintenance(operation="restore", page_size=32_768), runner(release=(3, 0)), "from 4.0 on", "page_size"),
    ],
)
def test_what_an_engine_does_not_have_is_refused(spec: Maintenance, on: Runner, why: str, key: str) -> None:
    refused = spec.refused(on)
    assert refused is not None
    assert why in refused.why
    assert refused.key == key
    everything = {"parallel": 4, "compress": True}
    assert Maintenance(operation="restore", page_size=32_768, **everything).refused(FIREBIRD_5) is None


def operation(**changes: object) -> OperationDone:
    fields = {"seconds": 2.0, "flush_s": 0.5, "database_bytes": 10, "backup_bytes": 5, "workers": None}
    return OperationDone.model_validate(fields | changes)


def test_a_time_without_a_flush_and_workers_that_were_not_seen_are_told() -> None:
    spec = Maintenance(parallel=4, flush=False)
    (warning,) = spec.warnings("firebird-5.0", has_procedures=True)
    assert warning.code == "not-flushed"
    seen = Done(operations=[operation(workers=4), operation(workers=2)], before=None, after=None)
    (doubt,) = spec.doubts(seen)
    assert doubt.text.startswith("4 parallel workers were asked for, and 2 were seen at once")
    assert Maintenance(parallel=2).doubts(seen) == []
    (doubt,) = Maintenance(operation="restore", parallel=2).doubts(
        Done(operations=[operation()], before=None, after=None)
    )
    assert "nothing shows how many there were" in doubt.text
    assert Maintenance(parallel=2).doubts(None) == []
    assert Maintenance().doubts(Done(operations=[operation()], before=None, after=None)) == []
    assert Maintenance().warnings("firebird-5.0", has_procedures=True) == []


def test_a_sweep_is_checked_in_the_database_itself_and_all_else_in_what_is_restored() -> None:
    swept, restored = Maintenance(operation="sweep").conditions(), Maintenance(operation="restore").conditions()
    assert "sweep_removes_old_versions" in swept
    assert "restored_equals_source" not in swept
    assert {"restored_equals_source", "restored_page_size_is_as_asked"} <= set(restored)
    assert "accounts_sum_equals_history" in swept
    assert "condition_1_warehouse_ytd" in Maintenance(data="tpcc").conditions()
