"""What scans and an administrator's operations come to."""

from __future__ import annotations

import pytest

import factory
from acidtest.analysis.samples import Row
from acidtest.analysis.workload_figures import Reads, operations, reads
from acidtest.journal.protocol import Garbage, Maintenance, OperationDone

LEVELS = {"workload": "maintenance", "engine": "firebird-5.0", "durability": "drive"}


def run(*seconds: float, flush_s: float | None = 0.5, workers: int | None = None, **changes: object) -> Maintenance:
    done = [
        OperationDone(
            seconds=second, flush_s=flush_s, database_bytes=100_000_000, backup_bytes=60_000_000, workers=workers
        )
        for second in seconds
    ]
    return Maintenance.model_validate({"operations": done, "before": None, "after": None} | changes)


def row(*runs: Maintenance | None) -> Row:
    done = [factory.recording(LEVELS, n, found=factory.result(), maintenance=run) for n, run in enumerate(runs, 1)]
    return Row(LEVELS, done, [], [])


def test_a_row_has_the_median_of_its_repetitions_and_the_mean_of_a_repetition() -> None:
    found = operations(row(run(2.0, 4.0), run(10.0), run(4.0)))
    assert found is not None
    assert (found.seconds, found.flush_s, found.database_mb, found.backup_mb) == (4.0, 0.5, 100.0, 60.0)
    assert found.mb_per_s == pytest.approx(25.0)
    assert found.workers is None


def test_a_flush_that_nobody_waited_for_has_no_time() -> None:
    found = operations(row(run(2.0, flush_s=None), run(2.0, flush_s=None)))
    assert found is not None
    assert found.flush_s is None


def test_the_fewest_workers_of_a_repetition_are_told() -> None:
    found = operations(row(run(2.0, workers=4), run(2.0, workers=3)))
    assert found is not None
    assert found.workers == 3


def test_what_a_sweep_found_and_left_is_told() -> None:
    before = Garbage(versions=9, oldest=3, oldest_active=5, oldest_snapshot=4, next=6)
    after = before.model_copy(update={"versions": 0, "oldest": 8})
    found = operations(row(run(2.0, before=before, after=after)))
    assert found is not None
    assert (found.before, found.after) == (before, after)


def test_only_an_administrators_work_has_operations() -> None:
    assert operations(row(None)) is None
    assert operations(row(run())) is None
    assert operations(row()) is None


SCANNED = {"workload": "scan", "engine": "sqlite", "durability": "os"}
SCAN = {"name": "scan", "kind": "scan", "size_mb": 200, "read": "natural", "count": 3}


def test_a_read_is_as_many_megabytes_as_the_table() -> None:
    runs = [
        factory.result().model_copy(update={"goodput_per_s": rate, "service": factory.histogram([int(1e9 / rate)] * 3)})
        for rate in (0.5, 0.4, 0.25)
    ]
    done = [
        factory.recording(SCANNED, n, found=run, workload=SCAN, load=factory.loaded(rows=77))
        for n, run in enumerate(runs, start=1)
    ]
    found = reads(Row(SCANNED, done, [], []))
    assert found == Reads(rows=77, mb_per_s=80.0, seconds=2.5)


def test_only_scans_have_reads() -> None:
    done = [factory.recording(found=factory.result())]
    assert reads(Row(done[0].levels, done, [], [])) is None
    assert reads(Row(SCANNED, [], [], [])) is None
