"""Rows of a full cross of factors, each level with its own part in the rate: what a run of ours would have found."""

from __future__ import annotations

import itertools
import math

import numpy as np

import factory
from acidtest.analysis.samples import Row

SOUND = factory.result(rate=100.0)


def row(levels: dict[str, str], rates: list[float]) -> Row:
    levels = {"workload": "tpcb", "engine": "sqlite", "durability": "drive"} | levels
    runs = [SOUND.model_copy(update={"goodput_per_s": rate}) for rate in rates]
    return Row(levels, [factory.recording(levels, n, found=run) for n, run in enumerate(runs, start=1)], [], [])


def crossed(effects_of: dict[str, list[float]], repetitions: int, noise: float = 0.01, seed: int = 1) -> list[Row]:
    """A full cross of factors, each level with its factor of the rate."""
    rng = np.random.default_rng(seed)
    rows = []
    for chosen in itertools.product(*(range(len(levels)) for levels in effects_of.values())):
        named = dict(zip(effects_of, chosen, strict=True))
        rate = 100 * math.prod(effects_of[factor][level] for factor, level in named.items())
        samples = (rate * np.exp(rng.normal(0, noise, repetitions))).tolist()
        rows.append(row({factor: f"{factor}{level}" for factor, level in named.items()}, samples))
    return rows
