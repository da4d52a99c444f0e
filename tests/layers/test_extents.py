"""What ``make test`` leaves out of a test's parameters (tests/extents.py)."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import pytest

import extents

SIZES = {"size": 4, "level": 3, "kind": 2}


def items(*marks: pytest.Mark) -> list:
    return [
        SimpleNamespace(
            callspec=SimpleNamespace(indices=(at := dict(zip(SIZES, values, strict=True))), params=at),
            get_closest_marker=lambda name: next((mark for mark in marks if mark.name == name), None),
            iter_markers=lambda name: (mark for mark in marks if mark.name == name),
        )
        for values in itertools.product(*map(range, SIZES.values()))
    ]


def kept(found: list) -> list[tuple[int, ...]]:
    out = {id(item) for item in extents._left_out(found)}
    return [tuple(item.callspec.indices.values()) for item in found if id(item) not in out]


@pytest.mark.parametrize(("strength", "count"), [(1, 4), (2, 12), (3, 24)])
def test_each_combination_of_so_many_parameters_stays(strength: int, count: int) -> None:
    found = kept(items(pytest.mark.covering(strength).mark))
    for positions in itertools.combinations(range(len(SIZES)), strength):
        values = {tuple(one[position] for position in positions) for one in found}
        every = itertools.product(*(range(list(SIZES.values())[position]) for position in positions))
        assert values == set(every)
    assert count <= len(found) <= count + 2


def test_names_that_are_given_values_together_are_one_parameter() -> None:
    found = kept(items(pytest.mark.covering.mark, pytest.mark.parametrize("size, level", []).mark))
    assert {one[:2] for one in found} == set(itertools.product(range(4), range(3)))
    assert len(found) == 12


def test_a_sample_is_spread_evenly() -> None:
    found = kept(items(pytest.mark.sampled(4).mark))
    assert [list(itertools.product(*map(range, SIZES.values()))).index(one) for one in found] == [0, 6, 12, 18]


def test_without_a_mark_all_stay() -> None:
    assert len(kept(items())) == 24
