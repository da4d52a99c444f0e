"""What a disk test found: reads and writes past the file cache and through it, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console

from acidtest.analysis.latency import merge, percentile
from acidtest.analysis.summary import Summary, ratio, summarise
from acidtest.journal.probe import ProbeRecording
from acidtest.journal.protocol import Probed, ProbeStep
from acidtest.report.numbers import interval, number, summary_json
from acidtest.report.probe import print_layers
from acidtest.report.table import Column, Table, print_table

EXPLAINED = (
    "Past the cache: O_DIRECT, each request goes to the storage. Through it: ordinary reads of a file that had just "
    "been read, and ordinary writes that nobody flushes. Where the latter is a multiple, a test through the cache "
    "tells of memory, not of the drive. A queue of n is n threads with one request each. The names are those of "
    "CrystalDiskMark's table."
)


@dataclass(frozen=True)
class Access:
    """One way to read or write, past the file cache and through it. Rates are MB (10^6 bytes) a second."""

    step: ProbeStep  # past the cache
    past: Summary
    through: Summary
    absorbed: Summary | None  # through over past; None where the file system has no O_DIRECT
    past_us_p50: float | None
    past_us_p99: float | None
    refused: str | None  # why it could not be measured past the cache

    @property
    def name(self) -> str:
        """As CrystalDiskMark calls it, and what is done."""
        kind = "RND" if self.step.pattern.endswith("random") else "SEQ"
        size = (
            f"{self.step.block_bytes >> 20}M" if self.step.block_bytes >= 1 << 20 else f"{self.step.block_bytes >> 10}K"
        )
        return f"{kind}{size} Q{self.step.writers} {'read' if self.step.pattern.startswith('read') else 'write'}"


def accesses(recording: ProbeRecording) -> list[Access]:
    through = {_same(row): number_ for number_, row in enumerate(recording.rows) if row.method == "plain"}
    found = []
    for position, row in enumerate(recording.rows):
        if row.method != "direct":
            continue
        past, cached = recording.of(position), recording.of(through[_same(row)])
        latency = merge([one.latency for one in past])
        quantiles = [percentile(latency, share).value_ms for share in (0.5, 0.99)]
        p50, p99 = (None if ms is None else ms * 1000 for ms in quantiles)
        mine, theirs = _rates(row, past), _rates(row, cached)
        absorbed = ratio(theirs, mine) if past and cached else None
        found.append(Access(row, summarise(mine), summarise(theirs), absorbed, p50, p99, recording.refusal(position)))
    return found


def _same(row: ProbeStep) -> tuple[object, ...]:
    return row.pattern, row.block_bytes, row.writers


def _rates(row: ProbeStep, probed: Sequence[Probed]) -> list[float]:
    return [one.writes_per_s * row.block_bytes / 1e6 for one in probed]


def print_disk_test(recording: ProbeRecording, console: Console) -> None:
    print_layers(f"Disk test of {recording.path}", recording.layers, console)
    console.print()
    columns = [
        Column("", lambda one: one.name, right=False),
        Column("past the cache MB/s", lambda one: one.refused or number(one.past.median)),
        Column("95 %", lambda one: interval(one.past), drop=4),
        Column("through it MB/s", lambda one: number(one.through.median)),
        Column("95 %", lambda one: interval(one.through), drop=5),
        Column("through / past", lambda one: f"{number(one.absorbed.median)} ×" if one.absorbed else "–"),
        Column("past p50 µs", lambda one: number(one.past_us_p50), drop=2),
        Column("past p99 µs", lambda one: number(one.past_us_p99), drop=3),
    ]
    print_table(Table(columns, accesses(recording)), console, "--json has all")
    console.print(f"\n{EXPLAINED}", style="dim", markup=False)


def as_json(recording: ProbeRecording) -> dict[str, Any]:
    return {
        "path": recording.path,
        "layers": [layer.model_dump() for layer in recording.layers],
        "virtualization": recording.machine.virtualization,
        "repetitions": recording.repetitions,
        "accesses": [
            {
                "name": access.name,
                "pattern": access.step.pattern,
                "block_bytes": access.step.block_bytes,
                "queue": access.step.writers,
                "past_mb_per_s": summary_json(access.past),
                "through_mb_per_s": summary_json(access.through),
                "through_over_past": summary_json(access.absorbed) if access.absorbed else None,
                "past_us": {"p50": access.past_us_p50, "p99": access.past_us_p99},
                "refused": access.refused,
            }
            for access in accesses(recording)
        ],
    }
