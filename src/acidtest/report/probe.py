"""What a probe found: the verdict and its evidence, the layers, the ways of writing, and what more writers gain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from acidtest.analysis.latency import SHOWN, Percentile, merge, percentiles
from acidtest.analysis.summary import Summary, median, ratio, summarise
from acidtest.analysis.yardsticks import contradiction, likeness
from acidtest.doubts.flushes import Judgement, Verdict, judge_recording, label, median_us
from acidtest.journal.probe import DURABLE, Layer, ProbeRecording
from acidtest.journal.protocol import ProbePattern, ProbeStep
from acidtest.report.numbers import interval, number, summary_json
from acidtest.report.table import Cell, Column, Table, print_table

TONES = {"flushes": "survived", "does not flush": "lost", "cannot tell": "unknown"}
STYLES: Mapping[Verdict, str] = {"flushes": "green", "does not flush": "bold red", "cannot tell": "yellow"}
PATTERNS = {"overwrite": "preallocated blocks overwritten", "append": "a file that grows"}
NO_PROMISE = "no flush"  # what stands in place of a verdict where none is sent


@dataclass(frozen=True)
class Line:
    """One way of writing."""

    step: ProbeStep
    rate: Summary  # blocks a second
    percentiles: tuple[Percentile, ...]  # of analysis.latency.SHOWN, then the maximum; of all repetitions
    flush_us: float | None  # the flush alone; median of the repetitions' medians, None where it is part of the write
    times_plain: Summary | None  # of a plain write's latency; None without one
    outcome: str  # verdict; or no flush, where it sends none; or why it could not be measured
    refused: str | None

    @property
    def name(self) -> str:
        return label(self.step.method)


@dataclass(frozen=True)
class Report:
    recording: ProbeRecording
    judgement: Judgement
    lines: tuple[Line, ...]

    @property
    def flush_us(self) -> float | None:
        """The time of one flush alone, by fdatasync after an overwrite; None where it was not measured."""
        steps = {(line.step.method, line.step.pattern, line.step.writers): line.flush_us for line in self.lines}
        return steps.get(("fdatasync", "overwrite", 1))

    def as_json(self) -> dict[str, Any]:
        """For programs; latencies in microseconds."""
        recording = self.recording
        return {
            "path": recording.path,
            "verdict": self.judgement.verdict,
            "evidence": [asdict(one) for one in self.judgement.evidence],
            "methods": dict(self.judgement.methods),
            "layers": [layer.model_dump() for layer in recording.layers],
            "virtualization": recording.machine.virtualization,
            "repetitions": recording.repetitions,
            "rows": [_json(line) for line in self.lines],
        }


def report(recording: ProbeRecording) -> Report:
    judgement = judge_recording(recording)
    plain = {
        (row.pattern, row.block_bytes): [median_us(one) for one in recording.of(number)]
        for number, row in enumerate(recording.rows)
        if row.method == "plain"
    }
    return Report(
        recording, judgement, tuple(_line(recording, n, judgement, plain) for n in range(len(recording.rows)))
    )


def _line(
    recording: ProbeRecording,
    position: int,
    judgement: Judgement,
    floors: Mapping[tuple[ProbePattern, int], list[float]],
) -> Line:
    step, probed = recording.rows[position], recording.of(position)
    latency = merge([one.latency for one in probed])
    flushes = [_median_ns(one.flush.buckets, one.flush.count) / 1000 for one in probed if one.flush.count]
    floor = floors.get((step.pattern, step.block_bytes))
    refused = recording.refusal(position)
    verdict: str = judgement.methods.get(step.method, "cannot tell") if step.method in DURABLE else NO_PROMISE
    return Line(
        step=step,
        rate=summarise([one.writes_per_s for one in probed]),
        percentiles=percentiles(latency),
        flush_us=median(flushes),
        times_plain=ratio([median_us(one) for one in probed], floor) if floor else None,
        outcome=f"refused: {refused}" if refused else verdict,
        refused=refused,
    )


def _median_ns(buckets: Sequence[tuple[int, int]], count: int) -> float:
    counted = 0
    for value, many in buckets:
        counted += many
        if 2 * counted >= count:
            return value
    return 0.0


def print_layers(title: str, layers: Sequence[Layer], console: Console, flush_us: float | None = None) -> None:
    """A title, and beneath it what lies between the program and the drive."""
    console.print()
    console.print(Text(title, style="bold"), soft_wrap=True)
    below = Grid.grid(padding=(0, 0, 0, 2))
    for layer in layers:
        below.add_row(Text(layer_text(layer, flush_us), style="dim"))
    console.print(below)


def print_report(results: Report, console: Console) -> None:
    """The verdict first, then what it rests on."""
    recording, judgement = results.recording, results.judgement
    print_layers(f"Commit path of {recording.path}", recording.layers, console, results.flush_us)
    for pattern, words in PATTERNS.items():
        lines = [line for line in results.lines if (line.step.pattern, line.step.writers) == (pattern, 1)]
        if lines:
            blocks = f"blocks of {lines[0].step.block_bytes:,} bytes, latencies in microseconds"
            table = Table(_columns(), lines, title=f"One writer, {words}", aside=blocks)
            print_table(table, console, "--json has all")
    _print_writers(results, console)
    console.print()
    if results.flush_us:
        console.print(f"A flush takes {number(results.flush_us)} µs: {likeness(results.flush_us)}.", soft_wrap=True)
    console.print(Text("Verdict: ", "bold").append(judgement.verdict, STYLES[judgement.verdict]))
    _print_evidence(judgement, console)
    if judgement.verdict == "flushes":
        console.print("As far as its speed tells; only a power cut proves it.", style="dim")


def _print_evidence(judgement: Judgement, console: Console) -> None:
    """Rule by rule: the figures of each method, then what follows from them."""
    grid = Grid.grid(padding=(0, 2, 0, 0))
    by_rule: dict[tuple[Verdict, str, str], list[str]] = {}
    for one in judgement.evidence:
        by_rule.setdefault((one.verdict, one.rule, one.why), []).append(one.text)
    for (verdict, _, why), texts in by_rule.items():
        grid.add_row(Text(verdict, STYLES[verdict]), Text("\n".join([*texts, why] if why else texts)))
    console.print(grid)


def _columns() -> list[Column]:
    def latency(share: float) -> Column:
        name = "max" if share == 1 else f"p{share * 100:g}"
        drop = {0.9: 4, 0.999: 3, 1.0: 2}.get(share, 0)
        return Column(name, lambda line: _us(next(p for p in line.percentiles if p.share == share)), drop=drop)

    return [
        Column("method", lambda line: line.name, right=False),
        Column("blocks/s", lambda line: number(line.rate.median)),
        Column("95 %", lambda line: interval(line.rate), drop=5),
        *(latency(share) for share in (*SHOWN, 1.0)),
        Column("× plain", lambda line: number(line.times_plain.median if line.times_plain else None), drop=1),
        Column("verdict", lambda line: Cell(line.outcome, TONES.get(line.outcome, "soft")), right=False),
    ]


def _us(one: Percentile) -> str:
    return number(None if one.value_ms is None else one.value_ms * 1000)


def _print_writers(results: Report, console: Console) -> None:
    """Blocks a second by number of writers."""
    widths = sorted({line.step.writers for line in results.lines})
    if len(widths) < 2:
        return
    by: dict[tuple[str, str], dict[int, Line]] = {}
    for line in results.lines:
        if line.step.method in DURABLE:
            by.setdefault((line.step.pattern, line.name), {})[line.step.writers] = line
    together = "all on one file" if any(line.step.one_file for line in results.lines) else "each on a file of its own"

    def column(width: int) -> Column:
        return Column(f"{width}", lambda row: number(row[1][width].rate.median) if width in row[1] else "–")

    columns = [
        Column("writers", lambda row: f"{row[0][1]}, {row[0][0]}", right=False),
        *(column(width) for width in widths),
    ]
    table = Table(columns, list(by.items()), title="Durable blocks a second by writers", aside=together)
    print_table(table, console, "--json has all")


def layer_text(layer: Layer, flush_us: float | None = None) -> str:
    """One layer in a line, held against the time of a flush where that was measured."""
    if layer.kind == "file system":
        return f"{layer.name} ({layer.about})"
    if layer.kind == "partition":
        return layer.name
    disk = " ".join(filter(None, (layer.about or "disk", f"({layer.driver})" if layer.driver else "")))
    what = {"loop": f"loop over {layer.about}", "mapped": f"mapped device {layer.about}", "array": layer.about}
    words = [
        what.get(layer.kind, disk),
        {"yes": "reported as rotating", "no": "not rotating"}.get(layer.rotational, "rotating or not is unknown"),
        f"write cache {layer.write_cache}",
        {"yes": "FUA", "no": "no FUA"}.get(layer.fua, "FUA unknown"),
        f"scheduler {layer.scheduler}",
    ]
    contradicts = contradiction(layer.rotational, flush_us) if flush_us and layer.kind == "disk" else ""
    return f"{layer.name}: {', '.join(words)}" + (f"; {contradicts}" if contradicts else "")


def _json(line: Line) -> dict[str, Any]:
    return {
        **line.step.model_dump(exclude={"extent"}),
        "blocks_per_s": line.rate and summary_json(line.rate),
        "latency_us": {p.name: None if p.value_ms is None else p.value_ms * 1000 for p in line.percentiles},
        "flush_us": line.flush_us,
        "times_plain": line.times_plain and summary_json(line.times_plain),
        "verdict": line.outcome if line.step.method in DURABLE and not line.refused else None,
        "refused": line.refused,
    }
