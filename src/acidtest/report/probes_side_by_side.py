"""Two probes of other times or machines, side by side, and what else differs between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rich.console import Console

from acidtest.analysis.compare import Judged, judge
from acidtest.analysis.summary import Summary, median, ratio
from acidtest.doubts.flushes import label
from acidtest.journal.diagnosis import Diagnosis
from acidtest.journal.probe import DURABLE, ProbeRecording
from acidtest.report.numbers import number
from acidtest.report.probe import layer_text
from acidtest.report.side_by_side import differing, print_different, print_pairs
from acidtest.report.table import Column
from acidtest.words import counted


@dataclass(frozen=True)
class Pair:
    """One way of writing in both probes."""

    name: str  # "fdatasync, overwrite, 4,096 bytes, 1 writer"
    a_per_s: float | None
    b_per_s: float | None
    ratio: Summary  # of B to A
    judged: Judged


@dataclass(frozen=True)
class ProbesSideBySide:
    """Probe B read against probe A."""

    pairs: Sequence[Pair]
    different: Sequence[dict[str, str]]  # what, a, b

    def as_json(self) -> dict[str, Any]:
        return {
            "ways": [asdict(pair) | {"ratio": asdict(pair.ratio), **asdict(pair.judged)} for pair in self.pairs],
            "different": list(self.different),
        }

    def show(self, console: Console) -> None:
        columns = [
            Column("way of writing", lambda pair: pair.name, right=False),
            Column("A blocks/s", lambda pair: number(pair.a_per_s)),
            Column("B blocks/s", lambda pair: number(pair.b_per_s)),
        ]
        print_pairs(columns, self.pairs, console)
        print_different(self.different, console)


def probes_side_by_side(
    one: ProbeRecording, two: ProbeRecording, diagnoses: tuple[Diagnosis, Diagnosis] | None = None
) -> ProbesSideBySide:
    """Pair the durable ways of writing of two probes; of two diagnoses it is also told what else they found otherwise.

    Ways that differ in the method alone form one family of Holm's correction: five repetitions bear six of them.
    """
    before, after = _rates(one), _rates(two)
    pairs = []
    for family in dict.fromkeys(family for family, _ in before):
        shared = [way for way in before if way[0] == family and way in after]
        judged = judge([(after[way], before[way]) for way in shared])
        pairs += [
            Pair(
                f"{way[1]}, {family}", median(before[way]), median(after[way]), ratio(after[way], before[way]), verdict
            )
            for way, verdict in zip(shared, judged, strict=True)
        ]
    facts = (_facts(one, diagnoses and diagnoses[0]), _facts(two, diagnoses and diagnoses[1]))
    return ProbesSideBySide(pairs, differing(*facts))


def _rates(recording: ProbeRecording) -> dict[tuple[str, str], list[float]]:
    """Durable blocks a second, one a repetition, by what is written and by which method."""
    rates = {}
    for position, row in enumerate(recording.rows):
        if row.method in DURABLE and (probed := recording.of(position)):
            written = f"{row.pattern}, {row.block_bytes:,} bytes, {counted(row.writers, 'writer')}"
            rates[written, label(row.method)] = [one.writes_per_s for one in probed]
    return rates


def _facts(recording: ProbeRecording, diagnosis: Diagnosis | None) -> dict[str, str]:
    facts = {"path": recording.path, "begun": recording.started_at}
    facts |= {f"machine {name}": str(value) for name, value in recording.machine.model_dump().items()}
    facts |= {f"layer {depth}": layer_text(layer) for depth, layer in enumerate(recording.layers, start=1)}
    if diagnosis is None:
        return facts
    if seen := diagnosis.processor:
        facts["processor, MB/s compressed"] = number(seen.deflate_mb_per_s)
        facts["processor, taken by the host"] = f"{seen.stolen:.1%}"
    if database := diagnosis.database:
        facts["database, bytes"] = f"{database.bytes:,}" if database.bytes is not None else "–"
        facts |= {f"database, {name}": str(value) for name, value in database.facts.items()}
    if audited := diagnosis.audited:
        facts |= {f"setting {setting.name}": setting.value for setting in audited.settings}
    return facts
