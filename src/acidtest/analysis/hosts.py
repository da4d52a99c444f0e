"""The hosts of a run: what they are, and how much of the spread of rates is theirs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from acidtest.analysis.samples import Row
from acidtest.journal.models import HOST, HostRecord, Journal

SIGNIFICANT = 0.01  # a pool is doubted below this: every pool is asked, and most are alike


@dataclass(frozen=True)
class Host:
    """One host, beside the others."""

    name: str
    record: HostRecord | None  # None where the journal has lost it
    cells: int  # that are done
    relative: float | None  # its rates over the geometric mean of all hosts, combinations alike; None without others


@dataclass(frozen=True)
class Hosts:
    """All of them. Rates are compared as logarithms, so that spreads are relative.

    Source: Searle, Casella and McCulloch, Variance Components (1992), chapter 5: Henderson's method III for
    combinations as fixed and hosts as random effects, of unbalanced data.
    """

    hosts: tuple[Host, ...]
    pooled: bool  # they were taken as alike; otherwise host is a factor
    together: bool  # they drove each cell together
    combinations: int  # measured on more than one host
    between_percent: float | None  # standard deviation of rates between hosts; None where it cannot be told
    within_percent: float | None  # and between repetitions on one host
    p: float | None  # that hosts which are alike differ as much, by the F test

    @property
    def differ(self) -> bool:
        """Whether the hosts of a pool are not alike."""
        return self.pooled and self.p is not None and self.p < SIGNIFICANT


def hosts(journal: Journal, rows: Sequence[Row]) -> Hosts | None:
    """Of a run over a fleet; None of any other."""
    done = [recording for row in rows for recording in row.done]
    names = sorted({recording.host for recording in done if recording.host} | {host.name for host in journal.hosts})
    if not names:
        return None
    pooled = HOST not in journal.header.factors
    samples = [
        (_combination(row), recording.host, math.log(recording.result.goodput_per_s))
        for row in rows
        for recording in row.done
        if recording.host and recording.result and recording.result.goodput_per_s > 0
    ]
    shared = {key for key in {sample[0] for sample in samples} if len({of[1] for of in samples if of[0] == key}) > 1}
    compared = [sample for sample in samples if sample[0] in shared]
    records = {host.name: host for host in journal.hosts}
    effects, between, within, p = _components(compared)
    return Hosts(
        hosts=tuple(
            Host(
                name,
                records.get(name),
                sum(name in {recording.host, *(part.host for part in recording.generators)} for recording in done),
                effects.get(name),
            )
            for name in names
        ),
        pooled=pooled,
        together=any(recording.generators for recording in done),
        combinations=len(shared),
        between_percent=between,
        within_percent=within,
        p=p,
    )


def _combination(row: Row) -> tuple[str, ...]:
    return tuple(level for factor, level in row.levels.items() if factor != HOST)


def _components(
    samples: Sequence[tuple[tuple[str, ...], str, float]],
) -> tuple[dict[str, float], float | None, float | None, float | None]:
    """Of each host its relative rate; the two deviations in percent; and p."""
    names, keys = sorted({sample[1] for sample in samples}), sorted({sample[0] for sample in samples})
    if len(names) < 2:
        return {}, None, None, None
    values = np.array([sample[2] for sample in samples])
    rows = np.array([[float(sample[0] == key) for key in keys] for sample in samples])
    of_host = np.array([[float(sample[1] == name) for name in names] for sample in samples])
    # What is left of hosts and of rates when each combination's mean is taken away.
    projected = of_host - rows @ np.linalg.lstsq(rows, of_host, rcond=None)[0]
    left = values - rows @ np.linalg.lstsq(rows, values, rcond=None)[0]
    solved = np.linalg.lstsq(projected, left, rcond=None)[0]
    effects = {name: float(math.exp(one)) for name, one in zip(names, solved - solved.mean(), strict=True)}
    degrees = int(np.linalg.matrix_rank(projected))
    free = len(samples) - len(keys) - degrees
    explained = float(np.sum((projected @ solved) ** 2))
    rest = float(np.sum(left**2)) - explained
    if free < 1 or degrees < 1 or rest <= 0:
        return effects, None, None, None
    noise = rest / free
    between = max(0.0, (explained - degrees * noise) / float(np.sum(projected * of_host)))
    p = float(scipy.stats.f.sf(explained / degrees / noise, degrees, free))
    return effects, 100 * math.sqrt(between), 100 * math.sqrt(noise), p
