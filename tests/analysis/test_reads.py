"""How fast a table was read."""

from __future__ import annotations

import factory
from acidtest.analysis.samples import Row
from acidtest.analysis.workload_figures import reads

LEVELS = {"workload": "scan", "engine": "sqlite", "durability": "os"}
SCAN = {"name": "scan", "kind": "scan", "size_mb": 200, "read": "natural", "count": 3}


def test_a_read_is_as_many_megabytes_as_the_table() -> None:
    runs = [
        factory.result().model_copy(update={"goodput_per_s": rate, "service": factory.histogram([int(1e9 / rate)] * 3)})
        for rate in (0.5, 0.4, 0.25)
    ]
    done = [
        factory.recording(LEVELS, n, found=run, workload=SCAN, load=factory.loaded(rows=77))
        for n, run in enumerate(runs, start=1)
    ]
    found = reads(Row(LEVELS, done, [], []))
    assert found == reads.Reads(rows=77, mb_per_s=80.0, seconds=2.5)


def test_only_scans_have_reads() -> None:
    done = [factory.recording(found=factory.result())]
    assert reads(Row(done[0].levels, done, [], [])) is None
    assert reads(Row(LEVELS, [], [], [])) is None
