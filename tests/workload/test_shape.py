"""Stages and classes of terminals as an experiment has them, and in the rig's words."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from acidtest import conductor
from acidtest.errors import BadInput
from acidtest.experiment import Experiment, parse
from acidtest.journal.protocol import ClosedLoop, OpenLoop
from acidtest.workload import BY_KIND, WorkloadSpec
from acidtest.workload.shape import split

HEAD = 'name = "t"\nrepetitions = 1\ndurability = "os"\nengine = "sqlite"\n'


def spec(kind: str = "commits", **keys: Any) -> WorkloadSpec:
    return BY_KIND[kind].model_validate({"kind": kind} | keys, strict=True)


def refused(kind: str = "commits", **keys: Any) -> str:
    with pytest.raises(ValidationError) as caught:
        spec(kind, **keys)
    return "; ".join(error["msg"] for error in caught.value.errors())


@given(st.lists(st.integers(1, 40), min_size=1, max_size=6), st.data())
def test_terminals_are_split_exactly_over_classes_and_none_leaves_when_more_come(
    sizes: list[int], data: st.DataObject
) -> None:
    whole = sum(sizes)
    many = data.draw(st.integers(0, whole))
    shares = split(many, sizes)
    assert sum(shares) == many
    assert all(0 <= share <= size for share, size in zip(shares, sizes, strict=True))
    assert split(whole, sizes) == sizes
    if many < whole:
        assert all(share <= more for share, more in zip(shares, split(many + 1, sizes), strict=True))


def test_stages_say_how_long_and_how_fast() -> None:
    found = spec(stages=[{"seconds": 30, "rate_per_s": 100}, {"seconds": 60, "rate_per_s": 100, "to": 1000}])
    assert (found.duration_s, found.count) == (90, None)
    assert found.rate_per_s == pytest.approx((3000 + 33_000) / 90)
    phase = found.run_phase()
    assert isinstance(phase.pacing, OpenLoop)
    assert [(stage.seconds, [(leg.from_, leg.to) for leg in stage.legs]) for stage in phase.stages] == [
        (30, [(100, 100)]),
        (60, [(100, 1000)]),
    ]


def test_stages_of_terminals_open_as_many_as_the_greatest_has() -> None:
    found = spec(think_ms=2.0, stages=[{"seconds": 1, "terminals": 2}, {"seconds": 1, "terminals": 2, "to": 9}])
    assert (found.terminals, found.rate_per_s) == (9, None)
    assert found.run_phase().pacing == ClosedLoop(think_ms=2.0)


def test_classes_are_handed_on_with_what_they_have_of_their_own() -> None:
    classes = [
        {"name": "caller", "orders_per_call": 100},
        {"name": "single", "terminals": 60, "orders_per_call": 1, "rate_per_s": 5},
    ]
    found = spec("orders", duration_s=5.0, classes=classes, arrivals="fixed")
    phase = found.run_phase()
    assert (found.terminals, phase.terminals) == (61, 61)
    assert [class_.parameters for class_ in phase.classes] == [{"orders_per_call": 100}, {"orders_per_call": 1}]
    assert [class_.pacing for class_ in phase.classes] == [None, OpenLoop(rate_per_s=5, arrivals="fixed")]


@given(st.lists(st.floats(0.5, 500), min_size=1, max_size=5), st.floats(0, 10_000))
def test_a_stages_rate_is_shared_out_in_proportion_and_whole(rates: list[float], rate: float) -> None:
    classes = [{"name": f"c{n}", "rate_per_s": rate} for n, rate in enumerate(rates)]
    stages = [{"seconds": 1, "rate_per_s": 1.0}, {"seconds": 1, "rate_per_s": rate}]
    legs = spec(stages=stages, classes=classes).run_phase().stages[1].legs
    assert sum(leg.from_ for leg in legs) == pytest.approx(rate)
    assert all(leg.from_ * sum(rates) == pytest.approx(rate * one) for leg, one in zip(legs, rates, strict=True))


STAGE = {"seconds": 1, "rate_per_s": 5}


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"stages": [STAGE], "count": 5}, "stages say how long"),
        ({"stages": [STAGE], "duration_s": 7.0}, "leave duration_s out"),
        ({"stages": [STAGE, {"seconds": 1, "terminals": 5}]}, "give all of them the same"),
        ({"stages": [{"seconds": 1}]}, 'give either "rate_per_s" or "terminals"'),
        ({"stages": [{"seconds": 1, "terminals": 1, "to": 1.5}]}, "whole number of terminals"),
        ({"stages": [{"seconds": 1, "terminals": 0}]}, "none has anything to do"),
        ({"stages": [STAGE], "think_ms": 1.0}, "give one of them"),
        ({"count": 5, "classes": [{"name": "a"}, {"name": "a"}]}, 'two are called "a"'),
        ({"count": 5, "classes": [{"name": "a"}], "terminals": 3}, "leave terminals out"),
        ({"count": 5, "classes": [{"name": "a"}], "rate_per_s": 3.0}, "each class has its own"),
        ({"count": 5, "classes": [{"name": "a", "mix": {"x": 1}}]}, "x is no kind of this workload"),
        ({"count": 5, "classes": [{"name": "a", "mix": {"x": 0}}]}, "not all of them 0"),
        ({"count": 5, "classes": [{"name": "a", "think_ms": 1, "rate_per_s": 3}]}, "give one of them"),
        ({"stages": [STAGE], "classes": [{"name": "a"}]}, "rate_per_s in each class"),
        (
            {"stages": [{"seconds": 1, "terminals": 5}], "classes": [{"name": "a", "terminals": 2}]},
            "the classes have 2",
        ),
    ],
)
def test_what_does_not_go_together_is_refused_in_plain_words(keys: dict[str, Any], said: str) -> None:
    assert said in refused(**keys)


def test_a_workload_without_them_is_dumped_as_version_0_1_wrote_it() -> None:
    later = {"stages", "classes", "sleeping_sessions", "sleeping_in_transaction", "connect", "lines"}
    for kind in BY_KIND.keys() - {"sql", "replay", "oltp_emul"}:  # which came later themselves
        assert not later & spec(kind, count=5).model_dump().keys()
    shaped = spec("orders", classes=[{"name": "a", "lines": 1}], stages=[{"seconds": 1, "terminals": 1}])
    assert BY_KIND["orders"].model_validate(shaped.model_dump(), strict=True) == shaped


def read(text: str) -> Experiment:
    return parse(HEAD + text, "t.toml")


def test_they_reach_the_cell_from_a_file() -> None:
    text = (
        "[workload.tpcc]\nstages = [{ seconds = 2, terminals = 1, to = 3 }]\n"
        '[[workload.tpcc.classes]]\nname = "payers"\nterminals = 3\nmix = { payment = 2, new_order = 1.5 }\n'
    )
    (cell,) = conductor.plan_of(read(text)).cells
    assert (cell.workload.terminals, cell.workload.duration_s) == (3, 2)
    assert dict(cell.workload.classes[0].mix) == {"payment": 2, "new_order": 1.5}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[workload.commits]\nstages = [{ seconds = 0, rate_per_s = 1 }]\n", "stages.0.seconds: found 0"),
        ("[workload.commits]\nstages = [{ seconds = 1, rate = 1 }]\n", "stages.0.rate"),
        (
            '[workload.commits]\ncount = 1\nclasses = [{ name = "a", orders_per_call = 1 }]\n',
            "classes.0.orders_per_call",
        ),
    ],
)
def test_an_error_names_the_key(text: str, said: str) -> None:
    with pytest.raises(BadInput) as caught:
        read(text)
    assert said in caught.value.message
