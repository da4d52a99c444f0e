"""The steps of a probe and their order. Pure."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from acidtest.journal.probe import DURABLE
from acidtest.journal.protocol import Duration, FlushMethod, ProbePattern, ProbeStep

FLOORS: tuple[FlushMethod, ...] = ("plain", "sync_file_range", "direct")  # without a flush: what the others are read by
SHORTEST_S = 0.02


@dataclass(frozen=True)
class ProbePlan:
    """Rows, each measured ``repetitions`` times; ``order`` holds ``(row, repetition)`` as they are run."""

    rows: tuple[ProbeStep, ...]
    order: tuple[tuple[int, int], ...]
    repetitions: int
    seed: int
    step_s: float  # how long each is planned to last


def plan_probe(
    *,
    seconds: float,
    repetitions: int,
    writers: Sequence[int],
    block_bytes: int,
    one_file: bool,
    on_device: bool,
    seed: int,
) -> ProbePlan:
    """Every way of writing with one writer, the durable ones also with more, within about ``seconds`` in all.

    A device has no end to append to. Repetitions are interleaved and each is shuffled, so that whatever else the drive
    does falls on all rows alike.
    """
    patterns: tuple[ProbePattern, ...] = ("overwrite",) if on_device else ("overwrite", "append")
    kinds = [
        (method, pattern, width)
        for width in dict.fromkeys((1, *sorted(writers)))
        for pattern in patterns
        for method in (*FLOORS, *DURABLE)
        if width == 1 or method in DURABLE
    ]
    extent = Duration(seconds=max(SHORTEST_S, seconds / (len(kinds) * repetitions)))
    rows = tuple(
        ProbeStep(
            method=method,
            pattern=pattern,
            block_bytes=block_bytes,
            writers=width,
            one_file=one_file and width > 1,
            extent=extent,
        )
        for method, pattern, width in kinds
    )
    return _plan(rows, repetitions, seed, extent.seconds)


def _plan(rows: tuple[ProbeStep, ...], repetitions: int, seed: int, step_s: float) -> ProbePlan:
    rng = random.Random(seed)
    order: list[tuple[int, int]] = []
    for repetition in range(1, repetitions + 1):
        shuffled = list(range(len(rows)))
        rng.shuffle(shuffled)
        order += [(row, repetition) for row in shuffled]
    return ProbePlan(rows, tuple(order), repetitions, seed, step_s)


# CrystalDiskMark's default table: bytes of a request, and how many are under way.
SEQUENTIAL, RANDOM = ((1 << 20, 8), (1 << 20, 1)), ((4096, 32), (4096, 1))


def plan_disk_test(*, seconds: float, repetitions: int, seed: int) -> ProbePlan:
    """Reads and writes, sequential and random, each past the file cache and through it, within about ``seconds``.

    Order as in ``plan_probe``.
    """
    sequential: tuple[ProbePattern, ...] = ("read", "overwrite")
    at_random: tuple[ProbePattern, ...] = ("read_random", "overwrite_random")
    methods: tuple[FlushMethod, ...] = ("direct", "plain")
    kinds = [
        (method, pattern, block_bytes, queue)
        for patterns, sizes in ((sequential, SEQUENTIAL), (at_random, RANDOM))
        for block_bytes, queue in sizes
        for pattern in patterns
        for method in methods
    ]
    extent = Duration(seconds=max(SHORTEST_S, seconds / (len(kinds) * repetitions)))
    rows = tuple(
        ProbeStep(method=method, pattern=pattern, block_bytes=block, writers=queue, one_file=True, extent=extent)
        for method, pattern, block, queue in kinds
    )
    return _plan(rows, repetitions, seed, extent.seconds)
