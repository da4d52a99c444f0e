"""Which of an experiment's cuts are made."""

from __future__ import annotations

import pytest

from acidtest.conductor.engines import plan_of
from acidtest.errors import BadInput
from acidtest.experiment import parse
from acidtest.powercut.conductor import chosen

PLAN = plan_of(
    parse(
        """
name = "chosen"
repetitions = 2
[factors]
engine = ["sqlite"]
durability = ["drive", "os"]
"place.filesystem" = ["ext4", "xfs"]
[workload.numbered]
count = 10
[place]
kind = "disk"
""",
        "chosen.toml",
    ).to_cut(),
    cuts=True,
)
NAMES = [cell.combination for cell in PLAN.combinations()]


def test_all_are_made_those_of_a_combination_together() -> None:
    assert [cell.combination for cell in chosen(PLAN)] == [name for name in NAMES for _ in range(2)]


def test_each_combination_that_is_named_is_made() -> None:
    cells = chosen(PLAN, only=[NAMES[2], NAMES[0]])
    assert [(cell.combination, cell.order) for cell in cells] == [
        (NAMES[0], 1),
        (NAMES[0], 2),
        (NAMES[2], 3),
        (NAMES[2], 4),
    ]


def test_a_name_of_none_is_refused_beside_one_of_some() -> None:
    with pytest.raises(BadInput, match='combination "numbered/sqlit" is not known'):
        chosen(PLAN, only=[NAMES[0], "numbered/sqlit"])


def test_a_seed_makes_cuts_of_its_own() -> None:
    assert [(cell.id, cell.seed) for cell in chosen(PLAN, only=NAMES[:1], seed=7)] == [
        (f"{NAMES[0]}#1-seed-7", 7),
        (f"{NAMES[0]}#2-seed-7", 7),
    ]
