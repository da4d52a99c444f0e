"""Experiments that begin at what is in force on the database in question."""

from __future__ import annotations

from typing import Any

import pytest

from acidtest.cli.diagnosing.next import found_of
from acidtest.cli.init_answers import agreeing, in_force
from acidtest.errors import BadInput
from acidtest.journal.diagnosis import Cells
from acidtest.question import QUESTIONS, InForce, fit
from questions import answers, assess, engines


def levels(question: str, family: str, found: InForce, seconds: float = 1200) -> dict[str, set[str]]:
    """What each factor of the experiment has, and its base."""
    fitted = fit(QUESTIONS[question], answers(family, seconds=seconds, found=found), assess)
    told: dict[str, set[str]] = {"base": set(fitted.plan.experiment.base.values())}
    for cell in fitted.plan.cells:
        for factor, level in cell.levels.items():
            told.setdefault(factor, set()).add(level)
    return told


def test_what_was_found_is_a_row_and_the_base() -> None:
    found = InForce({"page_size": 8192, "page_buffers": 75, "server_mode": "Super"}, "os")
    told = levels("page-and-cache", "firebird", found)
    assert "found: 8192 bytes, 0.586 MiB" in told["page_and_cache"]
    assert told["base"] == {"found: 8192 bytes, 0.586 MiB", "os"}
    assert told["durability"] == {"os", "drive"}


def test_without_what_was_found_nothing_of_it_is_asked() -> None:
    told = levels("page-and-cache", "firebird", InForce({"page_size": 8192, "page_buffers": 75}))
    assert "durability" not in told["base"] and told.get("durability", {"drive"}) == {"drive"}
    fitted = fit(QUESTIONS["page-and-cache"], answers("firebird"), assess)
    assert "found" not in fitted.text


def test_a_cache_that_is_compared_anyway_is_there_once() -> None:
    found = InForce({"innodb_buffer_pool_mb": 256}, "drive")
    told = levels("page-and-cache", "mysql", found)
    assert "found: 256 MiB" in told["mysql.innodb_buffer_pool_mb"]
    assert "256 MiB" not in told["mysql.innodb_buffer_pool_mb"]


def test_what_a_level_costs_is_read_against_the_one_that_was_found() -> None:
    told = levels("durability", "firebird", InForce({"page_size": 8192, "page_buffers": 75}, "os"))
    assert told["base"] == {"os"} and told["durability"] == {"os", "drive"}
    text = fit(QUESTIONS["durability"], answers("firebird", found=InForce({"page_buffers": 75}, "os")), assess).text
    assert "page_buffers = 75" in text


@pytest.mark.parametrize(("cache_bytes", "name"), [(75 * 8192, "found"), (1 << 30, "found, but smaller")])
def test_a_cache_that_was_bounded_is_not_called_what_was_found(cache_bytes: int, name: str) -> None:
    given: dict[str, Any] = {"page_size": 8192, "page_buffers": 75, "forced_writes": False}
    cells = Cells(
        engine="firebird-5.0", version="5", same_version=True, said="", levels={"found": "os", "reference": "drive"},
        settings={"found": given, "reference": {}}, experiment="", cache_bytes=cache_bytes,
    )  # fmt: skip
    found = found_of(cells)
    assert found is not None and found.name == name
    assert "forced_writes" not in found.settings and found.level == "os"


def test_a_question_that_does_not_begin_there_refuses_it() -> None:
    with pytest.raises(BadInput, match="does not begin at settings"):
        fit(QUESTIONS["growth"], answers("firebird", found=InForce({})), assess)
    with pytest.raises(BadInput, match="of one engine"):
        fit(QUESTIONS["durability"], answers("firebird", "sqlite", found=InForce({})), assess)


def test_found_as_an_option() -> None:
    found = in_force(("page_buffers=75", "server_mode=Super", "durability=os"), engines("firebird"))
    assert found == InForce({"page_buffers": 75, "server_mode": "Super"}, "os")
    assert in_force((), engines("firebird")) is None


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ("page_bufers=75", 'did you mean "page_buffers"'),
        ("page_buffers", "says no value"),
        ("page_buffers=many", "must be a whole number"),
        ("durability=none", '--found durability "none"'),
        ("forced_writes=false", '--found "forced_writes"'),
    ],
)
def test_what_is_wrong_of_it_is_refused(found: str, said: str) -> None:
    with pytest.raises(BadInput, match=said):
        in_force((found,), engines("firebird"))


def test_levels_that_contradict_what_is_in_force_are_left_out() -> None:
    found = InForce({"journal_mode": "delete"}, "drive")
    (engine,) = agreeing(engines("sqlite"), found)
    assert "os" not in engine.levels and "drive" in engine.levels
    assert agreeing(engines("sqlite"), None) == engines("sqlite")
