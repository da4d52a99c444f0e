"""What of the spread of rates is the hosts': planted differences are found, and alike hosts are not doubted."""

from __future__ import annotations

import math

import numpy as np
import pytest

import factory
from acidtest.analysis import hosts, samples
from acidtest.analysis.hosts import SIGNIFICANT, Hosts
from acidtest.doubts import judge
from acidtest.journal.models import HOST

COMBINATIONS, REPETITIONS = ("os", "drive", "none"), 6


def measured(seed: int, *, of_host: float, noise: float = 0.05, count: int = 3, factor: bool = False) -> Hosts:
    """Hosts whose rates vary by ``of_host``, over repetitions spread by chance; all as standard deviations."""
    rng = np.random.default_rng(seed)
    effects = rng.normal(0, of_host, count)
    recordings = []
    for rank, durability in enumerate(COMBINATIONS):
        for repetition in range(1, REPETITIONS + 1):
            number = int(rng.integers(count))
            rate = math.exp(rank + effects[number] + rng.normal(0, noise)) * 100
            levels = {"workload": "tpcb", "engine": "sqlite", "durability": durability}
            if factor:
                levels[HOST] = f"h{number}"
            one = factory.recording(levels, repetition, found=factory.result(rate=rate), durability=durability)
            recordings.append(one.model_copy(update={"host": f"h{number}", "cell": f"{one.cell}{len(recordings)}"}))
    names = {"durability": [{"name": name, "set": {}} for name in COMBINATIONS]}
    journal = factory.journal(recordings, factors=names)
    if factor:
        journal.header.factors[HOST] = [f"h{number}" for number in range(count)]
    found = hosts.hosts(journal, samples.rows(journal.header, journal.recordings))
    assert found is not None
    return found


@pytest.mark.slow
def test_alike_hosts_are_doubted_no_more_often_than_said() -> None:
    doubted = sum(measured(seed, of_host=0.0).differ for seed in range(150))
    assert doubted <= 8  # of 150 at 1 %: 9 or more have a chance of 0.003 %


@pytest.mark.slow
def test_hosts_that_differ_are_found_with_how_much() -> None:
    found = [measured(seed, of_host=0.2, noise=0.02, count=6) for seed in range(30)]
    assert sum(one.differ for one in found) >= 28
    between = np.mean([(one.between_percent or 0) ** 2 for one in found]) ** 0.5
    within = np.mean([(one.within_percent or 0) ** 2 for one in found]) ** 0.5
    assert between == pytest.approx(20, rel=0.3)
    assert within == pytest.approx(2, rel=0.1)


def test_the_finding_is_of_a_pool_alone() -> None:
    pool, compared = (measured(3, of_host=0.3, factor=factor) for factor in (False, True))
    (finding,) = judge.of(pool)
    assert finding.rule.name == "hosts-differ"
    assert "between hosts" in finding.text
    assert compared.p is not None and compared.p < SIGNIFICANT
    assert judge.of(compared) == []


def test_one_host_tells_nothing_of_others() -> None:
    alone = measured(1, of_host=0.0, count=1)
    assert (alone.between_percent, alone.p, alone.differ) == (None, None, False)
    assert [host.relative for host in alone.hosts] == [None]


def test_a_run_without_a_fleet_has_no_hosts() -> None:
    levels = {"workload": "tpcb", "engine": "sqlite", "durability": "os"}
    journal = factory.journal([factory.recording(levels, 1, found=factory.result(rate=10.0))])
    assert hosts.hosts(journal, samples.rows(journal.header, journal.recordings)) is None
