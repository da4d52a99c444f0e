"""Shares of a device's time: reads, writes and flushes, with what the kernel counts twice taken apart."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from acidtest.analysis.growth.series import Waits, shares
from acidtest.journal.models import DeviceWork

IDLE = DeviceWork(
    device="sda", reads=0, read_bytes=0, read_s=0, writes=0, write_bytes=0, write_s=0, flushes=0, flush_s=0, busy_s=0
)


def work(**fields: object) -> DeviceWork:
    return DeviceWork.model_validate({**IDLE.model_dump(), **fields})


def test_time_goes_to_reads_writes_and_flushes() -> None:
    # 100 writes of 1 ms, each followed by a flush of 4 ms that the kernel takes for a write as well.
    one = work(reads=500, read_s=1.5, writes=200, write_s=0.5, flushes=100, flush_s=0.4, busy_s=1.8)
    found = shares([(one, 2.0)])
    assert found is not None
    assert found.reads == Waits(500, 0.75, 3.0)
    assert found.writes.count == 200
    assert found.writes.share is not None and abs(found.writes.share - 0.05) < 1e-9
    assert found.flushes == Waits(100, 0.2, 4.0)
    assert (found.busy_share, found.depth) == (0.9, 1.0)
    twice = shares([(one, 2.0), (one, 2.0)])
    assert twice is not None
    assert (twice.reads.count, twice.reads.mean_ms, twice.reads.share) == (1_000, 3.0, 0.75)
    assert (twice.busy_share, twice.depth) == (found.busy_share, found.depth)


def test_flushes_that_are_not_counted_stay_in_the_writes() -> None:
    counted, not_counted = (
        work(writes=10, write_s=1.0, flushes=5, flush_s=0.5),
        work(writes=10, write_s=1.0, flushes=None, flush_s=None),
    )
    found = shares([(counted, 1.0), (not_counted, 1.0)])
    assert found is not None
    assert found.flushes is None
    assert found.writes == Waits(20, 1.0, 100.0)


def test_nothing_done_has_no_shares_and_nothing_measured_has_none_at_all() -> None:
    found = shares([(IDLE, 1.0)])
    assert found is not None
    assert found.reads == found.writes == found.flushes == Waits(0, None, None)
    assert (found.busy_share, found.depth) == (0.0, 0.0)
    assert shares([]) is None
    assert shares([(IDLE, 0.0)]) is None


SECONDS = st.floats(0, 1e6)


@given(SECONDS, SECONDS, SECONDS, SECONDS, st.integers(0, 10**9), st.floats(1e-3, 1e6))
def test_shares_are_shares(
    read_s: float, write_s: float, flush_s: float, busy_s: float, many: int, measured_s: float
) -> None:
    one = work(reads=many, read_s=read_s, writes=many, write_s=write_s, flushes=many, flush_s=flush_s, busy_s=busy_s)
    found = shares([(one, measured_s)])
    assert found is not None
    assert found.flushes is not None
    parts = [waits.share for waits in (found.reads, found.writes, found.flushes)]
    assert parts == [None] * 3 or abs(sum(part or 0.0 for part in parts) - 1) < 1e-9
    assert 0 <= found.busy_share <= 1
