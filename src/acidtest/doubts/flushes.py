"""The plausibility rule: whether a flush reaches the medium, as far as the layers beneath and their speed can tell.

It finds storage that does not flush. That storage flushes it can only make plausible: only a power cut proves it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from acidtest.analysis.summary import Interval, Summary, ratio, summarise
from acidtest.drives import AS_PLAIN, FASTEST_US, FASTEST_WITH_CACHE_US, TOLERANCE, TURNS_PER_S_COMMON, TURNS_PER_S_MOST
from acidtest.filesystems import FILESYSTEMS, IN_MEMORY, WITHOUT_FLUSHES
from acidtest.journal.probe import DURABLE, Layer, ProbeRecording
from acidtest.journal.protocol import FlushMethod, Probed

Verdict = Literal["flushes", "does not flush", "cannot tell"]

EMPTY_COMMANDS = 3.0

SYNCHRONOUS_OPTIONS = ("sync", "dirsync")
MEMORY_DRIVERS = ("zram", "ram", "brd")
PERSISTENT_MEMORY = "pmem"
SIMULATED_DRIVER = "loop"  # of a disk whose behaviour is ours
VIRTUAL_WORDS = (
    "virtio", "qemu", "vmware", "vmw_", "vbox", "virtual", "msft", "storvsc", "xen", "vbd", "amazon", "persistentdisk",
)  # fmt: skip
# With which unflushed way a durable one is compared: the same path to the drive, and no flush at its end.
FLOOR: Mapping[FlushMethod, FlushMethod] = {
    "fsync": "sync_file_range",
    "fdatasync": "sync_file_range",
    "dsync": "sync_file_range",
    "direct_dsync": "direct",
}


@dataclass(frozen=True)
class Timing:
    """One way of overwriting blocks with one writer; one figure a repetition."""

    writes_per_s: Sequence[float]  # not counting the first, which may find the disk anywhere in its turn
    latency_us: Sequence[float]  # medians


@dataclass(frozen=True)
class Evidence:
    """One rule that speaks. ``method`` is None where it speaks of the layers; then ``text`` says all.

    Of a method ``text`` holds the figures and ``why`` what follows from them, in the same words for every method.
    """

    rule: str
    verdict: Verdict
    text: str
    method: FlushMethod | None = None
    why: str = ""


@dataclass(frozen=True)
class Judgement:
    verdict: Verdict
    evidence: tuple[Evidence, ...]
    methods: Mapping[FlushMethod, Verdict]  # of those that were measured


def judge_recording(recording: ProbeRecording) -> Judgement:
    timings: dict[FlushMethod, Timing] = {}
    for number, row in enumerate(recording.rows):
        if (row.pattern, row.writers) == ("overwrite", 1) and (probed := recording.of(number)):
            rates = [(one.writes - 1) / one.measured_s if one.writes > 1 else 0.0 for one in probed]
            timings[row.method] = Timing(rates, [median_us(one) for one in probed])
    return judge(recording.layers, recording.machine.virtualization, timings)


def median_us(probed: Probed) -> float:
    """Median latency of one step, microseconds; 0 of one without a write."""
    counted = 0
    for value, count in probed.latency.buckets:
        counted += count
        if 2 * counted >= probed.latency.count:
            return value / 1000
    return 0.0


def judge(layers: Sequence[Layer], virtualization: str, timings: Mapping[FlushMethod, Timing]) -> Judgement:
    """The verdict on the layers (from the top) and on what was timed above them.

    What the layers say (Linux, Documentation/block/writeback_cache_control.rst): a flush is sent only to a queue that
    is "write back"; a file system mounted without barriers sends none; memory has nothing to flush to; what lies
    beneath a network, a process or an overlay cannot be seen.

    What the time of a durable write says. Each needs the interval of five repetitions:

    - ``too-fast``: under 5 microseconds nothing has left this machine's memory: the fastest drive of its time, an
      Optane P4800X, took 9 to read 4 KiB with one request at a time (AnandTech, "Intel Optane SSD DC P4800X review",
      2017). Under 20 nothing has left a cache that the drive itself calls volatile: programming a page of flash takes
      hundreds (Grupp, Davis and Swanson, "The bleak future of NAND flash memory", FAST 2012). Persistent memory is
      left out.
    - ``costs-nothing``: no more than 1.5 times a plain write into the file cache. The call itself costs something.
    - ``faster-than-it-turns``: a block that follows the last one has just passed under the head when the last one is
      acknowledged, so one writer gets one durable write a turn: 120 a second at 7,200 a minute, 250 at 15,000, without
      a battery-backed cache (Smith, PostgreSQL 9.0 High Performance, 2010, "Performance impact of write-through
      caching"). Above 250 a disk with a volatile cache does not flush; one that reports none may have a battery. Other
      work makes a disk slower, never faster, so that here half the repetitions are enough. A virtual disk's word that
      it rotates counts for nothing.
    - ``flush-takes-time``: more than three times the same write without a flush. An empty flush is a command as the
      write is one, and at most two go with an overwrite in place. On file systems that write elsewhere, and with two
      file systems on top of each other, there are more commands, and this rule is silent.

    Nothing else is claimed: a flush that costs about as much as an empty command may be an empty one, or that of a
    cache with capacitors.
    """
    of_layers = tuple(_of_layers(layers, virtualization))
    methods = {method: tuple(_of_method(method, layers, virtualization, timings)) for method in DURABLE}
    methods = {method: of_method for method, of_method in methods.items() if of_method}
    evidence = (*of_layers, *itertools.chain.from_iterable(methods.values()))
    verdicts = {method: _joined([*of_layers, *of_method]) for method, of_method in methods.items()}
    worst = _joined(of_layers) if of_layers else "flushes"
    return Judgement(_worst([worst, *(verdicts.values() or ["cannot tell"])]), evidence, verdicts)


def _joined(evidence: Sequence[Evidence]) -> Verdict:
    """Of evidence on one thing: what is wrong outweighs what is not known, and that what looks right."""
    return _worst([one.verdict for one in evidence])


def _worst(verdicts: Sequence[Verdict]) -> Verdict:
    order: tuple[Verdict, ...] = ("does not flush", "cannot tell", "flushes")
    return min(verdicts, key=order.index)


def _of_layers(layers: Sequence[Layer], virtualization: str) -> Iterator[Evidence]:
    if not layers:
        yield Evidence("not-seen", "cannot tell", "What storage this is could not be read.")
        return
    for position, layer in enumerate(layers):
        below = _volatile(layers[position + 1 :])
        if layer.kind == "file system":
            yield from _of_filesystem(layer, below, last=position == len(layers) - 1)
        elif layer.driver in MEMORY_DRIVERS:
            yield Evidence(
                "in-memory", "does not flush", f"{layer.name} is memory: a power cut takes all that is on it."
            )
        elif layer.write_cache == "write through":
            yield _write_through(layer, below)
        elif layer.write_cache == "unknown":
            text = f"What write cache {layer.name} has could not be read: whether it is sent flushes is not known."
            yield Evidence("write-cache-unknown", "cannot tell", text)


def _of_filesystem(layer: Layer, below: Sequence[Layer], *, last: bool) -> Iterator[Evidence]:
    options = layer.about.split(",")
    if layer.name in IN_MEMORY:
        yield Evidence("in-memory", "does not flush", f"{layer.name} is memory: a power cut takes all that is on it.")
        return
    if without := next((option for option in options if option in WITHOUT_FLUSHES), None):
        if below or last:
            text = f"{layer.name} is mounted with {without}: it sends the drive no flush."
            yield Evidence("no-barrier", "does not flush", text)
        else:
            text = (
                f"{layer.name} is mounted with {without} and sends the drive no flush; the drive reports no volatile "
                "cache, and its word is all there is."
            )
            yield Evidence("no-barrier", "cannot tell", text)
    if last:
        text = f"What lies beneath {layer.name} cannot be seen from here, nor whether a flush gets there."
        yield Evidence("not-seen", "cannot tell", text)


def _write_through(layer: Layer, below: Sequence[Layer]) -> Evidence:
    if below:
        text = (
            f"{layer.name} is set to write through, so that no flush passes it; {below[0].name} beneath has a volatile "
            "write cache."
        )
        return Evidence("flush-stops", "does not flush", text)
    text = (
        f"{layer.name} reports no volatile write cache (write through), so the kernel sends it no flush: what is "
        "written is as safe as that report is true. Drives with capacitors and controllers with a battery say so too."
    )
    return Evidence("write-through", "cannot tell", text)


def _volatile(layers: Sequence[Layer]) -> list[Layer]:
    """Those that themselves say that a power cut takes what is in their cache."""
    return [layer for layer in layers if layer.write_cache == "write back"]


def _bottoms(layers: Sequence[Layer]) -> list[Layer]:
    """The devices on which nothing else of this machine lies: disks, and loops whose file is on something unseen."""
    disks = [layer for layer in layers if layer.kind == "disk"]
    return disks or [layer for layer in layers if layer.kind == "loop"][-1:]


def _virtual(layer: Layer, virtualization: str) -> bool:
    if layer.kind != "disk" or layer.driver == SIMULATED_DRIVER:
        return False
    words = f"{layer.driver} {layer.about}".lower()
    return virtualization != "none" or any(word in words for word in VIRTUAL_WORDS)


def _of_method(
    method: FlushMethod, layers: Sequence[Layer], virtualization: str, timings: Mapping[FlushMethod, Timing]
) -> Iterator[Evidence]:
    """One piece of evidence, or two where a disk also turns; none where the method was not measured."""
    if method not in timings:
        return
    timing = timings[method]
    took = summarise(timing.latency_us)
    plain, unflushed = (
        ratio(timing.latency_us, timings[floor].latency_us) if floor in timings else None
        for floor in ("plain", FLOOR[method])
    )
    latency = f"{label(method)}: {figure(took.median)} µs {_between(took.interval)}"
    if took.interval is None:
        yield Evidence("too-few-repetitions", "cannot tell", latency, method, f"A verdict {took.reason}.")
        return
    turning = list(_of_turning(method, layers, virtualization, timing))
    yield from turning
    volatile = bool(_volatile(_bottoms(layers)))
    limit = FASTEST_WITH_CACHE_US if volatile else FASTEST_US
    if took.interval.high < limit and not any(PERSISTENT_MEMORY in layer.name for layer in layers):
        cache = " from a cache that the drive calls volatile" if volatile else ""
        why = f"Nothing reaches a medium{cache} in less than {limit:.0f} µs."
        yield Evidence("too-fast", "does not flush", latency, method, why)
    elif plain and _costs_nothing(layers, plain):
        text = f"{latency}, {_times(plain)} a plain write"
        yield Evidence("costs-nothing", "does not flush", text, method, "The flush costs nothing.")
    elif unflushed is None or unflushed.interval is None:
        why = f"There is no write without a flush to read it by: {label(FLOOR[method])} was refused."
        yield Evidence("no-floor", "cannot tell", latency, method, why)
    elif unflushed.interval.low > EMPTY_COMMANDS and _one_flush_a_write(layers):
        text = f"{latency}, {_times(unflushed)} {label(FLOOR[method])}"
        why = "A durable write takes clearly longer than the same one that is sent no flush."
        yield Evidence("flush-takes-time", "flushes", text, method, why)
    elif not any(one.verdict == "does not flush" for one in turning):
        text = f"{latency}, {_times(unflushed)} {label(FLOOR[method])}"
        if unflushed.interval.low > EMPTY_COMMANDS:
            why = "More than the block and its flush may be behind that: it says nothing of the flush."
        elif took.interval.high < 1e6 / TURNS_PER_S_MOST:
            why = (
                "Too fast for a disk, not too fast for an SSD with power-loss protection: "
                "its data sheet or a pulled plug decides."
            )
        else:
            why = "The flush takes hardly longer than an empty command does: only a pulled plug decides."
        yield Evidence("not-told-apart", "cannot tell", text, method, why)


def _costs_nothing(layers: Sequence[Layer], plain: Summary) -> bool:
    """Where a plain write is durable itself, or what is beneath may make it so, it is no floor."""
    filesystems = [layer for layer in layers if layer.kind == "file system"]
    synchronous = any(
        option in SYNCHRONOUS_OPTIONS for filesystem in filesystems for option in filesystem.about.split(",")
    )
    unseen = not layers or (layers[-1].kind == "file system" and layers[-1].name not in IN_MEMORY)
    if plain.interval is None or synchronous or unseen:
        return False
    return plain.interval.high <= AS_PLAIN


def _one_flush_a_write(layers: Sequence[Layer]) -> bool:
    filesystems = [layer for layer in layers if layer.kind == "file system"]
    journalled = any("data=journal" in layer.about.split(",") for layer in filesystems)
    in_place = all(layer.name in FILESYSTEMS and FILESYSTEMS[layer.name].in_place for layer in filesystems)
    return len(filesystems) <= 1 and in_place and not journalled


def _of_turning(
    method: FlushMethod, layers: Sequence[Layer], virtualization: str, timing: Timing
) -> Iterator[Evidence]:
    bottoms = _bottoms(layers)
    rotating = [bottom for bottom in bottoms if bottom.rotational == "yes" and not _virtual(bottom, virtualization)]
    rate = summarise(timing.writes_per_s)
    if not rotating or len(rotating) < len(bottoms) or rate.interval is None:
        return
    disks, per_s = len(rotating), rate.median or 0.0
    common, most = TURNS_PER_S_COMMON * disks, TURNS_PER_S_MOST * disks
    text = f"{label(method)}: {figure(per_s)} {_between(rate.interval)} durable writes a second by one writer"
    why = f"The fastest disks turn {most:.0f} times a second, and one writer gets one write a turn."
    if per_s > most * TOLERANCE and _volatile(rotating):
        yield Evidence("faster-than-it-turns", "does not flush", text, method, why)
    elif per_s > most * TOLERANCE:
        why += " The cache that takes them has a battery, or loses them."
        yield Evidence("faster-than-it-turns", "cannot tell", text, method, why)
    elif per_s > common * TOLERANCE:
        why = f"At 7,200 a minute a disk turns {common:.0f} times a second, at 15,000 {most:.0f}; it does not say."
        yield Evidence("faster-than-it-turns", "cannot tell", text, method, why)


def label(method: FlushMethod) -> str:
    return {
        "plain": "write",
        "sync_file_range": "sync_file_range",
        "direct": "O_DIRECT",
        "dsync": "O_DSYNC",
        "direct_dsync": "O_DIRECT|O_DSYNC",
    }.get(method, method)


def figure(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{float(f'{value:.3g}'):,.0f}" if value >= 100 else f"{value:#.3g}".rstrip(".")


def _between(interval: Interval | None) -> str:
    return "" if interval is None else f"({figure(interval.low)} – {figure(interval.high)})"


def _times(summary: Summary) -> str:
    return " ".join((figure(summary.median), _between(summary.interval), "times"))
