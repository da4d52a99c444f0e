"""What the ways of watching an engine leave doubtful is told beside the figures, and how large its files were."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from acidtest.conductor import call_trace
from acidtest.conductor.device import CellDevice
from acidtest.engine.sqlite.instance import SqliteInstance
from acidtest.journal.models import SettingInForce
from acidtest.journal.protocol import Progress
from factory import engine_counts


def test_only_a_reading_that_was_late_is_a_doubt() -> None:
    counts = engine_counts(page_reads=(1, 2))
    assert call_trace.counting(None) == []
    assert call_trace.counting(counts) == []
    assert call_trace.counting(counts.model_copy(update={"from_s": 0.0})) == []
    (doubt,) = call_trace.counting(counts.model_copy(update={"from_s": 0.187}))
    assert (doubt.code, doubt.about) == ("counted-late", "goodput_per_s")
    assert "first 0.19 s of the measurement" in doubt.text


@pytest.mark.parametrize("means", ["kernel", "strace"])
def test_that_calls_were_watched_is_told_and_that_some_got_lost(means: str) -> None:
    calls: Any = Mock(means=means, dropped=0)
    assert [(doubt.code, doubt.about) for doubt in call_trace.doubts(calls)] == [("observed", "goodput_per_s")]
    calls.dropped = 3
    assert call_trace.doubts(calls)[1].text == "3 events of the kernel got lost: every count of calls is a lower bound."
    assert call_trace.doubts(None) == []


def in_force(**settings: int) -> list[SettingInForce]:
    return [
        SettingInForce(name=name, asked=None, in_force=str(value), agrees=True, source="PRAGMA")
        for name, value in settings.items()
    ]


def test_sizes_are_those_of_the_measurement_until_just_before_its_end(tmp_path: Path) -> None:
    instance = SqliteInstance("sqlite", tmp_path, {}, "os")
    database, log = tmp_path / "database.db", tmp_path / "database.db-wal"
    database.write_bytes(bytes(8192))
    device = CellDevice(database, timed=True, warmup_s=1.0, instance=instance)
    phases = [("warmup", 0.5, 9), ("run", 1.0, 0), ("run", 2.0, 4120), ("run", 3.0, 8240), ("run", 4.0, 1)]
    for phase, elapsed_s, bytes_ in phases:
        if bytes_:
            log.write_bytes(bytes(bytes_))
        else:
            log.unlink()
        fraction = elapsed_s / 4
        told: Any = {"phase": phase, "fraction": fraction, "elapsed_s": elapsed_s, "done": 0, "rate_per_s": 0.0}
        device.progress(Progress(**told))
    sizes = device.sizes(in_force(wal_autocheckpoint_pages=100, page_size=512))
    assert sizes is not None
    assert (sizes.log, sizes.log_limit_bytes) == (log.name, 100 * (512 + 24))
    assert [(sample.at_s, sample.database_bytes, sample.log_bytes) for sample in sizes.samples] == [
        (0.0, 8192, 0), (1.0, 8192, 4120), (2.0, 8192, 8240),
    ]  # fmt: skip
    assert instance.log_limit_bytes(in_force(wal_autocheckpoint_pages=0, page_size=512)) is None


def test_without_a_log_and_on_a_raw_device_nothing_is_made_up(tmp_path: Path) -> None:
    file, device = tmp_path / "database.db", tmp_path / "device"
    file.write_bytes(bytes(4096))
    device.symlink_to("/dev/null")
    instance = SqliteInstance("sqlite", tmp_path, {"journal_mode": "delete"}, "os")
    run = Progress(phase="run", fraction=None, elapsed_s=0.0, done=0, rate_per_s=0.0)
    on_file, on_device = (CellDevice(path, timed=True, instance=instance) for path in (file, device))
    for one in (on_file, on_device):
        one.progress(run)
    sizes = on_file.sizes([])
    assert sizes is not None
    assert (sizes.log, sizes.samples[0].database_bytes, sizes.samples[0].log_bytes) == ("", 4096, None)
    assert on_device.sizes([]) is None
