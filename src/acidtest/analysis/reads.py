"""Of workloads that read: how fast a whole table was read, and whether a sort of it stayed in memory."""

from __future__ import annotations

import re
from dataclasses import dataclass

from acidtest.analysis.samples import Row
from acidtest.analysis.summary import median
from acidtest.journal.models import Recording
from acidtest.workload import recorded

SORT_MEMORY = ("cache_size_kb", "work_mem_mb", "sort_buffer_mb", "temp_cache_limit_mb")  # one an engine


@dataclass(frozen=True)
class Reads:
    """Medians of the repetitions."""

    rows: int | None  # of the table; None when its load was not recorded
    mb_per_s: float  # of the rows' values, 10^6 bytes, over all terminals
    seconds: float  # of one read, the mean of a repetition's


def of_row(row: Row) -> Reads | None:
    """None of another workload, and of a row without a read."""
    read = recorded(row.done[0].workload) if row.done else None
    read_mb = read.transaction_read_mb() if read else None
    if read_mb is None:
        return None
    done = [
        (recording, recording.result) for recording in row.done if recording.result and recording.result.service.count
    ]
    rates = median([result.goodput_per_s * read_mb for _, result in done])
    seconds = median([result.service.mean_ns / 1e9 for _, result in done])
    if rates is None or seconds is None:
        return None
    loads = [recording.load.rows for recording, _ in done if recording.load]
    return Reads(loads[0] if loads else None, rates, seconds)


def sort_memory_bytes(recording: Recording) -> int | None:
    """What the engine may sort in before it goes to files; None where it was not told."""
    settings = {setting.name: setting.in_force or "" for setting in recording.settings}
    for name in SORT_MEMORY:
        match = re.fullmatch(r"(\d+(?:\.\d+)?)( bytes| pages)?", settings.get(name, ""))
        if match:
            page = settings.get("page_size", "")
            unit = {" bytes": 1, " pages": int(page) if page.isdigit() else 4096}.get(
                match[2], 1 << (10 if name.endswith("_kb") else 20)
            )
            return int(float(match[1]) * unit)
    return None
