"""Thousands of mutations of a trace of Firebird's. A failure prints the seed that finds it again."""

from __future__ import annotations

import random

import pytest

from acidtest.formats import firebird_trace
from acidtest.formats.firebird_trace import Reader
from fuzz import harness
from support import times
from traces import COMMIT, FAILED, FULL, INSERT, SELECT, START

pytestmark = pytest.mark.slow

SEED = 20261123
TRIES = times(500, 2500)


def test_mutations() -> None:
    chance = random.Random(SEED)
    whole = (INSERT + SELECT + COMMIT + START + FAILED + FULL).encode()
    others = [*harness.seeds(), ("trace", whole)]
    for number in range(TRIES):
        raw = harness.mutate(whole, others, chance)
        reader = Reader()
        at = 0
        while at < len(raw):
            length = chance.choice((1, 7, 200, 5000, 65536))
            reader.feed(raw[at : at + length])
            at += length
        reader.close()
        counted = sum(figures.count for figures in reader.statements.values())
        what = f"seed {SEED}, number {number}: {raw!r}"
        assert counted == reader.records - reader.left_out, what
        assert len(reader.statements) <= firebird_trace.STATEMENTS_MAX, what
        # Nothing of it is longer than what came.
        assert sum(len(text) for _, text in reader.statements) <= len(raw), what
